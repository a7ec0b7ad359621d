"""The quantized cache, and the conversion of other caches into one.

Source: specification sections 13 (QC) and 5 (MQ-5, MQ-6).
"""

from __future__ import annotations

from typing import Protocol

from .. import affine, bit_widths, protocol, tensor
from .. import group_size as group_sizes
from . import base


class PackedBlock(Protocol):
    """A block of quantized rows."""

    count: int

    def packed_row(self, role: int, head: int, index: int) -> affine.QuantizedRow:
        """One row's packed words, scales and biases."""
        ...


class QuantizedBlock:
    """The rows of a block, each quantized when it is looked at (row by row: QC-2, AQ-2)."""

    __slots__ = ("_known", "bits", "block", "count", "group_size")

    def __init__(self, block: tensor.Block, *, group_size: int, bits: int) -> None:
        self.block = block
        self.count = block.count
        self.group_size = group_size
        self.bits = bits
        self._known: dict[tuple[int, int, int], affine.QuantizedRow] | None = None

    def packed_row(self, role: int, head: int, index: int) -> affine.QuantizedRow:
        """One row's packed words, scales and biases; kept, since rows are looked at many times."""
        if self._known is None:
            self._known = {}
        key = (role, head, index)
        if key not in self._known:
            self._known[key] = self._quantize(role, head, index)
        return self._known[key]

    def _quantize(self, role: int, head: int, index: int) -> affine.QuantizedRow:
        values, dtype = self.block.values(role, head, index), self.block.shape.dtype
        return affine.quantize_row(values, bits=self.bits, group_size=self.group_size, dtype=dtype)


class QuantizedCache(base.RowCache):
    """A cache that stores packed words, scales and biases of every row.

    Made empty it has the *requested* group size until the first write brings the head dims, which resolve it
    (dialect `empty_layer = convert`). Bits are validated at once (MQ-14).
    """

    kind = protocol.QUANTIZED

    def __init__(self, *, group_size: int = 64, bits: int = 8, resolver: str = "nearest") -> None:
        super().__init__()
        bit_widths.check_bits(bits)
        self.group_size = group_size
        self.bits = bits
        self.resolver = resolver

    def append(self, block: tensor.Block) -> tensor.Rows | None:
        if self.shape is None:
            self.group_size = usable_group_size(self.group_size, block.shape, self.resolver)
        return super().append(block)

    def packed(self, block: tensor.Block) -> PackedBlock:
        return QuantizedBlock(block, group_size=self.group_size, bits=self.bits)

    @property
    def head_dims(self) -> None:
        """None: it holds more than one key and one value array (GS-10)."""
        return None

    @property
    def row_nbytes(self) -> int:
        """Bytes of a row: d * bits / 8 and 2 * itemsize * d / group size, per head and side (QC-8)."""
        if self.shape is None:
            return 0
        dims = self.shape.key_dim + self.shape.value_dim
        return self.shape.heads * (dims * self.bits // 8 + 2 * self.shape.itemsize * dims // self.group_size)


def usable_group_size(requested: int, shape: tensor.RowShape, resolver: str) -> int:
    """The group size that rows of this shape get for the request (MQ-5); ValueError when there is none."""
    size = group_sizes.resolve_group_size(requested, shape.key_dim, shape.value_dim, resolver=resolver)
    if size is None:
        usable = group_sizes.compatible_group_sizes(shape.key_dim, shape.value_dim)
        raise ValueError(
            f"group size {requested} cannot be used for head dims {shape.key_dim} and {shape.value_dim}; "
            f"{' or '.join(map(str, usable)) or 'no supported size'} can. GS-2"
        )
    return size


def quantized_cache(source: base.RowCache, *, group_size: int, bits: int, resolver: str) -> QuantizedCache:
    """A quantized cache with the rows and the offset of `source`, which stays as it is (MQ-5, MQ-6).

    ValueError when rows were dropped (QP-2) or no group size can be used; an empty source gives an empty one.
    """
    result = QuantizedCache(group_size=group_size, bits=bits, resolver=resolver)
    rows, shape = source.fetch(), source.shape
    if rows is None or shape is None:
        return result
    check_complete(source)
    result.group_size = usable_group_size(group_size, shape, resolver)
    result.shape = shape
    result.stored = rows.map_blocks(result.packed)
    result.offset = source.offset
    result.allocate()
    return result


def check_complete(source: base.RowCache) -> None:
    """ValueError when a reader of `source` gets fewer rows than were written (QP-2)."""
    if not source.holds_every_row:
        raise ValueError(
            f"a {source.kind} cache at offset {source.offset} holds {source.rows} rows only and cannot be "
            f"quantized, since a quantized cache has as many rows as its offset; keep it as it is. QP-2"
        )
