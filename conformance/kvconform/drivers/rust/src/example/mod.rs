//! A small implementation of dynamically quantized KV caches, written from the specification, in the dialect `proposal`.
//! It knows nothing of the kit but the model and the samplers that its token iterator works with.

pub mod affine;
pub mod caches;
pub mod container;
pub mod error;
pub mod floats;
pub mod group_size;
pub mod iterator;
pub mod plant;
pub mod policy;
pub mod rows;
pub mod sampling;
pub mod storage;
