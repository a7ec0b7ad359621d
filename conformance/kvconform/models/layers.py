"""Words for the caches of a real model, in the vocabulary of scenarios.

Recognises mlx-lm's cache classes by name and needs no import of them, so that it also works on the caches of
a package that has classes of the same names.
"""

from __future__ import annotations

from typing import Any

KINDS = {
    "KVCache": "plain",
    "RotatingKVCache": "rotating",
    "ChunkedKVCache": "chunked",
    "QuantizedKVCache": "quantized",
    "ArraysCache": "recurrent",
    "CacheList": "composite",
}


def layer_kind(cache: object) -> str:
    """The scenario kind of a cache object, or its class name when it is none of them."""
    name = type(cache).__name__
    return KINDS.get(name, name)


def head_dims(cache: Any) -> tuple[int, int] | None:
    """Key and value head dim of a plain, rotating or chunked cache; none before it was written (HD-1)."""
    if layer_kind(cache) not in ("plain", "rotating", "chunked") or cache.keys is None:
        return None
    return int(cache.keys.shape[-1]), int(cache.values.shape[-1])


def describe_layer(cache: Any) -> str:
    """One layer in words: ``plain 64/64``, ``recurrent``, ``composite(recurrent, plain 64/64)``."""
    kind = layer_kind(cache)
    if kind == "composite":
        return f"composite({', '.join(describe_layer(child) for child in cache.caches)})"
    dims = head_dims(cache)
    return kind if dims is None else f"{kind} {dims[0]}/{dims[1]}"
