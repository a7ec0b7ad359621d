"""The layers of the specification's notation, as caches of the reference, for tests.

`plain(12)` is S(12), `plain(12, 80)` S(80,80,12), `plain(0)` E, `trimmed(3)` Z, `chunked`, `rotating`,
`quantized`, `recurrent`, `composite` are C, R, Q, M, L. `show` writes them back: `S12`, `Q12:64,4`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from kvconform_reference import affine, caches, stored_arrays, tensor
from kvconform_reference.dialect import Dialect, dialect_from


class Numbers:
    """A row source whose values tell stream, position, role, head and channel apart; exact in every dtype."""

    def __init__(self, stream: int, position: int, shape: tensor.RowShape) -> None:
        self.stream = stream
        self.position = position
        self.shape = shape
        self.looks = 0

    def row(self, role: int, head: int, index: int) -> Sequence[float]:
        self.looks += 1
        position = self.position + index
        mixed = (self.stream * 8191 + position * 127 + head * 31 + role * 17 + 1) * 2654435761
        return [((mixed >> 7) * (channel + 3) % 257 - 128) / 64 for channel in range(self.shape.dim(role))]


def shape(key_dim: int = 64, value_dim: int | None = None, heads: int = 1, dtype: str = "float32"):
    return tensor.RowShape(heads, key_dim, value_dim or key_dim, dtype)


def block(rows: int, position: int = 0, of: tensor.RowShape | None = None, stream: int = 0) -> tensor.Block:
    of = of or shape()
    return tensor.Block(rows, of, Numbers(stream, position, of))


def write(cache: Any, rows: int, of: tensor.RowShape | None = None, stream: int = 0) -> Any:
    """Append rows whose content depends on the position; answers with the rows read back."""
    return cache.append(block(rows, cache.offset, of or getattr(cache, "shape", None), stream))


def plain(rows: int = 0, key_dim: int = 64, value_dim: int | None = None, **more: Any) -> caches.PlainCache:
    cache = caches.PlainCache()
    if rows:
        write(cache, rows, shape(key_dim, value_dim, **more))
    return cache


def trimmed(rows: int = 3) -> caches.PlainCache:
    cache = plain(rows)
    cache.trim(rows)
    return cache


def chunked(rows: int, chunk_size: int = 16, *, dropped: bool = False) -> caches.ChunkedCache:
    cache = caches.ChunkedCache(chunk_size=chunk_size)
    if rows:
        write(cache, rows)
    if dropped:
        cache.drop_front()
    return cache


def rotating(rows: int, max_size: int = 64, keep: int = 0) -> caches.RotatingCache:
    cache = caches.RotatingCache(max_size=max_size, keep=keep)
    if rows:
        write(cache, rows)
    return cache


def quantized(rows: int, group_size: int = 64, bits: int = 4, key_dim: int = 64, **more: Any) -> Any:
    cache = caches.QuantizedCache(group_size=group_size, bits=bits)
    if rows:
        write(cache, rows, shape(key_dim, **more))
    return cache


def recurrent(slots: int = 2) -> caches.RecurrentCache:
    cache = caches.RecurrentCache(slots=slots)
    cache.replace([(float(slot),) * 4 for slot in range(slots)])
    return cache


def composite(*children: Any) -> caches.CompositeCache:
    return caches.CompositeCache(children)


def show(layer: Any) -> str:
    """`S12`, `C12`, `R12`, `Q12:64,4`, `M`, `L(M,S3)`."""
    if layer.kind == "composite":
        return f"L({','.join(map(show, layer.children))})"
    if layer.kind == "recurrent":
        return "M"
    if layer.kind == "quantized":
        return f"Q{layer.offset}:{layer.group_size},{layer.bits}"
    return {"plain": "S", "chunked": "C", "rotating": "R"}[layer.kind] + str(layer.offset)


def show_all(layers: Iterable[Any]) -> list[str]:
    return [show(layer) for layer in layers]


def content(cache: Any) -> list[Any]:
    """The bytes of keys and values that a reader gets."""
    rows = cache.fetch()
    if rows is None:
        return []
    if cache.kind == "quantized":
        return [stored_arrays.packed_bytes(rows, role, cache.shape.heads) for role in tensor.ROLES]
    return [tensor.row_bytes(rows, role, cache.shape.heads) for role in tensor.ROLES]


def quantized_directly(cache: Any, *, bits: int, group_size: int) -> list[affine.QuantizedRow]:
    """What quantizing the rows of an unquantized cache one by one gives, without its conversion."""
    rows, of = cache.fetch(), cache.shape
    result: list[affine.QuantizedRow] = []
    for role in tensor.ROLES:
        parts = [
            affine.quantize_row(b.values(role, head, i), bits=bits, group_size=group_size, dtype=of.dtype)
            for head in range(of.heads)
            for b, i in rows
        ]
        fields = ("packed", "scales", "biases")
        result.append(affine.QuantizedRow(*[b"".join(getattr(p, f) for p in parts) for f in fields]))
    return result


def positions(cache: Any) -> list[int]:
    """The positions of the rows that a reader gets, in the reader's order."""
    return [b.source.position + i for b, i in cache.fetch() or ()]


def read_back(dialect: Dialect) -> Dialect:
    """The dialect as a file gives it: equal to the original, of texts that are objects of their own."""
    return dialect_from(json.loads(json.dumps(dialect.as_dict())))
