//! Affine quantization of one row, step by step in float32, bit for bit as MLX computes it on the CPU (AQ-1). Rust
//! neither fuses nor widens float operations, so that every step is rounded once.

use super::error::{invalid, Result};
use super::floats::DType;
use super::group_size::{check_bits, SUPPORTED_GROUP_SIZES};
use super::rows::StoredRow;

const SMALLEST_SCALE: f32 = 1e-7; // that of an all-zero group

/// One group: codes, and the float32 scale and bias that they decode with, scale * code + bias.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    pub codes: Vec<u8>,
    pub scale: f32,
    pub bias: f32,
}

pub fn quantize_group(values: &[f32], bits: i64) -> Group {
    let top = ((1 << bits) - 1) as f32;
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    for &value in values {
        if value < low {
            low = value; // a NaN never wins
        }
        if value > high {
            high = value;
        }
    }
    let step = (high - low) / top;
    let size = if step > SMALLEST_SCALE { step } else { SMALLEST_SCALE };
    // The edge is the end that is farther from zero, the high one of a tie.
    let (edge, first_scale) = if low.abs() > high.abs() { (low, size) } else { (high, -size) };
    let edge_code = (edge / first_scale).round_ties_even(); // this rounding moves the scale of the whole group
    let (scale, bias) = if edge_code == 0.0 { (first_scale, 0.0) } else { (edge / edge_code, edge) }; // AQ-3
    let code = |value: &f32| clip(((value - bias) / scale).round_ties_even(), top);
    Group { codes: values.iter().map(code).collect(), scale, bias }
}

/// Into 0 .. top; NaN becomes 0.
fn clip(code: f32, top: f32) -> u8 {
    if code > 0.0 {
        code.min(top) as u8
    } else {
        0
    }
}

/// Quantizes a row; only the stored scales and biases are rounded to the dtype.
pub fn quantize_row(values: &[f32], bits: i64, group_size: i64, dtype: DType) -> Result<StoredRow> {
    check_parameters(values.len() as i64, bits, group_size)?;
    let groups: Vec<Group> =
        values.chunks_exact(group_size as usize).map(|group| quantize_group(group, bits)).collect();
    let codes: Vec<u8> = groups.iter().flat_map(|group| group.codes.iter().copied()).collect();
    let scales: Vec<f32> = groups.iter().map(|group| group.scale).collect();
    let biases: Vec<f32> = groups.iter().map(|group| group.bias).collect();
    Ok(StoredRow {
        data: pack_codes(&codes, bits as usize),
        scales: dtype.encode(&scales),
        biases: dtype.encode(&biases),
    })
}

/// A little-endian bit stream: code i starts at bit i * bits. Cut into 32-bit little-endian words it is the same bytes,
/// so codes of 3, 5 and 6 bits straddle words (QC-6).
pub fn pack_codes(codes: &[u8], bits: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(codes.len() * bits / 8);
    let (mut waiting, mut count) = (0u32, 0);
    for &code in codes {
        waiting |= u32::from(code) << count;
        count += bits;
        while count >= 8 {
            bytes.push(waiting as u8);
            waiting >>= 8;
            count -= 8;
        }
    }
    bytes
}

pub fn check_parameters(length: i64, bits: i64, group_size: i64) -> Result<()> {
    check_bits(bits)?;
    if !SUPPORTED_GROUP_SIZES.contains(&group_size) {
        return invalid(format!(
            "group size {group_size} is not supported; use one of {SUPPORTED_GROUP_SIZES:?}"
        ));
    }
    if length % group_size != 0 {
        return invalid(format!("group size {group_size} does not divide a row of {length} values"));
    }
    Ok(())
}
