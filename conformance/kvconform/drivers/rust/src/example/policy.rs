//! One maybe-quantize pass in the dialect `proposal`: planned first, conversions included, and committed afterwards, so
//! that a pass that fails has changed nothing (MQ-13).

use std::collections::HashMap;

use super::caches::Layer;
use super::error::Result;
use super::group_size::{check_bits, compatible_group_sizes, resolve_group_size};
use super::plant::planted;

/// QP-1, QP-2: a chunked cache counts as plain.
pub fn is_quantizable(layer: &Layer) -> bool {
    match layer.look().kind() {
        "plain" | "chunked" => true,
        "rotating" => planted("convert-rotating"),
        _ => false,
    }
}

/// Whether it can be quantized at some group size, whatever is requested (HD-2).
pub fn is_compatible(layer: &Layer) -> Result<bool> {
    let dims = layer.look().head_dims();
    Ok(match dims {
        Some((key_dim, value_dim)) => !compatible_group_sizes(key_dim, value_dim)?.is_empty(),
        None => false,
    })
}

/// Whether the layer triggers: quantizable and over the line, compatible or not (TH-1, TH-4, TH-5).
pub fn qualifies(layer: &Layer, start: i64) -> bool {
    is_quantizable(layer) && layer.look().offset().is_some_and(|offset| offset >= start)
}

/// Whether the pass converts the layer, once one layer has triggered (MQ-3).
pub fn converts(layer: &Layer, group_size: i64) -> Result<bool> {
    if layer.look().kind() == "quantized" && planted("quantize-twice") {
        return Ok(true);
    }
    if !is_quantizable(layer) || !layer.look().holds_every_row() {
        return Ok(false);
    }
    let dims = layer.look().head_dims();
    Ok(match dims {
        Some((key_dim, value_dim)) => resolve_group_size(group_size, key_dim, value_dim)?.is_some(),
        None => false, // an empty layer stays plain (MQ-8)
    })
}

/// The layers after the pass; none when it does not trigger. Nothing has changed yet.
pub fn plan_pass(
    layers: &[Layer],
    bits: Option<i64>,
    group_size: i64,
    start: i64,
) -> Result<Option<Vec<Layer>>> {
    let Some(bits) = bits else { return Ok(None) }; // MQ-1
    if !layers.iter().any(|layer| qualifies(layer, start)) {
        return Ok(None); // MQ-2
    }
    check_bits(bits)?; // MQ-14
    let mut results: HashMap<usize, Layer> = HashMap::new(); // an object in two places is converted once (MQ-12)
    let mut after = Vec::with_capacity(layers.len());
    for layer in layers {
        let result = match results.get(&layer.identity()) {
            Some(known) => known.clone(),
            None if converts(layer, group_size)? => Layer::new(layer.look().to_quantized(bits, group_size)?),
            None => layer.clone(),
        };
        results.insert(layer.identity(), result.clone());
        after.push(result);
    }
    Ok(Some(after))
}

/// The free pass, without memory, on the list itself; whether it triggered (MQ-15).
pub fn maybe_quantize(list: &mut Vec<Layer>, bits: Option<i64>, group_size: i64, start: i64) -> Result<bool> {
    let plan = plan_pass(list, bits, group_size, start)?;
    let triggered = plan.is_some();
    if let Some(layers) = plan {
        *list = layers;
    }
    Ok(triggered)
}
