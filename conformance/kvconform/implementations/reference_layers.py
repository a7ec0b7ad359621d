"""Builds the layers of a scenario out of the reference's caches, and writes pattern content to them.

Meaning: ``docs/scenarios.md`` sections 1 and 2. Content is a row source: nothing is computed before
somebody looks at bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from types import MappingProxyType
from typing import Any

from kvconform_reference import caches, protocol, tensor
from kvconform_reference.dialect import Dialect

from .. import pattern
from ..scenario import Layer
from ..scripted import arithmetic

Layers = Sequence[Layer]
KNOWN_ROWS = 8192
"""Rows of content kept: 64 float references each, so 8 MB at most for the usual head dims."""


@dataclass(frozen=True, slots=True)
class LayerSlot:
    """One place for a layer in a scenario: what is built there and the number that its content depends on."""

    layer: Any
    stream: int
    children: tuple[LayerSlot, ...] = ()


def number_layers(layers: Layers) -> tuple[LayerSlot, ...]:
    """The scenario's layers, numbered from 0: depth first, a composite before its children."""
    numbers = count()
    return tuple([_number(layer, numbers) for layer in layers])


def _number(layer: Any, numbers: Iterator[int]) -> LayerSlot:
    stream = next(numbers)
    if layer.kind != protocol.COMPOSITE:
        return LayerSlot(layer, stream)
    return LayerSlot(layer, stream, tuple([_number(child, numbers) for child in layer.children]))


class PatternRows:
    """The content pattern from one position on, as a row source."""

    __slots__ = ("dims", "position", "salt", "stream")

    def __init__(self, stream: int, salt: int, position: int, dims: tuple[int, int]) -> None:
        self.stream = stream
        self.salt = salt
        self.position = position
        self.dims = dims

    def row(self, role: int, head: int, index: int) -> Sequence[float]:
        """The pattern's row at ``position + index``."""
        return pattern_row(self.stream, self.salt, role, head, self.position + index, self.dims[role])


@lru_cache(maxsize=KNOWN_ROWS)
def pattern_row(stream: int, salt: int, role: int, head: int, position: int, dim: int) -> Sequence[float]:
    """``pattern.row_values``, kept: the same rows are looked at in scenario after scenario."""
    return pattern.row_values(stream, salt, role, head, position, dim)


@lru_cache(maxsize=256)
def row_shape(heads: int, key_dim: int, value_dim: int, dtype: str) -> tensor.RowShape:
    """One shape object for equal shapes."""
    return tensor.RowShape(heads, key_dim, value_dim, dtype)


# ---------------------------------------------------------------- building


def build_layers(slots: Sequence[LayerSlot], dialect: Dialect) -> list[Any]:
    """The caches of all slots, filled as the scenario says; ValueError when a layer cannot be built."""
    return [build_layer(slot, dialect) for slot in slots]


def build_layer(slot: LayerSlot, dialect: Dialect) -> Any:
    """One cache, filled."""
    return BUILDERS[slot.layer.kind](slot, dialect)


def _plain(slot: LayerSlot, _dialect: Dialect) -> Any:
    cache = caches.PlainCache()
    fill(slot, cache)
    if slot.layer.trim:
        cache.trim(slot.layer.trim)
    return cache


def _chunked(slot: LayerSlot, _dialect: Dialect) -> Any:
    cache = caches.ChunkedCache(chunk_size=slot.layer.chunk_size)
    fill(slot, cache)
    if slot.layer.drop_front:
        cache.drop_front()
    return cache


def _rotating(slot: LayerSlot, _dialect: Dialect) -> Any:
    cache = caches.RotatingCache(max_size=slot.layer.max_size, keep=slot.layer.keep)
    if not slot.layer.singly:
        return fill(slot, cache)
    for _ in range(slot.layer.length):
        write_rows(slot, cache, 1, salt=0)
    return cache


def _quantized(slot: LayerSlot, dialect: Dialect) -> Any:
    layer = slot.layer
    cache = caches.QuantizedCache(group_size=layer.group_size, bits=layer.bits, resolver=dialect.resolver)
    return fill(slot, cache)


def _recurrent(slot: LayerSlot, _dialect: Dialect) -> Any:
    cache = caches.RecurrentCache(slots=slot.layer.slots)
    if slot.layer.filled:
        put_number(cache, arithmetic.recurrent_filled(slot.stream))
    return cache


def _composite(slot: LayerSlot, dialect: Dialect) -> Any:
    return caches.CompositeCache(build_layers(slot.children, dialect))


BUILDERS: Mapping[str, Callable[[LayerSlot, Dialect], Any]] = MappingProxyType(
    {
        "plain": _plain,
        "chunked": _chunked,
        "rotating": _rotating,
        "quantized": _quantized,
        "recurrent": _recurrent,
        "composite": _composite,
    }
)


def fill(slot: LayerSlot, cache: Any) -> Any:
    """The initial fill in one append, none for length 0; answers with the cache."""
    if slot.layer.length:
        write_rows(slot, cache, slot.layer.length, salt=0)
    return cache


# ---------------------------------------------------------------- writing


def write_rows(slot: LayerSlot, cache: Any, rows: int, *, salt: int) -> int | None:
    """Write rows to the cache that now sits in the slot: whatever it has become, the slot's content.

    Answers with the rows that the reader gets back from the write; none for recurrent and composite layers.
    """
    kind = protocol.kind_of(cache)
    if kind == protocol.COMPOSITE:
        for child_slot, child in zip(slot.children, protocol.children_of(cache), strict=True):
            write_rows(child_slot, child, rows, salt=salt)
        return None
    if kind == protocol.RECURRENT:
        put_number(cache, arithmetic.recurrent_after(recurrent_number(cache), rows, salt))
        return None
    got = cache.append(pattern_block(slot, cache.offset, rows, salt))
    return 0 if got is None else got.count


def pattern_block(slot: LayerSlot, position: int, rows: int, salt: int) -> tensor.Block:
    """``rows`` rows of the slot's content from a position on."""
    layer = slot.layer
    shape = row_shape(layer.heads, layer.key_dim, layer.value_dim, layer.dtype)
    source = PatternRows(slot.stream, salt, position, (layer.key_dim, layer.value_dim))
    return tensor.Block(rows, shape, source)


STATE_WIDTH = 4
"""Values of one slot's array: shape ``[1, 1, 4]``."""


def put_number(cache: caches.RecurrentCache, number: int) -> None:
    """Replace every slot by the array that stands for the recurrent number ``s``."""
    slots = range(len(cache.arrays))
    cache.replace([(float((number + i) % arithmetic.STATE_MODULUS),) * STATE_WIDTH for i in slots])


def recurrent_number(cache: caches.RecurrentCache) -> int | None:
    """The ``s`` of a recurrent layer: what its first slot holds; none when it was never filled."""
    first = cache.arrays[0]
    return None if first is None else int(first[0])


def signature(cache: Any) -> str:
    """``S``, ``C``, ``R``, ``M``, ``Q:group_size,bits``, ``L(a,b)``."""
    kind = protocol.kind_of(cache)
    if kind == protocol.QUANTIZED:
        return f"Q:{cache.group_size},{cache.bits}"
    if kind == protocol.COMPOSITE:
        return f"L({','.join(map(signature, protocol.children_of(cache)))})"
    return SIGNATURES[kind]


SIGNATURES: Mapping[str, str] = MappingProxyType(
    {protocol.PLAIN: "S", protocol.CHUNKED: "C", protocol.ROTATING: "R", protocol.RECURRENT: "M"}
)
