//! Rows that are computed when somebody looks at them. A cache holds `Rows`: ranges of blocks. A block is what one append
//! wrote and never changes, so caches can share it without seeing each other's writes (MQ-6, QC-9).

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::affine::quantize_row;
use super::error::{invalid, Result};
use super::floats::DType;

/// What all rows of a cache have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub heads: i64,
    pub key_dim: i64,
    pub value_dim: i64,
    pub dtype: DType,
}

impl Shape {
    /// The head dim of keys (role 0) or values (role 1).
    pub fn dim(&self, role: usize) -> i64 {
        if role == 0 {
            self.key_dim
        } else {
            self.value_dim
        }
    }
}

/// The bytes of one stored row: values, or packed words with scales and biases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredRow {
    pub data: Vec<u8>,
    pub scales: Vec<u8>,
    pub biases: Vec<u8>,
}

/// Rows as one append wrote them; asked for keys (role 0) or values (role 1) of one head.
pub trait Block {
    fn count(&self) -> i64;
    fn row(&self, role: usize, head: i64, index: i64) -> StoredRow;
    /// What was quantized, for a block of quantized rows.
    fn source(&self) -> Option<&Rc<dyn Block>> {
        None
    }
}

/// Values that a caller hands over.
pub struct WrittenBlock<Values> {
    pub count: i64,
    pub dtype: DType,
    pub values: Values,
}

impl<Values: Fn(usize, i64, i64) -> Vec<f32>> Block for WrittenBlock<Values> {
    fn count(&self) -> i64 {
        self.count
    }

    fn row(&self, role: usize, head: i64, index: i64) -> StoredRow {
        let data = self.dtype.encode(&(self.values)(role, head, index));
        StoredRow { data, ..StoredRow::default() }
    }
}

/// The rows of another block, each quantized by itself (QC-2, AQ-2).
pub struct QuantizedBlock {
    source: Rc<dyn Block>,
    bits: i64,
    group_size: i64,
    dtype: DType,
    /// Rows are looked at many times.
    known: RefCell<HashMap<(usize, i64, i64), StoredRow>>,
}

impl QuantizedBlock {
    /// Bits and group size are supported and fit the rows.
    pub fn new(source: Rc<dyn Block>, bits: i64, group_size: i64, dtype: DType) -> Self {
        QuantizedBlock { source, bits, group_size, dtype, known: RefCell::default() }
    }

    fn quantize(&self, role: usize, head: i64, index: i64) -> StoredRow {
        let values = self.dtype.decode(&self.source.row(role, head, index).data);
        quantize_row(&values, self.bits, self.group_size, self.dtype)
            .expect("checked when the cache was made")
    }
}

impl Block for QuantizedBlock {
    fn count(&self) -> i64 {
        self.source.count()
    }

    fn row(&self, role: usize, head: i64, index: i64) -> StoredRow {
        let mut known = self.known.borrow_mut();
        known.entry((role, head, index)).or_insert_with(|| self.quantize(role, head, index)).clone()
    }

    fn source(&self) -> Option<&Rc<dyn Block>> {
        Some(&self.source)
    }
}

/// The rows of a saved cache.
pub struct LoadedBlock {
    count: i64,
    sides: [Vec<StoredRow>; 2],
}

impl LoadedBlock {
    /// Rows of keys and of values, head after head.
    pub fn new(count: i64, heads: i64, sides: [Vec<StoredRow>; 2]) -> Result<Self> {
        if sides.iter().any(|side| side.len() as i64 != heads * count) {
            return invalid("the saved cache is damaged, save it again");
        }
        Ok(LoadedBlock { count, sides })
    }
}

impl Block for LoadedBlock {
    fn count(&self) -> i64 {
        self.count
    }

    fn row(&self, role: usize, head: i64, index: i64) -> StoredRow {
        self.sides[role][(head * self.count + index) as usize].clone()
    }
}

#[derive(Clone)]
struct Segment {
    block: Rc<dyn Block>,
    first: i64,
    stop: i64,
}

/// An immutable sequence of rows, each the row of some block.
#[derive(Clone, Default)]
pub struct Rows {
    segments: Vec<Segment>,
}

impl Rows {
    pub fn of(block: Rc<dyn Block>) -> Self {
        let stop = block.count();
        let all = Segment { block, first: 0, stop };
        Rows { segments: if stop > 0 { vec![all] } else { Vec::new() } }
    }

    pub fn count(&self) -> i64 {
        self.segments.iter().map(|segment| segment.stop - segment.first).sum()
    }

    /// Rows start .. stop - 1; what lies outside is left out, as array slices do.
    pub fn part(&self, start: i64, stop: i64) -> Self {
        let mut segments = Vec::new();
        let mut at = 0;
        for segment in &self.segments {
            let length = segment.stop - segment.first;
            let (low, high) = ((start - at).max(0), (stop - at).min(length));
            if low < high {
                let block = Rc::clone(&segment.block);
                segments.push(Segment { block, first: segment.first + low, stop: segment.first + high });
            }
            at += length;
        }
        Rows { segments }
    }

    /// These rows, then the others.
    pub fn plus(mut self, others: Rows) -> Self {
        self.segments.extend(others.segments);
        self
    }

    /// The same rows of other blocks; `change` is called once a block.
    pub fn map_blocks(mut self, change: impl Fn(&Rc<dyn Block>) -> Rc<dyn Block>) -> Self {
        let mut changed: HashMap<*const (), Rc<dyn Block>> = HashMap::new();
        for segment in &mut self.segments {
            let key = Rc::as_ptr(&segment.block).cast::<()>();
            segment.block = Rc::clone(changed.entry(key).or_insert_with(|| change(&segment.block)));
        }
        self
    }

    /// All rows of one side, head after head: the order of an array `[1, heads, rows, ...]`.
    pub fn side(&self, role: usize, heads: i64) -> Vec<StoredRow> {
        let mut rows = Vec::new();
        for head in 0..heads {
            for segment in &self.segments {
                rows.extend((segment.first..segment.stop).map(|index| segment.block.row(role, head, index)));
            }
        }
        rows
    }
}
