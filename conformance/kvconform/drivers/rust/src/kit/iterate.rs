//! `iterate` scenarios: turns of a token iterator over the scripted model, and their trace (contract, section 6).

use std::cell::RefCell;
use std::rc::Rc;

use serde::Serialize;

use super::arithmetic::prompt_tokens;
use super::failure::{guarded, Answer, Failure};
use super::interface::{Implementation, List, Request};
use super::layers::build_all;
use super::looks::{Holders, Lists, Registry, View};
use super::model::{Event, Model, ScriptedModel};
use super::players::{BoostProcessor, ExtremeSampler, Logged};
use super::prefill::plan_of;
use super::run::{step_error, StepError};
use super::scenario::{
    number_layers, ExplicitProcessor, ExplicitSampler, Given, IterateScenario, Parameters, Passed, Turn,
};

#[derive(Debug, Serialize)]
pub struct IterateObservation {
    turns: Vec<Record>,
}

#[derive(Debug, Serialize)]
struct Record {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<StepError>,
    trace: Vec<Event>,
    count: Option<i64>,
    prefill_times: Option<(f64, f64)>,
    holders: Holders,
    objects: Vec<View>,
}

/// One record a turn.
pub fn run_iterate<I: Implementation>(
    implementation: &Rc<I>,
    mut scenario: IterateScenario,
) -> Answer<IterateObservation> {
    number_layers(&mut scenario.layers);
    let mut bench = Bench::new(implementation, &scenario)?;
    let turns = scenario.turns.iter().map(|turn| bench.play(turn)).collect::<Answer<_>>()?;
    Ok(IterateObservation { turns })
}

/// The caller of one scenario: its list, its container, the model, and the objects met, over all turns.
struct Bench<I: Implementation> {
    implementation: Rc<I>,
    registry: Registry<I>,
    model: Rc<ScriptedModel<I>>,
    lazy: bool,
    caller: Option<List<I::Cache>>,
    /// The container that the caller has.
    kept: Option<I::Container>,
    /// What the next iterator is handed.
    passed_list: Option<List<I::Cache>>,
    passed_container: Option<I::Container>,
}

impl<I: Implementation> Bench<I> {
    fn new(implementation: &Rc<I>, scenario: &IterateScenario) -> Answer<Self> {
        let list = build_all(&**implementation, &scenario.layers)?;
        let mut registry = Registry::new(implementation, scenario.observe);
        registry.meet_all(&list)?;
        let info = implementation.info();
        let plan = plan_of(&info.dialect);
        let model = ScriptedModel::new(implementation, &scenario.layers, &list, scenario.model.clone(), plan);
        let caller = (scenario.given != Given::Model).then(|| Rc::new(RefCell::new(list)));
        let has_container = matches!(scenario.given, Given::Container | Given::Both);
        let over = caller.as_ref().filter(|_| has_container);
        let kept = over.map(|list| implementation.make_container(list, scenario.built)).transpose()?;
        Ok(Bench {
            implementation: Rc::clone(implementation),
            registry,
            model: Rc::new(model),
            lazy: !info.has("eager"),
            passed_list: caller.clone().filter(|_| scenario.given != Given::Container),
            passed_container: kept.clone(),
            caller,
            kept,
        })
    }

    fn play(&mut self, turn: &Turn) -> Answer<Record> {
        self.model.last_seen.borrow_mut().clear();
        if turn.cache == Passed::CallerList {
            self.passed_list = self.caller.clone().or_else(|| self.model.answered.borrow().clone());
            self.passed_container = None;
        }
        let mut player = Player { iterator: None, first_time: None };
        let outcome = guarded(|| self.take_turn(turn, &mut player));
        let error = outcome.err().map(step_error).transpose()?;
        let count = player.count(&self.implementation)?;
        let prefill_times = player.prefill_times(&self.implementation)?;
        let trace = self.model.trace().take();
        let holders = self.registry.meet_holders(self.lists(player.iterator.as_ref())?)?;
        Ok(Record { error, trace, count, prefill_times, holders, objects: self.registry.views()? })
    }

    fn take_turn(&mut self, turn: &Turn, player: &mut Player<I>) -> Answer<()> {
        if self.lazy && turn.nexts == 0 {
            return Err(Failure::Unsupported(
                "construction runs no prefill here; ask for a token".to_string(),
            ));
        }
        let logged = Logged::new(&self.implementation, &self.model, self.passed_container.clone());
        let mut iterator = self.implementation.make_iterator(self.request(turn, &logged))?;
        let mut nexts = 0..turn.nexts;
        if self.lazy {
            // it prefills when it is first asked, counts as built from then on, and `next` is logged behind that
            logged.awaited.set(true);
            let token = self.implementation.next(&mut iterator)?;
            logged.prefilled();
            logged.answered(token);
            nexts.next();
        }
        let iterator = self.hand_over(iterator, player)?;
        for _ in nexts {
            logged.log(Event::Next);
            logged.answered(self.implementation.next(iterator)?);
        }
        Ok(())
    }

    /// The iterator is built: the caller keeps the first one's own container, and passes it on from now on.
    fn hand_over<'a>(
        &mut self,
        iterator: I::Iterator,
        player: &'a mut Player<I>,
    ) -> Answer<&'a mut I::Iterator> {
        let iterator = player.iterator.insert(iterator);
        player.first_time = self.implementation.prefill_time(iterator)?;
        if self.passed_container.is_none() {
            self.kept = Some(self.implementation.container_of(iterator)?);
        }
        self.passed_list = None;
        self.passed_container.clone_from(&self.kept);
        Ok(iterator)
    }

    fn request(&self, turn: &Turn, logged: &Rc<Logged<I>>) -> Request<I> {
        let sampler_first = turn.form == "sampler-first";
        let explicit = sampler_first || turn.sampler != ExplicitSampler::Parameters;
        let lowest = turn.sampler == ExplicitSampler::Argmin;
        Request {
            form: turn.form.clone(),
            prompt: prompt_tokens(turn.prompt.length, turn.prompt.seed, self.model.script.vocab),
            model: Rc::clone(&self.model) as Rc<dyn Model<I::Cache>>,
            list: self.passed_list.clone(),
            container: self.passed_container.clone(),
            parameters: if sampler_first { only_two(&turn.parameters) } else { turn.parameters.clone() },
            processor: (turn.processor == ExplicitProcessor::Boost)
                .then(|| Logged::processor(logged, Box::new(BoostProcessor::default()))),
            sampler: explicit.then(|| Logged::sampler(logged, Box::new(ExtremeSampler { lowest }))),
            logged: Rc::clone(logged),
        }
    }

    fn lists(&self, iterator: Option<&I::Iterator>) -> Answer<Lists<I::Cache>> {
        let mut lists = Vec::new();
        if let Some(kept) = &self.kept {
            let alias = self.implementation.layers(kept)?;
            let working = match iterator {
                Some(iterator) => self.implementation.layers(&self.implementation.container_of(iterator)?)?,
                None => alias.clone(),
            };
            lists = vec![("container", working), ("alias", alias)];
        }
        lists.extend(self.caller.iter().map(|caller| ("caller", caller.borrow().clone())));
        Ok(lists)
    }
}

/// What `sampler-first` takes of the parameters.
fn only_two(parameters: &Parameters) -> Parameters {
    Parameters {
        prefill_step: parameters.prefill_step,
        max_tokens: parameters.max_tokens,
        ..Parameters::default()
    }
}

/// The iterator of one turn, once it was built, and its prefill time then.
struct Player<I: Implementation> {
    iterator: Option<I::Iterator>,
    first_time: Option<f64>,
}

impl<I: Implementation> Player<I> {
    fn count(&self, implementation: &I) -> Answer<Option<i64>> {
        self.iterator.as_ref().map_or(Ok(None), |iterator| implementation.count(iterator))
    }

    /// After construction, and now.
    fn prefill_times(&self, implementation: &I) -> Answer<Option<(f64, f64)>> {
        let Some(iterator) = &self.iterator else { return Ok(None) };
        Ok(self.first_time.zip(implementation.prefill_time(iterator)?))
    }
}
