"""What the reference's caches have in common, and how they grow.

Source: specification section 15 (KC) and 13 (QC).
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from .. import tensor

GROWTH_STEP = 256  # KC-1, QC-3: rows by which a buffer grows


class Cache:
    """One layer's cache. Subclasses say what they hold; the defaults are those of a cache without rows."""

    kind: ClassVar[str]
    offset: Any = None
    """int | None: positions written so far; none where no offset is maintained."""

    def append(self, block: tensor.Block) -> tensor.Rows | None:
        """Write the block's rows behind the offset; what a reader gets from that very write."""
        raise NotImplementedError(f"a {self.kind} cache takes no rows; write to a cache that holds rows")

    def fetch(self) -> tensor.Rows | None:
        """The rows a reader gets; none from a cache that was never written or holds no rows (QC-1)."""
        return None

    def trim(self, rows: int) -> int:
        """Take up to `rows` rows off the end; how many were taken, 0 where it cannot be trimmed."""
        return 0

    @property
    def trimmable(self) -> bool:
        """Whether `trim` takes rows off."""
        return False

    @property
    def rows(self) -> int | None:
        """How many rows a reader gets; none for a cache without rows."""
        return None

    @property
    def head_dims(self) -> tuple[int, int] | None:
        """Key and value head dim of the one key and the one value array held, if there are such (HD-1)."""
        return None

    @property
    def holds_every_row(self) -> bool:
        """Whether no row that was written has been dropped (QP-2)."""
        return True

    @property
    def empty(self) -> bool:
        """Whether no rows (or state) are held (QC-10)."""
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        """Bytes allocated, spare capacity included (QC-8)."""
        raise NotImplementedError

    @property
    def children(self) -> tuple[Any, ...]:
        """The caches inside, for a composite."""
        return ()

    def to_quantized(self, *, group_size: int, bits: int, resolver: str = "nearest") -> Cache:
        """A quantized cache with these rows; see `protocol.to_quantized`."""
        raise NotImplementedError(f"a {self.kind} cache cannot be quantized; convert plain caches only. QP-1")

    def copy(self) -> Self:
        """A cache of its own with the same content: neither sees later writes to the other (QC-9)."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)  # every attribute is immutable, composites copy their children
        return twin

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()


class RowCache(Cache):
    """A cache whose reader gets the rows between a start position and the offset, in order (KC-1)."""

    offset: int
    start_position = 0
    """The position of the first row held."""

    def __init__(self) -> None:
        self.offset = 0
        self.shape: tensor.RowShape | None = None
        """Of the rows written; none before the first write."""
        self.stored = tensor.NO_ROWS
        """Rows from the start position on; those beyond the offset are invisible."""
        self.capacity = 0
        """Rows allocated."""

    def append(self, block: tensor.Block) -> tensor.Rows | None:
        self.shape = common_shape(self.shape, block.shape)
        self.stored = self.stored.part(0, self.rows).plus(tensor.rows_of(self.packed(block)))
        self.offset += block.count
        self.allocate()
        return self.fetch()

    def allocate(self) -> None:
        """Make room for the rows held, in growth steps; never gives room back (KC-1, QC-3)."""
        self.capacity = grown(self.capacity, self.rows)

    def packed(self, block: tensor.Block) -> Any:
        """The block as this cache stores it."""
        return block

    def fetch(self) -> tensor.Rows | None:
        return None if self.shape is None else self.stored.part(0, self.rows)

    def trim(self, rows: int) -> int:
        """Moves only the offset; a negative number trims nothing (QC-4)."""
        trimmed = max(0, min(self.rows, rows))
        self.offset -= trimmed
        return trimmed

    @property
    def trimmable(self) -> bool:
        return True

    @property
    def rows(self) -> int:
        return self.offset - self.start_position

    @property
    def head_dims(self) -> tuple[int, int] | None:
        return None if self.shape is None else (self.shape.key_dim, self.shape.value_dim)

    @property
    def key_dim(self) -> int | None:
        """Head dim of the stored keys, packed or not; none before the first write."""
        return None if self.shape is None else self.shape.key_dim

    @property
    def value_dim(self) -> int | None:
        """Head dim of the stored values, packed or not; none before the first write."""
        return None if self.shape is None else self.shape.value_dim

    @property
    def holds_every_row(self) -> bool:
        return self.rows == self.offset

    @property
    def empty(self) -> bool:
        return self.rows == 0

    @property
    def row_nbytes(self) -> int:
        """Bytes of one stored row; 0 before the first write."""
        return 0 if self.shape is None else self.shape.nbytes

    @property
    def nbytes(self) -> int:
        return self.capacity * self.row_nbytes


def grown(capacity: int, needed: int) -> int:
    """The capacity, raised to the next multiple of the growth step that holds `needed` rows (KC-1, QC-3)."""
    return max(capacity, -(-needed // GROWTH_STEP) * GROWTH_STEP)


def common_shape(known: tensor.RowShape | None, written: tensor.RowShape) -> tensor.RowShape:
    """The shape of all rows; ValueError when a write does not fit the rows before it."""
    if known is None or known == written:
        return written
    raise ValueError(f"rows of {written} do not fit a cache that holds rows of {known}; write the same shape")
