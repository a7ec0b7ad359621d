//! Vectors: a scenario, the answer that is expected, and for whom it holds (docs/vectors.md).

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use serde::Deserialize;
use serde_json::Value;

use super::interface::Info;

/// Texts, times and spare capacity are each implementation's own.
const NOT_COMPARED: [&str; 3] = ["message", "prefill_times", "nbytes"];

#[derive(Debug, Clone, Deserialize)]
pub struct Vector {
    pub id: String,
    pub comment: String,
    dialects: Vec<String>,
    #[serde(default)]
    needs: Vec<String>,
    pub scenario: Value,
    pub expected: Value,
}

impl Vector {
    /// Every vector in a folder such as goldens/vectors.
    pub fn all(folder: impl AsRef<Path>) -> io::Result<Vec<Vector>> {
        let mut vectors = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                vectors.extend(Vector::all(path)?);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                vectors.push(serde_json::from_slice(&fs::read(path)?)?);
            }
        }
        Ok(vectors)
    }

    /// Whether it holds for the dialect, and asks for nothing that is not declared.
    pub fn applies_to(&self, info: &Info) -> bool {
        let named = self.dialects.iter().any(|name| info.dialect == name.as_str());
        named && self.needs.iter().all(|need| need.split('|').any(|one| is_met(one, info)))
    }

    /// Where an answer is not the expected one; none when it is.
    pub fn difference(&self, answer: &Value) -> Option<String> {
        first_difference("answer", &self.expected, answer)
    }
}

fn is_met(need: &str, info: &Info) -> bool {
    let can = &info.capabilities;
    match need.split_once(':') {
        Some(("kind", name)) => can.kinds.contains(&name),
        Some(("layer", name)) => can.layers.contains(&name),
        Some(("dtype", name)) => can.dtypes.contains(&name),
        Some(("bits", name)) => can.bits.iter().any(|bits| bits.to_string() == name),
        Some((_, name)) => can.features.contains(&name),
        None => false,
    }
}

/// Any error is as good as another but the model's own.
fn is_error(record: &Value) -> bool {
    record["error"].is_object() && record["error"]["kind"] != "model"
}

/// A field that is absent is null.
fn first_difference(place: &str, wanted: &Value, given: &Value) -> Option<String> {
    match (wanted, given) {
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            let is_compared = |name: &String| match name.as_str() {
                "accesses" => one.contains_key(name),
                "error" => !(is_error(wanted) && is_error(given)),
                name => !NOT_COMPARED.contains(&name),
            };
            let names = names.into_iter().filter(|name| is_compared(name));
            names
                .map(|name| (name, &wanted[name.as_str()], &given[name.as_str()]))
                .find_map(|(name, one, other)| first_difference(&format!("{place}.{name}"), one, other))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let pairs = one.iter().zip(other).enumerate();
            pairs
                .into_iter()
                .find_map(|(i, (one, other))| first_difference(&format!("{place}[{i}]"), one, other))
        }
        _ => (wanted != given).then(|| format!("{place} is {given}, expected {wanted}")),
    }
}
