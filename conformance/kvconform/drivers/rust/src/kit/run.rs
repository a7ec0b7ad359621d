//! One scenario in, one observation out.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bounds::check_tags;
use super::cache::{run_cache, CacheObservation};
use super::container::{run_container, ContainerObservation};
use super::failure::{guarded, Answer, Failure};
use super::interface::{Implementation, Packed};
use super::iterate::{run_iterate, IterateObservation};
use super::numbers::{run_quantize, run_resolve, Resolved};
use super::scenario::Scenario;

/// The answer to a scenario, as it goes over the wire.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Observation {
    Resolve(Resolved),
    Quantize(Packed),
    Cache(CacheObservation),
    Container(ContainerObservation),
    Iterate(IterateObservation),
}

/// An error of one step or turn; the scenario goes on after it.
#[derive(Debug, Serialize)]
pub struct StepError {
    kind: &'static str,
    message: String,
}

/// The record of a failure that ended one step; what is no matter of one step is returned again.
pub fn step_error(failure: Failure) -> Answer<StepError> {
    match failure {
        Failure::Unsupported(_) => Err(failure),
        _ => Ok(StepError { kind: failure.kind(), message: failure.to_string() }),
    }
}

/// Why there is no observation.
#[derive(Debug)]
pub enum Bad {
    /// The scenario cannot be read.
    Request(String),
    Failure(Failure),
}

pub fn run_scenario<I: Implementation>(implementation: &Rc<I>, data: Value) -> Result<Observation, Bad> {
    check_tags(&data).map_err(|why| Bad::Request(format!("scenario: {why}")))?;
    let scenario = Scenario::deserialize(data).map_err(|error| Bad::Request(format!("scenario: {error}")))?;
    scenario.check().map_err(|why| Bad::Request(format!("scenario: {why}")))?;
    let (kind, version) = scenario.heading();
    if version != 1 {
        return Err(Bad::Request(format!("scenario.version: {version} is not 1")));
    }
    if !implementation.info().capabilities.kinds.contains(&kind) {
        return Err(Bad::Failure(Failure::Unsupported(format!("this driver answers no {kind} scenarios"))));
    }
    guarded(|| run_kind(implementation, scenario)).map_err(Bad::Failure)
}

fn run_kind<I: Implementation>(implementation: &Rc<I>, scenario: Scenario) -> Answer<Observation> {
    Ok(match scenario {
        Scenario::Resolve(scenario) => Observation::Resolve(run_resolve(&**implementation, scenario)?),
        Scenario::Quantize(scenario) => Observation::Quantize(run_quantize(&**implementation, scenario)?),
        Scenario::Cache(scenario) => Observation::Cache(run_cache(implementation, scenario)?),
        Scenario::Container(scenario) => Observation::Container(run_container(implementation, scenario)?),
        Scenario::Iterate(scenario) => Observation::Iterate(run_iterate(implementation, scenario)?),
        Scenario::Generate => {
            return Err(Failure::Unsupported("the kit answers no generate scenarios".to_string()));
        }
    })
}

impl Scenario {
    fn heading(&self) -> (&'static str, i64) {
        match self {
            Scenario::Resolve(scenario) => ("resolve", scenario.version),
            Scenario::Quantize(scenario) => ("quantize", scenario.version),
            Scenario::Cache(scenario) => ("cache", scenario.version),
            Scenario::Container(scenario) => ("container", scenario.version),
            Scenario::Iterate(scenario) => ("iterate", scenario.version),
            Scenario::Generate => ("generate", 1),
        }
    }
}

/// The observation of a scenario as JSON data, a refusal included: for tests that read vectors.
pub fn answer<I: Implementation>(implementation: &Rc<I>, scenario: Value) -> Result<Value, Bad> {
    match run_scenario(implementation, scenario) {
        Ok(observed) => Ok(serde_json::to_value(observed).expect("observations are JSON")),
        Err(Bad::Failure(Failure::Refused(message))) => {
            Ok(serde_json::json!({"kind": "refused", "message": message}))
        }
        Err(bad) => Err(bad),
    }
}
