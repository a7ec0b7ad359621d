//! `resolve` and `quantize` scenarios (contract, section 4).

use serde::Serialize;

use super::failure::{Answer, Failure};
use super::interface::{Implementation, Packed};
use super::layers::build;
use super::scenario::{number_layers, Layer, Quantize, Resolve};

#[derive(Debug, Serialize)]
pub struct Resolved {
    group_size: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head_dims: Option<(i64, i64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quantizable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compatible: Option<bool>,
}

pub fn run_resolve<I: Implementation>(implementation: &I, scenario: Resolve) -> Answer<Resolved> {
    let Resolve { requested, key_dim, value_dim, layer, .. } = scenario;
    match (key_dim, value_dim, layer) {
        (None, None, Some(layer)) => resolve_layer(implementation, requested, layer),
        (_, _, Some(_)) => Err(Failure::refused("head dims and a layer are given; give one")),
        (Some(key_dim), Some(value_dim), None) => {
            let group_size = implementation.group_size(requested, key_dim, value_dim)?;
            Ok(Resolved { group_size, head_dims: None, quantizable: None, compatible: None })
        }
        _ => Err(Failure::refused("a head dim is missing; give both, or a layer")),
    }
}

fn resolve_layer<I: Implementation>(implementation: &I, requested: i64, layer: Layer) -> Answer<Resolved> {
    let mut layers = [layer];
    number_layers(&mut layers);
    let cache = build(implementation, &layers[0])?;
    let head_dims = implementation.head_dims(&cache)?;
    let quantizable = implementation.is_quantizable(&cache)?;
    let group_size = match head_dims {
        Some((key_dim, value_dim)) if quantizable => {
            implementation.group_size(requested, key_dim, value_dim)?
        }
        _ => None,
    };
    let compatible = quantizable && implementation.is_compatible(&cache)?; // HD-3: asked of quantizable layers only
    Ok(Resolved { group_size, head_dims, quantizable: Some(quantizable), compatible: Some(compatible) })
}

pub fn run_quantize<I: Implementation>(implementation: &I, scenario: Quantize) -> Answer<Packed> {
    let Quantize { tensor, bits, group_size, .. } = scenario;
    if tensor.shape.len() != 2 {
        return Err(Failure::Refused(format!(
            "a tensor of shape {:?} is not 2-d; give [rows, dim]",
            tensor.shape
        )));
    }
    implementation.quantize(&tensor, bits, group_size)
}
