"""The reference's cache classes, registered with the protocol that the policy asks layers through."""

from __future__ import annotations

from typing import Any

from .. import protocol
from .base import Cache
from .plain import ChunkedCache, PlainCache
from .quantized import QuantizedCache
from .rotating import RotatingCache
from .whole import CompositeCache, RecurrentCache

__all__ = [
    "Cache",
    "ChunkedCache",
    "CompositeCache",
    "PlainCache",
    "QuantizedCache",
    "RecurrentCache",
    "RotatingCache",
]


@protocol.kind_of.register
def _(layer: Cache) -> str:
    return layer.kind


@protocol.offset_of.register
def _(layer: Cache) -> int | None:
    return layer.offset


@protocol.head_dims.register
def _(layer: Cache) -> tuple[int, int] | None:
    return layer.head_dims


@protocol.holds_every_row.register
def _(layer: Cache) -> bool:
    return layer.holds_every_row


@protocol.to_quantized.register
def _(layer: Cache, *, group_size: int, bits: int, resolver: str = "nearest") -> Cache:
    return layer.to_quantized(group_size=group_size, bits=bits, resolver=resolver)


@protocol.children_of.register
def _(layer: Cache) -> tuple[Any, ...]:
    return layer.children


@protocol.replace_child.register
def _(layer: CompositeCache, index: int, child: Any) -> None:
    layer.replace_child(index, child)
