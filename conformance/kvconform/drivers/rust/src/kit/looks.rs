//! Looks at caches as they go over the wire, and the numbers that stand for identity (contract, section 3).

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use serde::Serialize;

use super::failure::Answer;
use super::interface::{Content, Implementation, Look};
use super::layers::glance;
use super::scenario::Observe;

/// What every holder lists, by its name.
pub type Holders = BTreeMap<&'static str, Vec<usize>>;

/// Every holder's current list, in the order in which new objects are numbered.
pub type Lists<Cache> = Vec<(&'static str, Vec<Cache>)>;

/// One look on the wire.
#[derive(Debug, Serialize)]
pub struct View {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_dim: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_dim: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_size: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bits: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_position: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<Vec<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nbytes: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    empty: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trimmable: Option<bool>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    errors: BTreeMap<&'static str, String>,
}

impl View {
    fn new<Cache>(look: Look<Cache>, children: Vec<usize>) -> Self {
        View {
            kind: look.kind,
            offset: look.offset,
            rows: look.rows,
            key_dim: look.key_dim,
            value_dim: look.value_dim,
            group_size: look.group_size,
            bits: look.bits,
            start_position: look.start_position,
            children: (look.kind == "composite").then_some(children),
            state: look.state,
            keys: look.keys,
            values: look.values,
            nbytes: look.nbytes,
            size: look.size,
            empty: look.empty,
            trimmable: look.trimmable,
            errors: look.errors,
        }
    }
}

/// Numbers every cache object that is met, and keeps it so that the number stays its own.
pub struct Registry<I: Implementation> {
    implementation: Rc<I>,
    observe: Observe,
    pub objects: Vec<I::Cache>,
    numbers: HashMap<usize, usize>,
}

impl<I: Implementation> Registry<I> {
    pub fn new(implementation: &Rc<I>, observe: Observe) -> Self {
        Registry {
            implementation: Rc::clone(implementation),
            observe,
            objects: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// The object's number; a new object gets the next one, then its new children get theirs.
    pub fn meet(&mut self, cache: &I::Cache) -> Answer<usize> {
        let next = self.objects.len();
        let number = *self.numbers.entry(self.implementation.identity(cache)).or_insert(next);
        if number == next {
            self.objects.push(cache.clone());
        }
        for child in glance(&*self.implementation, cache)?.children {
            self.meet(&child)?;
        }
        Ok(number)
    }

    pub fn meet_all(&mut self, list: &[I::Cache]) -> Answer<Vec<usize>> {
        list.iter().map(|cache| self.meet(cache)).collect()
    }

    /// Every holder's layers by number; new objects are numbered in the order of the holders.
    pub fn meet_holders(&mut self, lists: Lists<I::Cache>) -> Answer<Holders> {
        lists.into_iter().map(|(name, list)| Ok((name, self.meet_all(&list)?))).collect()
    }

    /// A look at every object met so far, by number.
    pub fn views(&mut self) -> Answer<Vec<View>> {
        let mut views = Vec::with_capacity(self.objects.len());
        while views.len() < self.objects.len() {
            // a look may meet new children
            let cache = self.objects[views.len()].clone();
            let mut look = self.implementation.look(&cache, self.observe)?;
            let children = self.meet_all(&std::mem::take(&mut look.children))?;
            views.push(View::new(look, children));
        }
        Ok(views)
    }
}
