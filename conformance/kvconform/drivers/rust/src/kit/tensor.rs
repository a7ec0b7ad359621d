//! Arrays as the wire carries them: a dtype, a shape, and little-endian bytes, row by row.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An array; `bytes` fill the shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tensor {
    /// `float32`, `float16`, `bfloat16` or `uint32`.
    pub dtype: String,
    pub shape: Vec<i64>,
    #[serde(rename = "data", serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub bytes: Vec<u8>,
}

/// Bytes of one element; none for a dtype that the wire does not know.
pub fn item_bytes(dtype: &str) -> Option<i64> {
    match dtype {
        "float32" | "uint32" => Some(4),
        "float16" | "bfloat16" => Some(2),
        _ => None,
    }
}

impl Tensor {
    pub fn new(dtype: &str, shape: Vec<i64>, bytes: Vec<u8>) -> Self {
        Tensor { dtype: dtype.to_string(), shape, bytes }
    }

    /// Whether the bytes are the whole of the shape.
    pub fn is_whole(&self) -> bool {
        let bytes = item_bytes(&self.dtype).and_then(|item| {
            self.shape.iter().try_fold(item, |product, length| product.checked_mul(*length))
        });
        bytes == Some(self.bytes.len() as i64)
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encoded(bytes))
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    decoded(&text)
        .filter(|bytes| encoded(bytes) == text)
        .ok_or_else(|| D::Error::custom("data is not base64 with padding"))
}

/// RFC 4648 section 4, with padding.
pub fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() { letter as char } else { '=' });
        }
    }
    text
}

pub fn decoded(text: &str) -> Option<Vec<u8>> {
    let (letters, padding) = match text.strip_suffix('=').map(|one| (one, one.strip_suffix('='))) {
        None => (text, 0),
        Some((one, None)) => (one, 1),
        Some((_, Some(two))) => (two, 2),
    };
    if text.len() % 4 != 0 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for four in letters.as_bytes().chunks(4) {
        let mut bits = 0;
        for place in 0..4 {
            bits = bits << 6 | four.get(place).map_or(Some(0), |letter| value_of(*letter))?;
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    bytes.truncate(bytes.len() - padding.min(bytes.len()));
    Some(bytes)
}

fn value_of(letter: u8) -> Option<u32> {
    match letter {
        b'A'..=b'Z' => Some(u32::from(letter - b'A')),
        b'a'..=b'z' => Some(u32::from(letter - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(letter - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}
