//! The scripted model of `iterate` scenarios: counts its calls, writes rows, answers with peaked logits, and logs every
//! call, so that the trace shows what an iterator did (contract, section 6).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use serde::Serialize;

use super::arithmetic::{chain, chain_all, STATE_MODULUS};
use super::failure::{Answer, Failure};
use super::interface::{Implementation, List, Look};
use super::layers::{glance, recurrent_number, signatures, write_rows};
use super::prefill::{cut, Plan};
use super::scenario::{Layer, Prepare, Script, StateMode};

/// The events of a turn.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    NewCache,
    Deprecated,
    Prompt {
        tokens: Vec<i64>,
    },
    Prepare {
        length: usize,
        window: i64,
    },
    Call {
        tokens: Vec<i64>,
        offsets: Vec<Option<i64>>,
        caches: Vec<String>,
        state: Option<i64>,
        no_cache: bool,
    },
    Process {
        caches: Vec<String>,
    },
    Sample {
        token: i64,
    },
    DidSample {
        token: i64,
    },
    Next,
    Token {
        token: i64,
    },
    End,
}

/// Where the events of the current turn go.
pub type Trace = Rc<RefCell<Vec<Event>>>;

/// A model, as your iterator calls it.
pub trait Model<Cache> {
    /// One forward pass over tokens `[1, length]` that also writes to the caches; none: there are none.
    fn call(&self, tokens: &[Vec<i64>], cache: Option<&[Cache]>, state: Option<i64>) -> Answer<ModelResult>;
    /// The prefill: the remaining tokens, or the result of its last call.
    fn prepare(&self, tokens: &[i64], cache: &[Cache], window: i64) -> Answer<Prepared>;
    /// A new cache list.
    fn new_cache(&self) -> List<Cache>;
}

#[derive(Debug, Clone)]
pub struct ModelResult {
    pub logits: Logits,
    pub state: Option<i64>,
}

#[derive(Debug, Clone)]
pub enum Prepared {
    Tokens(Vec<i64>),
    Result(ModelResult),
}

/// The logits of one call, `[1, rows, vocab]`; a row is computed when it is looked at.
#[derive(Debug, Clone)]
pub struct Logits {
    seen: u32,
    tokens: Vec<i64>,
    vocab: i64,
    ties: bool,
}

impl Logits {
    pub fn rows(&self) -> usize {
        self.tokens.len()
    }

    /// The logits `[vocab]` of one position.
    pub fn row(&self, index: usize) -> Vec<f32> {
        let hash = chain(chain(self.seen, self.tokens[index]), index as i64);
        let peak = i64::from(hash) % self.vocab;
        let logit = |token: i64| {
            let distance = (token - peak).rem_euclid(self.vocab);
            (self.vocab / 2 - if self.ties { distance / 2 } else { distance }) as f32
        };
        (0..self.vocab).map(logit).collect()
    }
}

pub struct ScriptedModel<I: Implementation> {
    implementation: Rc<I>,
    layers: Vec<Layer>,
    list: Vec<I::Cache>,
    pub script: Script,
    plan: Plan,
    trace: Trace,
    calls: Cell<i64>,
    /// How often it was asked for a list.
    pub requests: Cell<i64>,
    /// The first list that was answered with.
    pub answered: RefCell<Option<List<I::Cache>>>,
    /// The list that the last call found.
    pub last_seen: RefCell<Vec<I::Cache>>,
}

impl<I: Implementation> ScriptedModel<I> {
    /// `list` holds the objects built from the scenario's layers.
    pub fn new(
        implementation: &Rc<I>,
        layers: &[Layer],
        list: &[I::Cache],
        script: Script,
        plan: Plan,
    ) -> Self {
        ScriptedModel {
            implementation: Rc::clone(implementation),
            layers: layers.to_vec(),
            list: list.to_vec(),
            script,
            plan,
            trace: Trace::default(),
            calls: Cell::new(0),
            requests: Cell::new(0),
            answered: RefCell::new(None),
            last_seen: RefCell::new(Vec::new()),
        }
    }

    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    fn log(&self, event: Event) {
        self.trace.borrow_mut().push(event);
    }

    fn looks(&self, list: &[I::Cache]) -> Answer<Vec<Look<I::Cache>>> {
        list.iter().map(|cache| glance(&*self.implementation, cache)).collect()
    }

    /// The hash with everything folded in that the model may tell about these layers.
    fn fold_all(&self, seen: u32, looks: &[Look<I::Cache>]) -> Answer<u32> {
        looks.iter().try_fold(seen, |hash, look| self.fold(hash, look))
    }

    fn fold(&self, seen: u32, look: &Look<I::Cache>) -> Answer<u32> {
        let fold = |parts: &[i64]| parts.iter().fold(seen, |hash, &part| chain(hash, part));
        let offset = look.offset.unwrap_or(0);
        Ok(match look.kind {
            "composite" => {
                let children = self.looks(&look.children)?;
                return self.fold_all(fold(&[5, children.len() as i64]), &children);
            }
            "quantized" => fold(&[3, look.group_size.unwrap_or(0), look.bits.unwrap_or(0), offset]),
            "recurrent" => fold(&[4, recurrent_number(look)]),
            "plain" => fold(&[1, offset]),
            "rotating" => fold(&[2, offset]),
            "chunked" => fold(&[6, offset]),
            _ => fold(&[0]),
        })
    }

    /// Calls itself on every chunk; the last result.
    fn feed(&self, chunks: &[&[i64]], cache: &[I::Cache], with_state: bool) -> Answer<Option<ModelResult>> {
        let cache = (!cache.is_empty()).then_some(cache);
        let mut result: Option<ModelResult> = None;
        for chunk in chunks {
            let state = result.filter(|_| with_state).and_then(|result| result.state);
            result = Some(self.call(&[chunk.to_vec()], cache, state)?);
        }
        Ok(result)
    }

    /// The state in the result of call number `call`.
    fn next_state(&self, call: i64, state: Option<i64>, last_token: i64) -> Option<i64> {
        let mode = self.script.state;
        if mode == StateMode::None || (mode == StateMode::Alternate && call % 2 == 1) {
            return None;
        }
        Some(i64::from(chain_all(&[state.unwrap_or(0), last_token])) % STATE_MODULUS)
    }
}

impl<I: Implementation> Model<I::Cache> for ScriptedModel<I> {
    fn call(
        &self,
        tokens: &[Vec<i64>],
        cache: Option<&[I::Cache]>,
        state: Option<i64>,
    ) -> Answer<ModelResult> {
        let [row] = tokens else {
            let why = format!("the model was called with {tokens:?}; a leading batch axis of 1 is due");
            return Err(Failure::Internal(why));
        };
        let list = cache.unwrap_or(&[]);
        *self.last_seen.borrow_mut() = list.to_vec();
        let looks = self.looks(list)?;
        self.log(Event::Call {
            tokens: row.clone(),
            offsets: looks.iter().map(|look| look.offset).collect(),
            caches: signatures(&*self.implementation, list)?,
            state,
            no_cache: cache.is_none(),
        });
        let seen = self.fold_all(chain_all(&[self.script.seed]), &looks)?;
        let seen = chain(seen, state.map_or(0, |state| state + 1));
        let call = self.calls.replace(self.calls.get() + 1);
        for (layer, cache) in self.layers.iter().zip(list) {
            write_rows(&*self.implementation, layer, cache, row.len() as i64, call)?;
        }
        let Script { vocab, ties, .. } = self.script;
        let state = self.next_state(call, state, row.last().copied().unwrap_or(0));
        Ok(ModelResult { logits: Logits { seen, tokens: row.clone(), vocab, ties }, state })
    }

    fn prepare(&self, tokens: &[i64], cache: &[I::Cache], window: i64) -> Answer<Prepared> {
        self.log(Event::Prepare { length: tokens.len(), window });
        let chunks = cut(tokens, window, self.plan);
        let how = self.script.prepare;
        if how == Prepare::Raise {
            return Err(Failure::PrepareFailed);
        }
        let Some((last, before)) = chunks.split_last() else {
            return Ok(Prepared::Tokens(Vec::new()));
        };
        if how == Prepare::Tokens {
            self.feed(before, cache, false)?;
            return Ok(Prepared::Tokens(last.to_vec()));
        }
        let result = self.feed(&chunks, cache, how == Prepare::Logits)?;
        let wanted = result.filter(|_| how == Prepare::Logits);
        Ok(wanted.map_or(Prepared::Tokens(Vec::new()), Prepared::Result))
    }

    fn new_cache(&self) -> List<I::Cache> {
        self.requests.set(self.requests.get() + 1);
        self.log(Event::NewCache);
        let fresh = Rc::new(RefCell::new(self.list.clone()));
        self.answered.borrow_mut().get_or_insert_with(|| Rc::clone(&fresh));
        fresh
    }
}
