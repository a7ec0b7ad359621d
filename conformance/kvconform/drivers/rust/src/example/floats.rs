//! The three number formats of KV caches: rounding to them (nearest, ties to even) and their little-endian bytes.
//! A NaN has no sign and no payload here: it becomes the positive quiet NaN of its format.

use super::error::{invalid, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DType {
    Float32,
    Float16,
    Bfloat16,
}

impl DType {
    pub fn named(name: &str) -> Result<DType> {
        match name {
            "float32" => Ok(DType::Float32),
            "float16" => Ok(DType::Float16),
            "bfloat16" => Ok(DType::Bfloat16),
            _ => invalid(format!("dtype {name} is not known; use float32, float16 or bfloat16")),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            DType::Float32 => "float32",
            DType::Float16 => "float16",
            DType::Bfloat16 => "bfloat16",
        }
    }

    pub fn item_bytes(self) -> i64 {
        if self == DType::Float32 {
            4
        } else {
            2
        }
    }

    /// The values as little-endian bytes, each rounded to this format.
    pub fn encode(self, values: &[f32]) -> Vec<u8> {
        match self {
            DType::Float32 => values.iter().flat_map(|value| pattern(*value).to_le_bytes()).collect(),
            DType::Float16 => values.iter().flat_map(|value| to_float16(*value).to_le_bytes()).collect(),
            DType::Bfloat16 => values.iter().flat_map(|value| to_bfloat16(*value).to_le_bytes()).collect(),
        }
    }

    /// The values that little-endian bytes hold.
    pub fn decode(self, bytes: &[u8]) -> Vec<f32> {
        let half = |two: &[u8]| u16::from_le_bytes([two[0], two[1]]);
        match self {
            DType::Float32 => bytes
                .chunks_exact(4)
                .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
                .collect(),
            DType::Float16 => bytes.chunks_exact(2).map(|two| from_float16(half(two))).collect(),
            DType::Bfloat16 => {
                bytes.chunks_exact(2).map(|two| f32::from_bits(u32::from(half(two)) << 16)).collect()
            }
        }
    }
}

fn pattern(value: f32) -> u32 {
    if value.is_nan() {
        0x7FC0_0000
    } else {
        value.to_bits()
    }
}

/// The upper half of the float32, after adding just under half of what is cut off (ties to even).
fn to_bfloat16(value: f32) -> u16 {
    let bits = pattern(value);
    ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) as u16
}

/// Sign, 5 bits of exponent, 10 of fraction; subnormals below 2^-14, overflow goes to infinity.
fn to_float16(value: f32) -> u16 {
    let bits = pattern(value);
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7FFF_FFFF;
    let rounded = match magnitude {
        0x7F80_0001.. => return 0x7E00,
        0x4780_0000.. => 0x7C00, // 65536 and above
        // Rebias the exponent (127 to 15), then round off 13 bits; a carry goes up into the exponent, as far as infinity.
        0x3880_0000.. => {
            let rebiased = magnitude - 0x3800_0000;
            (rebiased + 0xFFF + (rebiased >> 13 & 1)) >> 13
        }
        // Below 2^-14: a multiple of 2^-24; the fraction's carry makes the smallest normal one.
        _ => (f32::from_bits(magnitude) * 16_777_216.0).round_ties_even() as u32,
    };
    sign | rounded as u16
}

fn from_float16(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1F);
    let fraction = f32::from(bits & 0x3FF);
    match exponent {
        0 => sign * fraction / 16_777_216.0,
        0x1F if fraction == 0.0 => sign * f32::INFINITY,
        0x1F => f32::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * (exponent as f32 - 15.0).exp2(),
    }
}
