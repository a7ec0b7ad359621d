"""Faults that show in one place only, in caches (QC, KC); see :mod:`.narrow_layers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvconform_reference import storage
from kvconform_reference.caches.base import GROWTH_STEP, RowCache
from kvconform_reference.caches.plain import PlainCache
from kvconform_reference.caches.quantized import QuantizedBlock, QuantizedCache

from .caches import growth_loses_a_row, keeps_last_scales
from .fault import Fault
from .marking import MARKS_CONVERTED, is_converted
from .passes import one_head
from .planting import Patch, wrapped
from .tensors import wiped


def _converted_keeps_scales(original: Any, cache: Any, block: Any) -> Any:
    if not is_converted(cache):
        return original(cache, block)
    return keeps_last_scales(original, cache, block)


def _forgets_bits_in_memory(original: Any, state: Any) -> Any:
    cache = original(state)
    in_memory = any(isinstance(block, QuantizedBlock) for block, _, _ in state.rows.segments)
    if isinstance(cache, QuantizedCache) and in_memory:
        cache.bits = 8
    return cache


def _uneven_heads_repeat(original: Any, cache: Any, block: Any) -> Any:
    if block.shape.key_dim != block.shape.value_dim and not is_converted(cache):
        block = one_head(block)
    return original(cache, block)


ROWS = (
    Fault(
        name="converted-cache-keeps-the-scales",
        does="Rows appended to a converted cache take over the scales of its last row.",
        breaks=("QC-2",),
        seen="law: codes do not depend on when a row was stored",
        patches=(
            MARKS_CONVERTED,
            wrapped(QuantizedCache, "packed", _converted_keeps_scales),
        ),
    ),
    Fault(
        name="bits-lost-in-a-state",
        does="A state that goes into a new quantized cache without a file gives it 8 bits.",
        breaks=("QC-5",),
        seen="B34: an export that leaves a field out",
        patches=(wrapped(storage, "from_state", _forgets_bits_in_memory),),
    ),
    Fault(
        name="uneven-heads-repeat-the-first",
        does="Where dims differ every head written to a cache made empty holds what the first one holds.",
        breaks=("QC-7",),
        seen="B75, B25: grouped queries over other head dims",
        patches=(MARKS_CONVERTED, wrapped(QuantizedCache, "append", _uneven_heads_repeat)),
    ),
)

# ---------------------------------------------------------------- growth

Where = Callable[[Any, Any], bool]
"""(cache, block) before the write -> whether the fault is in force."""


def _growth(change: Any, where: Where, kind: type[RowCache] = QuantizedCache) -> Patch:
    """A change of ``append`` in force where the buffer of such a cache grows and ``where`` says so."""

    def growing(original: Any, cache: Any, block: Any) -> Any:
        grows = 0 < cache.capacity < cache.rows + block.count
        return (change if grows and where(cache, block) else _as_it_is)(original, cache, block)

    return wrapped(kind, "append", growing)


def _as_it_is(original: Any, cache: Any, block: Any) -> Any:
    return original(cache, block)


def _writes_zeros(original: Any, cache: Any, block: Any) -> Any:
    return original(cache, wiped(block))


def _loses_a_row(where: Where) -> tuple[Patch, ...]:
    return (_growth(growth_loses_a_row, where),)


def _is_unaligned(cache: Any) -> bool:
    return cache.rows % GROWTH_STEP != 0


GROWTHS = (
    Fault(
        name="growth-loses-a-row-of-uneven-dims",
        does="When the buffer grows a row before the boundary is lost where key and value dims differ.",
        breaks=("QC-3",),
        seen="wrong implementations from the specification: one copy for both sides",
        patches=_loses_a_row(lambda _cache, block: block.shape.key_dim != block.shape.value_dim),
    ),
    *(
        Fault(
            name=f"growth-loses-a-row-in-{dtype}",
            does=f"When a buffer in {dtype} grows a row before the boundary is lost.",
            breaks=("QC-3",),
            seen="wrong implementations from the specification: a path of its own for a dtype",
            patches=_loses_a_row(lambda _cache, block, dtype=dtype: block.shape.dtype == dtype),
        )
        for dtype in ("float16", "bfloat16")
    ),
    Fault(
        name="second-growth-loses-a-row",
        does="When the buffer grows a second time a row before the boundary is lost.",
        breaks=("QC-3",),
        seen="wrong implementations from the specification: right at 256, wrong at 512",
        patches=_loses_a_row(lambda cache, _block: cache.capacity > GROWTH_STEP),
    ),
    Fault(
        name="unaligned-growth-loses-a-row-at-5-bits",
        does="When a buffer of 5 bits grows from a length that is no multiple of 256 a row is lost.",
        breaks=("QC-3",),
        seen="wrong implementations from the specification: spare rows cut off by words",
        patches=_loses_a_row(lambda cache, _block: cache.bits == 5 and _is_unaligned(cache)),
    ),
    Fault(
        name="full-buffer-loses-a-row",
        does="What is appended to an exactly full buffer overwrites its last row.",
        breaks=("QC-3",),
        seen="wrong implementations from the specification: a clamp at the capacity",
        patches=_loses_a_row(lambda cache, _block: cache.rows == cache.capacity),
    ),
    Fault(
        name="growth-writes-zeros-at-8-bits",
        does="What is appended to a buffer of 8 bits and makes it grow is written as zeros.",
        breaks=("QC-3",),
        seen="wrong implementations from the specification: a new buffer that stays as it was made",
        patches=(_growth(_writes_zeros, lambda cache, _block: cache.bits == 8),),
    ),
    Fault(
        name="converted-growth-loses-a-row",
        does="When the buffer of a converted cache grows a row before the boundary is lost.",
        breaks=("QC-3",),
        seen="hazard of QC-3: from empty and after conversion",
        patches=(
            MARKS_CONVERTED,
            *_loses_a_row(lambda cache, _block: is_converted(cache)),
        ),
    ),
)

PLAIN_GROWTHS = tuple(
    Fault(
        name=f"plain-{name}",
        does=does,
        breaks=("KC-1",),
        seen="hazard of KC-1, as of QC-3: the 256-row boundary",
        patches=(_growth(growth_loses_a_row, where, PlainCache),),
    )
    for name, does, where in (
        (
            "full-buffer-loses-a-row",
            "What is appended to an exactly full plain buffer overwrites its last row.",
            lambda cache, _block: cache.rows == cache.capacity == GROWTH_STEP,
        ),
        (
            "second-growth-loses-a-row",
            "When a plain buffer grows a second time a row before the boundary is lost.",
            lambda cache, _block: cache.capacity > GROWTH_STEP,
        ),
        (
            "growth-loses-a-row-in-float16",
            "When a plain buffer in float16 grows a row before the boundary is lost.",
            lambda _cache, block: block.shape.dtype == "float16",
        ),
    )
)

FAULTS = ROWS + GROWTHS + PLAIN_GROWTHS
