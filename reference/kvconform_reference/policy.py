"""One maybe-quantize pass: which layers it looks at, which it selects, what becomes of each.

A pass is planned first, conversions included, and committed afterwards, so that a pass that fails has
changed nothing (MQ-13). Every decision is a function of its own that asks the dialect, never for a name.
Source: specification sections 2 to 5 (HD, QP, TH, MQ).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from . import bit_widths, protocol
from . import group_size as group_sizes
from .dialect import PROPOSAL, Dialect
from .protocol import Layer


class Slot(NamedTuple):
    """Where a layer sits: in the list (`holder` is none) or in a composite, and its place there."""

    holder: Layer | None
    place: int
    layer: Layer
    path: str
    """For messages: `3`, or `3.0` for the first child of layer 3."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a pass is going to do; nothing has changed yet."""

    triggered: bool = False
    replacements: tuple[tuple[Slot, Layer], ...] = ()
    waiting: bool = False
    """An empty layer was selected that the dialect waits for (`empty_layer = wait`)."""


# ---------------------------------------------------------------- the pass


def maybe_quantize(
    layers: list[Layer],
    bits: int | None,
    group_size: int = 64,
    start: int = 0,
    *,
    dialect: Dialect = PROPOSAL,
) -> bool:
    """The free pass, without memory: converts in `layers` itself; True iff it triggered (MQ-15).

    Raises ValueError for bits or options that are refused, or a layer that the dialect says is an error
    (MQ-11, MQ-14, TH-3); the list is then unchanged.
    """
    check_options(bits, group_size, start, dialect=dialect)
    plan = plan_pass(layers, bits, group_size, start, dialect=dialect)
    commit(plan, layers)
    return plan.triggered


def quantized_list(
    layers: Sequence[Layer],
    bits: int | None,
    group_size: int = 64,
    start: int = 0,
    *,
    dialect: Dialect = PROPOSAL,
) -> list[Layer]:
    """The free pass of designs that return a new list and leave the caller's alone (CT-3, `new-list`)."""
    result = list(layers)
    maybe_quantize(result, bits, group_size, start, dialect=dialect)
    return result


def plan_pass(
    layers: Sequence[Layer], bits: int | None, group_size: int, start: int, *, dialect: Dialect
) -> Plan:
    """Decide and convert, in the order of MQ-0, without changing any list or layer."""
    if bits is None or not layers or is_skipped(layers, dialect):  # MQ-1, CT-12
        return Plan()
    selected = select(layers, start, dialect)
    if not selected:  # MQ-2
        return Plan()
    bit_widths.check_bits(bits)  # MQ-14
    fates = [(slot, decide(slot, group_size, dialect)) for slot in selected]
    return Plan(
        triggered=True,
        replacements=convert_all(
            [slot for slot, fate in fates if fate == CONVERT], group_size, bits, dialect
        ),
        waiting=any(fate == WAIT for _, fate in fates),
    )


def commit(plan: Plan, layers: list[Layer]) -> None:
    """Put the converted layers into their slots; when one cannot be put there, all are as before (MQ-13)."""
    done: list[Slot] = []
    try:
        for slot, converted in plan.replacements:
            put(slot, converted, layers)
            done.append(slot)
    except BaseException:
        for slot in done:
            put(slot, slot.layer, layers)
        raise


def put(slot: Slot, layer: Layer, layers: list[Layer]) -> None:
    """Replace what is in a slot: of `layers`, or of a composite in it (MQ-4, MQ-10)."""
    if slot.holder is None:
        layers[slot.place] = layer
    else:
        protocol.replace_child(slot.holder, slot.place, layer)


def is_skipped(layers: Sequence[Layer], dialect: Dialect) -> bool:
    """Whether the pass does not look further because layer 0 is quantized (CT-12, `first-layer`)."""
    return dialect.latch == "first-layer" and protocol.kind_of(layers[0]) == protocol.QUANTIZED


# ---------------------------------------------------------------- options


def check_bits(bits: int) -> None:
    """ValueError for bits that no conversion supports (MQ-14)."""
    bit_widths.check_bits(bits)


def check_options(bits: int | None, group_size: int, start: int, *, dialect: Dialect) -> None:
    """Refuse bad options when they are given, where the dialect does (TH-3, MQ-14, `bad_options = refuse`).

    Without bits no quantization is asked for, so there is nothing to refuse (MQ-1).
    """
    if dialect.bad_options != "refuse" or bits is None:
        return
    check_bits(bits)
    if group_size <= 0:
        raise ValueError(f"group size {group_size} is not positive; give 32, 64 or 128")
    if start < 0:
        raise ValueError(f"start {start} is negative; give the offset from which on to quantize, 0 or more")


# ---------------------------------------------------------------- which layers


def walk(layers: Sequence[Layer], dialect: Dialect) -> Iterator[Slot]:
    """Every slot that the pass considers, in order; with `nested = recurse` those in composites too."""
    for index, layer in enumerate(layers):
        slot = Slot(None, index, layer, str(index))
        yield from inner_slots(slot) if dialect.nested == "recurse" else (slot,)


def inner_slots(slot: Slot) -> Iterator[Slot]:
    """The slot itself, or the slots of everything inside when it holds a composite (MQ-10)."""
    children = protocol.children_of(slot.layer)
    if not children:
        yield slot
    for index, child in enumerate(children):
        yield from inner_slots(Slot(slot.layer, index, child, f"{slot.path}.{index}"))


def is_quantizable(layer: Layer, dialect: Dialect = PROPOSAL) -> bool:
    """Whether the layer is of a kind that is converted, whatever its dims and fill (QP-1, QP-2)."""
    kind = protocol.kind_of(layer)
    if kind == protocol.CHUNKED:
        return dialect.chunked == "as-plain"
    if kind == protocol.ROTATING:
        return dialect.rotating == "convert"
    return kind == protocol.PLAIN


def is_selectable(layer: Layer, dialect: Dialect) -> bool:
    """Whether a selection reaches the layer at all: quantizable, or an error once selected (MQ-11)."""
    return is_quantizable(layer, dialect) or is_forbidden(layer, dialect)


def is_forbidden(layer: Layer, dialect: Dialect) -> bool:
    """Whether selecting the layer is an error (MQ-11, `rotating = error`)."""
    return dialect.rotating == "error" and protocol.kind_of(layer) == protocol.ROTATING


THRESHOLDS: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {"at-least": operator.ge, "above": operator.gt, "none": lambda _offset, _start: True}
)


def is_over_line(layer: Layer, start: int, dialect: Dialect) -> bool:
    """Whether the layer's offset has reached the start; never without an offset (TH-1, TH-2)."""
    offset = protocol.offset_of(layer)
    return offset is not None and THRESHOLDS[dialect.threshold](offset, start)


def qualifies(layer: Layer, start: int, dialect: Dialect = PROPOSAL) -> bool:
    """Whether the layer by itself triggers: quantizable and over the line, compatible or not (TH-4, TH-5)."""
    return is_quantizable(layer, dialect) and is_over_line(layer, start, dialect)


def triggers(layers: Sequence[Layer], start: int, dialect: Dialect = PROPOSAL) -> bool:
    """Whether the pass does anything at all, by the dialect's scope (TH-4, MQ-7)."""
    if dialect.scope == "first-then-all":
        return is_over_line(layers[0], start, dialect)
    if dialect.scope == "any-then-all":
        return any(qualifies(slot.layer, start, dialect) for slot in walk(layers, dialect))
    return True  # per-layer: each layer decides for itself


def select(layers: Sequence[Layer], start: int, dialect: Dialect) -> list[Slot]:
    """The slots that a pass acts on; empty when it does not trigger. A triggering layer 0 is always in it."""
    if not triggers(layers, start, dialect):
        return []
    slots = walk(layers, dialect)
    if dialect.scope == "per-layer":
        return [s for s in slots if is_selectable(s.layer, dialect) and is_over_line(s.layer, start, dialect)]
    return list(slots)


# ---------------------------------------------------------------- what becomes of a layer

CONVERT = "convert"
KEEP = "keep"
WAIT = "wait"


def decide(slot: Slot, group_size: int, dialect: Dialect) -> str:
    """What becomes of a selected layer: `convert`, `keep` or `wait`; ValueError where the dialect refuses."""
    layer = slot.layer
    if is_forbidden(layer, dialect):
        raise NotImplementedError(
            f"layer {slot.path}: a rotating cache cannot be quantized, its rows lose their order; "
            f"use a model without a sliding window, or no bits. MQ-11"
        )
    if not is_quantizable(layer, dialect) or not protocol.holds_every_row(layer):  # MQ-3, QP-2
        return KEEP
    dims = protocol.head_dims(layer)
    if dims is None:
        return dialect.empty_layer  # MQ-8
    if resolve(group_size, *dims, dialect) is not None:
        return CONVERT
    return keep_incompatible(slot, group_size, dims, dialect)


def resolve(group_size: int, key_dim: int, value_dim: int, dialect: Dialect = PROPOSAL) -> int | None:
    """The group size that a conversion would use for this request, by the dialect's resolver (GS)."""
    return group_sizes.resolve_group_size(group_size, key_dim, value_dim, resolver=dialect.resolver)


def keep_incompatible(slot: Slot, group_size: int, dims: tuple[int, int], dialect: Dialect) -> str:
    """A layer without a usable group size stays, or is an error (MQ-3, dialect `incompatible`)."""
    if dialect.incompatible == "keep":
        return KEEP
    usable = group_sizes.compatible_group_sizes(*dims)
    raise ValueError(
        f"layer {slot.path}: group size {group_size} cannot be used for head dims {dims[0]} and {dims[1]}; "
        f"{' or '.join(map(str, usable)) or 'no supported size'} can. MQ-3"
    )


def is_compatible(layer: Layer) -> bool:
    """Whether some supported group size divides both head dims, whatever is requested (HD-2).

    To be asked of quantizable layers only (HD-3).
    """
    dims = protocol.head_dims(layer)
    return dims is not None and bool(group_sizes.compatible_group_sizes(*dims))


def is_stuck(layer: Layer, group_size: int, start: int, dialect: Dialect) -> bool:
    """Whether no later pass can change the layer: over the line, and not convertible (CT-12)."""
    if not is_over_line(layer, start, dialect):
        return False
    dims = protocol.head_dims(layer)
    return dims is not None and (
        resolve(group_size, *dims, dialect) is None or not protocol.holds_every_row(layer)
    )


def is_settled(layers: Sequence[Layer], group_size: int, start: int, dialect: Dialect) -> bool:
    """Whether every layer that is still plain is stuck (CT-12, `when-settled`); asked after a pass."""
    return all(
        is_stuck(slot.layer, group_size, start, dialect)
        for slot in walk(layers, dialect)
        if is_quantizable(slot.layer, dialect)
    )


# ---------------------------------------------------------------- conversion


def convert_all(
    slots: Sequence[Slot], group_size: int, bits: int, dialect: Dialect
) -> tuple[tuple[Slot, Layer], ...]:
    """Each slot with its converted layer. An object that sits in two slots is converted once (MQ-12)."""
    converted: dict[int, Layer] = {}
    for slot in slots:
        if id(slot.layer) not in converted:
            converted[id(slot.layer)] = convert_layer(slot.layer, group_size, bits, dialect)
    return tuple((slot, converted[id(slot.layer)]) for slot in slots)


def convert_layer(layer: Layer, group_size: int, bits: int, dialect: Dialect = PROPOSAL) -> Layer:
    """A quantized cache with the layer's rows; the *requested* size is handed on, resolved there (MQ-5)."""
    return protocol.to_quantized(layer, group_size=group_size, bits=bits, resolver=dialect.resolver)
