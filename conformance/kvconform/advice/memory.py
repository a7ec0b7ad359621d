"""How many bytes a cache takes at a given length, from its head dims alone.

mlx-lm allocates rows in steps; what is computed here is what its ``nbytes`` then reports (tests compare).
"""

from __future__ import annotations

from kvconform_reference import protocol

from .trial import Layer

ROW_STEP = 256
"""Rows that mlx-lm's caches grow by (measured: 1 row and 256 rows take the same memory, 257 twice that)."""


def full_bytes(layer: Layer, context: int) -> int:
    """Bytes of the layer in full precision after ``context`` positions, spare rows included."""
    if layer.dims is None:
        return layer.fixed_bytes
    return layer.heads * allocated_rows(layer, context) * sum(layer.dims) * layer.itemsize


def bytes_at(layer: Layer, context: int, *, bits: int, start: int) -> int:
    """Bytes of the layer after ``context`` positions, quantized if it is converted by then."""
    if layer.dims is None or layer.group_size is None or context < start:
        return full_bytes(layer, context)
    rows = layer.heads * allocated_rows(layer, context)
    return rows * row_bytes(layer.dims, bits=bits, group_size=layer.group_size, itemsize=layer.itemsize)


def row_bytes(dims: tuple[int, int], *, bits: int, group_size: int, itemsize: int) -> int:
    """Bytes of one position of one head, keys and values: the codes, a scale and a bias a group (QC-8)."""
    return sum(dim * bits // 8 + 2 * itemsize * (dim // group_size) for dim in dims)


def allocated_rows(layer: Layer, context: int) -> int:
    """Rows that mlx-lm has allocated once tokens were generated up to ``context`` positions.

    A sliding window is never larger than its window then; a chunked cache that has dropped rows has its chunk
    and one step more.
    """
    whole = -(-context // ROW_STEP) * ROW_STEP
    if layer.limit is None or (context <= layer.limit and layer.kind == protocol.CHUNKED):
        return whole
    return layer.limit + ROW_STEP if layer.kind == protocol.CHUNKED else min(whole, layer.limit)


_UNITS = ("KiB", "MiB", "GiB", "TiB")


def size_text(count: int) -> str:
    """Bytes for people: ``512 B``, ``1.5 MiB``."""
    power = min((count.bit_length() - 1) // 10, len(_UNITS))
    return f"{count} B" if power < 1 else f"{count / 1024**power:.1f} {_UNITS[power - 1]}"
