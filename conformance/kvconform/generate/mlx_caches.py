"""The reference's layer protocol for mlx-lm's cache classes.

Importing this module registers them, so that the reference's own pass and container work on real caches.
Classes that are not registered here (batched ones, a model's own) are of kind `unknown` and pass through.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
# (the type stubs of MLX are partial)

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kvconform_reference import group_size as group_sizes
from kvconform_reference import protocol
from mlx_lm.models import cache as mlx_lm_caches

_caches: Any = mlx_lm_caches  # its classes are untyped
PLAIN: Any = _caches.KVCache
CHUNKED: Any = _caches.ChunkedKVCache
ROTATING: Any = _caches.RotatingKVCache
QUANTIZED: Any = _caches.QuantizedKVCache
RECURRENT: Any = _caches.ArraysCache
COMPOSITE: Any = _caches.CacheList

_KINDS = {
    PLAIN: protocol.PLAIN,
    CHUNKED: protocol.CHUNKED,
    ROTATING: protocol.ROTATING,
    QUANTIZED: protocol.QUANTIZED,
    RECURRENT: protocol.RECURRENT,
    COMPOSITE: protocol.COMPOSITE,
}


def offset_of(layer: Any) -> int:
    """Positions written so far, those included that a window or a chunk has dropped."""
    return int(layer.offset)


def head_dims(layer: Any) -> tuple[int, int] | None:
    """Last dimension of the stored arrays; none before the first write (HD-1)."""
    if layer.keys is None:
        return None
    return int(layer.keys.shape[-1]), int(layer.values.shape[-1])


def chunk_holds_every_row(layer: Any) -> bool:
    """Whether a chunked cache has not dropped its front yet (QP-2)."""
    return int(layer.start_position) == 0


def to_quantized(layer: Any, *, group_size: int, bits: int, resolver: str = "nearest") -> Any:
    """mlx-lm's own conversion, at the group size that the resolver finds (MQ-5).

    ValueError when there is none. mlx-lm converts a cache that was never written too, to an empty quantized
    one, but at the size requested: there are no dims to resolve it by. Only a resolver that uses the
    request as it is can take that.
    """
    dims = head_dims(layer)
    if dims is None:
        return _empty_quantized(layer, group_size, bits, resolver)
    resolved = group_sizes.resolve_group_size(group_size, *dims, resolver=resolver)
    if resolved is None:
        usable = group_sizes.compatible_group_sizes(*dims)
        raise ValueError(
            f"group size {group_size} cannot be used for a cache of head dims {dims[0]} and {dims[1]}; "
            f"{' or '.join(map(str, usable)) or 'no supported size'} can"
        )
    return layer.to_quantized(group_size=resolved, bits=bits)


def _empty_quantized(layer: Any, group_size: int, bits: int, resolver: str) -> Any:
    if resolver != "exact":
        raise NotImplementedError(
            "mlx-lm's quantized cache takes its group size when it is made, so a cache without rows cannot "
            f"be converted by the resolver {resolver!r}; use a dialect that keeps empty layers"
        )
    return layer.to_quantized(group_size=group_size, bits=bits)


def rotating_to_quantized(layer: Any, *, group_size: int, bits: int, resolver: str = "nearest") -> Any:
    """Whatever mlx-lm answers: NotImplementedError up to 0.32."""
    del resolver
    return layer.to_quantized(group_size=group_size, bits=bits)


def replace_child(layer: Any, index: int, child: Any) -> None:
    """Put a child into a composite's slot; the composite keeps its identity (MQ-10)."""
    children = list(layer.caches)
    children[index] = child
    layer.caches = tuple(children)


def children_of(layer: Any) -> tuple[Any, ...]:
    """The caches that a composite holds."""
    return tuple(layer.caches)


def _always(kind: str) -> Callable[[Any], str]:
    return lambda _layer: kind


def _register() -> None:
    for cache_class, kind in _KINDS.items():
        protocol.kind_of.register(cache_class, _always(kind))
    for cache_class in (PLAIN, CHUNKED, ROTATING, QUANTIZED):
        protocol.offset_of.register(cache_class, offset_of)
    for cache_class in (PLAIN, CHUNKED, ROTATING):
        protocol.head_dims.register(cache_class, head_dims)
    protocol.holds_every_row.register(CHUNKED, chunk_holds_every_row)
    protocol.to_quantized.register(PLAIN, to_quantized)
    protocol.to_quantized.register(ROTATING, rotating_to_quantized)
    protocol.children_of.register(COMPOSITE, children_of)
    protocol.replace_child.register(COMPOSITE, replace_child)


_register()


# ---------------------------------------------------------------- looks


def flattened(layers: Iterable[Any]) -> list[Any]:
    """Every cache object, depth first, a composite before its children: their places are layer numbers."""
    found: list[Any] = []
    for layer in layers:
        found.append(layer)
        found += flattened(protocol.children_of(layer))
    return found


def position_of(layers: Iterable[Any]) -> int | None:
    """Positions that went through the model so far: the largest offset of any layer; none without any."""
    offsets = (protocol.offset_of(layer) for layer in flattened(layers))
    return max((offset for offset in offsets if offset is not None), default=None)


def bytes_of(layers: Iterable[Any]) -> int:
    """Bytes that the caches have allocated for rows and states, spare capacity included."""
    return sum(own_bytes(cache) for cache in flattened(layers))


def own_bytes(cache: Any) -> int:
    """Bytes of one cache object, without its children."""
    kind = protocol.kind_of(cache)
    if kind == protocol.COMPOSITE:
        return 0
    if kind == protocol.QUANTIZED and cache.keys is None:
        return 0  # asking mlx-lm raises
    return int(cache.nbytes)
