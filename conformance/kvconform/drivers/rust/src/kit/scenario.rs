//! Scenarios as they come over the wire: unknown fields are refused, what is left out has the schema's default.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::tensor::Tensor;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Plain,
    Chunked,
    Rotating,
    Quantized,
    Recurrent,
    Composite,
}

impl Kind {
    /// The fields that a layer of this kind may have.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Kind::Plain => &["length", "trim"],
            Kind::Chunked => &["length", "chunk_size", "drop_front"],
            Kind::Rotating => &["length", "max_size", "keep", "singly"],
            Kind::Quantized => &["length", "group_size", "bits"],
            Kind::Recurrent => &["slots", "filled"],
            Kind::Composite => &["children"],
        }
    }

    fn has_field(self, name: &str) -> bool {
        let holds_rows = !matches!(self, Kind::Recurrent | Kind::Composite);
        let common = ["key_dim", "value_dim", "heads", "dtype"];
        name == "kind" || self.fields().contains(&name) || (holds_rows && common.contains(&name))
    }
}

/// A layer: the fields of all kinds, each with its default.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Layer {
    pub kind: Kind,
    #[serde(default)]
    pub length: i64,
    #[serde(default)]
    pub trim: i64,
    #[serde(default = "sixteen")]
    pub chunk_size: i64,
    #[serde(default)]
    pub drop_front: bool,
    #[serde(default = "sixteen")]
    pub max_size: i64,
    #[serde(default)]
    pub keep: i64,
    #[serde(default)]
    pub singly: bool,
    #[serde(default = "sixty_four")]
    pub group_size: i64,
    #[serde(default = "four")]
    pub bits: i64,
    #[serde(default = "sixty_four")]
    pub key_dim: i64,
    #[serde(default = "sixty_four")]
    pub value_dim: i64,
    #[serde(default = "one")]
    pub heads: i64,
    #[serde(default = "float32")]
    pub dtype: String,
    #[serde(default = "two")]
    pub slots: i64,
    #[serde(default = "yes")]
    pub filled: bool,
    #[serde(default)]
    pub children: Vec<Layer>,
    /// The layer's number: depth first, a composite before its children.
    #[serde(skip)]
    pub stream: i64,
}

/// As derived, but that a field of another kind is unknown.
impl<'de> Deserialize<'de> for Layer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let data = Map::deserialize(deserializer)?;
        let names: Vec<String> = data.keys().cloned().collect();
        let layer = Layer::deserialize(Value::Object(data)).map_err(D::Error::custom)?;
        match names.iter().find(|name| !layer.kind.has_field(name)) {
            Some(name) => {
                Err(D::Error::custom(format!("unknown field `{name}` of a {:?} layer", layer.kind)))
            }
            None => Ok(layer),
        }
    }
}

/// Numbers the layers from 0, depth first.
pub fn number_layers(layers: &mut [Layer]) {
    fn number(layers: &mut [Layer], next: &mut i64) {
        for layer in layers {
            layer.stream = *next;
            *next += 1;
            number(&mut layer.children, next);
        }
    }
    number(layers, &mut 0);
}

/// What a look shows beyond the cheap fields.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Observe {
    pub content: bool,
    pub accounting: bool,
    pub accesses: bool,
}

/// What a container is constructed with.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Built {
    pub bits: Option<i64>,
    pub group_size: i64,
}

impl Default for Built {
    fn default() -> Self {
        Built { bits: None, group_size: 64 }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Scenario {
    Resolve(Resolve),
    Quantize(Quantize),
    Cache(CacheScenario),
    Container(ContainerScenario),
    Iterate(IterateScenario),
    /// Answered by nobody here.
    Generate,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    #[serde(default = "one")]
    pub version: i64,
    pub requested: i64,
    pub key_dim: Option<i64>,
    pub value_dim: Option<i64>,
    pub layer: Option<Layer>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantize {
    #[serde(default = "one")]
    pub version: i64,
    pub tensor: Tensor,
    pub bits: i64,
    pub group_size: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheScenario {
    #[serde(default = "one")]
    pub version: i64,
    pub layer: Layer,
    #[serde(default)]
    pub operations: Vec<Operation>,
    #[serde(default)]
    pub observe: Observe,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Operation {
    Append {
        rows: i64,
        #[serde(default)]
        salt: i64,
    },
    Trim {
        rows: i64,
    },
    Convert {
        bits: i64,
        #[serde(default = "sixty_four")]
        group_size: i64,
    },
    Copy {},
    SaveLoad {},
    State {},
    DropFront {},
    Select {
        cache: usize,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerScenario {
    #[serde(default = "one")]
    pub version: i64,
    pub layers: Vec<Layer>,
    #[serde(default)]
    pub form: Form,
    #[serde(default)]
    pub given: Given,
    #[serde(default)]
    pub built: Built,
    #[serde(default)]
    pub twin: bool,
    #[serde(default)]
    pub steps: Vec<Step>,
    #[serde(default)]
    pub observe: Observe,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    #[default]
    Container,
    Free,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Given {
    #[default]
    List,
    Model,
    Container,
    Both,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    Append {
        rows: i64,
        #[serde(default)]
        salt: i64,
        layers: Option<Vec<usize>>,
        #[serde(default)]
        through: Through,
    },
    Trim {
        rows: i64,
        layers: Option<Vec<usize>>,
    },
    DropFront {},
    Pass {
        bits: Option<i64>,
        #[serde(default = "sixty_four")]
        group_size: i64,
        #[serde(default)]
        start: i64,
    },
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Through {
    #[default]
    Container,
    Caller,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IterateScenario {
    #[serde(default = "one")]
    pub version: i64,
    pub layers: Vec<Layer>,
    #[serde(default)]
    pub given: Given,
    #[serde(default)]
    pub built: Built,
    #[serde(default)]
    pub model: Script,
    pub turns: Vec<Turn>,
    #[serde(default)]
    pub observe: Observe,
}

/// The scripted model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    pub seed: i64,
    pub vocab: i64,
    pub prepare: Prepare,
    pub state: StateMode,
    pub ties: bool,
}

impl Default for Script {
    fn default() -> Self {
        Script { seed: 0, vocab: 61, prepare: Prepare::Tokens, state: StateMode::None, ties: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prepare {
    Tokens,
    Logits,
    All,
    Raise,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateMode {
    None,
    Always,
    Alternate,
}

/// Generation parameters of a turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    pub max_tokens: Option<i64>,
    pub bits: Option<i64>,
    pub group_size: i64,
    pub start: i64,
    pub prefill_step: i64,
    pub repetition_penalty: Option<f64>,
    pub repetition_context_size: i64,
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters {
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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    pub length: i64,
    #[serde(default)]
    pub seed: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    pub prompt: Prompt,
    #[serde(default)]
    pub parameters: Parameters,
    /// `general`, `sampler-first` or `prompt-array`.
    #[serde(default = "general")]
    pub form: String,
    /// `same` or `caller-list`.
    #[serde(default)]
    pub cache: Passed,
    #[serde(default)]
    pub processor: ExplicitProcessor,
    #[serde(default)]
    pub sampler: ExplicitSampler,
    #[serde(default = "one")]
    pub nexts: i64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Passed {
    #[default]
    Same,
    CallerList,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExplicitProcessor {
    #[default]
    None,
    Boost,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExplicitSampler {
    #[default]
    Parameters,
    Argmax,
    Argmin,
}

fn one() -> i64 {
    1
}

fn two() -> i64 {
    2
}

fn four() -> i64 {
    4
}

fn sixteen() -> i64 {
    16
}

fn sixty_four() -> i64 {
    64
}

fn yes() -> bool {
    true
}

fn float32() -> String {
    "float32".to_string()
}

fn general() -> String {
    "general".to_string()
}
