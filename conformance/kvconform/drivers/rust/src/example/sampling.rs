//! Generation parameters, and the sampler and processor that they give (IT-0, PS). Scenarios are greedy, so there is no
//! sampling at a temperature here.

use std::collections::{BTreeSet, VecDeque};

pub use crate::kit::{Processor, Sampler};

/// The lowest index of the highest logit (PS-2).
pub struct ArgmaxSampler;

impl Sampler for ArgmaxSampler {
    fn sample(&mut self, logits: &[f32]) -> i64 {
        let mut best = 0;
        for (token, logit) in logits.iter().enumerate() {
            if *logit > logits[best] {
                best = token;
            }
        }
        best as i64
    }
}

/// Makes tokens of the latest `context_size` ones less likely (PS-3).
pub struct RepetitionPenaltyProcessor {
    penalty: f32,
    context_size: usize,
    context: VecDeque<i64>,
}

impl RepetitionPenaltyProcessor {
    pub fn new(penalty: f32, context_size: usize) -> Self {
        RepetitionPenaltyProcessor { penalty, context_size, context: VecDeque::new() }
    }
}

impl Processor for RepetitionPenaltyProcessor {
    fn prompt(&mut self, tokens: &[i64]) {
        self.context = tokens[tokens.len().saturating_sub(self.context_size)..].iter().copied().collect();
    }

    fn process(&mut self, mut logits: Vec<f32>) -> Vec<f32> {
        for token in self.context.iter().collect::<BTreeSet<_>>() {
            let logit = &mut logits[*token as usize];
            *logit = if *logit > 0.0 { *logit / self.penalty } else { *logit * self.penalty };
        }
        logits
    }

    fn did_sample(&mut self, token: i64) {
        self.context.push_back(token);
        if self.context.len() > self.context_size {
            self.context.pop_front();
        }
    }
}

#[derive(Debug, Clone)]
pub struct GenerateParameters {
    pub max_tokens: Option<i64>,
    pub bits: Option<i64>,
    pub group_size: i64,
    pub start: i64,
    pub prefill_step: i64,
    pub repetition_penalty: Option<f64>,
    pub repetition_context_size: i64,
}

impl Default for GenerateParameters {
    fn default() -> Self {
        GenerateParameters {
            max_tokens: None,
            bits: None,
            group_size: 64,
            start: 0,
            prefill_step: 512,
            repetition_penalty: None,
            repetition_context_size: 20,
        }
    }
}

/// What an iterator takes of parameters: their values, and the sampler and processor that they give.
pub trait Parameters {
    fn values(&self) -> &GenerateParameters;

    fn sampler(&self) -> Box<dyn Sampler> {
        Box::new(ArgmaxSampler)
    }

    /// None without a penalty.
    fn processor(&self) -> Option<Box<dyn Processor>> {
        let penalty = self.values().repetition_penalty? as f32;
        let context_size = self.values().repetition_context_size as usize;
        Some(Box::new(RepetitionPenaltyProcessor::new(penalty, context_size)))
    }
}

impl Parameters for GenerateParameters {
    fn values(&self) -> &GenerateParameters {
        self
    }
}
