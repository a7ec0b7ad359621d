"""Layers: scenario descriptions built as mlx-lm caches, written to, and named by their signature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from ...implementation import Unsupported
from ...scenario import (
    ChunkedLayer,
    CompositeLayer,
    Layer,
    PlainLayer,
    QuantizedLayer,
    RecurrentLayer,
    RotatingLayer,
)
from ...scripted import arithmetic
from . import content, package
from .package import mx

RowLayer = PlainLayer | ChunkedLayer | RotatingLayer | QuantizedLayer


@dataclass(frozen=True, kw_only=True)
class Slot:
    """Where a cache stands in the scenario: what it was described as, and its layer number (``stream``)."""

    layer: Layer
    stream: int
    children: tuple[Slot, ...] = ()


def number(layers: Iterable[Layer]) -> tuple[Slot, ...]:
    """Slots of all layers, numbered depth first from 0, a composite before its children."""
    counter = iter(range(2**31))

    def slot(layer: Layer) -> Slot:
        stream = next(counter)
        inner = layer.children if isinstance(layer, CompositeLayer) else ()
        return Slot(layer=layer, stream=stream, children=tuple(slot(child) for child in inner))

    return tuple(slot(layer) for layer in layers)


# ---------------------------------------------------------------- building


@dataclass(frozen=True, kw_only=True)
class Builder:
    """Builds and writes caches. Without ``content`` rows are zeros: nobody will look at them."""

    content: bool

    def build(self, slot: Slot) -> Any:
        """The cache that ``slot`` describes, filled as it says."""
        layer = slot.layer
        cache = _empty(layer, tuple(self.build(child) for child in slot.children))
        if isinstance(layer, RecurrentLayer):
            if layer.filled:
                _set_state(cache, layer.slots, arithmetic.recurrent_filled(slot.stream))
        elif not isinstance(layer, CompositeLayer):
            self._fill(slot, layer, cache)
        return cache

    def _fill(self, slot: Slot, layer: RowLayer, cache: Any) -> None:
        singly = isinstance(layer, RotatingLayer) and layer.singly
        for rows in [1] * layer.length if singly else [layer.length] if layer.length else []:
            self.write(slot, cache, rows, salt=0)
        if isinstance(layer, PlainLayer) and layer.trim:
            package.trim_prompt_cache([cache], layer.trim)
        if isinstance(layer, ChunkedLayer) and layer.drop_front:
            cache.maybe_trim_front()

    def write(self, slot: Slot, cache: Any, rows: int, *, salt: int) -> int | None:
        """Writes ``rows`` rows; answers how many a reader gets back, None for recurrent and composite."""
        layer = slot.layer
        if isinstance(layer, CompositeLayer):
            for child, inner in zip(slot.children, cache.caches, strict=True):
                self.write(child, inner, rows, salt=salt)
            return None
        if isinstance(layer, RecurrentLayer):
            _set_state(cache, layer.slots, arithmetic.recurrent_after(recurrent_state(cache), rows, salt))
            return None
        keys, values = self._rows(slot, layer, cache.offset, rows, salt)
        got, _ = cache.update_and_fetch(keys, values)
        return buffers(got)[0].shape[2]

    def _rows(self, slot: Slot, layer: RowLayer, start: int, rows: int, salt: int) -> tuple[Any, Any]:
        dims = (layer.key_dim, layer.value_dim)
        if not self.content:
            dtype = content.DTYPES[layer.dtype]
            keys, values = (mx.zeros((1, layer.heads, rows, dim), dtype) for dim in dims)
            return keys, values
        keys, values = (
            content.pattern_array(
                slot.stream, salt, role, heads=layer.heads, start=start, rows=rows, dim=dim, dtype=layer.dtype
            )
            for role, dim in enumerate(dims)
        )
        return keys, values


def _empty(layer: Layer, children: tuple[Any, ...]) -> Any:
    match layer:
        case PlainLayer():
            return package.KVCache()
        case ChunkedLayer():
            return _known(package.ChunkedKVCache, "a chunked cache")(layer.chunk_size)
        case RotatingLayer():
            return package.RotatingKVCache(max_size=layer.max_size, keep=layer.keep)
        case QuantizedLayer():
            return package.QuantizedKVCache(group_size=layer.group_size, bits=layer.bits)
        case RecurrentLayer():
            return _known(package.ArraysCache, "a cache of state arrays")(layer.slots)
        case CompositeLayer():
            return _known(package.CacheList, "a cache of caches")(*children)


def _known(cache_class: Any, what: str) -> Any:
    if cache_class is None:
        raise Unsupported(f"mlx-lm {package.MLX_LM_VERSION} has no {what.removeprefix('a ')}")
    return cache_class


# ---------------------------------------------------------------- recurrent state


def _set_state(cache: Any, slots: int, s: int) -> None:
    """Replaces every slot's array: slot ``i`` holds ``(s + i) mod 251``."""
    for i in range(slots):
        cache[i] = mx.array([[[float((s + i) % arithmetic.STATE_MODULUS)] * 4]])


def recurrent_state(cache: Any) -> int:
    """The integer that the slots encode; 0 when nothing was ever written."""
    return slot_value(cache[0]) or 0


def slot_value(array: Any) -> int | None:
    """The value a slot's array holds everywhere; None for a slot that holds nothing."""
    return None if array is None else int(array.tolist()[0][0][0])


def buffers(side: Any) -> tuple[Any, ...]:
    """The arrays of one side (keys or values): a single one, or packed words, scales and biases."""
    return cast("tuple[Any, ...]", tuple(side)) if isinstance(side, (tuple, list)) else (side,)  # pyright: ignore[reportUnknownArgumentType]


# ---------------------------------------------------------------- naming


def kind_of(cache: Any) -> str:
    """The scenario's word for this cache; the class's own name for anything else."""
    return KINDS.get(type(cache).__name__, type(cache).__name__)


KINDS = {
    "KVCache": "plain",
    "ChunkedKVCache": "chunked",
    "RotatingKVCache": "rotating",
    "QuantizedKVCache": "quantized",
    "ArraysCache": "recurrent",
    "CacheList": "composite",
}


def signature(cache: Any) -> str:
    """The signature of section 2, e.g. ``S``, ``Q:64,4`` or ``L(M,S)``."""
    match kind_of(cache):
        case "quantized":
            return f"Q:{cache.group_size},{cache.bits}"
        case "composite":
            return f"L({','.join(signature(child) for child in cache.caches)})"
        case kind:
            return {"plain": "S", "chunked": "C", "rotating": "R", "recurrent": "M"}.get(kind, kind)


def offset(cache: Any) -> int | None:
    """The offset, None for kinds that maintain none (recurrent, composite)."""
    return None if kind_of(cache) in ("recurrent", "composite") else int(cache.offset)


def leaves(caches: Iterable[Any]) -> Iterator[Any]:
    """Every cache, depth first, a composite before its children."""
    for cache in caches:
        yield cache
        if kind_of(cache) == "composite":
            yield from leaves(cache.caches)
