//! The caches: plain, chunked, rotating and quantized ones, which hold rows; recurrent ones and composites (KC, QC).

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::rc::Rc;

use super::error::{invalid, Error, Result};
use super::group_size::{check_bits, resolve_group_size};
use super::plant::planted;
use super::rows::{Block, QuantizedBlock, Rows, Shape};

const GROWTH_STEP: i64 = 256; // KC-1: rows by which a buffer grows

thread_local! {
    static LOOKS: Cell<i64> = const { Cell::new(0) };
}

/// A layer: a handle of one cache; clones stand for the same cache.
#[derive(Clone)]
pub struct Layer(Rc<RefCell<Cache>>);

impl Layer {
    pub fn new(cache: Cache) -> Self {
        Layer(Rc::new(RefCell::new(cache)))
    }

    /// A look at the cache. They are counted: a container that is disarmed must make none (CT-11).
    pub fn look(&self) -> Ref<'_, Cache> {
        LOOKS.set(LOOKS.get() + 1);
        self.0.borrow()
    }

    pub fn change(&self) -> RefMut<'_, Cache> {
        self.0.borrow_mut()
    }

    pub fn identity(&self) -> usize {
        Rc::as_ptr(&self.0) as usize
    }

    /// How many looks were made so far.
    pub fn looks() -> i64 {
        LOOKS.get()
    }

    /// A cache of its own with the same content (QC-9).
    pub fn copy(&self) -> Layer {
        let mut twin = self.look().clone();
        if let Cache::Composite(children) = &mut twin {
            *children = children.iter().map(Layer::copy).collect();
        }
        Layer::new(twin)
    }
}

/// One cache. A clone shares only what never changes, and the children of a composite.
#[derive(Clone)]
pub enum Cache {
    Rows(RowCache),
    /// The arrays of all slots, replaced at every write; no offset, no rows, no trim (KC-4).
    Recurrent(Vec<Option<Vec<f32>>>),
    /// Caches in one list entry (KC-5).
    Composite(Vec<Layer>),
}

/// What distinguishes the caches that hold rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Design {
    Plain,
    /// Can drop its front: then holds the newest `size` rows, at absolute positions (KC-3).
    Chunked {
        size: i64,
    },
    /// Keeps its first `keep` rows and the newest, `max_size` in all, in an order of its own (KC-2). `oldest` is the
    /// index of the row that the next overwrite hits.
    Rotating {
        max_size: i64,
        keep: i64,
        oldest: i64,
    },
    /// Made empty it has the requested group size until the first write brings the head dims.
    Quantized {
        bits: i64,
        group_size: i64,
    },
}

impl Cache {
    pub fn kind(&self) -> &'static str {
        match self {
            Cache::Recurrent(_) => "recurrent",
            Cache::Composite(_) => "composite",
            Cache::Rows(cache) => match cache.design {
                Design::Plain => "plain",
                Design::Chunked { .. } => "chunked",
                Design::Rotating { .. } => "rotating",
                Design::Quantized { .. } => "quantized",
            },
        }
    }

    pub fn as_rows(&self) -> Option<&RowCache> {
        match self {
            Cache::Rows(cache) => Some(cache),
            _ => None,
        }
    }

    /// The cache as one that rows can be written to.
    pub fn as_rows_mut(&mut self) -> Result<&mut RowCache> {
        match self {
            Cache::Rows(cache) => Ok(cache),
            _ => invalid("this cache takes no rows; write to one that holds rows"),
        }
    }

    /// Positions written so far; none where no offset is maintained.
    pub fn offset(&self) -> Option<i64> {
        self.as_rows().map(|cache| cache.offset)
    }

    /// How many rows a reader gets.
    pub fn rows(&self) -> Option<i64> {
        self.as_rows().map(RowCache::rows)
    }

    /// Key and value head dim of the one key and the one value array held (HD-1).
    pub fn head_dims(&self) -> Option<(i64, i64)> {
        let cache = self.as_rows().filter(|cache| !matches!(cache.design, Design::Quantized { .. }))?; // GS-10
        cache.shape.map(|shape| (shape.key_dim, shape.value_dim))
    }

    /// Whether no row that was written has been dropped (QP-2).
    pub fn holds_every_row(&self) -> bool {
        self.rows() == self.offset()
    }

    /// Takes rows off the end; how many were taken.
    pub fn trim(&mut self, rows: i64) -> i64 {
        if !self.trimmable() {
            return 0;
        }
        match self {
            Cache::Rows(cache) => cache.trim(rows),
            Cache::Recurrent(_) => 0,
            Cache::Composite(children) => children.iter().fold(0, |_, child| child.change().trim(rows)),
        }
    }

    pub fn trimmable(&self) -> bool {
        match self {
            Cache::Rows(cache) => cache.trimmable(),
            Cache::Recurrent(_) => false,
            Cache::Composite(children) => children.iter().all(|child| child.look().trimmable()),
        }
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Cache::Rows(cache) => cache.rows() == 0,
            Cache::Recurrent(arrays) => arrays.iter().all(Option::is_none),
            Cache::Composite(children) => children.iter().all(|child| child.look().is_empty()),
        }
    }

    pub fn nbytes(&self) -> i64 {
        match self {
            Cache::Rows(cache) => cache.capacity * cache.row_bytes(),
            Cache::Recurrent(arrays) => arrays.iter().flatten().map(|array| 4 * array.len() as i64).sum(),
            Cache::Composite(children) => children.iter().map(|child| child.look().nbytes()).sum(),
        }
    }

    /// A quantized cache with these rows; this one stays as it is. The conversion resolves the group size (MQ-5, MQ-6).
    pub fn to_quantized(&self, bits: i64, group_size: i64) -> Result<Cache> {
        let convertible = match self.kind() {
            "plain" | "chunked" => true,
            "rotating" => planted("convert-rotating"),
            "quantized" => planted("quantize-twice"), // MQ-12
            _ => false,
        };
        match self.as_rows().filter(|_| convertible) {
            Some(cache) => cache.to_quantized(bits, group_size).map(Cache::Rows),
            None => invalid(format!("a {} cache cannot be quantized; convert plain ones. QP-1", self.kind())),
        }
    }
}

/// A cache whose reader gets the rows between a start position and the offset (KC-1).
#[derive(Clone)]
pub struct RowCache {
    pub design: Design,
    /// Positions written so far.
    pub offset: i64,
    /// The position of the first row held.
    pub start_position: i64,
    /// Rows allocated.
    pub capacity: i64,
    /// Of the rows written; none before the first write.
    pub shape: Option<Shape>,
    /// Rows from the start position on; those beyond the offset are invisible.
    pub stored: Rows,
}

fn grown(capacity: i64, needed: i64) -> i64 {
    capacity.max((needed + GROWTH_STEP - 1) / GROWTH_STEP * GROWTH_STEP)
}

impl RowCache {
    pub fn new(design: Design) -> Result<Self> {
        match design {
            Design::Rotating { max_size, keep, .. } if !(0..max_size).contains(&keep) => {
                return invalid(format!("keep {keep} is not below the window {max_size}"));
            }
            Design::Quantized { bits, .. } => check_bits(bits)?,
            _ => (),
        }
        let stored = Rows::default();
        Ok(RowCache { design, offset: 0, start_position: 0, capacity: 0, shape: None, stored })
    }

    pub fn rows(&self) -> i64 {
        match self.design {
            Design::Rotating { .. } => self.stored.count(),
            _ => self.offset - self.start_position,
        }
    }

    /// The rows that a reader gets, in the order that it gets them.
    pub fn fetch(&self) -> Rows {
        self.stored.part(0, self.rows())
    }

    /// Writes the block's rows behind the offset; how many rows a reader gets back.
    pub fn append(&mut self, block: Rc<dyn Block>, shape: Shape) -> Result<i64> {
        self.take_shape(shape)?;
        let count = block.count();
        let added = Rows::of(self.as_stored(&block));
        match self.design {
            Design::Rotating { .. } => self.rotate_in(added),
            _ => self.stored = self.fetch().plus(added),
        }
        self.offset += count;
        self.allocate();
        Ok(self.rows())
    }

    /// Moves only the offset; a negative number trims nothing (QC-4).
    fn trim(&mut self, rows: i64) -> i64 {
        let trimmed = rows.min(self.rows()).max(0);
        self.offset -= trimmed;
        if let Design::Rotating { .. } = self.design {
            self.stored = self.stored.part(0, self.offset);
        }
        trimmed
    }

    pub fn trimmable(&self) -> bool {
        match self.design {
            Design::Rotating { max_size, .. } => self.offset < max_size, // no row has been overwritten yet
            _ => true,
        }
    }

    /// Chunked only: keeps the newest rows.
    pub fn drop_front(&mut self) -> Result<()> {
        let Design::Chunked { size } = self.design else {
            return invalid("only a chunked cache can drop its front. KC-3");
        };
        let dropped = self.rows() - size;
        if dropped > 0 {
            self.stored = self.stored.part(dropped, self.rows());
            self.start_position += dropped;
            self.capacity = 0; // the rows kept move to an array of their own
            self.allocate();
        }
        Ok(())
    }

    pub fn allocate(&mut self) {
        let enough = grown(self.capacity, self.rows());
        self.capacity = match self.design {
            Design::Rotating { max_size, .. } => enough.min(max_size).max(self.rows()),
            _ => enough,
        };
    }

    /// Bytes of one stored row, keys and values of all heads (QC-8).
    fn row_bytes(&self) -> i64 {
        let Some(shape) = self.shape else { return 0 };
        let dims = shape.key_dim + shape.value_dim;
        let item = shape.dtype.item_bytes();
        shape.heads
            * match self.design {
                Design::Quantized { bits, group_size } => dims * bits / 8 + 2 * item * dims / group_size,
                _ => dims * item,
            }
    }

    fn take_shape(&mut self, shape: Shape) -> Result<()> {
        match (self.shape, &mut self.design) {
            (Some(known), _) if known != shape => {
                return invalid("rows of another shape are in the cache; write the same shape");
            }
            (None, Design::Quantized { group_size, .. }) => {
                let none =
                    || Error::Invalid(format!("no group size divides the head dims of {shape:?}. GS-2"));
                *group_size =
                    resolve_group_size(*group_size, shape.key_dim, shape.value_dim)?.ok_or_else(none)?;
            }
            _ => (),
        }
        self.shape = Some(shape);
        Ok(())
    }

    /// The block as this cache stores it.
    fn as_stored(&self, block: &Rc<dyn Block>) -> Rc<dyn Block> {
        match (&self.design, self.shape) {
            (Design::Quantized { bits, group_size }, Some(shape)) => {
                Rc::new(QuantizedBlock::new(Rc::clone(block), *bits, *group_size, shape.dtype))
            }
            _ => Rc::clone(block),
        }
    }

    fn to_quantized(&self, bits: i64, group_size: i64) -> Result<RowCache> {
        let mut result = RowCache::new(Design::Quantized { bits, group_size })?;
        let Some(shape) = self.shape else { return Ok(result) };
        if self.rows() != self.offset {
            return invalid(
                "the cache holds fewer rows than were written and cannot be quantized; keep it. QP-2",
            );
        }
        result.take_shape(shape)?;
        let unquantized = |block: &Rc<dyn Block>| Rc::clone(block.source().unwrap_or(block));
        result.stored = self.fetch().map_blocks(|block| result.as_stored(&unquantized(block)));
        result.offset = self.offset;
        result.allocate();
        Ok(result)
    }

    /// Several rows: at most max_size - 1 old rows stay before them. One row overwrites the oldest in place.
    fn rotate_in(&mut self, added: Rows) {
        let Design::Rotating { max_size, keep, oldest } = self.design else { return };
        let mut next = keep;
        if added.count() > 1 {
            self.stored = self.newest(max_size - 1).plus(added);
        } else if self.stored.count() < max_size {
            self.stored = self.stored.clone().plus(added);
            next = oldest;
        } else {
            let full = self.stored.count() == max_size;
            let (rows, at) = if full { (self.stored.clone(), oldest) } else { (self.newest(max_size), keep) };
            self.stored = rows.part(0, at).plus(added).plus(rows.part(at + 1, max_size));
            next = if at + 1 < max_size { at + 1 } else { keep };
        }
        self.design = Design::Rotating { max_size, keep, oldest: next };
    }

    /// In time order, cut to `limit` rows: the first `keep` and the newest of the others.
    fn newest(&self, limit: i64) -> Rows {
        let Design::Rotating { keep, oldest, .. } = self.design else { return self.stored.clone() };
        let (all, count) = (&self.stored, self.stored.count());
        let in_time_order = all.part(0, keep).plus(all.part(oldest, count)).plus(all.part(keep, oldest));
        let surplus = (count - limit).max(0);
        if surplus == 0 {
            return in_time_order;
        }
        in_time_order.part(0, keep).plus(in_time_order.part(keep + surplus, count))
    }
}
