//! `cache` scenarios: operations on one cache, and what each cache object shows then (contract, section 5).

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use super::failure::{guarded, Answer, Failure};
use super::interface::{Exported, Implementation};
use super::layers::{build, glance, write_rows};
use super::looks::{Registry, View};
use super::run::{step_error, StepError};
use super::scenario::{number_layers, CacheScenario, Layer, Operation};

#[derive(Debug, Serialize)]
pub struct CacheObservation {
    records: Vec<Record>,
}

#[derive(Debug, Serialize)]
struct Record {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<StepError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<i64>,
    current: usize,
    objects: Vec<View>,
}

/// One record for the fresh cache, then one per operation.
pub fn run_cache<I: Implementation>(
    implementation: &Rc<I>,
    scenario: CacheScenario,
) -> Answer<CacheObservation> {
    let mut layers = [scenario.layer];
    number_layers(&mut layers);
    let first = build(&**implementation, &layers[0])?;
    let mut bench = Bench {
        implementation: Rc::clone(implementation),
        registry: Registry::new(implementation, scenario.observe),
        slots: HashMap::new(),
        current: first.clone(),
    };
    bench.make_current(first, &layers[0])?;
    let mut records = vec![bench.record(Ok(None))?];
    for operation in &scenario.operations {
        let outcome = guarded(|| bench.perform(operation));
        records.push(bench.record(outcome)?);
    }
    Ok(CacheObservation { records })
}

/// The cache under test and everything that came out of it.
struct Bench<'a, I: Implementation> {
    implementation: Rc<I>,
    registry: Registry<I>,
    /// What each cache object stands for, by identity.
    slots: HashMap<usize, &'a Layer>,
    current: I::Cache,
}

impl<'a, I: Implementation> Bench<'a, I> {
    fn record(&mut self, outcome: Answer<Option<i64>>) -> Answer<Record> {
        let (result, error) = match outcome {
            Ok(result) => (result, None),
            Err(failure) => (None, Some(step_error(failure)?)),
        };
        let current = self.registry.meet(&self.current.clone())?;
        Ok(Record { error, result, current, objects: self.registry.views()? })
    }

    fn perform(&mut self, operation: &Operation) -> Answer<Option<i64>> {
        let implementation = Rc::clone(&self.implementation);
        let current = self.current.clone();
        let slot = self.slot();
        match *operation {
            Operation::Append { rows, salt } => {
                return write_rows(&*implementation, slot, &current, rows, salt);
            }
            Operation::Trim { rows } => return implementation.trim(&current, rows).map(Some),
            Operation::SaveLoad {} => {
                let folder = TemporaryFolder::new()?;
                let exported = implementation.save_and_load(&current, &folder.0.join("cache"))?;
                return self.replace(exported, slot);
            }
            Operation::State {} => return self.replace(implementation.state_round_trip(&current)?, slot),
            Operation::Convert { bits, group_size } => {
                self.make_current(implementation.convert(&current, bits, group_size)?, slot)?;
            }
            Operation::Copy {} => self.make_current(implementation.copy(&current)?, slot)?,
            Operation::DropFront {} => implementation.drop_front(&current)?,
            Operation::Select { cache } => self.current = self.earlier(cache)?,
        }
        Ok(None)
    }

    fn slot(&self) -> &'a Layer {
        self.slots[&self.implementation.identity(&self.current)]
    }

    fn earlier(&self, number: usize) -> Answer<I::Cache> {
        let objects = &self.registry.objects;
        let why = || Failure::Refused(format!("there is no cache {number}; there are {}", objects.len()));
        objects.get(number).cloned().ok_or_else(why)
    }

    fn replace(&mut self, exported: Exported<I::Cache>, slot: &'a Layer) -> Answer<Option<i64>> {
        self.make_current(exported.cache, slot)?;
        Ok(exported.rows)
    }

    fn make_current(&mut self, cache: I::Cache, slot: &'a Layer) -> Answer<()> {
        self.keep_slot(&cache, slot)?;
        self.current = cache;
        Ok(())
    }

    fn keep_slot(&mut self, cache: &I::Cache, slot: &'a Layer) -> Answer<()> {
        self.registry.meet(cache)?;
        self.slots.entry(self.implementation.identity(cache)).or_insert(slot);
        for (child, child_slot) in glance(&*self.implementation, cache)?.children.iter().zip(&slot.children) {
            self.keep_slot(child, child_slot)?;
        }
        Ok(())
    }
}

/// A folder that goes away with its owner.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Answer<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("kvconform-{}-{number}", std::process::id()));
        let failed = |error| Failure::Internal(format!("no temporary folder {}: {error}", path.display()));
        std::fs::create_dir(&path).map_err(failed)?;
        Ok(TemporaryFolder(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
