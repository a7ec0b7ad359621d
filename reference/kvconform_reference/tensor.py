"""Rows of keys and values that are computed only when somebody looks at them.

A cache holds `Rows`: an immutable sequence of segments, each a range of a `Block`. A block is what one append
wrote and never changes, so rows can be passed from cache to cache without one cache seeing what another does
(MQ-6, QC-9). The batch axis is always 1 and is not represented: keys are `[heads, rows, key_dim]`, values
`[heads, rows, value_dim]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from . import floats

KEYS = 0
VALUES = 1
ROLES = (KEYS, VALUES)


@dataclass(frozen=True, slots=True)
class RowShape:
    """What every row of a cache has in common: heads, the two head dims, and the dtype of its values."""

    heads: int = 1
    key_dim: int = 64
    value_dim: int = 64
    dtype: str = "float32"

    @property
    def itemsize(self) -> int:
        """Bytes of one value."""
        return floats.ITEM_SIZES[self.dtype]

    def dim(self, role: int) -> int:
        """The head dim of keys or of values."""
        return self.value_dim if role else self.key_dim

    @property
    def nbytes(self) -> int:
        """Bytes of one unquantized row, keys and values of all heads."""
        return self.heads * (self.key_dim + self.value_dim) * self.itemsize


class RowSource(Protocol):
    """Where the content of a block comes from; must give the same values every time."""

    def row(self, role: int, head: int, index: int) -> Sequence[float]:
        """The values of row `index` (from 0) of the block, for keys (0) or values (1) of one head."""
        ...


class Block:
    """`count` rows of unquantized content, as one append writes them."""

    __slots__ = ("_known", "count", "shape", "source")

    def __init__(self, count: int, shape: RowShape, source: RowSource) -> None:
        if count < 0:
            raise ValueError(f"{count} rows cannot be written; give 0 or more")
        self.count = count
        self.shape = shape
        self.source = source
        self._known: dict[tuple[int, int, int], bytes] | None = None

    def values(self, role: int, head: int, index: int) -> Sequence[float]:
        """One row's values, before they are rounded to the dtype."""
        return self.source.row(role, head, index)

    def row_bytes(self, role: int, head: int, index: int) -> bytes:
        """One row as little-endian bytes of the dtype; kept, since rows are looked at many times."""
        if self._known is None:
            self._known = {}
        key = (role, head, index)
        if key not in self._known:
            self._known[key] = floats.encode(self.values(role, head, index), self.shape.dtype)
        return self._known[key]


class Segment(NamedTuple):
    """Rows `first` .. `stop` - 1 of a block."""

    block: Any
    first: int
    stop: int


class Rows:
    """An immutable sequence of rows, each the row of some block."""

    __slots__ = ("count", "segments")

    def __init__(self, segments: tuple[Segment, ...] = ()) -> None:
        self.segments = segments
        self.count = sum([stop - first for _, first, stop in segments])

    def part(self, start: int, stop: int) -> Rows:
        """Rows `start` .. `stop` - 1; what lies outside is left out, as array slices do."""
        if start <= 0 and stop >= self.count:
            return self
        return Rows(tuple(self._cut(start, stop)))

    def plus(self, other: Rows) -> Rows:
        """These rows, then the others."""
        return Rows(self.segments + other.segments)

    def map_blocks(self, change: Callable[[Any], Any]) -> Rows:
        """The same rows of other blocks; `change` is called once a block."""
        changed: dict[int, Any] = {}
        for block, _, _ in self.segments:
            if id(block) not in changed:
                changed[id(block)] = change(block)
        return Rows(tuple([Segment(changed[id(s.block)], s.first, s.stop) for s in self.segments]))

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        """Each row as its block and the index there."""
        return ((block, index) for block, first, stop in self.segments for index in range(first, stop))

    def _cut(self, start: int, stop: int) -> Iterator[Segment]:
        at = 0
        for block, first, end in self.segments:
            low, high = max(start - at, 0), min(stop - at, end - first)
            if low < high:
                yield Segment(block, first + low, first + high)
            at += end - first


NO_ROWS = Rows()


def rows_of(block: Any) -> Rows:
    """All rows of one block."""
    return Rows((Segment(block, 0, block.count),)) if block.count else NO_ROWS


def row_bytes(rows: Rows, role: int, heads: int) -> bytes:
    """The little-endian bytes of `[1, heads, rows, dim]`, for keys (0) or values (1)."""
    return b"".join([block.row_bytes(role, head, index) for head in range(heads) for block, index in rows])


class StoredRows:
    """A row source over the bytes of `[1, heads, rows, dim]` arrays, keys and values, as read from a file."""

    def __init__(self, count: int, shape: RowShape, keys: bytes, values: bytes) -> None:
        self._count = count
        self._shape = shape
        self._data = (keys, values)
        for role, name in ((KEYS, "keys"), (VALUES, "values")):
            expected = shape.heads * count * shape.dim(role) * shape.itemsize
            if len(self._data[role]) != expected:
                raise ValueError(
                    f"stored {name} have {len(self._data[role])} bytes, {count} rows need {expected}; "
                    f"the saved cache is damaged, save it again"
                )

    def row(self, role: int, head: int, index: int) -> Sequence[float]:
        """One row, decoded."""
        size = self._shape.dim(role) * self._shape.itemsize
        start = (head * self._count + index) * size
        return floats.decode(self._data[role][start : start + size], self._shape.dtype)
