//! Everything that a driver needs but the implementation under test.
//!
//! You write a type with the trait [`Implementation`], and hand it to [`serve`]. What the trait's methods are not
//! overridden for is answered as "unsupported"; declare in [`Info`] only what you have. The meaning of every field is
//! that of the contract, docs/scenarios.md.

mod arithmetic;
mod bounds;
mod cache;
mod container;
mod failure;
mod interface;
mod iterate;
mod layers;
mod looks;
mod model;
mod numbers;
mod players;
mod prefill;
mod run;
mod scenario;
mod tensor;
mod vector;
mod wire;

pub use failure::{Answer, Failure};
pub use interface::{
    Capabilities, Content, Exported, FreePass, Implementation, Info, List, Look, Packed, Request,
};
pub use layers::Rows;
pub use model::{Logits, Model, ModelResult, Prepared};
pub use players::{Processor, Sampler};
pub use run::{answer, Bad};
pub use scenario::{Built, Kind, Layer, Observe, Parameters};
pub use tensor::Tensor;
pub use vector::Vector;
pub use wire::{serve, Server};
