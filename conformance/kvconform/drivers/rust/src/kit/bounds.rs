//! What the schema says of a scenario beyond names and types: bounds of numbers, lengths of lists, words.

use serde_json::Value;

use super::scenario::{
    Built, CacheScenario, ContainerScenario, Given, IterateScenario, Kind, Layer, Operation, Parameters,
    Quantize, Resolve, Scenario, Step, Turn,
};
use super::tensor::{item_bytes, Tensor};

/// Which field is wrong, and what is due there.
pub type Checked = Result<(), String>;

/// The smallest and the largest integer that a field may hold.
struct Bounds(i64, i64);

const WHOLE: Bounds = Bounds(-(1 << 53), 1 << 53);
const COUNT: Bounds = Bounds(0, 1_000_000);
const POSITIVE: Bounds = Bounds(1, 1_000_000);
const VOCAB: Bounds = Bounds(2, 65_536);

const DTYPES: [&str; 3] = ["float32", "float16", "bfloat16"];
const FORMS: [&str; 3] = ["general", "sampler-first", "prompt-array"];

/// The fields that say what an object is hold texts; serde would take the number of a variant too.
pub fn check_tags(data: &Value) -> Checked {
    match data {
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            let is_tag = matches!(name.as_str(), "kind" | "op" | "do");
            due(!is_tag || value.is_string(), || format!("{name}: {value} is no text"))?;
            check_tags(value)
        }),
        Value::Array(items) => items.iter().try_for_each(check_tags),
        _ => Ok(()),
    }
}

impl Scenario {
    /// Whether everything is within the bounds of the schema.
    pub fn check(&self) -> Checked {
        match self {
            Scenario::Resolve(scenario) => check_resolve(scenario),
            Scenario::Quantize(scenario) => check_quantize(scenario),
            Scenario::Cache(scenario) => check_cache(scenario),
            Scenario::Container(scenario) => check_container(scenario),
            Scenario::Iterate(scenario) => check_iterate(scenario),
            Scenario::Generate => Ok(()),
        }
    }
}

fn check_resolve(scenario: &Resolve) -> Checked {
    let numbers = [Some(scenario.requested), scenario.key_dim, scenario.value_dim];
    integers("resolve", numbers.into_iter().flatten(), WHOLE)?;
    scenario.layer.iter().try_for_each(check_layer)
}

fn check_quantize(scenario: &Quantize) -> Checked {
    integers("quantize", [scenario.bits, scenario.group_size], WHOLE)?;
    check_tensor(&scenario.tensor)
}

fn check_tensor(tensor: &Tensor) -> Checked {
    item_bytes(&tensor.dtype).ok_or_else(|| format!("tensor.dtype: {} is not known", tensor.dtype))?;
    integers("tensor.shape", tensor.shape.iter().copied(), COUNT)?;
    due(tensor.is_whole(), || "tensor.data: does not fill the shape".to_string())
}

fn check_cache(scenario: &CacheScenario) -> Checked {
    check_layer(&scenario.layer)?;
    scenario.operations.iter().try_for_each(check_operation)
}

fn check_operation(operation: &Operation) -> Checked {
    match *operation {
        Operation::Append { rows, salt } => check_append(rows, salt),
        Operation::Trim { rows } => integer("rows", rows, WHOLE),
        Operation::Convert { bits, group_size } => integers("convert", [bits, group_size], WHOLE),
        Operation::Select { cache } => integer("cache", cache as i64, COUNT),
        Operation::Copy {} | Operation::SaveLoad {} | Operation::State {} | Operation::DropFront {} => Ok(()),
    }
}

fn check_append(rows: i64, salt: i64) -> Checked {
    integer("rows", rows, POSITIVE)?;
    integer("salt", salt, COUNT)
}

fn check_container(scenario: &ContainerScenario) -> Checked {
    scenario.layers.iter().try_for_each(check_layer)?;
    let known = matches!(scenario.given, Given::List | Given::Model);
    due(known, || "given: a container is given nothing but a list or a model".to_string())?;
    check_built(scenario.built)?;
    scenario.steps.iter().try_for_each(check_step)
}

fn check_built(built: Built) -> Checked {
    integers("built", built.bits.into_iter().chain([built.group_size]), WHOLE)
}

fn check_step(step: &Step) -> Checked {
    match step {
        Step::Append { rows, salt, layers, .. } => {
            check_append(*rows, *salt)?;
            check_places(layers)
        }
        Step::Trim { rows, layers } => {
            integer("rows", *rows, WHOLE)?;
            check_places(layers)
        }
        Step::Pass { bits, group_size, start } => {
            integers("pass", bits.iter().copied().chain([*group_size, *start]), WHOLE)
        }
        Step::DropFront {} => Ok(()),
    }
}

fn check_places(layers: &Option<Vec<usize>>) -> Checked {
    integers("layers", layers.iter().flatten().map(|place| *place as i64), COUNT)
}

fn check_iterate(scenario: &IterateScenario) -> Checked {
    scenario.layers.iter().try_for_each(check_layer)?;
    check_built(scenario.built)?;
    integer("model.seed", scenario.model.seed, COUNT)?;
    integer("model.vocab", scenario.model.vocab, VOCAB)?;
    due((1..=4).contains(&scenario.turns.len()), || "turns: one to four are due".to_string())?;
    scenario.turns.iter().try_for_each(check_turn)
}

fn check_turn(turn: &Turn) -> Checked {
    integers("turn", [turn.prompt.length, turn.prompt.seed, turn.nexts], COUNT)?;
    word("form", &turn.form, &FORMS)?;
    check_parameters(&turn.parameters)
}

fn check_parameters(parameters: &Parameters) -> Checked {
    let asked = [parameters.group_size, parameters.start, parameters.prefill_step];
    let limits = [parameters.max_tokens, parameters.bits];
    integers("parameters", limits.into_iter().flatten().chain(asked), WHOLE)?;
    integer("repetition_context_size", parameters.repetition_context_size, POSITIVE)?;
    let penalty = parameters.repetition_penalty.unwrap_or(1.0);
    due(penalty > 0.0, || format!("repetition_penalty: {penalty} is not above 0"))
}

fn check_layer(layer: &Layer) -> Checked {
    integers("layer", [layer.length, layer.trim, layer.keep], COUNT)?;
    integers("layer", [layer.key_dim, layer.value_dim, layer.heads], POSITIVE)?;
    integers("layer", [layer.chunk_size, layer.max_size, layer.slots], POSITIVE)?;
    integers("layer", [layer.group_size, layer.bits], WHOLE)?;
    word("dtype", &layer.dtype, &DTYPES)?;
    if layer.kind == Kind::Composite {
        due((1..=8).contains(&layer.children.len()), || "children: one to eight are due".to_string())?;
    }
    layer.children.iter().try_for_each(check_layer)
}

// ---------------------------------------------------------------- one field

fn integers(place: &str, values: impl IntoIterator<Item = i64>, bounds: Bounds) -> Checked {
    let Bounds(least, most) = bounds;
    match values.into_iter().find(|value| !(least..=most).contains(value)) {
        Some(wrong) => Err(format!("{place}: {wrong} is no integer in {least}..{most}")),
        None => Ok(()),
    }
}

fn integer(place: &str, value: i64, bounds: Bounds) -> Checked {
    integers(place, [value], bounds)
}

fn word(place: &str, value: &str, known: &[&str]) -> Checked {
    due(known.contains(&value), || format!("{place}: {value} is not one of {}", known.join(", ")))
}

fn due(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(why())
    }
}
