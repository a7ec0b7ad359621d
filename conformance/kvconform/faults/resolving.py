"""Faults in what is known of a layer: group sizes, head dims, which layers are quantizable (GS, HD, QP)."""

from __future__ import annotations

from typing import Any

from kvconform_reference import group_size, policy, protocol, tensor
from kvconform_reference.caches import plain, quantized
from kvconform_reference.caches.base import RowCache
from kvconform_reference.caches.plain import PlainCache
from kvconform_reference.caches.quantized import QuantizedCache
from kvconform_reference.caches.whole import RecurrentCache

from ..implementations import reference_numbers
from .fault import Fault
from .planting import ProcessDied, replaced, wrapped


def _tie_goes_high(_original: Any, requested: int, key_dim: int, value_dim: int) -> int | None:
    sizes = group_size.compatible_group_sizes(key_dim, value_dim)
    wanted = group_size.at_least_one(requested)
    return min(sizes, key=lambda size: (abs(size - wanted), -size), default=None)


def _next_above(_original: Any, requested: int, key_dim: int, value_dim: int) -> int | None:
    sizes = group_size.compatible_group_sizes(key_dim, value_dim)
    return min((size for size in sizes if size >= requested), default=max(sizes, default=None))


def _nothing_above_128(original: Any, requested: int, key_dim: int, value_dim: int) -> int | None:
    return None if requested > 128 else original(requested, key_dim, value_dim)


def _nearest_then_compatible(original: Any, requested: int, key_dim: int, value_dim: int) -> int | None:
    size = original(requested, 128, 128)
    return size if size in group_size.compatible_group_sizes(key_dim, value_dim) else None


def _zero_kills(original: Any, layer: Any, requested: int, *options: Any) -> Any:
    if requested == 0:
        raise ProcessDied("SIGFPE")
    return original(layer, requested, *options)


def _compatible_at_request(original: Any, scenario: Any, *where: Any) -> Any:
    answer = original(scenario, *where)
    at_request = (
        group_size.exact_group_size(scenario.requested, *answer.head_dims) if answer.head_dims else None
    )
    return answer.model_copy(update={"compatible": bool(answer.quantizable) and at_request is not None})


def _trapped(_original: Any, cache: Any) -> Any:
    raise IndexError(f"the stored arrays of {type(cache).__name__} have no axis 3")


def _asks_dims_first(original: Any, slot: Any, *options: Any) -> Any:
    protocol.head_dims(slot.layer)
    return original(slot, *options)


def _drops_front_when_asked(original: Any, layer: Any, *dialect: Any) -> bool:
    if isinstance(layer, plain.ChunkedCache):
        layer.drop_front()
    return original(layer, *dialect)


def _holds_every_row(layer: Any) -> bool:
    return layer.kind != protocol.CHUNKED or layer.holds_every_row


FAULTS = (
    Fault(
        name="tie-goes-high",
        does="Of two sizes equally near the request it takes the larger one.",
        breaks=("GS-4",),
        seen="hazard of GS-4",
        patches=(wrapped(group_size, "nearest_group_size", _tie_goes_high),),
    ),
    Fault(
        name="next-size-above",
        does="It takes the next compatible size above the request, not the nearest one.",
        breaks=("GS-3",),
        seen="hazard of GS-3",
        patches=(wrapped(group_size, "nearest_group_size", _next_above),),
    ),
    Fault(
        name="huge-request-gives-nothing",
        does="Requests above 128 give no size.",
        breaks=("GS-9",),
        seen="hazard of GS-9",
        patches=(wrapped(group_size, "nearest_group_size", _nothing_above_128),),
    ),
    Fault(
        name="request-below-one-is-the-default",
        does="A request of 0 or below is taken for the default of 64.",
        breaks=("GS-9",),
        seen="hazard of GS-9",
        patches=(
            wrapped(
                group_size,
                "at_least_one",
                lambda original, requested: original(64 if requested < 1 else requested),
            ),
        ),
    ),
    Fault(
        name="request-loses-its-sign",
        does="A negative request counts by its magnitude.",
        breaks=("GS-9", "GS-7"),
        seen="hazard of GS-9",
        patches=(wrapped(group_size, "at_least_one", lambda original, requested: original(abs(requested))),),
    ),
    Fault(
        name="nearest-before-compatible",
        does="It rounds the request to the nearest size first, and that one may not divide the dims.",
        breaks=("GS-3",),
        seen="B04: head dim 96 against the default 64",
        patches=(wrapped(group_size, "nearest_group_size", _nearest_then_compatible),),
    ),
    Fault(
        name="sixteen-is-supported",
        does="The size 16 counts as a supported group size.",
        breaks=("GS-1", "GS-2", "GS-5"),
        seen="O10: group size 16 is not refused when it is given",
        patches=(replaced(group_size, "SUPPORTED_GROUP_SIZES", (16, 32, 64, 128)),),
    ),
    Fault(
        name="no-128",
        does="The size 128 is not among its sizes.",
        breaks=("GS-3", "GS-8"),
        seen="hazard of GS-1",
        patches=(replaced(group_size, "SUPPORTED_GROUP_SIZES", (32, 64)),),
    ),
    Fault(
        name="only-key-dim-is-checked",
        does="A size is compatible when it divides the key dim, whatever the value dim is.",
        breaks=("GS-6", "GS-2", "GS-5"),
        seen="B75: both sides sized by the key dim",
        patches=(
            wrapped(
                group_size,
                "compatible_group_sizes",
                lambda original, key_dim, _value_dim: original(key_dim, key_dim),
            ),
        ),
    ),
    Fault(
        name="dims-are-added",
        does="A size is compatible when it divides the sum of key dim and value dim.",
        breaks=("GS-2", "GS-5"),
        seen="B75, turned symmetric",
        patches=(
            wrapped(
                group_size,
                "compatible_group_sizes",
                lambda original, key_dim, value_dim: original(key_dim + value_dim, key_dim + value_dim),
            ),
        ),
    ),
    Fault(
        name="falls-back-to-32",
        does="Without a compatible size it answers 32.",
        breaks=("GS-2", "GS-5"),
        seen="B06: head dim 80 against blocks of 32",
        patches=(wrapped(group_size, "nearest_group_size", lambda original, *asked: original(*asked) or 32),),
    ),
    Fault(
        name="request-used-as-it-is",
        does="A conversion uses the requested group size without resolving it.",
        breaks=("GS-5", "MQ-5"),
        seen="B05: an entry point that forwards the group size unchecked",
        patches=(wrapped(quantized, "usable_group_size", lambda _original, requested, *_dims: requested),),
    ),
    Fault(
        name="dims-below-one-are-taken",
        does="Head dims of 0 and below are not rejected.",
        breaks=("GS-12",),
        seen="hazard of GS-12",
        patches=(wrapped(group_size, "check_head_dim", lambda _original, _side, _dim: None),),
    ),
    Fault(
        name="group-size-zero-kills",
        does="A conversion asked for a group size of 0 divides by it and takes the process down.",
        breaks=("GS-11",),
        seen="MLX 0.29.4 to 0.32.4 die with SIGFPE",
        patches=(wrapped(policy, "convert_layer", _zero_kills),),
    ),
    Fault(
        name="value-dim-read-off-the-keys",
        does="The value head dim is read off the keys.",
        breaks=("HD-1",),
        seen="B75: key and value dims taken for one",
        patches=(
            wrapped(
                RowCache,
                "head_dims",
                lambda original, cache: (dims := original(cache)) and (dims[0], dims[0]),
            ),
        ),
    ),
    Fault(
        name="unwritten-layer-has-dims",
        does="A layer that was never written answers with head dims of 64.",
        breaks=("HD-1", "GS-10"),
        seen="hazard of HD-1",
        patches=(wrapped(RowCache, "head_dims", lambda original, cache: original(cache) or (64, 64)),),
    ),
    Fault(
        name="quantized-layer-has-dims",
        does="A quantized layer answers with head dims, though it holds six arrays.",
        breaks=("HD-1",),
        seen="B24: code that asks the keys of a quantized layer for a shape",
        patches=(
            wrapped(
                QuantizedCache,
                "head_dims",
                lambda _original, cache: cache.shape and (cache.shape.key_dim, cache.shape.value_dim),
            ),
        ),
    ),
    Fault(
        name="trimmed-layer-has-no-dims",
        does="A layer trimmed to zero rows is taken for one that was never written.",
        breaks=("HD-2", "HD-1", "MQ-16"),
        seen="hazard of HD-2 and MQ-16",
        patches=(
            wrapped(RowCache, "head_dims", lambda original, cache: original(cache) if cache.offset else None),
        ),
    ),
    Fault(
        name="compatible-at-the-requested-size",
        does="Whether a layer can be quantized is answered for the requested size only.",
        breaks=("HD-2",),
        seen="B04: a validity helper that asks about the request",
        patches=(wrapped(reference_numbers, "resolve_layer", _compatible_at_request),),
    ),
    Fault(
        name="recurrent-layer-asked-for-dims",
        does="Head dims are asked before the kind, and a recurrent layer's arrays have no such axis.",
        breaks=("HD-3",),
        seen="B15: a loop that asks a recurrent layer for what it does not have",
        patches=(
            wrapped(RecurrentCache, "head_dims", _trapped),
            wrapped(policy, "decide", _asks_dims_first),
        ),
    ),
    Fault(
        name="empty-layer-is-not-quantizable",
        does="A plain layer without rows does not count as quantizable.",
        breaks=("QP-1", "TH-2", "CT-7"),
        seen="hazard of QP-1: whatever their fill",
        patches=(
            wrapped(
                policy,
                "is_quantizable",
                lambda original, layer, *dialect: original(layer, *dialect) and layer.offset > 0,
            ),
        ),
    ),
    Fault(
        name="misfit-is-not-quantizable",
        does="A plain layer whose dims have no group size does not count as quantizable.",
        breaks=("QP-1", "TH-4"),
        seen="B06; hazard of QP-1: whatever their dims",
        patches=(
            wrapped(
                policy,
                "is_quantizable",
                lambda original, layer, *dialect: (
                    original(layer, *dialect)
                    and (layer.head_dims is None or bool(group_size.compatible_group_sizes(*layer.head_dims)))
                ),
            ),
        ),
    ),
    Fault(
        name="quantized-layer-counts-as-plain",
        does="The type test also matches quantized caches.",
        breaks=("QP-1", "TH-5"),
        seen="hazard: a type test that matches subclasses",
        patches=(
            wrapped(
                policy,
                "is_quantizable",
                lambda original, layer, *dialect: (
                    original(layer, *dialect) or layer.kind == protocol.QUANTIZED
                ),
            ),
        ),
    ),
    Fault(
        name="composite-counts-as-plain",
        does="A composite is handed to a conversion that it does not have.",
        breaks=("QP-1", "MQ-17"),
        seen="B23: code that looks at the wrapper only",
        patches=(
            wrapped(
                policy,
                "is_quantizable",
                lambda original, layer, *dialect: (
                    original(layer, *dialect) or layer.kind == protocol.COMPOSITE
                ),
            ),
            wrapped(
                protocol,
                "head_dims",
                lambda original, layer: (64, 64) if layer.kind == protocol.COMPOSITE else original(layer),
            ),
        ),
    ),
    Fault(
        name="dropped-front-is-converted",
        does="A chunked layer that dropped rows is converted, and its offset passes its rows.",
        breaks=("QP-2",),
        seen="hazard: a chunked layer would be converted and lose its start position",
        patches=(
            wrapped(protocol, "holds_every_row", lambda _original, _layer: True),
            wrapped(quantized, "check_complete", lambda _original, _source: None),
        ),
    ),
    Fault(
        name="dropped-front-does-not-trigger",
        does="A chunked layer that dropped rows no longer counts as quantizable.",
        breaks=("QP-2",),
        seen="hazard of QP-2: it still triggers, still disarms",
        patches=(
            wrapped(
                policy,
                "is_quantizable",
                lambda original, layer, *dialect: original(layer, *dialect) and _holds_every_row(layer),
            ),
        ),
    ),
    Fault(
        name="asking-drops-the-front",
        does="Asking a chunked layer whether it is quantizable makes it drop its front.",
        breaks=("QP-3",),
        seen="hazard of QP-3",
        patches=(wrapped(policy, "is_quantizable", _drops_front_when_asked),),
    ),
    Fault(
        name="asking-allocates-dims",
        does="Asking an empty plain layer whether it is quantizable gives it arrays of the usual dims.",
        breaks=("QP-3",),
        seen="hazard of QP-3",
        patches=(
            wrapped(
                policy,
                "is_quantizable",
                lambda original, layer, *dialect: original(_allocated(layer), *dialect),
            ),
        ),
    ),
)


def _allocated(layer: Any) -> Any:
    if isinstance(layer, PlainCache) and layer.shape is None:
        layer.shape = tensor.RowShape()
    return layer
