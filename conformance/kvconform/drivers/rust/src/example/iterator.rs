//! The token iterator: feeds a prompt through a model and hands out one token after the other (IT, PR, ST, NX).

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use super::caches::Layer;
use super::container::CacheContainer;
use super::error::{invalid, Result};
use super::group_size::check_bits;
use super::plant::planted;
use super::sampling::{GenerateParameters, Parameters, Processor, Sampler};
use crate::kit::{Logits, Model, Prepared};

pub type SharedContainer = Rc<RefCell<CacheContainer>>;

/// What an iterator is built with, beside prompt and model.
pub struct Options<'a> {
    /// At most one of these two; without both the model is asked.
    pub list: Option<Vec<Layer>>,
    pub container: Option<SharedContainer>,
    pub parameters: &'a dyn Parameters,
    /// These replace those of the parameters (IT-4).
    pub processor: Option<Box<dyn Processor>>,
    pub sampler: Option<Box<dyn Sampler>>,
    /// Told, before the prefill, which container the iterator works on.
    pub on_container: &'a dyn Fn(&SharedContainer),
}

pub struct TokenIterator {
    model: Rc<dyn Model<Layer>>,
    parameters: GenerateParameters,
    container: SharedContainer,
    processor: Option<Box<dyn Processor>>,
    sampler: Box<dyn Sampler>,
    state: Option<i64>,
    pending: i64,
    count: i64,
    prefill_time: f64,
}

impl Options<'_> {
    fn check(&self) -> Result<()> {
        let GenerateParameters { bits, prefill_step, .. } = *self.parameters.values();
        if self.list.is_some() && self.container.is_some() {
            return invalid("a list and a container are given; give one");
        }
        if prefill_step < 1 {
            return invalid(format!("prefill step {prefill_step} is below 1; give 512. PR-6"));
        }
        bits.map_or(Ok(()), check_bits)
    }
}

impl TokenIterator {
    /// The general form. The prefill runs here (IT-1).
    pub fn new(prompt: &[i64], model: Rc<dyn Model<Layer>>, options: Options) -> Result<Self> {
        options.check()?; // before the model is touched
        let parameters = options.parameters;
        let container = options.container.unwrap_or_else(|| {
            let list = options.list.unwrap_or_else(|| model.new_cache().borrow().clone()); // IT-2, CT-9
            Rc::new(RefCell::new(CacheContainer::new(list, parameters.values().bits)))
        });
        (options.on_container)(&container);
        let mut iterator = TokenIterator {
            model,
            container,
            processor: options.processor.or_else(|| parameters.processor()),
            sampler: options.sampler.unwrap_or_else(|| parameters.sampler()),
            parameters: parameters.values().clone(),
            state: None,
            pending: 0,
            count: 0,
            prefill_time: 0.0,
        };
        let began = Instant::now();
        iterator.pending = iterator.prepare(prompt)?;
        iterator.prefill_time = began.elapsed().as_secs_f64();
        Ok(iterator)
    }

    /// The sampler-first form: of the parameters only these two; it never quantizes (IT-5).
    pub fn with_sampler(
        prompt: &[i64],
        model: Rc<dyn Model<Layer>>,
        sampler: Box<dyn Sampler>,
        prefill_step: i64,
        max_tokens: Option<i64>,
        options: Options,
    ) -> Result<Self> {
        let parameters = GenerateParameters { prefill_step, max_tokens, ..GenerateParameters::default() };
        Self::new(prompt, model, Options { sampler: Some(sampler), parameters: &parameters, ..options })
    }

    /// The form over a bare prompt array (IT-6).
    #[deprecated(note = "call TokenIterator::new with the same arguments")]
    pub fn from_prompt_array(prompt: &[i64], model: Rc<dyn Model<Layer>>, options: Options) -> Result<Self> {
        Self::new(prompt, model, options)
    }

    /// The next token; none for ever once the limit is reached (NX-1).
    pub fn next_token(&mut self) -> Result<Option<i64>> {
        if self.limit_reached() {
            return Ok(None);
        }
        let token = self.pending;
        self.pending = self.step(&[token])?; // NX-2: one token ahead
        self.count += 1;
        Ok(Some(token))
    }

    pub fn container(&self) -> &SharedContainer {
        &self.container
    }

    pub fn count(&self) -> i64 {
        self.count
    }

    /// Seconds.
    pub fn prefill_time(&self) -> f64 {
        self.prefill_time
    }

    fn limit_reached(&self) -> bool {
        match self.parameters.max_tokens {
            None => false,
            Some(limit) if planted("limit-off-by-one") => self.count > limit,
            Some(limit) => self.count >= limit,
        }
    }

    fn prepare(&mut self, prompt: &[i64]) -> Result<i64> {
        if let Some(processor) = &mut self.processor {
            processor.prompt(prompt); // PR-1
        }
        let layers = self.container.borrow().layers().to_vec();
        match self.model.prepare(prompt, &layers, self.parameters.prefill_step)? {
            Prepared::Result(result) => Ok(self.sample(&result.logits)), // PR-4 `bare`: no call, no pass, no state
            Prepared::Tokens(tokens) if tokens.is_empty() => {
                invalid("the prefill left no tokens and no logits. PR-5")
            }
            Prepared::Tokens(tokens) => self.step(&tokens), // PR-3
        }
    }

    fn step(&mut self, tokens: &[i64]) -> Result<i64> {
        let layers = self.container.borrow().layers().to_vec();
        let cache = (!layers.is_empty()).then_some(&layers[..]);
        let result = self.model.call(&[tokens.to_vec()], cache, self.state)?; // ST-3
        self.state = result.state; // ST-4
        let GenerateParameters { bits, group_size, start, .. } = self.parameters;
        self.container.borrow_mut().maybe_quantize(bits, group_size, start)?; // ST-1, IT-3
        Ok(self.sample(&result.logits))
    }

    fn sample(&mut self, logits: &Logits) -> i64 {
        let mut last = logits.row(logits.rows() - 1); // ST-5
        if let Some(processor) = &mut self.processor {
            last = processor.process(last);
        }
        let token = self.sampler.sample(&last);
        if let Some(processor) = &mut self.processor {
            processor.did_sample(token); // PS-1
        }
        token
    }
}
