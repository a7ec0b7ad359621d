"""Faults in one pass: threshold, scope, what becomes of a layer, what a conversion makes (TH, MQ)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kvconform_reference import bit_widths, group_size, policy, protocol, tensor
from kvconform_reference.caches import quantized
from kvconform_reference.caches.quantized import QuantizedBlock, QuantizedCache
from kvconform_reference.caches.whole import CompositeCache
from kvconform_reference.policy import Plan, Slot

from .fault import Fault
from .planting import replaced, wrapped

# ---------------------------------------------------------------- the threshold


def _over_line_at(layer: Any, offset: int | None, start: int, dialect: Any) -> bool:
    return offset is not None and policy.THRESHOLDS[dialect.threshold](offset, start)


def _counts_next_position(_original: Any, layer: Any, start: int, dialect: Any) -> bool:
    offset = protocol.offset_of(layer)
    return _over_line_at(layer, None if offset is None else offset + 1, start, dialect)


def _reads_capacity(_original: Any, layer: Any, start: int, dialect: Any) -> bool:
    return _over_line_at(layer, getattr(layer, "capacity", None), start, dialect)


def _sums_layers(_original: Any, layers: Any, start: int, dialect: Any) -> bool:
    offsets = [layer.offset for layer in layers if policy.is_quantizable(layer, dialect)]
    return bool(offsets) and policy.THRESHOLDS[dialect.threshold](sum(offsets), start)


def _empty_never(original: Any, layer: Any, start: int, dialect: Any) -> bool:
    return bool(layer.offset) and original(layer, start, dialect)


def _empty_only_at_zero(original: Any, layer: Any, start: int, dialect: Any) -> bool:
    return original(layer, start, dialect) and not (start < 0 and layer.offset == 0)


def _in_32_bits(number: int) -> int:
    """What a signed integer of 32 bits makes of it."""
    return (number + 2**31) % 2**32 - 2**31


def _start_wraps(original: Any, layer: Any, start: int, dialect: Any) -> bool:
    return original(layer, _in_32_bits(start), dialect)


def _negative_is_never(original: Any, layer: Any, start: int, dialect: Any) -> bool:
    return start >= 0 and original(layer, start, dialect)


def _misfit_does_not_trigger(original: Any, layer: Any, *rest: Any) -> bool:
    return original(layer, *rest) and (layer.head_dims is None or policy.is_compatible(layer))


def _last_decides(original: Any, layers: Any, start: int, dialect: Any) -> bool:
    return original(layers[-1:], start, dialect)


def _offset_before_kind(original: Any, layer: Any, start: int, dialect: Any) -> bool:
    if protocol.offset_of(layer) is None:
        raise AttributeError(f"'{type(layer).__name__}' object has no attribute 'offset'")
    return original(layer, start, dialect)


# ---------------------------------------------------------------- the plan


def with_changes(plan: Plan, **changes: Any) -> Plan:
    """The plan with other fields."""
    return replace(plan, **changes)


def slots_of(layers: Any) -> list[Slot]:
    """The top-level slots of a list."""
    return [Slot(None, place, layer, str(place)) for place, layer in enumerate(layers)]


def _bits_checked_first(original: Any, layers: Any, bits: Any, *rest: Any, **options: Any) -> Plan:
    if bits is not None:
        bit_widths.check_bits(bits)
    return original(layers, bits, *rest, **options)


def _no_bits_is_eight(original: Any, layers: Any, bits: Any, *rest: Any, **options: Any) -> Plan:
    return original(layers, 8 if bits is None else bits, *rest, **options)


def _looks_at_layer_zero(original: Any, layers: Any, *rest: Any, **options: Any) -> Plan:
    protocol.kind_of(layers[0])
    return original(layers, *rest, **options)


def _idle_pass_rebuilds(original: Any, layers: Any, bits: Any, *rest: Any, **options: Any) -> Plan:
    plan = original(layers, bits, *rest, **options)
    if bits is None or plan.triggered:
        return plan
    return with_changes(plan, replacements=tuple((slot, slot.layer.copy()) for slot in slots_of(layers)))


def _kept_are_rebuilt(original: Any, layers: Any, *rest: Any, **options: Any) -> Plan:
    plan = original(layers, *rest, **options)
    if not plan.triggered:
        return plan
    converted = {id(slot.layer) for slot, _ in plan.replacements}
    kept = tuple((slot, slot.layer.copy()) for slot in slots_of(layers) if id(slot.layer) not in converted)
    return with_changes(plan, replacements=plan.replacements + kept)


def _misfit_holds_up(original: Any, layers: Any, *rest: Any, **options: Any) -> Plan:
    plan = original(layers, *rest, **options)
    misfits = [
        layer
        for layer in layers
        if layer.kind == protocol.PLAIN and layer.head_dims and not policy.is_compatible(layer)
    ]
    return with_changes(plan, replacements=()) if misfits else plan


def _requantizes(original: Any, layers: Any, bits: Any, *rest: Any, **options: Any) -> Plan:
    plan = original(layers, bits, *rest, **options)
    if bits not in group_size.SUPPORTED_BITS:
        return plan
    again = tuple(
        (slot, _at_bits(slot.layer, bits))
        for slot in slots_of(layers)
        if slot.layer.kind == protocol.QUANTIZED and slot.layer.bits != bits
    )
    return with_changes(plan, replacements=plan.replacements + again)


def _at_bits(cache: Any, bits: int) -> Any:
    again = cache.copy()
    again.bits = bits
    return again


def _bits_rounded(original: Any, layers: Any, bits: Any, *rest: Any, **options: Any) -> Plan:
    if bits is not None and bits not in group_size.SUPPORTED_BITS:
        bits = min(group_size.SUPPORTED_BITS, key=lambda known: abs(known - bits))
    return original(layers, bits, *rest, **options)


def _bits_checked_late(original: Any, layers: Any, bits: Any, *rest: Any, **options: Any) -> Plan:
    """The first layer is written to before its bits are looked at."""
    if bits in (None, *group_size.SUPPORTED_BITS):
        return original(layers, bits, *rest, **options)
    policy.commit(
        with_changes(plan := original(layers, 8, *rest, **options), replacements=plan.replacements[:1]),
        layers,
    )
    return original(layers, bits, *rest, **options)


def _commits_as_it_goes(original: Any, layers: Any, *rest: Any, **options: Any) -> Plan:
    for stop in range(1, len(layers)):
        first = layers[:stop]
        if not policy.triggers(first, rest[2], options["dialect"]):
            continue
        policy.commit(original(first, *rest, **options), first)
        layers[:stop] = first
    return original(layers, *rest, **options)


def _only_what_changed(original: Any, layers: Any, *rest: Any, **options: Any) -> bool:
    before = list(layers)
    original(layers, *rest, **options)
    return any(old is not new for old, new in zip(before, layers, strict=True))


def _drops_kept(original: Any, plan: Plan, layers: Any) -> None:
    original(plan, layers)
    if plan.replacements:
        layers[:] = [layer for layer in layers if layer.kind == protocol.QUANTIZED]


def _converted_first(original: Any, plan: Plan, layers: Any) -> None:
    original(plan, layers)
    if plan.replacements:
        layers.sort(key=lambda layer: layer.kind != protocol.QUANTIZED)


def _rebuilds_composite(_original: Any, plan: Plan, layers: Any) -> None:
    for slot, converted in plan.replacements:
        if slot.holder is None:
            layers[slot.place] = converted
            continue
        children = list(slot.holder.children)
        children[slot.place] = converted
        for place, layer in enumerate(layers):
            if layer is slot.holder:
                layers[place] = CompositeCache(children)


# ---------------------------------------------------------------- one layer


def _zero_rows_stay(original: Any, slot: Slot, *options: Any) -> str:
    return policy.KEEP if slot.layer.offset == 0 else original(slot, *options)


def _misfit_raises(original: Any, slot: Slot, requested: int, dims: Any, *rest: Any) -> str:
    raise ValueError(f"layer {slot.path}: group size {requested} does not divide {dims}")


def _converted(change: Any) -> Any:
    """A change of what a conversion made: ``change(result, source)``."""

    def converting(original: Any, source: Any, **options: Any) -> Any:
        result = original(source, **options)
        if result.shape is not None:
            change(result, source)
        return result

    return converting


def _offset_lost(result: Any, _source: Any) -> None:
    result.offset = 0


def _offset_is_capacity(result: Any, _source: Any) -> None:
    result.offset = result.capacity


def _last_row_lost(result: Any, _source: Any) -> None:
    result.offset = max(0, result.offset - 1)


def _trimmed_rows_return(result: Any, source: Any) -> None:
    result.stored = source.stored.map_blocks(result.packed)
    result.offset = result.stored.count


def _source_emptied(_result: Any, source: Any) -> None:
    source.stored, source.offset = tensor.NO_ROWS, source.start_position


def _cannot_be_written(result: Any, _source: Any) -> None:
    if result.offset:
        return

    def refuse(_block: Any) -> Any:
        raise RuntimeError("the buffers of an empty conversion were never made")

    result.append = refuse


def _one_group_size_more(result: Any, source: Any) -> None:
    sizes = group_size.compatible_group_sizes(*source.head_dims)
    result.group_size = sizes[0]
    result.stored = source.fetch().map_blocks(result.packed)


THRESHOLD_FAULTS = (
    Fault(
        name="next-position-counts",
        does="The threshold counts the position that is going to be written.",
        breaks=("TH-1",),
        seen="B12: off by one at the start",
        patches=(wrapped(policy, "is_over_line", _counts_next_position),),
    ),
    Fault(
        name="threshold-reads-capacity",
        does="The threshold looks at the rows allocated instead of the offset.",
        breaks=("TH-1", "MQ-2"),
        seen="B46: the allocation step taken for the offset",
        patches=(wrapped(policy, "is_over_line", _reads_capacity),),
    ),
    Fault(
        name="threshold-sums-the-layers",
        does="The threshold looks at the sum of all offsets.",
        breaks=("MQ-7", "MQ-2"),
        seen="B14: a position that is kept in the wrong place",
        patches=(wrapped(policy, "triggers", _sums_layers),),
    ),
    Fault(
        name="last-layer-decides",
        does="Only the last layer is looked at.",
        breaks=("MQ-7", "TH-4"),
        seen="B12: the rule looked at layer 0 only",
        patches=(wrapped(policy, "triggers", _last_decides),),
    ),
    Fault(
        name="empty-layer-never-qualifies",
        does="An empty layer is under every line, start 0 included.",
        breaks=("TH-2", "TH-3", "CT-7"),
        seen="hazard of TH-2: at-least at start 0",
        patches=(wrapped(policy, "is_over_line", _empty_never),),
    ),
    Fault(
        name="empty-layer-under-a-negative-line",
        does="With a negative start an empty layer does not qualify.",
        breaks=("TH-3",),
        seen="hazard of TH-3: E included",
        patches=(wrapped(policy, "is_over_line", _empty_only_at_zero),),
    ),
    Fault(
        name="negative-start-means-never",
        does="A negative start switches quantization off.",
        breaks=("TH-3",),
        seen="hazard of TH-3",
        patches=(wrapped(policy, "is_over_line", _negative_is_never),),
    ),
    Fault(
        name="start-wraps-at-32-bits",
        does="The start is held in a signed integer of 32 bits.",
        breaks=("TH-1", "TH-3"),
        seen="wrong implementations from the specification: a start of 2^31 and above",
        patches=(wrapped(policy, "is_over_line", _start_wraps),),
    ),
    Fault(
        name="misfit-does-not-trigger",
        does="A layer whose dims have no group size does not trigger the others.",
        breaks=("TH-4", "MQ-9"),
        seen="hazard of TH-4",
        patches=(wrapped(policy, "qualifies", _misfit_does_not_trigger),),
    ),
    Fault(
        name="any-kind-triggers",
        does="A layer that is not quantizable triggers when it is over the line.",
        breaks=("TH-5", "MQ-15"),
        seen="hazard of TH-5: a rotating layer far over the line",
        patches=(
            wrapped(
                policy,
                "qualifies",
                lambda _original, layer, start, *dialect: policy.is_over_line(layer, start, *dialect),
            ),
        ),
    ),
    Fault(
        name="offset-asked-before-kind",
        does="A layer is asked for its offset before its kind, and a recurrent one has none.",
        breaks=("MQ-17", "HD-3"),
        seen="B15: every request of a hybrid model failed",
        patches=(
            wrapped(policy, "is_over_line", _offset_before_kind),
            wrapped(
                policy,
                "qualifies",
                lambda _original, layer, start, dialect: (
                    policy.is_over_line(layer, start, dialect) and policy.is_quantizable(layer, dialect)
                ),
            ),
        ),
    ),
)

PLAN_FAULTS = (
    Fault(
        name="bits-checked-below-the-line",
        does="Bits are validated although nothing qualifies.",
        breaks=("MQ-0",),
        seen="hazard of MQ-0: the order of a pass",
        patches=(wrapped(policy, "plan_pass", _bits_checked_first),),
    ),
    Fault(
        name="no-bits-means-eight",
        does="A pass without bits converts at 8.",
        breaks=("MQ-1", "CT-6"),
        seen="hazard of MQ-1 and CT-6",
        patches=(wrapped(policy, "plan_pass", _no_bits_is_eight),),
    ),
    Fault(
        name="layer-zero-of-an-empty-list",
        does="Layer 0 is looked at before it is known that there is one.",
        breaks=("MQ-1",),
        seen="B12: designs that look at layer 0; an empty list raises",
        patches=(wrapped(policy, "plan_pass", _looks_at_layer_zero),),
    ),
    Fault(
        name="idle-pass-rebuilds-the-list",
        does="A pass in which nothing qualifies puts copies in place of the layers.",
        breaks=("MQ-2",),
        seen="B01: an iterator that swaps its own copies in",
        patches=(wrapped(policy, "plan_pass", _idle_pass_rebuilds),),
    ),
    Fault(
        name="kept-layers-are-rebuilt",
        does="A pass that triggers puts copies in place of the layers that it keeps.",
        breaks=("MQ-3",),
        seen="B01; law of pass-through identity",
        patches=(wrapped(policy, "plan_pass", _kept_are_rebuilt),),
    ),
    Fault(
        name="misfit-holds-up-the-others",
        does="One layer without a usable group size keeps all others from being converted.",
        breaks=("MQ-9",),
        seen="B16: one layer that does not fit and the whole request",
        patches=(wrapped(policy, "plan_pass", _misfit_holds_up),),
    ),
    Fault(
        name="requantizes-at-other-bits",
        does="A call with other bits quantizes a quantized layer again.",
        breaks=("MQ-12",),
        seen="O8: other bits on an already quantized layer",
        patches=(wrapped(policy, "plan_pass", _requantizes),),
    ),
    Fault(
        name="bits-rounded-to-the-nearest",
        does="Unsupported bits become the nearest supported ones without a word.",
        breaks=("MQ-14",),
        seen="O10: bits 3.5 run as another scheme",
        patches=(wrapped(policy, "plan_pass", _bits_rounded),),
    ),
    Fault(
        name="seven-bits-are-taken",
        does="A width of 7 bits counts as supported.",
        breaks=("MQ-14",),
        seen="B74: a kernel that accepts widths it is not written for",
        patches=(replaced(group_size, "SUPPORTED_BITS", (2, 3, 4, 5, 6, 7, 8)),),
    ),
    Fault(
        name="bits-checked-after-the-first-layer",
        does="Unsupported bits are noticed when the first layer has been replaced.",
        breaks=("MQ-13", "MQ-14"),
        seen="O10: bits 0, 7, 16 raise only at the first conversion",
        patches=(wrapped(policy, "plan_pass", _bits_checked_late),),
    ),
    Fault(
        name="half-converted-on-an-error",
        does="Layers are replaced one by one, and an error leaves those before it replaced.",
        breaks=("MQ-13",),
        seen="O5, B16: a rotating layer leaves the list half converted",
        patches=(wrapped(policy, "plan_pass", _commits_as_it_goes),),
        dialects=("mlx-lm",),
    ),
    Fault(
        name="answers-whether-anything-changed",
        does="The free pass answers whether a layer changed, not whether it triggered.",
        breaks=("MQ-15",),
        seen="hazard of MQ-15",
        patches=(wrapped(policy, "maybe_quantize", _only_what_changed),),
    ),
    Fault(
        name="kept-layers-are-dropped",
        does="The list after a conversion holds the converted layers only.",
        breaks=("MQ-4", "MQ-3"),
        seen="hazard of MQ-4",
        patches=(wrapped(policy, "commit", _drops_kept),),
    ),
    Fault(
        name="converted-layers-come-first",
        does="The list after a conversion has the converted layers before the kept ones.",
        breaks=("MQ-4",),
        seen="hazard of MQ-4",
        patches=(wrapped(policy, "commit", _converted_first),),
    ),
    Fault(
        name="composite-is-rebuilt",
        does="A composite with a converted child is replaced by a new composite.",
        breaks=("MQ-10",),
        seen="B23: composites of hybrid models",
        patches=(wrapped(policy, "commit", _rebuilds_composite),),
        dialects=("mlx-swift-lm", "mlx-swift-lm-3.31.4"),
    ),
)

LAYER_FAULTS = (
    Fault(
        name="zero-rows-are-kept",
        does="A layer trimmed to zero rows is not converted.",
        breaks=("MQ-16",),
        seen="hazard of MQ-16: Z converts",
        patches=(wrapped(policy, "decide", _zero_rows_stay),),
    ),
    Fault(
        name="misfit-raises",
        does="A layer without a usable group size makes the pass raise.",
        breaks=("MQ-17", "MQ-9"),
        seen="B04, B06: head dims 96 and 80 raise",
        patches=(wrapped(policy, "keep_incompatible", _misfit_raises),),
    ),
    Fault(
        name="offset-lost-in-conversion",
        does="A converted layer starts at offset 0.",
        breaks=("MQ-5", "ST-6", "RF-1"),
        seen="B34: arrays restored without their offset",
        patches=(wrapped(quantized, "quantized_cache", _converted(_offset_lost)),),
    ),
    Fault(
        name="capacity-for-length",
        does="A converted layer's offset is the rows allocated.",
        breaks=("MQ-5", "ST-6"),
        seen="B46: the allocation step taken for the length; mlx-lm quantizes the padded buffer",
        patches=(wrapped(quantized, "quantized_cache", _converted(_offset_is_capacity)),),
    ),
    Fault(
        name="last-row-lost-in-conversion",
        does="A conversion leaves the last row out.",
        breaks=("MQ-5", "ST-6"),
        seen="B48: a length that is wrong after the first question",
        patches=(wrapped(quantized, "quantized_cache", _converted(_last_row_lost)),),
    ),
    Fault(
        name="trimmed-rows-return-in-conversion",
        does="A conversion takes rows along that had been trimmed.",
        breaks=("MQ-5", "MQ-16"),
        seen="B42: removed tokens come back",
        patches=(wrapped(quantized, "quantized_cache", _converted(_trimmed_rows_return)),),
    ),
    Fault(
        name="smallest-group-in-conversion",
        does="A conversion uses the smallest group size that fits, whatever was requested.",
        breaks=("MQ-5", "GS-8"),
        seen="B05: two entry points that resolve otherwise",
        patches=(wrapped(quantized, "quantized_cache", _converted(_one_group_size_more)),),
    ),
    Fault(
        name="keys-and-values-swapped",
        does="Quantized rows hold the values as keys and the keys as values.",
        breaks=("MQ-5", "QC-1"),
        seen="hazard of MQ-5",
        patches=(
            wrapped(
                QuantizedBlock,
                "_quantize",
                lambda original, block, role, *where: original(block, 1 - role, *where),
            ),
        ),
    ),
    Fault(
        name="source-emptied-by-conversion",
        does="A conversion takes the rows out of the layer that it converts.",
        breaks=("MQ-6", "CT-3"),
        seen="B02: a server that saves the cache it handed over",
        patches=(wrapped(quantized, "quantized_cache", _converted(_source_emptied)),),
    ),
    Fault(
        name="zero-row-conversion-cannot-be-written",
        does="A quantized layer that was converted with zero rows takes no writes.",
        breaks=("MQ-16",),
        seen="hazard of MQ-16: the Q accepts later writes",
        patches=(wrapped(quantized, "quantized_cache", _converted(_cannot_be_written)),),
    ),
    Fault(
        name="first-head-everywhere",
        does="Every head of a quantized layer holds what the first one holds.",
        breaks=("QC-7", "MQ-5"),
        seen="B25: grouped queries over one array",
        patches=(
            wrapped(
                QuantizedCache, "packed", lambda original, cache, block: original(cache, one_head(block))
            ),
        ),
    ),
)

FAULTS = THRESHOLD_FAULTS + PLAN_FAULTS + LAYER_FAULTS


class _FirstHead:
    """Rows of which every head is the first one."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def row(self, role: int, head: int, index: int) -> Any:
        return self._source.row(role, min(head, 0), index)


def one_head(block: Any) -> Any:
    """The block with its first head in the place of every other."""
    return tensor.Block(block.count, block.shape, _FirstHead(block.source))
