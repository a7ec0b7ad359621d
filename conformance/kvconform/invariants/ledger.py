"""Book-keeping of what was written: which positions a cache must hold, and what each row contains.

A handful of list operations instead of caches, so that offsets, rows and content can be judged without
the reference. Rows are kept in time order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from ..observation import ObjectView, Packed
from ..pattern import row_values
from ..scenario import (
    ChunkedLayer,
    CompositeLayer,
    Layer,
    PlainLayer,
    QuantizedLayer,
    RecurrentLayer,
    RotatingLayer,
    Tensor,
)
from . import affine
from .tensors import row_bytes

RowJudge = Callable[..., str | None]
"""(values, row, bits=, group_size=, dtype=) -> why a quantized row is not acceptable."""


class Row(NamedTuple):
    """A row that was written: where, and with which salt."""

    position: int
    salt: int


@dataclass
class Ledger:
    """One cache: its layer in the scenario, its number there, offset and the rows a reader must get."""

    layer: Layer
    stream: int
    kind: str
    offset: int = 0
    rows: list[Row] = field(default_factory=list[Row])
    last_append: int = 0
    trimmed: bool = False

    def append(self, count: int, salt: int) -> None:
        """``count`` more rows."""
        new = [Row(self.offset + i, salt) for i in range(count)]
        if isinstance(self.layer, RotatingLayer):
            self._rotate(count)
        self.rows += new
        self.offset += count
        self.last_append = count

    def _rotate(self, count: int) -> None:
        assert isinstance(self.layer, RotatingLayer)
        # KC-2: one row goes into a full window of max_size; several leave at most max_size - 1 old ones.
        self._keep_newest(self.layer.max_size - 1)

    def _keep_newest(self, limit: int) -> None:
        assert isinstance(self.layer, RotatingLayer)
        surplus, keep = len(self.rows) - limit, self.layer.keep
        if surplus > 0:
            self.rows = self.rows[:keep] + self.rows[keep + surplus :]

    @property
    def trimmable(self) -> bool:
        """A rotating window that is full and a recurrent state are not (KC-2, KC-4)."""
        if isinstance(self.layer, RotatingLayer):
            return self.offset < self.layer.max_size
        return not isinstance(self.layer, RecurrentLayer)

    def trim(self, count: int) -> int:
        """Up to ``count`` rows off the end; how many."""
        if not self.trimmable:
            return 0
        taken = max(0, min(count, len(self.rows)))
        self.rows = self.rows[: len(self.rows) - taken]
        self.offset -= taken
        self.trimmed = self.trimmed or taken > 0
        return taken

    def drop_front(self) -> None:
        """KC-3: the newest ``chunk_size`` rows stay."""
        if isinstance(self.layer, ChunkedLayer):
            self.rows = self.rows[-self.layer.chunk_size :]

    def copied(self, *, kind: str | None = None) -> Ledger:
        """The same rows in another cache."""
        return replace(self, rows=list(self.rows), kind=kind or self.kind)


def filled(layer: Layer, stream: int) -> Ledger:
    """A layer as its scenario fills it (section 2 of the contract)."""
    ledger = Ledger(layer=layer, stream=stream, kind=layer.kind)
    if isinstance(layer, RecurrentLayer | CompositeLayer):
        return ledger
    singly = isinstance(layer, RotatingLayer) and layer.singly
    for count in [1] * layer.length if singly else [layer.length] * bool(layer.length):
        ledger.append(count, 0)
    if isinstance(layer, PlainLayer) and layer.trim:
        ledger.trim(layer.trim)
    if isinstance(layer, ChunkedLayer) and layer.drop_front:
        ledger.drop_front()
    return ledger


def numbered(layers: tuple[Layer, ...]) -> Iterator[Layer]:
    """Every layer depth first, a composite before its children: the numbers of streams and of first ids."""
    for layer in layers:
        yield layer
        if isinstance(layer, CompositeLayer):
            yield from numbered(layer.children)


# ---------------------------------------------------------------- what a look must show


def wrong_counts(ledger: Ledger, view: ObjectView) -> dict[str, tuple[object, object]]:
    """Offset, rows and start position that a look shows and must not: name to (expected, observed)."""
    if isinstance(ledger.layer, RecurrentLayer | CompositeLayer):
        expected: dict[str, object] = {"offset": None, "rows": None}
    else:
        expected = {"offset": ledger.offset, "rows": len(ledger.rows)}
        if ledger.kind == "chunked":
            expected["start_position"] = ledger.offset - len(ledger.rows)
    observed = {name: getattr(view, name) for name in expected}
    return {name: (expected[name], observed[name]) for name in expected if expected[name] != observed[name]}


def wrong_content(ledger: Ledger, view: ObjectView, accepts: RowJudge) -> str | None:
    """Why the bytes of a look are not the rows that were written, or ``None``."""
    if isinstance(ledger.layer, RecurrentLayer | CompositeLayer):
        return None
    if not ledger.rows:
        empty = view.keys is None and view.values is None
        return None if empty else "content without rows"
    for role, name in enumerate(("keys", "values")):
        stored: Tensor | Packed | None = getattr(view, name)
        if stored is None:
            return f"no {name}"
        wrong = _wrong_side(ledger, view, stored, role, accepts)
        if wrong is not None:
            return f"{name}: {wrong}"
    return None


def _wrong_side(
    ledger: Ledger, view: ObjectView, stored: Tensor | Packed, role: int, accepts: RowJudge
) -> str | None:
    layer = ledger.layer
    assert isinstance(layer, PlainLayer | ChunkedLayer | RotatingLayer | QuantizedLayer)
    dim = layer.value_dim if role else layer.key_dim
    if ledger.kind == "quantized":
        if not isinstance(stored, Packed) or view.bits is None or view.group_size is None:
            return "not packed"
        return _wrong_packed(ledger, layer, stored, role, dim, view.bits, view.group_size, accepts)
    if isinstance(stored, Packed):
        return "packed"
    return _wrong_plain(ledger, layer, stored, role, dim)


def _wrong_plain(ledger: Ledger, layer: Layer, stored: Tensor, role: int, dim: int) -> str | None:
    assert isinstance(layer, PlainLayer | ChunkedLayer | RotatingLayer | QuantizedLayer)
    shape = (1, layer.heads, len(ledger.rows), dim)
    if stored.shape != shape or stored.dtype != layer.dtype:
        return f"{stored.dtype} {list(stored.shape)}, where {layer.dtype} {list(shape)} is right"
    # The order of a rotating window is the design's own business: its rows are compared as a set.
    order = sorted if isinstance(layer, RotatingLayer) else list
    found = row_bytes(stored)
    per_head = len(ledger.rows)
    for head in range(layer.heads):
        written = [_written(ledger, role, head, row, dim, layer.dtype) for row in ledger.rows]
        if order(written) != order(found[head * per_head : (head + 1) * per_head]):
            return f"head {head} holds other rows than were written"
    return None


def _wrong_packed(
    ledger: Ledger,
    layer: Layer,
    stored: Packed,
    role: int,
    dim: int,
    bits: int,
    group_size: int,
    accepts: RowJudge,
) -> str | None:
    assert isinstance(layer, PlainLayer | ChunkedLayer | RotatingLayer | QuantizedLayer)
    wrong = wrong_shapes(
        stored, heads=layer.heads, rows=len(ledger.rows), dim=dim, bits=bits, group_size=group_size
    )
    if wrong is not None:
        return wrong
    if stored.scales.dtype != layer.dtype or stored.biases.dtype != layer.dtype:
        return f"scales and biases in {stored.scales.dtype}, the layer is in {layer.dtype}"
    sides = zip(row_bytes(stored.packed), row_bytes(stored.scales), row_bytes(stored.biases), strict=True)
    for number, parts in enumerate(sides):
        head, index = divmod(number, len(ledger.rows))
        row = ledger.rows[index]
        values = _values(ledger.stream, row.salt, role, head, row.position, dim)
        found = affine.Quantized(*parts)
        why = accepts(values, found, bits=bits, group_size=group_size, dtype=layer.dtype)
        if why is not None:
            return f"head {head}, row {index} is not the quantization of position {row.position}: {why}"
    return None


def wrong_shapes(
    stored: Packed, *, heads: int, rows: int, dim: int, bits: int, group_size: int
) -> str | None:
    """Whether words, scales and biases have the shapes that these sizes ask for (QC-1, QC-6)."""
    wide, narrow = (1, heads, rows, dim * bits // 32), (1, heads, rows, dim // group_size)
    for name, part, shape in (
        ("packed", stored.packed, wide),
        ("scales", stored.scales, narrow),
        ("biases", stored.biases, narrow),
    ):
        if part.shape != shape:
            return f"{name} has shape {list(part.shape)}, where {list(shape)} is right"
    return None


@lru_cache(maxsize=20_000)
def _values(stream: int, salt: int, role: int, head: int, position: int, dim: int) -> tuple[float, ...]:
    return row_values(stream, salt, role, head, position, dim)


@lru_cache(maxsize=20_000)
def _encoded(values: tuple[float, ...], dtype: str) -> bytes:
    return affine.encode(values, dtype)


def _written(ledger: Ledger, role: int, head: int, row: Row, dim: int, dtype: str) -> bytes:
    return _encoded(_values(ledger.stream, row.salt, role, head, row.position, dim), dtype)
