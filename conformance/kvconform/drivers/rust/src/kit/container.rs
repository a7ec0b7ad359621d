//! `container` scenarios: holders of the same layers, steps, and what each holder sees (contract, section 5).

use std::cell::RefCell;
use std::rc::Rc;

use serde::Serialize;

use super::failure::{guarded, Answer, Failure};
use super::interface::{Implementation, List};
use super::layers::{build_all, glance, write_rows};
use super::looks::{Holders, Lists, Registry, View};
use super::model::ScriptedModel;
use super::prefill::Plan;
use super::run::{step_error, StepError};
use super::scenario::{number_layers, ContainerScenario, Form, Given, Layer, Script, Step, Through};

#[derive(Debug, Serialize)]
pub struct ContainerObservation {
    list_requests: i64,
    steps: Vec<Record>,
}

#[derive(Debug, Serialize)]
struct Record {
    #[serde(flatten)]
    outcome: Outcome,
    holders: Holders,
    objects: Vec<View>,
}

/// What a step gave.
#[derive(Debug, Default, Serialize)]
struct Outcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<StepError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    returned: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trimmed: Option<Vec<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accesses: Option<i64>,
}

impl Outcome {
    fn of(answer: Answer<Outcome>) -> Answer<Outcome> {
        answer.or_else(|failure| Ok(Outcome { error: Some(step_error(failure)?), ..Outcome::default() }))
    }
}

/// One record after building, then one per step.
pub fn run_container<I: Implementation>(
    implementation: &Rc<I>,
    mut scenario: ContainerScenario,
) -> Answer<ContainerObservation> {
    number_layers(&mut scenario.layers);
    let list = build_all(&**implementation, &scenario.layers)?;
    let mut registry = Registry::new(implementation, scenario.observe);
    registry.meet_all(&list)?;
    let holding = match scenario.form {
        Form::Free => hold_free(&list, &scenario),
        Form::Container => hold_container(implementation, &list, &scenario)?,
    };
    let mut bench = Bench {
        implementation: Rc::clone(implementation),
        layers: scenario.layers,
        counting: scenario.observe.accesses && implementation.info().has("accesses"),
        registry,
        holding,
    };
    let mut steps = vec![bench.record(Outcome::default())?];
    for step in &scenario.steps {
        let outcome = Outcome::of(guarded(|| bench.perform(step)))?;
        steps.push(bench.record(outcome)?);
    }
    Ok(ContainerObservation { list_requests: bench.holding.requests, steps })
}

/// The layers of one scenario, and whoever holds them.
struct Bench<I: Implementation> {
    implementation: Rc<I>,
    layers: Vec<Layer>,
    counting: bool,
    registry: Registry<I>,
    holding: Holding<I>,
}

impl<I: Implementation> Bench<I> {
    fn record(&mut self, outcome: Outcome) -> Answer<Record> {
        let holders = self.registry.meet_holders(self.holding.lists(&self.implementation)?)?;
        Ok(Record { outcome, holders, objects: self.registry.views()? })
    }

    fn perform(&mut self, step: &Step) -> Answer<Outcome> {
        let mut outcome = Outcome::default();
        match step {
            Step::Pass { bits, group_size, start } => return self.run_pass(*bits, *group_size, *start),
            Step::Append { rows, salt, layers, through } => {
                let list = self.list_of(*through)?;
                for place in self.places(layers.as_deref())? {
                    write_rows(&*self.implementation, &self.layers[place], &list[place], *rows, *salt)?;
                }
            }
            Step::Trim { rows, layers } => {
                let list = self.list_of(Through::Container)?;
                let places = self.places(layers.as_deref())?;
                let trim = |place: usize| self.implementation.trim(&list[place], *rows);
                outcome.trimmed = Some(places.into_iter().map(trim).collect::<Answer<_>>()?);
            }
            Step::DropFront {} => {
                for cache in self.list_of(Through::Container)? {
                    if glance(&*self.implementation, &cache)?.kind == "chunked" {
                        self.implementation.drop_front(&cache)?;
                    }
                }
            }
        }
        Ok(outcome)
    }

    /// One call of the pass, with the looks at layers that it made where they are observed.
    fn run_pass(&mut self, bits: Option<i64>, group_size: i64, start: i64) -> Answer<Outcome> {
        let before = if self.counting { self.implementation.accesses()? } else { 0 };
        let answer = guarded(|| self.holding.run_pass(&self.implementation, bits, group_size, start));
        let mut outcome = Outcome::of(answer.map(|returned| Outcome { returned, ..Outcome::default() }))?;
        if self.counting {
            outcome.accesses = Some(self.implementation.accesses()? - before);
        }
        Ok(outcome)
    }

    fn list_of(&self, through: Through) -> Answer<Vec<I::Cache>> {
        let name = if through == Through::Caller { "caller" } else { "container" };
        let lists = self.holding.lists(&self.implementation)?;
        let found = lists.into_iter().find(|(holder, _)| *holder == name);
        let why = || {
            Failure::Unsupported(format!("there is no {name} with a list here: the model was asked for one"))
        };
        found.map(|(_, list)| list).ok_or_else(why)
    }

    fn places(&self, named: Option<&[usize]>) -> Answer<Vec<usize>> {
        let count = self.layers.len();
        let places = named.map_or_else(|| (0..count).collect(), <[usize]>::to_vec);
        match places.iter().find(|place| **place >= count) {
            Some(wrong) => Err(Failure::Refused(format!("a step names layer {wrong}, there are {count}"))),
            None => Ok(places),
        }
    }
}

/// Who holds the layers.
struct Holding<I: Implementation> {
    working: Working<I>,
    caller: Option<List<I::Cache>>,
    twin: Option<Working<I>>,
    requests: i64,
}

/// What a pass works on.
enum Working<I: Implementation> {
    Container(I::Container),
    List(List<I::Cache>),
}

impl<I: Implementation> Working<I> {
    fn layers(&self, implementation: &I) -> Answer<Vec<I::Cache>> {
        match self {
            Working::Container(container) => implementation.layers(container),
            Working::List(list) => Ok(list.borrow().clone()),
        }
    }
}

impl<I: Implementation> Holding<I> {
    fn lists(&self, implementation: &I) -> Answer<Lists<I::Cache>> {
        let working = self.working.layers(implementation)?;
        let mut lists = vec![("container", working.clone()), ("alias", working)];
        if let Some(caller) = &self.caller {
            lists.push(("caller", caller.borrow().clone()));
        }
        if let Some(twin) = &self.twin {
            lists.push(("twin", twin.layers(implementation)?));
        }
        Ok(lists)
    }

    /// What the pass answers; none where it answers nothing.
    fn run_pass(
        &mut self,
        implementation: &I,
        bits: Option<i64>,
        group_size: i64,
        start: i64,
    ) -> Answer<Option<bool>> {
        match &mut self.working {
            Working::Container(container) => {
                implementation.container_pass(container, bits, group_size, start)?;
                Ok(None)
            }
            Working::List(list) => {
                let answer = implementation.free_pass(list, bits, group_size, start)?;
                if let Some(new) = answer.list {
                    *list = new;
                }
                Ok(answer.returned)
            }
        }
    }
}

/// A container over the caller's list, or over one that the model made; maybe a second container.
fn hold_container<I: Implementation>(
    implementation: &Rc<I>,
    list: &[I::Cache],
    scenario: &ContainerScenario,
) -> Answer<Holding<I>> {
    let caller: List<I::Cache> = Rc::new(RefCell::new(list.to_vec()));
    let second = Rc::new(RefCell::new(list.to_vec()));
    let model = ScriptedModel::new(implementation, &scenario.layers, list, Script::default(), Plan::Window);
    let from_model = scenario.given == Given::Model;
    let container = if from_model {
        implementation.make_container_from_model(&model, scenario.built)?
    } else {
        implementation.make_container(&caller, scenario.built)?
    };
    let twin = scenario.twin.then(|| implementation.make_container(&second, scenario.built)).transpose()?;
    Ok(Holding {
        working: Working::Container(container),
        caller: (!from_model).then_some(caller),
        twin: twin.map(Working::Container),
        requests: model.requests.get(),
    })
}

/// Lists and no container: the pass without memory works on the caller's list.
fn hold_free<I: Implementation>(list: &[I::Cache], scenario: &ContainerScenario) -> Holding<I> {
    let caller: List<I::Cache> = Rc::new(RefCell::new(list.to_vec()));
    Holding {
        working: Working::List(Rc::clone(&caller)),
        caller: Some(caller),
        twin: scenario.twin.then(|| Working::List(Rc::new(RefCell::new(list.to_vec())))),
        requests: 0,
    }
}
