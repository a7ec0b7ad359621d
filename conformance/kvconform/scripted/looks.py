"""What the scripted model tells of a list of caches: signatures, offsets, the hash of everything seen.

Everything is asked through the reference's protocol, so any cache class registered there will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvconform_reference import protocol

from ..implementations import reference_layers
from . import arithmetic


def signatures(layers: Sequence[Any]) -> tuple[str, ...]:
    """The signature of every layer of a list."""
    return tuple([reference_layers.signature(layer) for layer in layers])


def offsets(layers: Sequence[Any]) -> tuple[int | None, ...]:
    """The offset of every layer of a list; none where none is maintained."""
    return tuple([protocol.offset_of(layer) for layer in layers])


def fold_layers(seen: int, layers: Sequence[Any]) -> int:
    """The hash with everything folded in that the model may tell about its layers, depth first."""
    for layer in layers:
        seen = fold_layer(seen, layer)
    return seen


def fold_layer(seen: int, layer: Any) -> int:
    """The hash with one layer folded in."""
    kind = protocol.kind_of(layer)
    if kind == protocol.COMPOSITE:
        children = protocol.children_of(layer)
        return fold_layers(arithmetic.fold_composite(seen, len(children)), children)
    if kind == protocol.RECURRENT:
        return arithmetic.fold_leaf(seen, kind, reference_layers.recurrent_number(layer) or 0)
    offset = protocol.offset_of(layer) or 0
    if kind == protocol.QUANTIZED:
        return arithmetic.fold_quantized(seen, layer.group_size, layer.bits, offset)
    return arithmetic.fold_leaf(seen, kind, offset)
