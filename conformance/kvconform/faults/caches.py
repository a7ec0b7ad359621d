"""Faults in what a cache keeps: quantized, plain, rotating, chunked, recurrent, composite (QC, KC)."""

from __future__ import annotations

import dataclasses
from typing import Any

from kvconform_reference import affine, packing, storage, stored_arrays, tensor
from kvconform_reference.caches import base, quantized
from kvconform_reference.caches.plain import ChunkedCache, PlainCache
from kvconform_reference.caches.quantized import QuantizedCache
from kvconform_reference.caches.rotating import RotatingCache
from kvconform_reference.caches.whole import CompositeCache, RecurrentCache

from ..implementations import reference_layers, reference_looks
from .fault import Fault
from .planting import Patch, replaced, wrapped

# ---------------------------------------------------------------- rows


def _one_scale_a_write(original: Any, block: Any, role: int, head: int, index: int) -> Any:
    row, first = original(block, role, head, index), original(block, role, head, 0)
    return affine.QuantizedRow(packed=row.packed, scales=first.scales, biases=first.biases)


class _Sticky:
    """Quantized rows that take over the scales of the row before them."""

    def __init__(self, rows: Any, before: Any, index: int) -> None:
        self.count = rows.count
        self._rows, self._before, self._index = rows, before, index

    def packed_row(self, role: int, head: int, index: int) -> affine.QuantizedRow:
        row, before = (
            self._rows.packed_row(role, head, index),
            self._before.packed_row(role, head, self._index),
        )
        return affine.QuantizedRow(packed=row.packed, scales=before.scales, biases=before.biases)


def keeps_last_scales(original: Any, cache: Any, block: Any) -> Any:
    """A block whose rows have the scales of the row before it."""
    rows = original(cache, block)
    if not cache.rows:
        return rows
    *_, (before, index) = cache.stored.part(0, cache.rows)
    return _Sticky(rows, before, index)


def growth_loses_a_row(original: Any, cache: Any, block: Any) -> Any:
    """A write that makes the buffer grow and drops the last row before the boundary."""
    capacity = cache.capacity
    got = original(cache, block)
    if 0 < capacity < cache.capacity:
        kept = cache.stored.part(0, capacity - 1).plus(cache.stored.part(capacity, cache.rows))
        cache.stored = kept.plus(cache.stored.part(cache.rows - 1, cache.rows))
        return cache.fetch()
    return got


def _growth_starts_over(original: Any, cache: Any, block: Any) -> Any:
    if cache.shape is not None and cache.rows + block.count > cache.capacity > 0:
        cache.stored, cache.offset = tensor.NO_ROWS, 0
    return original(cache, block)


def _straddling_refused(original: Any, cache: Any, block: Any) -> Any:
    if (
        cache.shape is None
        and cache.bits in (3, 5, 6)
        and max(block.shape.key_dim, block.shape.value_dim) >= 96
    ):
        raise RuntimeError(f"the buffer for {cache.bits} bits has another width")
    return original(cache, block)


def _equal_dims_only(original: Any, cache: Any, block: Any) -> Any:
    if block.shape.key_dim != block.shape.value_dim:
        raise RuntimeError(f"cannot reshape values of dim {block.shape.value_dim} to {block.shape.key_dim}")
    return original(cache, block)


def _trims_below_zero(_original: Any, cache: Any, rows: int) -> int:
    trimmed = min(cache.rows, rows)
    cache.offset -= trimmed
    return trimmed


def _tells_what_was_asked(original: Any, cache: Any, rows: int) -> int:
    original(cache, rows)
    return max(0, rows)


def _trims_all_or_nothing(original: Any, cache: Any, rows: int) -> int:
    return original(cache, rows) if rows <= cache.rows else 0


def _append_behind_trimmed(original: Any, cache: Any, block: Any) -> Any:
    """A trim that only lowered a counter: what is appended lands behind the rows trimmed."""
    hidden = cache.stored.part(cache.rows, cache.stored.count)
    got = original(cache, block)
    if hidden.count:
        cache.stored = cache.stored.part(0, cache.rows - block.count).plus(hidden).plus(cache.stored)
        return cache.fetch()
    return got


def _reads_capacity(original: Any, cache: Any) -> Any:
    return None if cache.shape is None else cache.stored


def _copy_is_the_same(_original: Any, cache: Any) -> Any:
    twin = object.__new__(type(cache))
    twin.__dict__ = cache.__dict__
    return twin


def _itself(original: Any, cache: Any) -> Any:
    return cache if isinstance(cache, QuantizedCache) else original(cache)


def _copy_shares_buffer(original: Any, cache: Any) -> Any:
    twin = original(cache)
    twin.peers = cache.peers = (*vars(cache).get("peers", (cache,)), twin)
    return twin


def _writes_into_peers(original: Any, cache: Any, block: Any) -> Any:
    got = original(cache, block)
    for peer in vars(cache).get("peers", ()):
        rest = peer.stored.part(cache.stored.count, peer.stored.count)
        peer.stored = cache.stored.part(0, cache.rows).plus(rest)
    return got


def _forgotten(kind: str, name: str) -> Patch:
    """A state of one kind that forgets a parameter: what it restores has 0 there."""

    def forgetting(original: Any, cache: Any) -> Any:
        state = original(cache)
        return (
            dataclasses.replace(state, parameters={**state.parameters, name: 0})
            if state.kind == kind
            else state
        )

    return wrapped(storage, "state_of", forgetting)


UNCHECKED = wrapped(storage, "check_rows", lambda _original, _cache: None)


def _padded_rows(original: Any, cache: Any) -> Any:
    return cache.stored if isinstance(cache, QuantizedCache) else original(cache)


def _values_saved_as_keys(original: Any, rows: Any, role: int, *rest: Any) -> Any:
    return original(rows, 0 if role == 1 else role, *rest)


def _five_codes_a_word(original: Any, codes: Any, bits: int) -> Any:
    """Codes that do not straddle words: ``32 // bits`` a word."""
    fit = 32 // bits
    return tuple(
        sum(code << place * bits for place, code in enumerate(codes[start : start + fit]))
        for start in range(0, len(codes), fit)
    )


def _shape_from_bytes(original: Any, dtype: str, shape: Any, data: bytes) -> Any:
    *leading, last = shape
    count = 1
    for size in leading:
        count *= size
    width = len(data) // 4 // count if dtype == "uint32" and count else last
    return original(dtype, (*leading, width), data)


def _whole_codes(original: Any, cache: Any) -> int:
    """Words of ``32 // bits`` codes each, instead of words that are filled to the last bit."""
    right, a_word = original(cache), 32 // cache.bits
    if cache.shape is None:
        return right
    dims = (cache.shape.key_dim, cache.shape.value_dim)
    words = sum(4 * (dim // a_word) - dim * cache.bits // 8 for dim in dims)
    return right + cache.shape.heads * words


def _raises_when_empty(original: Any, cache: Any) -> int:
    if cache.shape is None:
        raise AttributeError("'NoneType' object has no attribute 'nbytes'")
    return original(cache)


def _doubles(_original: Any, capacity: int, needed: int) -> int:
    capacity = capacity or base.GROWTH_STEP
    while capacity < needed:
        capacity *= 2
    return capacity


QUANTIZED = (
    Fault(
        name="reader-gets-spare-rows",
        does="A reader of a quantized cache gets all rows stored, trimmed ones included.",
        breaks=("QC-1", "QC-4"),
        seen="B42: removed tokens come back",
        patches=(wrapped(QuantizedCache, "fetch", _reads_capacity),),
    ),
    Fault(
        name="one-scale-a-write",
        does="All rows of one append share the first row's scales and biases.",
        breaks=("MQ-5",),
        seen="hazard of AQ-2: a scale shared by rows",
        patches=(wrapped(quantized.QuantizedBlock, "_quantize", _one_scale_a_write),),
    ),
    Fault(
        name="appended-rows-keep-the-scales",
        does="Rows appended to a quantized cache take over the scales of its last row.",
        breaks=("QC-2",),
        seen="law: codes do not depend on when a row was stored",
        patches=(wrapped(QuantizedCache, "packed", keeps_last_scales),),
    ),
    Fault(
        name="growth-loses-a-row",
        does="When the buffer grows the last row before the boundary is lost.",
        breaks=("QC-3",),
        seen="hazard of QC-3: the 256-row boundary",
        patches=(wrapped(QuantizedCache, "append", growth_loses_a_row),),
    ),
    Fault(
        name="growth-starts-over",
        does="When the buffer grows all rows before the boundary are dropped.",
        breaks=("QC-3",),
        seen="hazard of QC-3",
        patches=(wrapped(QuantizedCache, "append", _growth_starts_over),),
    ),
    Fault(
        name="odd-bits-cannot-start-empty",
        does="A cache of 3, 5 or 6 bits that starts empty cannot be written at head dims from 96 on.",
        breaks=("QC-3",),
        seen="O2, B74: buffers sized by 32 // bits",
        patches=(wrapped(QuantizedCache, "append", _straddling_refused),),
    ),
    Fault(
        name="trim-below-zero",
        does="A negative trim is accepted and the offset grows.",
        breaks=("QC-4",),
        seen="O4, B46: trim(-2) raises the offset",
        patches=(wrapped(QuantizedCache, "trim", _trims_below_zero),),
    ),
    Fault(
        name="trim-tells-what-was-asked",
        does="A trim answers with the number asked for, not the number trimmed.",
        breaks=("QC-4",),
        seen="B42: a count that did not move",
        patches=(wrapped(QuantizedCache, "trim", _tells_what_was_asked),),
    ),
    Fault(
        name="trim-of-too-many-is-nothing",
        does="A trim of more rows than there are trims nothing.",
        breaks=("QC-4",),
        seen="B49: a trim that does nothing and says so to nobody",
        patches=(wrapped(QuantizedCache, "trim", _trims_all_or_nothing),),
    ),
    Fault(
        name="trimmed-rows-come-back",
        does="What is appended after a trim lands behind the rows trimmed.",
        breaks=("QC-4",),
        seen="B42: trim lowers only a counter",
        patches=(wrapped(QuantizedCache, "append", _append_behind_trimmed),),
    ),
    Fault(
        name="offset-is-not-saved",
        does="A restored quantized cache starts at offset 0.",
        breaks=("QC-5",),
        seen="B34: the arrays are stored but not the offset",
        patches=(_forgotten("quantized", "offset"), UNCHECKED),
    ),
    Fault(
        name="bits-are-not-saved",
        does="A restored quantized cache has 8 bits.",
        breaks=("QC-5",),
        seen="B39: settings that are not part of what is stored",
        patches=(
            wrapped(
                storage,
                "from_state",
                lambda original, state: _set(original(state), "bits", 8),
            ),
        ),
    ),
    Fault(
        name="group-size-is-not-saved",
        does="A restored quantized cache has group size 64.",
        breaks=("QC-5",),
        seen="B39: settings that are not part of what is stored",
        patches=(
            wrapped(
                storage,
                "from_state",
                lambda original, state: _set(original(state), "group_size", 64),
            ),
        ),
    ),
    Fault(
        name="values-saved-as-keys",
        does="A saved quantized cache holds its keys twice.",
        breaks=("QC-5",),
        seen="B07: damaged saved files",
        patches=(wrapped(stored_arrays, "packed_bytes", _values_saved_as_keys),),
    ),
    Fault(
        name="codes-do-not-straddle",
        does="Codes that would straddle two words start a new word.",
        breaks=("QC-6",),
        seen="O2: 32 // bits codes a word",
        patches=(
            wrapped(packing, "pack_codes", _five_codes_a_word),
            wrapped(reference_looks, "encoded", _shape_from_bytes),
        ),
    ),
    Fault(
        name="equal-dims-only",
        does="Keys and values with other head dims cannot be written.",
        breaks=("QC-7",),
        seen="B75; grouped queries with key dim 128 and value dim 64",
        patches=(wrapped(QuantizedCache, "append", _equal_dims_only),),
    ),
    Fault(
        name="bytes-are-zero",
        does="A quantized cache reports 0 bytes.",
        breaks=("QC-8", "QC-10"),
        seen="B68: bytes were always reported as 0",
        patches=(wrapped(QuantizedCache, "row_nbytes", lambda _original, _cache: 0),),
    ),
    Fault(
        name="bytes-without-scales",
        does="The bytes of scales and biases are left out.",
        breaks=("QC-8",),
        seen="B68: expected bytes of words, scales and biases",
        patches=(
            wrapped(
                QuantizedCache,
                "row_nbytes",
                lambda _original, cache: (
                    cache.shape.heads * (cache.shape.key_dim + cache.shape.value_dim) * cache.bits // 8
                    if cache.shape
                    else 0
                ),
            ),
        ),
    ),
    Fault(
        name="bytes-of-whole-codes",
        does="The bytes are those of words that hold whole codes only, as if no code straddled two words.",
        breaks=("QC-8",),
        seen="wrong implementations from the specification: 32 // bits codes a word",
        patches=(wrapped(QuantizedCache, "row_nbytes", _whole_codes),),
    ),
    Fault(
        name="bytes-of-blocks",
        does="Bytes per block are taken for bytes per element.",
        breaks=("QC-8",),
        seen="B69: an estimate 32 times too high",
        patches=(wrapped(QuantizedCache, "row_nbytes", lambda original, cache: 32 * original(cache)),),
    ),
    Fault(
        name="capacity-doubles",
        does="The buffer doubles instead of growing in steps.",
        breaks=("QC-8", "KC-1"),
        seen="hazard of QC-8: less than one growth step",
        patches=(wrapped(base, "grown", _doubles),),
    ),
    Fault(
        name="copy-is-the-same-cache",
        does="A copy moves with the cache it was made from.",
        breaks=("QC-9",),
        seen="B66: a value handed out that changes later",
        patches=(wrapped(base.Cache, "copy", _copy_is_the_same),),
    ),
    Fault(
        name="copy-is-the-cache-itself",
        does="Copying a quantized cache gives the very same object.",
        breaks=("QC-9",),
        seen="hazard of QC-9: a reference-counted cache whose copy counts one more",
        patches=(wrapped(base.Cache, "copy", _itself),),
    ),
    Fault(
        name="copy-shares-the-buffer",
        does="Copies write into one buffer, each at its own offset.",
        breaks=("QC-9",),
        seen="mlx-lm: a shallow copy shares the buffer",
        patches=(
            wrapped(base.Cache, "copy", _copy_shares_buffer),
            wrapped(QuantizedCache, "append", _writes_into_peers),
        ),
    ),
    Fault(
        name="size-is-zero",
        does="The size of a quantized cache is 0 whatever it holds.",
        breaks=("QC-10",),
        seen="B48: size() is 0 with 5 tokens",
        patches=(
            replaced(
                reference_looks,
                "_ASK",
                {
                    **reference_looks._ASK,
                    "size": lambda cache: 0 if isinstance(cache, QuantizedCache) else cache.rows,
                },
            ),
            wrapped(reference_looks, "questions_for", lambda original, *asked: original.__wrapped__(*asked)),
        ),
    ),
    Fault(
        name="bytes-of-an-empty-cache-raise",
        does="Asking an empty quantized cache for its bytes raises.",
        breaks=("QC-10",),
        seen="O3, B67: nbytes of an empty cache raises",
        patches=(wrapped(QuantizedCache, "nbytes", _raises_when_empty),),
    ),
    Fault(
        name="trimmed-cache-is-not-empty",
        does="A quantized cache trimmed to zero rows does not say that it is empty.",
        breaks=("QC-10",),
        seen="hazard of QC-10",
        patches=(wrapped(QuantizedCache, "empty", lambda _original, cache: not cache.stored.count),),
    ),
    Fault(
        name="padding-is-saved",
        does="A saved quantized cache holds rows beyond its offset.",
        breaks=("QC-11",),
        seen="mlx-lm 0.32: whole buffer, 256-row padding included",
        patches=(wrapped(storage, "visible_rows", _padded_rows), UNCHECKED),
    ),
)


def _set(cache: Any, name: str, value: Any) -> Any:
    if isinstance(cache, QuantizedCache):
        setattr(cache, name, value)
    return cache


# ---------------------------------------------------------------- the other caches


def _nothing_kept(original: Any, cache: Any, limit: int) -> Any:
    rows = cache.in_time_order()
    return rows.part(max(0, rows.count - limit), rows.count)


def _ring_order(_original: Any, cache: Any) -> Any:
    return cache.stored


def _keeps_old_window(_original: Any, cache: Any, new: Any) -> None:
    cache.stored = cache._newest(cache.max_size).plus(new)
    cache.oldest = cache.keep


def _wraps_to_front(original: Any, cache: Any, new: Any) -> None:
    original(cache, new)
    if cache.oldest == cache.keep and cache.stored.count == cache.max_size:
        cache.oldest = 0


def _offset_is_rows(original: Any, cache: Any, block: Any) -> Any:
    got = original(cache, block)
    cache.offset = cache.stored.count
    return got


def _keeps_oldest(original: Any, cache: Any) -> int:
    dropped = max(0, cache.rows - cache.chunk_size)
    if dropped:
        stored = cache.stored.part(0, cache.chunk_size)
        original(cache)
        cache.stored = stored
    return dropped


def _start_stays(original: Any, cache: Any) -> int:
    dropped = original(cache)
    cache.start_position -= dropped
    cache.offset -= dropped
    return dropped


def _first_slot_only(original: Any, cache: Any, arrays: Any) -> None:
    original(cache, (arrays[0], *cache.arrays[1:]))


def _first_child_written(original: Any, slot: Any, cache: Any, rows: int, **options: Any) -> Any:
    if isinstance(cache, CompositeCache):
        original(slot.children[0], cache.children[0], rows, **options)
        return None
    return original(slot, cache, rows, **options)


def _first_child_trimmed(_original: Any, cache: Any, rows: int) -> int:
    return cache.children[0].trim(rows) if cache.trimmable else 0


def _saved_children_reversed(original: Any, cache: Any) -> Any:
    state = original(cache)
    return dataclasses.replace(state, children=state.children[::-1])


def _ring_read_off_the_offset(original: Any, cache: Any) -> Any:
    state = original(cache)
    if state.kind != "rotating" or cache.offset < cache.max_size:
        return state
    around = (cache.offset - cache.max_size) % (cache.max_size - cache.keep)
    return dataclasses.replace(state, parameters={**state.parameters, "oldest": cache.keep + around})


def _rotating_saved_in_ring_order(original: Any, cache: Any) -> Any:
    state = original(cache)
    if state.kind != "rotating":
        return state
    return dataclasses.replace(state, parameters={**state.parameters, "oldest": state.parameters["keep"]})


OTHERS = (
    Fault(
        name="plain-trim-below-zero",
        does="A negative trim of a plain cache is accepted and the offset grows.",
        breaks=("KC-1",),
        seen="O4, B46: negative trims are refused",
        patches=(wrapped(PlainCache, "trim", _trims_below_zero),),
    ),
    Fault(
        name="plain-growth-starts-over",
        does="When a plain cache's buffer grows all rows before the boundary are dropped.",
        breaks=("KC-1",),
        seen="hazard of KC-1",
        patches=(wrapped(PlainCache, "append", _growth_starts_over),),
    ),
    Fault(
        name="plain-trimmed-rows-come-back",
        does="What is appended to a plain cache after a trim lands behind the rows trimmed.",
        breaks=("KC-1",),
        seen="B42: the next append brings the removed tokens back",
        patches=(wrapped(PlainCache, "append", _append_behind_trimmed),),
    ),
    Fault(
        name="rotating-keeps-nothing",
        does="A rotating cache does not keep its first rows.",
        breaks=("KC-2",),
        seen="hazard of KC-2: the first `keep`",
        patches=(wrapped(RotatingCache, "_newest", _nothing_kept),),
    ),
    Fault(
        name="rotating-not-put-in-time-order",
        does="An append of several rows finds the stored rows as they lie in the ring.",
        breaks=("KC-2",),
        seen="B65: the ring cursor taken for the length",
        patches=(wrapped(RotatingCache, "in_time_order", _ring_order),),
    ),
    Fault(
        name="rotating-window-one-larger",
        does="An append of several rows leaves max size old rows before the new ones.",
        breaks=("KC-2",),
        seen="B51: visible length at most max + m - 1",
        patches=(wrapped(RotatingCache, "_write_many", _keeps_old_window),),
    ),
    Fault(
        name="rotating-wraps-to-the-front",
        does="A rotating cache wraps to its first row instead of behind the kept ones.",
        breaks=("KC-2",),
        seen="hazard of KC-2: wrapping behind `keep`",
        patches=(wrapped(RotatingCache, "_write_one", _wraps_to_front),),
    ),
    Fault(
        name="rotating-offset-is-rows",
        does="A rotating cache's offset counts the rows held, not all positions written.",
        breaks=("KC-2",),
        seen="B65; hazard of KC-2",
        patches=(wrapped(RotatingCache, "append", _offset_is_rows),),
    ),
    Fault(
        name="rotating-trimmed-after-the-wrap",
        does="A rotating cache that has wrapped can be trimmed.",
        breaks=("KC-2",),
        seen="B49, O7: a trim after the wrap",
        patches=(wrapped(RotatingCache, "trimmable", lambda _original, _cache: True),),
    ),
    Fault(
        name="rotating-grows-without-end",
        does="A rotating cache never drops a row.",
        breaks=("KC-2",),
        seen="B52: the size bound is dropped",
        patches=(
            wrapped(RotatingCache, "_newest", lambda _original, cache, _limit: cache.in_time_order()),
            wrapped(
                RotatingCache,
                "_write_one",
                lambda _original, cache, new: setattr(cache, "stored", cache.stored.plus(new)),
            ),
        ),
    ),
    Fault(
        name="chunked-keeps-the-oldest",
        does="A chunked cache that drops its front keeps the oldest rows.",
        breaks=("KC-3",),
        seen="hazard of KC-3: keeps the newest",
        patches=(wrapped(ChunkedCache, "drop_front", _keeps_oldest),),
    ),
    Fault(
        name="chunked-offset-follows-rows",
        does="A chunked cache that drops its front counts its offset from there.",
        breaks=("KC-3",),
        seen="hazard of KC-3: offset stays absolute",
        patches=(wrapped(ChunkedCache, "drop_front", _start_stays),),
    ),
    Fault(
        name="chunked-trims-by-offset",
        does="A chunked cache can be trimmed below its start position.",
        breaks=("KC-3",),
        seen="B42: trim of a chunked layer with start 2",
        patches=(
            wrapped(
                ChunkedCache,
                "trim",
                lambda _original, cache, rows: _trim_by_offset(cache, rows),
            ),
        ),
    ),
    Fault(
        name="recurrent-writes-one-slot",
        does="A write to a recurrent cache replaces its first array only.",
        breaks=("KC-4",),
        seen="hazard of KC-4: replaces whole state arrays",
        patches=(wrapped(RecurrentCache, "replace", _first_slot_only),),
    ),
    Fault(
        name="recurrent-says-trimmable",
        does="A recurrent cache says that it can be trimmed.",
        breaks=("KC-4", "KC-5"),
        seen="hazard of KC-4: no trim",
        patches=(wrapped(RecurrentCache, "trimmable", lambda _original, _cache: True),),
    ),
    Fault(
        name="composite-writes-one-child",
        does="A write to a composite reaches its first child only.",
        breaks=("KC-5",),
        seen="B45: every mutation acts on all stored parts",
        patches=(wrapped(reference_layers, "write_rows", _first_child_written),),
    ),
    Fault(
        name="composite-trims-one-child",
        does="Trimming a composite trims its first child only.",
        breaks=("KC-5",),
        seen="B43, B45: every mutation acts on all stored parts",
        patches=(wrapped(CompositeCache, "trim", _first_child_trimmed),),
    ),
    Fault(
        name="composite-trimmable-by-any-child",
        does="A composite says that it can be trimmed when one of its children can.",
        breaks=("KC-5",),
        seen="hazard of KC-5: iff all children are",
        patches=(
            wrapped(
                CompositeCache,
                "trimmable",
                lambda _original, cache: any(child.trimmable for child in cache.children),
            ),
        ),
    ),
    Fault(
        name="start-position-is-not-saved",
        does="A restored chunked cache starts at position 0.",
        breaks=("KC-6",),
        seen="B37: a kind that the loader does not know",
        patches=(_forgotten("chunked", "start_position"), UNCHECKED),
    ),
    Fault(
        name="ring-cursor-is-not-saved",
        does="A restored rotating cache has forgotten where its oldest row is.",
        breaks=("KC-6",),
        seen="B36: identical next append",
        patches=(wrapped(storage, "state_of", _rotating_saved_in_ring_order),),
    ),
    Fault(
        name="ring-cursor-is-read-off-the-offset",
        does="A restored rotating cache has its oldest row where single appends alone would have put it.",
        breaks=("KC-6",),
        seen="wrong implementations from the specification: the cursor is not saved but computed",
        patches=(wrapped(storage, "state_of", _ring_read_off_the_offset),),
    ),
    Fault(
        name="children-saved-in-reverse",
        does="A restored composite has its children in reverse.",
        breaks=("KC-6",),
        seen="B36: every kind round-trips",
        patches=(wrapped(storage, "state_of", _saved_children_reversed),),
    ),
)


def _trim_by_offset(cache: Any, rows: int) -> int:
    trimmed = max(0, min(cache.offset, rows))
    cache.offset -= trimmed
    return trimmed


FAULTS = QUANTIZED + OTHERS
