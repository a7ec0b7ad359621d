//! Processors and samplers of a scripted turn; all of them write the trace (contract, section 6).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::arithmetic::chain_all;
use super::interface::Implementation;
use super::layers::signatures;
use super::model::{Event, ScriptedModel, Trace};

/// Picks the next token.
pub trait Sampler {
    fn sample(&mut self, logits: &[f32]) -> i64;
}

/// Changes logits before sampling and is told what was sampled.
pub trait Processor {
    fn prompt(&mut self, tokens: &[i64]);
    fn process(&mut self, logits: Vec<f32>) -> Vec<f32>;
    fn did_sample(&mut self, token: i64);
}

const BOOST: f32 = 1024.0;
const BOOST_SEED: i64 = 99;

/// Adds so much to one logit, another one at each call, that the sampler takes its token.
#[derive(Default)]
pub struct BoostProcessor {
    calls: i64,
}

impl Processor for BoostProcessor {
    fn prompt(&mut self, _tokens: &[i64]) {}

    fn process(&mut self, mut logits: Vec<f32>) -> Vec<f32> {
        let token = chain_all(&[BOOST_SEED, self.calls]) as usize % logits.len();
        logits[token] += BOOST;
        self.calls += 1;
        logits
    }

    fn did_sample(&mut self, _token: i64) {}
}

/// The lowest index of the highest logit, or of the lowest one.
pub struct ExtremeSampler {
    pub lowest: bool,
}

impl Sampler for ExtremeSampler {
    fn sample(&mut self, logits: &[f32]) -> i64 {
        let beats = |one: f32, other: f32| if self.lowest { one < other } else { one > other };
        let mut best = 0;
        for token in 1..logits.len() {
            if beats(logits[token], logits[best]) {
                best = token;
            }
        }
        best as i64
    }
}

/// What logging samplers and processors share: the trace, and the container that the iterator works on.
pub struct Logged<I: Implementation> {
    implementation: Rc<I>,
    model: Rc<ScriptedModel<I>>,
    working: RefCell<Option<I::Container>>,
    /// A lazy iterator is prefilling: `next` is logged behind that.
    pub awaited: Cell<bool>,
    /// Whether `did-sample` follows a sample, so that `next` is logged behind it.
    pub did_sample_follows: Cell<bool>,
}

impl<I: Implementation> Logged<I> {
    pub fn new(
        implementation: &Rc<I>,
        model: &Rc<ScriptedModel<I>>,
        container: Option<I::Container>,
    ) -> Rc<Self> {
        Rc::new(Logged {
            implementation: Rc::clone(implementation),
            model: Rc::clone(model),
            working: RefCell::new(container),
            awaited: Cell::new(false),
            did_sample_follows: Cell::new(false),
        })
    }

    pub fn sampler(this: &Rc<Self>, own: Box<dyn Sampler>) -> Box<dyn Sampler> {
        Box::new(LoggedSampler { own, log: Rc::clone(this) })
    }

    pub fn processor(this: &Rc<Self>, own: Box<dyn Processor>) -> Box<dyn Processor> {
        this.did_sample_follows.set(this.implementation.info().has("processors"));
        Box::new(LoggedProcessor { own, log: Rc::clone(this) })
    }

    pub fn deprecated(&self) {
        self.log(Event::Deprecated);
    }

    pub fn works_on(&self, container: I::Container) {
        *self.working.borrow_mut() = Some(container);
    }

    pub fn log(&self, event: Event) {
        self.trace().borrow_mut().push(event);
    }

    /// Logs what a `next` answered.
    pub fn answered(&self, token: Option<i64>) {
        self.log(token.map_or(Event::End, |token| Event::Token { token }));
    }

    /// Logs the `next` that a lazy iterator's prefill held back.
    pub fn prefilled(&self) {
        if self.awaited.replace(false) {
            self.log(Event::Next);
        }
    }

    fn trace(&self) -> &Trace {
        self.model.trace()
    }

    /// The signatures of the iterator's current list.
    fn caches(&self) -> Vec<String> {
        let list = match &*self.working.borrow() {
            Some(container) => self.implementation.layers(container),
            None => Ok(self.model.last_seen.borrow().clone()),
        };
        list.and_then(|list| signatures(&*self.implementation, &list)).unwrap_or_default()
    }
}

struct LoggedSampler<I: Implementation> {
    own: Box<dyn Sampler>,
    log: Rc<Logged<I>>,
}

impl<I: Implementation> Sampler for LoggedSampler<I> {
    fn sample(&mut self, logits: &[f32]) -> i64 {
        let token = self.own.sample(logits);
        self.log.log(Event::Sample { token });
        if !self.log.did_sample_follows.get() {
            self.log.prefilled();
        }
        token
    }
}

struct LoggedProcessor<I: Implementation> {
    own: Box<dyn Processor>,
    log: Rc<Logged<I>>,
}

impl<I: Implementation> Processor for LoggedProcessor<I> {
    fn prompt(&mut self, tokens: &[i64]) {
        self.log.log(Event::Prompt { tokens: tokens.to_vec() });
        self.own.prompt(tokens);
    }

    fn process(&mut self, logits: Vec<f32>) -> Vec<f32> {
        self.log.log(Event::Process { caches: self.log.caches() });
        self.own.process(logits)
    }

    fn did_sample(&mut self, token: i64) {
        self.log.log(Event::DidSample { token });
        self.own.did_sample(token);
        self.log.prefilled();
    }
}
