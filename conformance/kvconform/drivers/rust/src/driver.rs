//! The one type that connects an implementation to the kit: this one is for the example. EDIT THIS FILE: make every
//! method call your implementation, and remove what you do not have from `features`.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use serde_json::json;

use crate::example::affine::{check_parameters, quantize_row};
use crate::example::caches::{Cache, Design, Layer, RowCache};
use crate::example::container::CacheContainer;
use crate::example::error::Error;
use crate::example::floats::DType;
use crate::example::group_size::resolve_group_size;
use crate::example::iterator::{Options, SharedContainer, TokenIterator};
use crate::example::policy;
use crate::example::rows::{Shape, StoredRow, WrittenBlock};
use crate::example::sampling::{GenerateParameters, Parameters, Processor, Sampler};
use crate::example::storage;
use crate::kit::{
    self, Answer, Built, Capabilities, Content, Exported, Failure, FreePass, Implementation, Info, Kind,
    List, Look, Model, Observe, Packed, Request, Tensor,
};

/// What the kit makes of the example's errors.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid(why) => Failure::Refused(why),
            Error::File(why) => Failure::Internal(why),
            Error::Model(failure) => failure,
        }
    }
}

pub struct Driver;

impl Implementation for Driver {
    type Cache = Layer;
    type Container = SharedContainer;
    type Iterator = TokenIterator;

    fn info(&self) -> Info {
        Info {
            name: "example-rust".to_string(),
            version: "1.0".to_string(),
            language: "Rust".to_string(),
            backend: "cpu".to_string(),
            dialect: json!("proposal"),
            capabilities: Capabilities {
                kinds: vec!["resolve", "quantize", "cache", "container", "iterate"],
                bits: vec![2, 3, 4, 5, 6, 8],
                group_sizes: vec![32, 64, 128],
                dtypes: vec!["float32", "float16", "bfloat16"],
                layers: vec!["plain", "chunked", "rotating", "quantized", "recurrent", "composite"],
                features: FEATURES.to_vec(),
            },
        }
    }

    fn identity(&self, cache: &Layer) -> usize {
        cache.identity()
    }

    // ---- resolve, quantize

    fn group_size(&self, requested: i64, key_dim: i64, value_dim: i64) -> Answer<Option<i64>> {
        Ok(resolve_group_size(requested, key_dim, value_dim)?)
    }

    fn head_dims(&self, cache: &Layer) -> Answer<Option<(i64, i64)>> {
        Ok(cache.look().head_dims())
    }

    fn is_quantizable(&self, cache: &Layer) -> Answer<bool> {
        Ok(policy::is_quantizable(cache))
    }

    fn is_compatible(&self, cache: &Layer) -> Answer<bool> {
        Ok(policy::is_compatible(cache)?)
    }

    fn quantize(&self, tensor: &Tensor, bits: i64, group_size: i64) -> Answer<Packed> {
        let (count, dim) = (tensor.shape[0], tensor.shape[1]);
        check_parameters(dim, bits, group_size)?;
        let dtype = DType::named(&tensor.dtype)?;
        let values = dtype.decode(&tensor.bytes);
        let row = |index: i64| &values[(index * dim) as usize..((index + 1) * dim) as usize];
        let rows: Vec<StoredRow> = (0..count)
            .map(|index| quantize_row(row(index), bits, group_size, dtype))
            .collect::<Result<_, _>>()?;
        Ok(packed(&rows, &[count], dim, (bits, group_size), dtype))
    }

    // ---- caches

    fn make(&self, layer: &kit::Layer, children: Vec<Layer>) -> Answer<Layer> {
        let design = match layer.kind {
            Kind::Recurrent => return Ok(Layer::new(Cache::Recurrent(vec![None; layer.slots as usize]))),
            Kind::Composite => return Ok(Layer::new(Cache::Composite(children))),
            Kind::Plain => Design::Plain,
            Kind::Chunked => Design::Chunked { size: layer.chunk_size },
            Kind::Rotating => {
                Design::Rotating { max_size: layer.max_size, keep: layer.keep, oldest: layer.keep }
            }
            Kind::Quantized => Design::Quantized { bits: layer.bits, group_size: layer.group_size },
        };
        Ok(Layer::new(Cache::Rows(RowCache::new(design)?)))
    }

    fn append(&self, cache: &Layer, rows: kit::Rows) -> Answer<i64> {
        let dtype = DType::named(&rows.dtype)?;
        let shape = Shape { heads: rows.heads, key_dim: rows.key_dim, value_dim: rows.value_dim, dtype };
        let count = rows.count;
        let values = move |role, head, index| rows.values(role, head, index);
        let block = Rc::new(WrittenBlock { count, dtype, values });
        Ok(cache.change().as_rows_mut()?.append(block, shape)?)
    }

    fn trim(&self, cache: &Layer, rows: i64) -> Answer<i64> {
        Ok(cache.change().trim(rows))
    }

    fn drop_front(&self, cache: &Layer) -> Answer<()> {
        Ok(cache.change().as_rows_mut()?.drop_front()?)
    }

    fn replace_state(&self, cache: &Layer, arrays: Vec<Vec<f32>>) -> Answer<()> {
        *cache.change() = Cache::Recurrent(arrays.into_iter().map(Some).collect());
        Ok(())
    }

    fn convert(&self, cache: &Layer, bits: i64, group_size: i64) -> Answer<Layer> {
        if !policy::is_quantizable(cache) {
            return Err(Failure::Refused(format!(
                "a {} cache is not quantizable. QP-1",
                cache.look().kind()
            )));
        }
        Ok(Layer::new(cache.look().to_quantized(bits, group_size)?))
    }

    fn copy(&self, cache: &Layer) -> Answer<Layer> {
        Ok(cache.copy())
    }

    fn save_and_load(&self, cache: &Layer, path: &Path) -> Answer<Exported<Layer>> {
        storage::save(cache, path)?;
        Ok(Exported { cache: storage::load(path)?, rows: cache.look().rows() })
    }

    fn state_round_trip(&self, cache: &Layer) -> Answer<Exported<Layer>> {
        Ok(Exported { cache: storage::state_round_trip(cache)?, rows: cache.look().rows() })
    }

    // ---- looks

    fn look(&self, layer: &Layer, observe: Observe) -> Answer<Look<Layer>> {
        let cache = &*layer.look();
        let mut look = Look::new(cache.kind());
        (look.offset, look.rows) = (cache.offset(), cache.rows());
        match cache {
            Cache::Rows(cache) => look_at_rows(cache, observe, &mut look),
            Cache::Composite(children) => look.children.clone_from(children),
            Cache::Recurrent(arrays) => {
                let first = |array: &Option<Vec<f32>>| array.as_ref().map(|array| array[0] as i64);
                look.state = arrays.iter().map(first).collect();
            }
        }
        if observe.accounting {
            (look.nbytes, look.size) = (Some(cache.nbytes()), cache.rows());
            (look.empty, look.trimmable) = (Some(cache.is_empty()), Some(cache.trimmable()));
        }
        Ok(look)
    }

    // ---- the pass

    fn free_pass(
        &self,
        list: &List<Layer>,
        bits: Option<i64>,
        group_size: i64,
        start: i64,
    ) -> Answer<FreePass<Layer>> {
        let triggered = policy::maybe_quantize(&mut list.borrow_mut(), bits, group_size, start)?;
        Ok(FreePass { returned: Some(triggered), list: None })
    }

    fn make_container(&self, list: &List<Layer>, built: Built) -> Answer<SharedContainer> {
        Ok(Rc::new(RefCell::new(CacheContainer::new(list.borrow().clone(), built.bits))))
    }

    fn make_container_from_model(&self, model: &dyn Model<Layer>, built: Built) -> Answer<SharedContainer> {
        self.make_container(&model.new_cache(), built)
    }

    fn layers(&self, container: &SharedContainer) -> Answer<Vec<Layer>> {
        Ok(container.borrow().layers().to_vec())
    }

    fn container_pass(
        &self,
        container: &SharedContainer,
        bits: Option<i64>,
        group_size: i64,
        start: i64,
    ) -> Answer<()> {
        Ok(container.borrow_mut().maybe_quantize(bits, group_size, start)?)
    }

    fn accesses(&self) -> Answer<i64> {
        Ok(Layer::looks())
    }

    // ---- the iterator

    fn make_iterator(&self, mut request: Request<Self>) -> Answer<TokenIterator> {
        let (processor, sampler) = (request.processor.take(), request.sampler.take());
        let parameters = LoggedParameters::new(&request);
        let (prompt, model) = (&request.prompt, Rc::clone(&request.model));
        let options = Options {
            list: request.list.as_ref().map(|list| list.borrow().clone()),
            container: request.container.clone(),
            parameters: &parameters,
            processor,
            sampler: None,
            on_container: &|container| request.works_on(Rc::clone(container)),
        };
        let asked = &request.parameters;
        match (request.form.as_str(), sampler) {
            ("sampler-first", Some(sampler)) => {
                let (step, limit) = (asked.prefill_step, asked.max_tokens);
                Ok(TokenIterator::with_sampler(prompt, model, sampler, step, limit, options)?)
            }
            ("prompt-array", sampler) => {
                request.deprecated(); // in Rust the compiler warns
                #[allow(deprecated)]
                Ok(TokenIterator::from_prompt_array(prompt, model, Options { sampler, ..options })?)
            }
            (_, sampler) => Ok(TokenIterator::new(prompt, model, Options { sampler, ..options })?),
        }
    }

    fn next(&self, iterator: &mut TokenIterator) -> Answer<Option<i64>> {
        Ok(iterator.next_token()?)
    }

    fn container_of(&self, iterator: &TokenIterator) -> Answer<SharedContainer> {
        Ok(Rc::clone(iterator.container()))
    }

    fn count(&self, iterator: &TokenIterator) -> Answer<Option<i64>> {
        Ok(Some(iterator.count()))
    }

    fn prefill_time(&self, iterator: &TokenIterator) -> Answer<Option<f64>> {
        Ok(Some(iterator.prefill_time()))
    }
}

#[rustfmt::skip]
const FEATURES: [&str; 24] = [
    "resolver", "layer-queries", "convert", "copy", "save-load", "state", "head-counts", "accounting",
    "container", "free-pass", "model-list", "accesses",
    "prepare", "logits-prefill", "model-state", "processors", "samplers", "penalty", "sampler-first",
    "prompt-array", "both-refused", "eager", "count", "prefill-time",
];

/// Parameters whose own sampler and processor are logged by the kit.
struct LoggedParameters<'a> {
    request: &'a Request<Driver>,
    values: GenerateParameters,
}

impl<'a> LoggedParameters<'a> {
    fn new(request: &'a Request<Driver>) -> Self {
        let asked = &request.parameters;
        let values = GenerateParameters {
            max_tokens: asked.max_tokens,
            bits: asked.bits,
            group_size: asked.group_size,
            start: asked.start,
            prefill_step: asked.prefill_step,
            repetition_penalty: asked.repetition_penalty,
            repetition_context_size: asked.repetition_context_size,
        };
        LoggedParameters { request, values }
    }
}

impl Parameters for LoggedParameters<'_> {
    fn values(&self) -> &GenerateParameters {
        &self.values
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        self.request.logged_sampler(self.values.sampler())
    }

    fn processor(&self) -> Option<Box<dyn Processor>> {
        self.values.processor().map(|own| self.request.logged_processor(own))
    }
}

fn look_at_rows(cache: &RowCache, observe: Observe, look: &mut Look<Layer>) {
    match cache.design {
        Design::Chunked { .. } => look.start_position = Some(cache.start_position),
        Design::Quantized { bits, group_size } => {
            (look.bits, look.group_size) = (Some(bits), Some(group_size));
        }
        Design::Plain | Design::Rotating { .. } => (),
    }
    let Some(shape) = cache.shape else { return };
    (look.key_dim, look.value_dim) = (Some(shape.key_dim), Some(shape.value_dim));
    if observe.content && cache.rows() > 0 {
        (look.keys, look.values) = (Some(content(cache, shape, 0)), Some(content(cache, shape, 1)));
    }
}

/// Keys (role 0) or values (role 1) of the rows that a reader gets.
fn content(cache: &RowCache, shape: Shape, role: usize) -> Content {
    let rows = cache.fetch().side(role, shape.heads);
    let leading = [1, shape.heads, cache.rows()];
    let dim = shape.dim(role);
    match cache.design {
        Design::Quantized { bits, group_size } => {
            Content::Packed(packed(&rows, &leading, dim, (bits, group_size), shape.dtype))
        }
        _ => Content::Plain(joined(&rows, |row| &row.data, shape.dtype.name(), &leading, dim)),
    }
}

fn packed(
    rows: &[StoredRow],
    leading: &[i64],
    dim: i64,
    (bits, group_size): (i64, i64),
    dtype: DType,
) -> Packed {
    let groups = dim / group_size;
    Packed {
        packed: joined(rows, |row| &row.data, "uint32", leading, dim * bits / 32),
        scales: joined(rows, |row| &row.scales, dtype.name(), leading, groups),
        biases: joined(rows, |row| &row.biases, dtype.name(), leading, groups),
    }
}

fn joined(
    rows: &[StoredRow],
    part: impl Fn(&StoredRow) -> &Vec<u8>,
    dtype: &str,
    leading: &[i64],
    last: i64,
) -> Tensor {
    let bytes = rows.iter().flat_map(|row| part(row).iter().copied()).collect();
    Tensor::new(dtype, [leading, &[last]].concat(), bytes)
}
