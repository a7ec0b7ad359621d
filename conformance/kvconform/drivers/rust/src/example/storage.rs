//! Cache states: out of a cache, into a new one, and to a file and back (QC-5, KC-6). A state holds the rows that a
//! reader gets and nothing beyond the offset (QC-11).

use std::path::Path;
use std::rc::Rc;

use serde_json::{json, Value};

use super::caches::{Cache, Design, Layer, RowCache};
use super::error::{invalid, Error, Result};
use super::floats::DType;
use super::rows::{LoadedBlock, Rows, Shape, StoredRow};

const FORMAT: &str = "kvconform-example-cache";

/// The cache that the state of another one restores.
pub fn state_round_trip(layer: &Layer) -> Result<Layer> {
    from_state(&to_state(layer))
}

pub fn save(layer: &Layer, path: &Path) -> Result<()> {
    let document = json!({"format": FORMAT, "cache": to_state(layer)});
    std::fs::write(path, document.to_string()).map_err(|error| file_error(path, &error))
}

pub fn load(path: &Path) -> Result<Layer> {
    let text = std::fs::read(path).map_err(|error| file_error(path, &error))?;
    let document: Value = serde_json::from_slice(&text).unwrap_or_default();
    if document["format"] != FORMAT {
        return invalid(format!("{} is no {FORMAT} file; give one that was saved", path.display()));
    }
    from_state(&document["cache"])
}

fn file_error(path: &Path, error: &std::io::Error) -> Error {
    Error::File(format!("{}: {error}", path.display()))
}

/// A snapshot that later writes do not change, as JSON data.
fn to_state(layer: &Layer) -> Value {
    match &*layer.look() {
        Cache::Recurrent(arrays) => json!({"kind": "recurrent", "arrays": arrays}),
        Cache::Composite(children) => {
            json!({"kind": "composite", "children": children.iter().map(to_state).collect::<Vec<_>>()})
        }
        Cache::Rows(cache) => rows_to_state(cache),
    }
}

fn rows_to_state(cache: &RowCache) -> Value {
    let design = match cache.design {
        Design::Plain => json!({"kind": "plain"}),
        Design::Chunked { size } => json!({"kind": "chunked", "size": size}),
        Design::Rotating { max_size, keep, oldest } => {
            json!({"kind": "rotating", "max_size": max_size, "keep": keep, "oldest": oldest})
        }
        Design::Quantized { bits, group_size } => {
            json!({"kind": "quantized", "bits": bits, "group_size": group_size})
        }
    };
    let content = cache.shape.map(|shape| {
        let rows = cache.fetch();
        let side = |role| rows.side(role, shape.heads).iter().map(row_to_state).collect::<Vec<_>>();
        json!({
            "heads": shape.heads,
            "key_dim": shape.key_dim,
            "value_dim": shape.value_dim,
            "dtype": shape.dtype.name(),
            "count": rows.count(),
            "sides": [side(0), side(1)],
        })
    });
    let (offset, start) = (cache.offset, cache.start_position);
    json!({"kind": "rows", "design": design, "offset": offset, "start_position": start, "content": content})
}

fn row_to_state(row: &StoredRow) -> Value {
    json!([row.data, row.scales, row.biases])
}

fn from_state(state: &Value) -> Result<Layer> {
    let cache = match text(state, "kind")? {
        "recurrent" => {
            let arrays = serde_json::from_value(state["arrays"].clone());
            Cache::Recurrent(arrays.or_else(|_| damaged("arrays"))?)
        }
        "composite" => {
            Cache::Composite(items(state, "children")?.iter().map(from_state).collect::<Result<_>>()?)
        }
        _ => Cache::Rows(rows_from_state(state)?),
    };
    Ok(Layer::new(cache))
}

fn rows_from_state(state: &Value) -> Result<RowCache> {
    let mut cache = RowCache::new(design_from_state(&state["design"])?)?;
    cache.offset = number(state, "offset")?;
    cache.start_position = number(state, "start_position")?;
    let content = &state["content"];
    if !content.is_null() {
        let shape = Shape {
            heads: number(content, "heads")?,
            key_dim: number(content, "key_dim")?,
            value_dim: number(content, "value_dim")?,
            dtype: DType::named(text(content, "dtype")?)?,
        };
        let side = |role: usize| match content["sides"][role].as_array() {
            Some(rows) => rows.iter().map(row_from_state).collect(),
            None => damaged("sides"),
        };
        let block = LoadedBlock::new(number(content, "count")?, shape.heads, [side(0)?, side(1)?])?;
        cache.shape = Some(shape);
        cache.stored = Rows::of(Rc::new(block));
    }
    cache.allocate();
    Ok(cache)
}

fn design_from_state(design: &Value) -> Result<Design> {
    Ok(match text(design, "kind")? {
        "plain" => Design::Plain,
        "chunked" => Design::Chunked { size: number(design, "size")? },
        "rotating" => Design::Rotating {
            max_size: number(design, "max_size")?,
            keep: number(design, "keep")?,
            oldest: number(design, "oldest")?,
        },
        "quantized" => {
            Design::Quantized { bits: number(design, "bits")?, group_size: number(design, "group_size")? }
        }
        _ => return damaged("kind"),
    })
}

fn row_from_state(row: &Value) -> Result<StoredRow> {
    let part = |index: usize| serde_json::from_value(row[index].clone()).or_else(|_| damaged("row"));
    Ok(StoredRow { data: part(0)?, scales: part(1)?, biases: part(2)? })
}

fn number(data: &Value, name: &str) -> Result<i64> {
    data[name].as_i64().map_or_else(|| damaged(name), Ok)
}

fn text<'a>(data: &'a Value, name: &str) -> Result<&'a str> {
    data[name].as_str().map_or_else(|| damaged(name), Ok)
}

fn items<'a>(data: &'a Value, name: &str) -> Result<&'a Vec<Value>> {
    data[name].as_array().map_or_else(|| damaged(name), Ok)
}

fn damaged<T>(name: &str) -> Result<T> {
    invalid(format!("the saved cache is damaged at {name}; save it again"))
}
