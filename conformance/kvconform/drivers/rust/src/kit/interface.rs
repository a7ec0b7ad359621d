//! What you fill in, and what the kit hands to it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use serde::Serialize;
use serde_json::Value;

use super::failure::{Answer, Failure};
use super::layers::Rows;
use super::model::Model;
use super::players::{Logged, Processor, Sampler};
use super::scenario::{Built, Layer, Observe, Parameters};
use super::tensor::Tensor;

/// A list that somebody keeps, so that it can be changed in place.
pub type List<Cache> = Rc<RefCell<Vec<Cache>>>;

fn no<T>(what: &str) -> Answer<T> {
    Err(Failure::Unsupported(format!("this driver has no {what}")))
}

/// The interface to fill in. Override what you have.
pub trait Implementation: Sized + 'static {
    /// A handle of one cache, such as `Rc<RefCell<MyCache>>`: clones stand for the same cache.
    type Cache: Clone + 'static;
    /// A handle of a container. A design without containers uses `List<Self::Cache>`.
    type Container: Clone + 'static;
    /// A token iterator.
    type Iterator;

    /// Who this is, which dialect it follows, what it can do.
    fn info(&self) -> Info;

    /// Equal for two handles of the same cache only, for instance `Rc::as_ptr(cache) as *const () as usize`.
    fn identity(&self, cache: &Self::Cache) -> usize;

    // ---- resolve, quantize

    /// The group size used for these head dims, or none.
    fn group_size(&self, _requested: i64, _key_dim: i64, _value_dim: i64) -> Answer<Option<i64>> {
        no("group-size resolver")
    }
    /// Key and value head dim.
    fn head_dims(&self, _cache: &Self::Cache) -> Answer<Option<(i64, i64)>> {
        no("layer queries")
    }
    fn is_quantizable(&self, _cache: &Self::Cache) -> Answer<bool> {
        no("layer queries")
    }
    fn is_compatible(&self, _cache: &Self::Cache) -> Answer<bool> {
        no("layer queries")
    }
    /// The rows of a `[rows, dim]` tensor, quantized along the last axis.
    fn quantize(&self, _tensor: &Tensor, _bits: i64, _group_size: i64) -> Answer<Packed> {
        no("affine quantization")
    }

    // ---- caches

    /// An empty cache of the layer's kind and parameters; a composite gets its children.
    fn make(&self, _layer: &Layer, _children: Vec<Self::Cache>) -> Answer<Self::Cache> {
        no("caches")
    }
    /// Write the rows behind the offset; how many rows a reader gets back from that very write.
    fn append(&self, _cache: &Self::Cache, _rows: Rows) -> Answer<i64> {
        no("append")
    }
    /// Take rows off the end; how many were taken, 0 where it cannot be trimmed.
    fn trim(&self, _cache: &Self::Cache, _rows: i64) -> Answer<i64> {
        no("trim")
    }
    /// Chunked: drop the rows beyond the chunk size at the front. Others refuse.
    fn drop_front(&self, _cache: &Self::Cache) -> Answer<()> {
        no("drop-front")
    }
    /// Recurrent: replace all slots by new arrays of shape `[1, 1, 4]`.
    fn replace_state(&self, _cache: &Self::Cache, _arrays: Vec<Vec<f32>>) -> Answer<()> {
        no("recurrent state")
    }
    /// What the cache shows. Also asked, without content and accounting, wherever the kit has to know kind and offset.
    fn look(&self, _cache: &Self::Cache, _observe: Observe) -> Answer<Look<Self::Cache>> {
        no("looks")
    }
    /// Convert one cache directly.
    fn convert(&self, _cache: &Self::Cache, _bits: i64, _group_size: i64) -> Answer<Self::Cache> {
        no("direct conversion")
    }
    fn copy(&self, _cache: &Self::Cache) -> Answer<Self::Cache> {
        no("copies")
    }
    /// Write to this path, or to files that begin with it, and load from there.
    fn save_and_load(&self, _cache: &Self::Cache, _path: &Path) -> Answer<Exported<Self::Cache>> {
        no("saving")
    }
    fn state_round_trip(&self, _cache: &Self::Cache) -> Answer<Exported<Self::Cache>> {
        no("states")
    }

    // ---- the pass

    /// One pass without memory, on the list.
    fn free_pass(
        &self,
        _list: &List<Self::Cache>,
        _bits: Option<i64>,
        _group_size: i64,
        _start: i64,
    ) -> Answer<FreePass<Self::Cache>> {
        no("free pass")
    }
    /// A container over the caller's list.
    fn make_container(&self, _list: &List<Self::Cache>, _built: Built) -> Answer<Self::Container> {
        no("container")
    }
    /// A container over the list that the model makes: ask it with `model.new_cache()`.
    fn make_container_from_model(
        &self,
        _model: &dyn Model<Self::Cache>,
        _built: Built,
    ) -> Answer<Self::Container> {
        no("container over a model's list")
    }
    fn layers(&self, _container: &Self::Container) -> Answer<Vec<Self::Cache>> {
        no("container")
    }
    fn container_pass(
        &self,
        _container: &Self::Container,
        _bits: Option<i64>,
        _group_size: i64,
        _start: i64,
    ) -> Answer<()> {
        no("container")
    }
    /// How many looks at layers were counted so far; only differences matter.
    fn accesses(&self) -> Answer<i64> {
        no("count of looks at layers")
    }

    // ---- the iterator

    fn make_iterator(&self, _request: Request<Self>) -> Answer<Self::Iterator> {
        no("token iterator")
    }
    /// The next token; none at the end.
    fn next(&self, _iterator: &mut Self::Iterator) -> Answer<Option<i64>> {
        no("token iterator")
    }
    fn container_of(&self, _iterator: &Self::Iterator) -> Answer<Self::Container> {
        no("container of an iterator")
    }
    fn count(&self, _iterator: &Self::Iterator) -> Answer<Option<i64>> {
        Ok(None)
    }
    /// Seconds.
    fn prefill_time(&self, _iterator: &Self::Iterator) -> Answer<Option<f64>> {
        Ok(None)
    }
}

/// Who answers.
#[derive(Debug, Clone)]
pub struct Info {
    pub name: String,
    pub version: String,
    pub language: String,
    pub backend: String,
    /// A named dialect as a string, or an object with all parameters.
    pub dialect: Value,
    pub capabilities: Capabilities,
}

impl Info {
    pub fn has(&self, feature: &str) -> bool {
        self.capabilities.features.contains(&feature)
    }
}

/// What you declare; the names are those of docs/scenarios.md and docs/wire.md.
#[derive(Debug, Clone, Serialize)]
pub struct Capabilities {
    pub kinds: Vec<&'static str>,
    pub bits: Vec<i64>,
    pub group_sizes: Vec<i64>,
    pub dtypes: Vec<&'static str>,
    pub layers: Vec<&'static str>,
    pub features: Vec<&'static str>,
}

impl Default for Capabilities {
    /// No kinds, no layers and no features; all bits, group sizes and dtypes.
    fn default() -> Self {
        Capabilities {
            kinds: Vec::new(),
            bits: vec![2, 3, 4, 5, 6, 8],
            group_sizes: vec![32, 64, 128],
            dtypes: vec!["float32", "float16", "bfloat16"],
            layers: Vec::new(),
            features: Vec::new(),
        }
    }
}

/// Quantized rows: `packed` uint32 words, `scales` and `biases` in the stored dtype.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Packed {
    pub packed: Tensor,
    pub scales: Tensor,
    pub biases: Tensor,
}

/// The rows of one side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Content {
    Plain(Tensor),
    Packed(Packed),
}

/// What a look at one cache shows. Leave empty what it does not have.
#[derive(Debug, Clone)]
pub struct Look<Cache> {
    /// `plain`, `chunked`, `rotating`, `quantized`, `recurrent`, `composite`; any other text otherwise.
    pub kind: &'static str,
    pub offset: Option<i64>,
    /// Rows a reader gets.
    pub rows: Option<i64>,
    pub key_dim: Option<i64>,
    pub value_dim: Option<i64>,
    pub group_size: Option<i64>,
    pub bits: Option<i64>,
    pub start_position: Option<i64>,
    /// Composite only.
    pub children: Vec<Cache>,
    /// Recurrent only: the first value of each slot; none when never filled.
    pub state: Option<Vec<i64>>,
    /// When content is observed: exactly the rows that a reader gets, `[1, heads, rows, ...]`; none when there are none.
    pub keys: Option<Content>,
    pub values: Option<Content>,
    /// When accounting is observed, with the next three.
    pub nbytes: Option<i64>,
    pub size: Option<i64>,
    pub empty: Option<bool>,
    pub trimmable: Option<bool>,
    /// Looks that failed: field name to message.
    pub errors: BTreeMap<&'static str, String>,
}

impl<Cache> Look<Cache> {
    pub fn new(kind: &'static str) -> Self {
        Look {
            kind,
            offset: None,
            rows: None,
            key_dim: None,
            value_dim: None,
            group_size: None,
            bits: None,
            start_position: None,
            children: Vec::new(),
            state: None,
            keys: None,
            values: None,
            nbytes: None,
            size: None,
            empty: None,
            trimmable: None,
            errors: BTreeMap::new(),
        }
    }

    /// The answer of a question; an error is kept under the field's name.
    pub fn ask<T>(&mut self, field: &'static str, answer: Answer<T>) -> Option<T> {
        answer.map_err(|error| self.errors.insert(field, error.to_string())).ok()
    }
}

/// What an export of a cache gives: the new cache, and the rows stored in an exported array (none without rows).
pub struct Exported<Cache> {
    pub cache: Cache,
    pub rows: Option<i64>,
}

/// What the pass without memory gives: whether it triggered, and the new list if the design returns one.
pub struct FreePass<Cache> {
    pub returned: Option<bool>,
    pub list: Option<List<Cache>>,
}

/// What a turn hands to the iterator that you build: exactly these things; use what the form takes.
pub struct Request<I: Implementation> {
    /// `general`, `sampler-first` or `prompt-array`.
    pub form: String,
    pub prompt: Vec<i64>,
    pub model: Rc<dyn Model<I::Cache>>,
    /// None: none was given.
    pub list: Option<List<I::Cache>>,
    /// None: none was given.
    pub container: Option<I::Container>,
    pub parameters: Parameters,
    /// The explicit one; none: that of the parameters.
    pub processor: Option<Box<dyn Processor>>,
    /// The explicit one; none: that of the parameters (never none in `sampler-first`).
    pub sampler: Option<Box<dyn Sampler>>,
    pub(super) logged: Rc<Logged<I>>,
}

impl<I: Implementation> Request<I> {
    /// Put your parameters' own sampler through this, so that what it does is logged.
    pub fn logged_sampler(&self, own: Box<dyn Sampler>) -> Box<dyn Sampler> {
        Logged::sampler(&self.logged, own)
    }

    /// Put your parameters' own processor through this, so that what it does is logged.
    pub fn logged_processor(&self, own: Box<dyn Processor>) -> Box<dyn Processor> {
        Logged::processor(&self.logged, own)
    }

    /// Call this when a deprecated form warned.
    pub fn deprecated(&self) {
        self.logged.deprecated();
    }

    /// Call this, before the prefill, with the container that your iterator made for itself: processors log what it
    /// lists.
    pub fn works_on(&self, container: I::Container) {
        self.logged.works_on(container);
    }
}
