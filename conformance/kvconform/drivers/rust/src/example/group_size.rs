//! Which group size a layer is quantized with, given what was requested and the layer's head dims (GS).

use super::error::{invalid, Result};
use super::plant::planted;

pub const SUPPORTED_GROUP_SIZES: [i64; 3] = [32, 64, 128]; // GS-1
pub const SUPPORTED_BITS: [i64; 6] = [2, 3, 4, 5, 6, 8]; // MQ-14

/// The supported sizes that divide both head dims, ascending (GS-1, GS-2).
pub fn compatible_group_sizes(key_dim: i64, value_dim: i64) -> Result<Vec<i64>> {
    if let Some(dim) = [key_dim, value_dim].into_iter().find(|dim| *dim < 1) {
        return invalid(format!("head dim {dim} is not positive. GS-12"));
    }
    let divides = |size: &i64| key_dim % size == 0 && value_dim % size == 0;
    Ok(SUPPORTED_GROUP_SIZES.into_iter().filter(divides).collect())
}

/// The compatible size nearest to the request, the smaller one of a tie; none when there is none (GS-3, GS-4, GS-9).
pub fn resolve_group_size(requested: i64, key_dim: i64, value_dim: i64) -> Result<Option<i64>> {
    let wanted = requested.max(1);
    let mut compatible = compatible_group_sizes(key_dim, value_dim)?;
    if planted("tie-high") {
        compatible.reverse();
    }
    Ok(compatible.into_iter().min_by_key(|size| (size - wanted).abs())) // the first of equally near ones
}

pub fn check_bits(bits: i64) -> Result<()> {
    if SUPPORTED_BITS.contains(&bits) {
        return Ok(());
    }
    invalid(format!("bits {bits} are not supported; use one of {SUPPORTED_BITS:?}. MQ-14"))
}
