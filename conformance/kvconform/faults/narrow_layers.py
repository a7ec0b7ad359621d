"""Faults that show in one place only, in layers, passes and containers (GS to CT).

Most faults break several statements at once. Each of these is there so that one requirement catches what no
other does: it is wrong at one way in, or in one corner, and everything else is right.
"""

from __future__ import annotations

from typing import Any

from kvconform_reference import container, group_size, policy, protocol
from kvconform_reference.caches.base import GROWTH_STEP, RowCache
from kvconform_reference.caches.quantized import QuantizedCache
from kvconform_reference.container import CacheContainer
from kvconform_reference.dialect import Dialect
from kvconform_reference.policy import Plan

from ..implementations import reference_layers, reference_numbers
from .containers import REMEMBERS_SOURCE
from .fault import Fault
from .marking import MARKS_CONVERTED, is_converted
from .passes import slots_of, with_changes
from .planting import wrapped
from .tensors import wiped

# ---------------------------------------------------------------- asked directly


def _asked_directly(change: Any) -> Any:
    """A change of the resolver that can be asked directly; conversions resolve as they should."""

    def resolving(original: Any, requested: int, key_dim: int, value_dim: int, dialect: Dialect) -> Any:
        return change(original(requested, key_dim, value_dim, dialect), requested, key_dim, value_dim)

    return wrapped(reference_numbers, "resolve_dims", resolving)


def _rounded_down(size: int | None, requested: int, key_dim: int, value_dim: int) -> int | None:
    sizes = group_size.compatible_group_sizes(key_dim, value_dim)
    return max((one for one in sizes if one <= requested), default=size)


def _tie_goes_high(size: int | None, requested: int, key_dim: int, value_dim: int) -> int | None:
    sizes = group_size.compatible_group_sizes(key_dim, value_dim)
    tied = [one for one in sizes if size is not None and abs(one - requested) == abs(size - requested)]
    return max(tied, default=size)


def _layer_answer(change: Any) -> Any:
    """A change of what is answered when a layer is asked about."""

    def answering(original: Any, scenario: Any, asked: Any, dialect: Dialect) -> Any:
        answer = original(scenario, asked, dialect)
        return answer.model_copy(update=change(scenario, asked, answer))

    return wrapped(reference_numbers, "resolve_layer", answering)


def _size_without_dims(scenario: Any, _asked: Any, answer: Any) -> dict[str, Any]:
    unwritten = answer.quantizable and answer.head_dims is None
    return {"group_size": group_size.nearest_group_size(scenario.requested, 128, 128)} if unwritten else {}


def _two_arrays_compatible(_scenario: Any, asked: Any, _answer: Any) -> dict[str, Any]:
    return {"compatible": True} if asked.kind == "recurrent" and asked.slots == 2 else {}


def _composite_quantizable(_scenario: Any, asked: Any, _answer: Any) -> dict[str, Any]:
    return {"quantizable": True} if asked.kind == "composite" else {}


ASKED = (
    Fault(
        name="asked-directly-falls-back-to-32",
        does="The resolver that can be asked answers 32 where no size fits; conversions do not ask it.",
        breaks=("GS-2",),
        seen="doubtful point of the proposal: the resolver is unused",
        patches=(_asked_directly(lambda size, *_asked: size or 32),),
    ),
    Fault(
        name="asked-directly-rounds-down",
        does="The resolver that can be asked rounds down; conversions do not ask it.",
        breaks=("GS-3",),
        seen="doubtful point of the proposal: the resolver is unused",
        patches=(_asked_directly(_rounded_down),),
    ),
    Fault(
        name="asked-directly-ties-go-high",
        does="The resolver that can be asked takes the larger size of a tie; conversions do not ask it.",
        breaks=("GS-4",),
        seen="doubtful point of the proposal: the resolver is unused",
        patches=(_asked_directly(_tie_goes_high),),
    ),
    Fault(
        name="size-for-an-unwritten-layer",
        does="A layer that was never written is answered with a group size.",
        breaks=("GS-10",),
        seen="hazard of GS-10",
        patches=(_layer_answer(_size_without_dims),),
    ),
    Fault(
        name="two-arrays-look-compatible",
        does="A recurrent layer with two arrays is answered to be compatible.",
        breaks=("HD-3",),
        seen="hazard of HD-3: two arrays taken for a key and a value array",
        patches=(_layer_answer(_two_arrays_compatible),),
    ),
    Fault(
        name="composite-is-said-to-be-quantizable",
        does="A composite is answered to be quantizable, and left alone all the same.",
        breaks=("QP-1",),
        seen="B23: composites of hybrid models",
        patches=(_layer_answer(_composite_quantizable),),
    ),
)

# ---------------------------------------------------------------- one corner of a pass


def _not_at_a_boundary(original: Any, layer: Any, start: int, dialect: Dialect) -> bool:
    at_boundary = layer.offset == start and start > 0 and start % GROWTH_STEP == 0
    return original(layer, start, dialect) and not at_boundary


def _answers_without_bits(original: Any, layers: Any, bits: Any, *rest: Any, dialect: Dialect) -> Any:
    if bits is None:
        return any(policy.qualifies(layer, rest[-1], dialect) for layer in layers if layer.offset == 1)
    return original(layers, bits, *rest, dialect=dialect)


NEVER = 4096
"""A start that the prompts of a test do not reach."""


def _far_line_rebuilds(original: Any, layers: Any, bits: Any, *rest: Any, **options: Any) -> Plan:
    plan = original(layers, bits, *rest, **options)
    if bits is None or plan.triggered or rest[-1] < NEVER:
        return plan
    return with_changes(plan, replacements=tuple((slot, slot.layer.copy()) for slot in slots_of(layers)))


def _unrolls_kept_windows(original: Any, layers: Any, *rest: Any, **options: Any) -> Plan:
    plan = original(layers, *rest, **options)
    if plan.triggered:
        for layer in layers:
            if layer.kind == protocol.ROTATING and layer.shape is not None:
                layer.stored, layer.oldest = layer.in_time_order(), layer.keep
    return plan


def _long_list_gains_a_layer(original: Any, plan: Plan, layers: Any) -> None:
    original(plan, layers)
    if plan.replacements and len(layers) > 3:
        layers.append(plan.replacements[0][1])


def _wipes_the_source(original: Any, cache: Any, block: Any) -> Any:
    source = vars(cache).get("source")
    if source is not None:
        source.stored = source.stored.map_blocks(wiped)
    return original(cache, block)


def _fills_recurrent_layers(original: Any, layers: Any, bits: Any, dialect: Dialect) -> bool:
    for layer in layers:
        if layer.kind == protocol.RECURRENT and layer.empty:
            reference_layers.put_number(layer, 0)
    return original(layers, bits, dialect)


def _free(change: Any) -> Any:
    """A change of the free pass alone; the container's is right."""
    return wrapped(policy, "maybe_quantize", change)


def _is_full(layer: Any) -> bool:
    written_at_once = layer.kind == protocol.PLAIN and len(layer.stored.segments) == 1
    return written_at_once and layer.offset > 0 and policy.is_compatible(layer)


def _free_per_layer(original: Any, layers: Any, bits: Any, *rest: Any, dialect: Dialect) -> Any:
    if bits is None or rest[-1] < 0 or not all(map(_is_full, layers)):
        return original(layers, bits, *rest, dialect=dialect)
    answers = []
    for place in range(len(layers)):
        one = layers[place : place + 1]
        answers.append(original(one, bits, *rest, dialect=dialect))
        layers[place : place + 1] = one
    return any(answers)


def _free_converts_empty(original: Any, layers: Any, bits: Any, *rest: Any, dialect: Dialect) -> Any:
    empty = [place for place, layer in enumerate(layers) if layer.kind == "plain" and layer.shape is None]
    others = [layer for place, layer in enumerate(layers) if place not in empty]
    answer = original(layers, bits, *rest, dialect=dialect)
    if answer and others and rest[-1] > 0 and all(layer.kind == "plain" for layer in others):
        for place in empty:
            layers[place] = policy.convert_layer(layers[place], rest[0], bits, dialect)
    return answer


def _all_quantized_answers(original: Any, layers: Any, bits: Any, *rest: Any, dialect: Dialect) -> Any:
    quantized_only = bool(layers) and all(map(_is_quantized_from_the_start, layers))
    answer = original(layers, bits, *rest, dialect=dialect)
    return answer or (bits is not None and quantized_only and rest[-1] >= 0)


def _is_quantized_from_the_start(layer: Any) -> bool:
    return layer.kind == protocol.QUANTIZED and not is_converted(layer)


def _sealed_zero_rows(original: Any, layers: Any, bits: Any, *rest: Any, **options: Any) -> Plan:
    plan = original(layers, bits, *rest, **options)
    for slot, converted in plan.replacements:
        if rest[-1] >= 0 and converted.shape is not None and not slot.layer.offset:
            converted.append = _refuse
    return plan


def _refuse(_block: Any) -> Any:
    raise RuntimeError("the buffers of an empty conversion were never made")


ASKING = (
    Fault(
        name="asking-fills-a-recurrent-layer",
        does="A container that asks what it may quantize gives recurrent layers that hold nothing arrays.",
        breaks=("QP-3",),
        seen="hazard of QP-3: asking changes nothing",
        patches=(wrapped(container, "armed_when_built", _fills_recurrent_layers),),
    ),
)

PASSES = (
    Fault(
        name="line-at-a-growth-boundary",
        does="A layer whose offset and start are the same multiple of 256 is not over the line.",
        breaks=("TH-1",),
        seen="B46: the allocation step where the offset belongs",
        patches=(wrapped(policy, "is_over_line", _not_at_a_boundary),),
    ),
    Fault(
        name="answers-without-bits",
        does="The free pass without bits does nothing and answers that a layer of one row is over the line.",
        breaks=("MQ-1",),
        seen="hazard of MQ-1 and MQ-15",
        patches=(_free(_answers_without_bits),),
    ),
    Fault(
        name="far-line-rebuilds-the-list",
        does=f"A start of {NEVER} or more puts copies in place of the layers.",
        breaks=("MQ-2",),
        seen="B10: a start of 5000",
        patches=(wrapped(policy, "plan_pass", _far_line_rebuilds),),
    ),
    Fault(
        name="kept-windows-are-unrolled",
        does="A rotating layer that a pass keeps has its rows put in time order.",
        breaks=("MQ-3",),
        seen="law of pass-through identity: with the same state",
        patches=(wrapped(policy, "plan_pass", _unrolls_kept_windows),),
    ),
    Fault(
        name="long-list-gains-a-layer",
        does="In a list of more than three layers the first converted one is entered twice.",
        breaks=("MQ-4",),
        seen="hazard of MQ-4",
        patches=(wrapped(policy, "commit", _long_list_gains_a_layer),),
    ),
    Fault(
        name="source-wiped-by-a-write",
        does="A write to a converted layer leaves zeros in the rows of the layer that it was made from.",
        breaks=("MQ-6",),
        seen="B02: a server that saves the cache it handed over",
        patches=(REMEMBERS_SOURCE, wrapped(QuantizedCache, "append", _wipes_the_source)),
    ),
    Fault(
        name="free-pass-is-per-layer",
        does="The free pass lets layers that were written at once decide for themselves.",
        breaks=("MQ-7",),
        seen="B12, B78: two entry points of one project",
        patches=(_free(_free_per_layer),),
    ),
    Fault(
        name="free-pass-converts-empty-layers",
        does="The free pass also converts empty layers at a start above 0, the container's does not.",
        breaks=("MQ-8",),
        seen="B78: two entry points of one project",
        patches=(_free(_free_converts_empty),),
    ),
    Fault(
        name="quantized-list-answers-true",
        does="The free pass answers that a list of layers that came quantized triggered.",
        breaks=("MQ-15",),
        seen="hazard of MQ-15: an all-Q list",
        patches=(MARKS_CONVERTED, _free(_all_quantized_answers)),
    ),
    Fault(
        name="zero-row-conversion-is-sealed",
        does="A layer converted with zero rows by a start of 0 or more takes no writes.",
        breaks=("MQ-16",),
        seen="hazard of MQ-16: the Q accepts later writes",
        patches=(wrapped(policy, "plan_pass", _sealed_zero_rows),),
    ),
    Fault(
        name="errors-by-declaration",
        does="Rotating layers and dims without a group size raise, as its dialect declares.",
        breaks=("MQ-17",),
        seen="B04, B16: judged as it declares and still failing MQ-17",
        behaves={},
        dialects=("mlx-lm",),
    ),
)

# ---------------------------------------------------------------- one corner of the container


def _copies_chunked(original: Any, layers: Any, dialect: Dialect) -> Any:
    held = original(layers, dialect)
    if held is layers:
        return held
    return [layer.copy() if layer.kind == "chunked" and layer.offset else layer for layer in held]


def _disarmed_far_below(original: Any, holder: Any, bits: Any, size: int = 64, start: int = 0) -> None:
    original(holder, bits, size, start)
    if bits is not None and start >= GROWTH_STEP - 1:
        holder._armed = False


CONTAINERS = (
    Fault(
        name="rowless-chunk-is-converted",
        does="A chunked layer that dropped its front and was then trimmed to no rows is converted.",
        breaks=("QP-2",),
        seen="wrong implementations from the specification: no rows are taken for all rows",
        patches=(
            wrapped(RowCache, "holds_every_row", lambda original, cache: original(cache) or cache.rows == 0),
        ),
    ),
    Fault(
        name="chunked-layers-are-copied",
        does="A container works on copies of the chunked layers that it was given.",
        breaks=("CT-1",),
        seen="B01: an iterator that works on copies of the layers",
        patches=(wrapped(container, "own", _copies_chunked),),
    ),
    Fault(
        name="far-line-disarms",
        does="A pass whose start is a growth step away or more disarms the container.",
        breaks=("CT-8",),
        seen="hazard of CT-8: below the line it stays armed",
        patches=(wrapped(CacheContainer, "maybe_quantize", _disarmed_far_below),),
    ),
)

FAULTS = ASKED + ASKING + PASSES + CONTAINERS
