"""All that the policy and the container may ask of a layer, as functions that are open to any cache class.

A cache class takes part by registering itself with each function (`functools.singledispatch`); the
reference's own classes do so in `caches`, other classes may in a module of their own. An object of a class
that nobody registered is of kind `unknown`: it is passed through and never touched (KC-4, MQ-3).
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

PLAIN = "plain"
CHUNKED = "chunked"
ROTATING = "rotating"
QUANTIZED = "quantized"
RECURRENT = "recurrent"
COMPOSITE = "composite"
UNKNOWN = "unknown"
KINDS = (PLAIN, CHUNKED, ROTATING, QUANTIZED, RECURRENT, COMPOSITE)

Layer = Any
"""One entry of a cache list: any object; what it can do is asked through this module only."""


@singledispatch
def kind_of(layer: Layer) -> str:
    """One of `KINDS`, or `unknown`. Asking changes nothing (QP-3)."""
    return UNKNOWN


@singledispatch
def offset_of(layer: Layer) -> int | None:
    """Positions written so far; none for a layer that maintains no offset (KC-4, KC-5)."""
    return None


@singledispatch
def head_dims(layer: Layer) -> tuple[int, int] | None:
    """Last dimension of the stored key and value array; none when the layer was never written or does not
    hold exactly one key and one value array (HD-1, GS-10)."""
    return None


@singledispatch
def holds_every_row(layer: Layer) -> bool:
    """Whether a reader gets as many rows as were written: a conversion must keep rows == offset (QP-2)."""
    return True


@singledispatch
def to_quantized(layer: Layer, *, group_size: int, bits: int, resolver: str = "nearest") -> Layer:
    """A new quantized cache with the layer's rows and offset; the layer itself is not mutated (MQ-5, MQ-6).

    `group_size` is what was *requested*: the conversion resolves it, for a direct caller as for the pass.
    Raises ValueError or NotImplementedError, with nothing changed, when the layer cannot be converted.
    """
    raise NotImplementedError(
        f"a {type(layer).__name__} cannot be quantized; convert plain caches only, or register a conversion"
    )


@singledispatch
def children_of(layer: Layer) -> tuple[Layer, ...]:
    """The caches that a composite holds, in order; empty for every other layer."""
    return ()


@singledispatch
def replace_child(layer: Layer, index: int, child: Layer) -> None:
    """Put `child` into a composite's slot `index`; the composite keeps its identity (MQ-10)."""
    raise NotImplementedError(f"a {type(layer).__name__} has no children to replace; ask children_of first")
