//! Builds the layers of a scenario out of the driver's caches, and writes pattern content to them (contract,
//! sections 1 and 2).

use super::arithmetic::{chain_all, RowKey, STATE_MODULUS};
use super::failure::Answer;
use super::interface::{Implementation, Look};
use super::scenario::{Kind, Layer, Observe};

const STATE_WIDTH: usize = 4;
const KEYS: usize = 0;

/// Rows of pattern content that one append writes. Values are computed when they are asked for.
#[derive(Debug, Clone)]
pub struct Rows {
    pub count: i64,
    pub heads: i64,
    pub key_dim: i64,
    pub value_dim: i64,
    pub dtype: String,
    stream: i64,
    salt: i64,
    position: i64,
}

impl Rows {
    fn new(layer: &Layer, position: i64, count: i64, salt: i64) -> Self {
        Rows {
            count,
            heads: layer.heads,
            key_dim: layer.key_dim,
            value_dim: layer.value_dim,
            dtype: layer.dtype.clone(),
            stream: layer.stream,
            salt,
            position,
        }
    }

    /// The head dim of keys (role 0) or values (role 1).
    pub fn dim(&self, role: usize) -> i64 {
        if role == KEYS {
            self.key_dim
        } else {
            self.value_dim
        }
    }

    /// The values of row `index`, for keys (role 0) or values (role 1) of one head. Exact in all three dtypes.
    pub fn values(&self, role: usize, head: i64, index: i64) -> Vec<f32> {
        let key =
            RowKey { stream: self.stream, salt: self.salt, role, head, position: self.position + index };
        key.values(self.dim(role))
    }

    /// All keys or all values as one array `[1, heads, count, dim]`, for designs that store at once what they get.
    pub fn array(&self, role: usize) -> Vec<f32> {
        let rows = (0..self.heads).flat_map(|head| (0..self.count).map(move |index| (head, index)));
        rows.flat_map(|(head, index)| self.values(role, head, index)).collect()
    }
}

/// What the kit has to know of a cache to go on: kind, offset, children, state.
pub fn glance<I: Implementation>(implementation: &I, cache: &I::Cache) -> Answer<Look<I::Cache>> {
    implementation.look(cache, Observe::default())
}

/// The layer's cache, filled as the scenario says.
pub fn build<I: Implementation>(implementation: &I, layer: &Layer) -> Answer<I::Cache> {
    let children = build_all(implementation, &layer.children)?;
    let cache = implementation.make(layer, children)?;
    if layer.kind == Kind::Recurrent {
        if layer.filled {
            put_number(implementation, layer, &cache, i64::from(chain_all(&[layer.stream])) % STATE_MODULUS)?;
        }
        return Ok(cache);
    }
    if layer.singly {
        for _ in 0..layer.length {
            write_rows(implementation, layer, &cache, 1, 0)?;
        }
    } else if layer.length > 0 {
        write_rows(implementation, layer, &cache, layer.length, 0)?;
    }
    if layer.trim > 0 {
        implementation.trim(&cache, layer.trim)?;
    }
    if layer.drop_front {
        implementation.drop_front(&cache)?;
    }
    Ok(cache)
}

pub fn build_all<I: Implementation>(implementation: &I, layers: &[Layer]) -> Answer<Vec<I::Cache>> {
    layers.iter().map(|layer| build(implementation, layer)).collect()
}

/// Writes rows to the cache that now stands for the layer; the rows that a reader gets back, none without such.
pub fn write_rows<I: Implementation>(
    implementation: &I,
    layer: &Layer,
    cache: &I::Cache,
    rows: i64,
    salt: i64,
) -> Answer<Option<i64>> {
    let look = glance(implementation, cache)?;
    match look.kind {
        "composite" => {
            for (child_layer, child) in layer.children.iter().zip(&look.children) {
                write_rows(implementation, child_layer, child, rows, salt)?;
            }
            Ok(None)
        }
        "recurrent" => {
            let number = (31 * recurrent_number(&look) + rows + salt + 1) % STATE_MODULUS;
            put_number(implementation, layer, cache, number)?;
            Ok(None)
        }
        _ => {
            let position = look.offset.unwrap_or(0);
            implementation.append(cache, Rows::new(layer, position, rows, salt)).map(Some)
        }
    }
}

/// The `s` of a recurrent layer: what its first slot holds; 0 when it was never filled.
pub fn recurrent_number<Cache>(look: &Look<Cache>) -> i64 {
    look.state.as_ref().and_then(|state| state.first().copied()).unwrap_or(0)
}

fn put_number<I: Implementation>(
    implementation: &I,
    layer: &Layer,
    cache: &I::Cache,
    number: i64,
) -> Answer<()> {
    let slot = |i: i64| vec![((number + i) % STATE_MODULUS) as f32; STATE_WIDTH];
    implementation.replace_state(cache, (0..layer.slots).map(slot).collect())
}

/// `S`, `C`, `R`, `M`, `Q:group_size,bits`, `L(a,b)`.
pub fn signature<I: Implementation>(implementation: &I, cache: &I::Cache) -> Answer<String> {
    let look = glance(implementation, cache)?;
    Ok(match look.kind {
        "quantized" => format!("Q:{},{}", look.group_size.unwrap_or(0), look.bits.unwrap_or(0)),
        "composite" => format!("L({})", signatures(implementation, &look.children)?.join(",")),
        kind => letter(kind).to_string(),
    })
}

pub fn signatures<I: Implementation>(implementation: &I, list: &[I::Cache]) -> Answer<Vec<String>> {
    list.iter().map(|cache| signature(implementation, cache)).collect()
}

fn letter(kind: &str) -> &'static str {
    match kind {
        "plain" => "S",
        "chunked" => "C",
        "rotating" => "R",
        "recurrent" => "M",
        _ => "?",
    }
}
