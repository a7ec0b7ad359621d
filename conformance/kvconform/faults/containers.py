"""Faults in who holds what, and in the latch: the container and its holders (CT, RF, MQ-13)."""

from __future__ import annotations

import copy
from typing import Any

from kvconform_reference import container, policy, protocol
from kvconform_reference import group_size as group_sizes
from kvconform_reference.caches import quantized
from kvconform_reference.caches.quantized import QuantizedCache
from kvconform_reference.container import CacheContainer
from kvconform_reference.policy import Plan

from ..implementations import reference_container
from .fault import Fault
from .planting import Patch, wrapped


def _built_with(options: dict[str, Any]) -> dict[str, Any]:
    """Bits and group size that a container is built with, by themselves or in parameters."""
    parameters = options.get("parameters")
    if parameters is not None:
        return {"bits": parameters.bits, "group_size": parameters.group_size}
    return {"bits": options.get("bits"), "group_size": options.get("group_size", 64)}


def _remembers_built(original: Any, holder: Any, *layers: Any, **options: Any) -> None:
    original(holder, *layers, **options)
    holder.built = _built_with(options)


REMEMBERS_BUILT = wrapped(CacheContainer, "__init__", _remembers_built)


def _built_bits_win(original: Any, holder: Any, bits: Any, *rest: Any) -> None:
    original(holder, bits if bits is None else holder.built["bits"] or bits, *rest)


def _built_group_wins(original: Any, holder: Any, bits: Any, group_size: int = 64, *rest: Any) -> None:
    del group_size
    original(holder, bits, holder.built["group_size"], *rest)


def _built_group_checked(original: Any, holder: Any, *layers: Any, **options: Any) -> None:
    group_size = _built_with(options)["group_size"]
    if group_size not in group_sizes.SUPPORTED_GROUP_SIZES:
        raise ValueError(f"group size {group_size} is not supported")
    original(holder, *layers, **options)


def _alias_is_a_copy(original: Any, *given: Any) -> Any:
    holding = original(*given)
    holding.alias = copy.copy(holding.container)
    return holding


def _latch_falls_on_error(original: Any, holder: Any, *options: Any) -> None:
    try:
        original(holder, *options)
    except Exception:
        holder._armed = False
        raise


def _one_look(original: Any, plan: Plan, *rest: Any) -> bool:
    return True


def _falls_only_after_a_change(original: Any, plan: Plan, *rest: Any) -> bool:
    return original(plan, *rest) and bool(plan.replacements)


def _falls_with_everything(original: Any, plan: Plan, layers: Any, *rest: Any) -> bool:
    left = [layer for layer in layers if layer.kind == protocol.PLAIN]
    return original(plan, layers, *rest) and not left


def _arms_for_any_list(_original: Any, _layers: Any, bits: Any, _dialect: Any) -> bool:
    return bits is not None


def _arms_without_bits(original: Any, layers: Any, _bits: Any, dialect: Any) -> bool:
    return original(layers, 4, dialect)


def _none_disarms(original: Any, holder: Any, bits: Any, *rest: Any) -> None:
    original(holder, bits, *rest)
    holder._armed = holder._armed and bits is not None


def _looks_although_disarmed(original: Any, holder: Any, *options: Any) -> None:
    for layer in holder._layers:
        policy.is_quantizable(layer, holder.dialect)
    original(holder, *options)


def _asks_twice(original: Any, layers: Any, model: Any, parameters: Any) -> Any:
    if layers is None and model is not None:
        model.new_cache(parameters)
    return original(layers, model, parameters)


def _empty_is_none(original: Any, layers: Any, model: Any, parameters: Any) -> Any:
    return original(layers or (None if model is not None else layers), model, parameters)


def _empty_list_refused(original: Any, layers: Any, *rest: Any) -> Any:
    if layers == []:
        raise ValueError("a container needs layers")
    return original(layers, *rest)


def _copies_layers(original: Any, layers: Any, dialect: Any) -> Any:
    return [layer.copy() for layer in original(layers, dialect)]


def _one_list_for_the_same_layers(original: Any, layers: Any, dialect: Any) -> Any:
    if not layers:
        return original(layers, dialect)
    first = layers[0]
    if "listed_in" not in vars(first):
        first.listed_in = original(layers, dialect)
    return first.listed_in


SHARED_LIST: tuple[Patch, ...] = (
    wrapped(container, "own", _one_list_for_the_same_layers),
    wrapped(container, "list_to_change", lambda _original, layers, _dialect: layers),
)


def _converts_in_place(original: Any, layer: Any, *options: Any) -> Any:
    result = original(layer, *options)
    layer.__class__, layer.__dict__ = result.__class__, result.__dict__
    return layer


def _remembers_source(original: Any, source: Any, **options: Any) -> Any:
    result = original(source, **options)
    result.source = source
    return result


REMEMBERS_SOURCE = wrapped(quantized, "quantized_cache", _remembers_source)


def _trims_the_source(original: Any, cache: Any, rows: int) -> int:
    source = vars(cache).get("source")
    return original(cache, rows) if source is None else source.trim(rows)


def _writes_both(original: Any, cache: Any, block: Any) -> Any:
    source = vars(cache).get("source")
    if source is not None:
        source.append(block)
    return original(cache, block)


def _trims_layer_zero(original: Any, bench: Any, step: Any) -> Any:
    trimmed = original(bench, step.model_copy(update={"layers": (0,)}))
    return {"trimmed": trimmed["trimmed"] * len(bench._places(step.layers))}


def _steps_with(name: str, change: Any) -> Patch:
    def make(steps: Any) -> Any:
        original = steps[name]
        return {**steps, name: lambda bench, step: change(original, bench, step)}

    return Patch(reference_container, "STEPS", make)


FAULTS = (
    Fault(
        name="built-group-size-wins",
        does="The group size that the container was built with is used instead of the call's.",
        breaks=("CT-0", "IT-3", "MQ-5"),
        seen="hazard of CT-0: the group given there has no effect",
        patches=(REMEMBERS_BUILT, wrapped(CacheContainer, "maybe_quantize", _built_group_wins)),
    ),
    Fault(
        name="built-group-size-is-checked",
        does="A container cannot be built with a group size that no conversion would use.",
        breaks=("CT-0",),
        seen="hazard of CT-0: the group given there has no effect",
        patches=(wrapped(CacheContainer, "__init__", _built_group_checked),),
    ),
    Fault(
        name="built-bits-win",
        does="The bits that the container was built with are used instead of the call's.",
        breaks=("CT-6", "MQ-5", "IT-3"),
        seen="hazard of CT-6: the call's bits win",
        patches=(REMEMBERS_BUILT, wrapped(CacheContainer, "maybe_quantize", _built_bits_win)),
    ),
    Fault(
        name="container-copies-its-layers",
        does="A container works on copies of the layers it was given.",
        breaks=("CT-1",),
        seen="B01: an iterator that works on copies of the layers",
        patches=(wrapped(container, "own", _copies_layers),),
    ),
    Fault(
        name="container-is-a-value",
        does="Whoever binds the container gets a copy that does not see later replacements.",
        breaks=("CT-2",),
        seen="B01: the session that owns the cache never sees the swap",
        patches=(wrapped(reference_container, "hold_container", _alias_is_a_copy),),
    ),
    Fault(
        name="converts-in-place",
        does="A conversion turns the layer object itself into a quantized one.",
        breaks=("MQ-6", "CT-3", "CT-10"),
        seen="hazard of CT-10 and MQ-6",
        patches=(wrapped(policy, "convert_layer", _converts_in_place),),
    ),
    Fault(
        name="writes-go-to-source-and-copy",
        does="A write to a converted layer also goes to the layer that it was made from.",
        breaks=("CT-3", "MQ-6"),
        seen="hazard of CT-3: frozen at the conversion offset",
        patches=(REMEMBERS_SOURCE, wrapped(QuantizedCache, "append", _writes_both)),
    ),
    Fault(
        name="arms-for-any-list",
        does="A list without a quantizable layer arms the container too.",
        breaks=("CT-4",),
        seen="hazard of CT-4: SR7",
        patches=(wrapped(container, "armed_when_built", _arms_for_any_list),),
    ),
    Fault(
        name="arms-without-bits",
        does="A container that was built without bits is armed.",
        breaks=("CT-5", "CT-4"),
        seen="hazard of CT-5: bits given to the call but not at construction",
        patches=(wrapped(container, "armed_when_built", _arms_without_bits),),
    ),
    Fault(
        name="call-without-bits-disarms",
        does="A call without bits disarms the container.",
        breaks=("CT-6",),
        seen="hazard of CT-6: nothing, still armed",
        patches=(wrapped(CacheContainer, "maybe_quantize", _none_disarms),),
    ),
    Fault(
        name="disarms-only-after-a-change",
        does="A pass that triggered and converted nothing leaves the container armed.",
        breaks=("CT-7",),
        seen="hazard of CT-7, pinned as it is",
        patches=(wrapped(container, "disarms", _falls_only_after_a_change),),
    ),
    Fault(
        name="disarms-when-nothing-plain-is-left",
        does="The container stays armed while a plain layer is left.",
        breaks=("CT-7", "CT-4"),
        seen="SR5: the container does not look again",
        patches=(wrapped(container, "disarms", _falls_with_everything),),
    ),
    Fault(
        name="one-look-only",
        does="The first call with bits disarms the container, also below the line.",
        breaks=("CT-8",),
        seen="B12; hazard of CT-8",
        patches=(wrapped(container, "disarms", _one_look),),
    ),
    Fault(
        name="latch-falls-on-an-error",
        does="A pass that raises disarms the container.",
        breaks=("MQ-13",),
        seen="O5; hazard of MQ-13: the latch is as before",
        patches=(wrapped(CacheContainer, "maybe_quantize", _latch_falls_on_error),),
    ),
    Fault(
        name="model-asked-twice",
        does="The model is asked for two lists and the second one is used.",
        breaks=("CT-9",),
        seen="hazard of CT-9",
        patches=(wrapped(container, "given_layers", _asks_twice),),
    ),
    Fault(
        name="empty-list-asks-the-model",
        does="An explicitly empty list is taken for no list.",
        breaks=("CT-9",),
        seen="hazard of CT-9",
        patches=(wrapped(container, "given_layers", _empty_is_none),),
    ),
    Fault(
        name="empty-list-is-refused",
        does="A container cannot be built over an empty list.",
        breaks=("CT-9", "MQ-1"),
        seen="hazard of CT-9: an explicitly empty list stays empty",
        patches=(wrapped(container, "given_layers", _empty_list_refused),),
    ),
    Fault(
        name="containers-share-a-list",
        does="Two containers over the same layers work on one list.",
        breaks=("CT-10",),
        seen="O1: conversions that land in lists which others hold",
        patches=SHARED_LIST,
    ),
    Fault(
        name="disarmed-still-looks",
        does="A disarmed container looks through its layers at every call.",
        breaks=("CT-11",),
        seen="hazard of CT-11",
        patches=(wrapped(CacheContainer, "maybe_quantize", _looks_although_disarmed),),
    ),
    Fault(
        name="empty-layer-settles",
        does="An empty layer does not keep a when-settled container armed.",
        breaks=("CT-12",),
        seen="hazard of CT-12: E keeps it armed",
        patches=(
            wrapped(
                policy,
                "is_stuck",
                lambda original, layer, *rest: layer.head_dims is None or original(layer, *rest),
            ),
        ),
        dialects=("mlx-swift-lm",),
    ),
    Fault(
        name="layer-below-the-line-settles",
        does="A layer below the line does not keep a when-settled container armed.",
        breaks=("CT-12", "CT-8"),
        seen="hazard of CT-12",
        patches=(wrapped(policy, "is_stuck", lambda _original, *_asked: True),),
        dialects=("mlx-swift-lm",),
    ),
    Fault(
        name="misfit-never-settles",
        does="A layer over the line without a usable group size keeps a when-settled container armed.",
        breaks=("CT-11",),
        seen="hazard of CT-12",
        patches=(wrapped(policy, "is_stuck", lambda _original, *_asked: False),),
        dialects=("mlx-swift-lm",),
    ),
    Fault(
        name="layer-zero-quantized-does-not-skip",
        does="A call is not skipped while layer 0 is quantized.",
        breaks=("CT-12",),
        seen="hazard of CT-12, first-layer",
        patches=(wrapped(policy, "is_skipped", lambda _original, *_asked: False),),
        dialects=("mlx-lm-0.28", "mlx-lm-0.26"),
    ),
    Fault(
        name="trim-reaches-the-source",
        does="Trimming a converted layer trims the layer that it was made from.",
        breaks=("RF-3",),
        seen="B45: a crop that acts on one of two stored parts",
        patches=(REMEMBERS_SOURCE, wrapped(QuantizedCache, "trim", _trims_the_source)),
    ),
    Fault(
        name="trim-reaches-the-first-layer-only",
        does="Trimming the list trims layer 0 and reports its count for all.",
        breaks=("RF-3",),
        seen="B43: the list-level trim touched only the first layer",
        patches=(_steps_with("trim", _trims_layer_zero),),
    ),
)
