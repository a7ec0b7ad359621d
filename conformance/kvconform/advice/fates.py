"""What a pass would do to each layer of a real cache list, and in words why a layer stays as it is.

The decisions are the reference's own; here they are only asked for and explained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kvconform_reference import group_size as group_sizes
from kvconform_reference import policy, protocol
from kvconform_reference.dialect import PROPOSAL

DIALECT = replace(PROPOSAL, chunked="keep")
"""The proposal's design on mlx-lm's caches, whose chunked cache has no conversion."""


@dataclass(frozen=True, kw_only=True)
class Fate:
    """One cache object of the list, composites left out and their children in."""

    path: str
    """Its place: ``3``, or ``3.0`` for the first child of layer 3."""
    kind: str
    """The scenario kind, or the class's name where it is none of them."""
    dims: tuple[int, int] | None
    """Key and value head dim; none without stored keys and values."""
    group_size: int | None
    """The group size that it is quantized with; none when it stays full precision."""
    reason: str | None
    """Why it stays full precision."""


def fates(layers: Sequence[Any], group_size: int) -> tuple[Fate, ...]:
    """The fate of every layer once the start is reached, for a list that has been written to."""
    return tuple(fate_of(slot, group_size) for slot in leaves(layers))


def leaves(layers: Sequence[Any]) -> list[policy.Slot]:
    """Every cache of the list in order, composites taken apart."""
    return list(policy.walk(layers, replace(DIALECT, nested="recurse")))


def converted(found: Sequence[Fate]) -> tuple[Fate, ...]:
    """Those that are quantized."""
    return tuple(fate for fate in found if fate.group_size is not None)


def why_nothing(reasons: Sequence[str | None]) -> str:
    """Why not one layer is quantized, given each one's reason: the distinct ones, the most frequent first."""
    given = [reason for reason in reasons if reason]
    distinct = sorted(set(given), key=lambda reason: (-given.count(reason), given.index(reason)))
    return "; ".join(distinct) or "it has no cache"


def fate_of(slot: policy.Slot, group_size: int) -> Fate:
    """What a pass that asks for this group size makes of one layer."""
    layer = slot.layer
    kind = protocol.kind_of(layer)
    dims = protocol.head_dims(layer)
    opaque = slot.holder is not None  # DIALECT.nested
    quantized = not opaque and policy.decide(slot, group_size, DIALECT) == policy.CONVERT
    resolved = policy.resolve(group_size, *dims, DIALECT) if quantized and dims else None
    return Fate(
        path=slot.path,
        kind=type(layer).__name__ if kind == protocol.UNKNOWN else kind,
        dims=dims,
        group_size=resolved,
        reason=None if resolved else _reason(kind, dims, opaque=opaque),
    )


def _reason(kind: str, dims: tuple[int, int] | None, *, opaque: bool) -> str:
    if opaque:
        return "inside a composite cache, which passes through as a whole"
    if kind in _REASONS:
        return _REASONS[kind]
    if dims is None:
        return "the model never wrote to it"
    if not group_sizes.compatible_group_sizes(*dims):
        return f"no group size ({_SIZES}) divides {_dims_text(dims)}"
    return "it has dropped rows"


_SIZES = ", ".join(map(str, group_sizes.SUPPORTED_GROUP_SIZES))
_REASONS = {
    protocol.ROTATING: "sliding window: its rows lose their order",
    protocol.RECURRENT: "recurrent state, no keys and values",
    protocol.CHUNKED: "chunked attention: mlx-lm's cache for it has no conversion",
    protocol.QUANTIZED: "the model makes it quantized already",
    protocol.UNKNOWN: "a cache class that is not known to be quantizable",
}


def _dims_text(dims: tuple[int, int]) -> str:
    key, value = dims
    return f"head dim {key}" if key == value else f"both head dims, {key} and {value}"
