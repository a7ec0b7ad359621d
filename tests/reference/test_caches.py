"""The reference's caches: sections QC and KC of the specification."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kvconform_reference import caches, floats, policy, tensor
from notation import (
    block,
    chunked,
    composite,
    content,
    plain,
    positions,
    quantized,
    quantized_directly,
    recurrent,
    rotating,
    shape,
    show,
    trimmed,
    write,
)

BITS = (2, 3, 4, 5, 6, 8)


def empty_quantized(bits: int = 4, group_size: int = 64) -> caches.QuantizedCache:
    return caches.QuantizedCache(group_size=group_size, bits=bits)


# ---------------------------------------------------------------- lazy rows


@pytest.mark.requirement("KC-1", "QC-2")
def test_content_is_not_computed_before_somebody_looks_at_bytes() -> None:
    written = block(500)
    cache = caches.PlainCache()
    cache.append(written)
    converted: Any = policy.convert_layer(cache, 64, 4)
    converted.trim(100)
    write(converted, 3)
    assert (cache.nbytes, converted.nbytes) == (512 * 512, 512 * 2 * (32 + 8))
    assert written.source.looks == 0
    content(converted)
    assert written.source.looks == 400 * 2


@pytest.mark.requirement("KC-1")
def test_a_block_that_no_rows_can_have_is_refused() -> None:
    with pytest.raises(ValueError, match="-1 rows"):
        block(-1)


@pytest.mark.requirement("KC-1")
@pytest.mark.parametrize("other", [shape(96), shape(64, 96), shape(heads=2), shape(dtype="float16")])
def test_rows_of_another_shape_are_refused_and_change_nothing(other: tensor.RowShape) -> None:
    for cache in (plain(5), rotating(5), quantized(5)):
        with pytest.raises(ValueError, match="write the same shape"):
            write(cache, 1, other)
        assert (cache.offset, cache.rows, cache.shape) == (5, 5, shape())


# ---------------------------------------------------------------- KC-1 plain


@pytest.mark.requirement("KC-1")
def test_a_plain_cache_gives_its_reader_the_rows_up_to_the_offset() -> None:
    cache = plain(5)
    got = write(cache, 3)
    assert got.count == cache.rows == cache.offset == 8
    assert positions(cache) == list(range(8))


@pytest.mark.requirement("KC-1", "QC-4")
@pytest.mark.parametrize("make", [plain, quantized, chunked])
def test_trimming_moves_the_offset_and_later_rows_overwrite(make: Any) -> None:
    cache = make(10)
    whole = content(cache)
    capacity = cache.capacity
    assert cache.trim(4) == 4
    assert (cache.offset, cache.rows, cache.capacity) == (6, 6, capacity)
    assert content(cache) == content(make(6))
    write(cache, 4)
    assert content(cache) == whole
    write(cache, 1, stream=9)
    cache.trim(100)
    assert (cache.offset, cache.trim(1)) == (0, 0)


@pytest.mark.requirement("QC-4")
@pytest.mark.parametrize("make", [plain, quantized, chunked, rotating])
def test_a_negative_trim_takes_nothing_and_adds_nothing(make: Any) -> None:
    cache = make(10)
    assert cache.trim(-2) == 0
    assert (cache.offset, cache.rows) == (10, 10)


@pytest.mark.requirement("KC-1", "QC-3", "QC-8")
@pytest.mark.parametrize(
    ("rows", "capacity"), [(0, 0), (1, 256), (255, 256), (256, 256), (257, 512), (1000, 1024)]
)
def test_capacity_grows_in_steps_of_256_rows(rows: int, capacity: int) -> None:
    assert plain(rows).capacity == capacity
    assert quantized(rows).capacity == capacity
    stepwise = plain(0)
    for _ in range(rows):
        write(stepwise, 1, shape())
    assert stepwise.capacity == capacity


# ---------------------------------------------------------------- QC


@pytest.mark.requirement("QC-1", "QC-10")
def test_a_reader_gets_nothing_from_an_empty_quantized_cache() -> None:
    cache = empty_quantized()
    assert cache.fetch() is None
    assert (cache.rows, cache.offset, cache.nbytes, cache.empty) == (0, 0, 0, True)


@pytest.mark.requirement("QC-1", "QC-6", "QC-7")
@pytest.mark.parametrize("bits", BITS)
def test_a_reader_gets_words_scales_and_biases_of_exactly_the_rows(bits: int) -> None:
    cache = quantized(5, 32, bits, 96, value_dim=64, heads=3, dtype="float16")
    for arrays, dim in zip(content(cache), (96, 64), strict=True):
        assert len(arrays.packed) == 3 * 5 * 4 * (dim * bits // 32)
        assert len(arrays.scales) == len(arrays.biases) == 3 * 5 * 2 * (dim // 32)


@pytest.mark.requirement("QC-2", "QC-3")
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("key_dim", [32, 64, 96, 128, 160])
def test_converting_and_appending_commute_across_a_growth_boundary(bits: int, key_dim: int) -> None:
    source = plain(254, key_dim)
    converted: Any = policy.convert_layer(source, 64, bits)
    whole = plain(254, key_dim)
    for cache in (converted, whole):
        write(cache, 3)
    assert converted.capacity == 512
    expected = policy.convert_layer(whole, 64, bits)
    tail = [[b.packed_row(role, 0, i) for role in tensor.ROLES] for b, i in converted.fetch().part(252, 257)]
    wanted = [[b.packed_row(role, 0, i) for role in tensor.ROLES] for b, i in expected.fetch().part(252, 257)]
    assert tail == wanted
    assert converted.rows == expected.rows == 257


@pytest.mark.requirement("QC-2")
@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(0, 4), st.sampled_from(BITS))
def test_a_cache_converted_at_any_point_equals_one_converted_at_the_end(
    appends: list[int], at: int, bits: int
) -> None:
    early: Any = plain(0)
    late: Any = plain(0)
    for number, rows in enumerate(appends):
        if number == at and early.kind == "plain":
            early = policy.convert_layer(early, 32, bits)
        write(early, rows, shape(32))
        write(late, rows, shape(32))
    if early.kind == "plain":
        early = policy.convert_layer(early, 32, bits)
    assert content(early) == quantized_directly(late, bits=bits, group_size=32)


@pytest.mark.requirement("MQ-14")
@pytest.mark.parametrize("bits", [0, 1, 7, 16, -4, True])
def test_a_quantized_cache_of_unsupported_bits_cannot_be_made(bits: Any) -> None:
    with pytest.raises(ValueError, match="are not supported for a quantized cache"):
        empty_quantized(bits)


@pytest.mark.requirement("GS-5", "GS-11", "MQ-5")
@pytest.mark.parametrize("requested", [0, -7, 48, 64, 10**9])
def test_a_quantized_cache_made_empty_resolves_its_request_at_the_first_write(requested: int) -> None:
    cache = quantized(0, requested)
    assert cache.group_size == requested
    write(cache, 2, shape(96))
    assert cache.group_size == 32


@pytest.mark.requirement("GS-2", "MQ-13")
def test_a_first_write_without_a_usable_group_size_is_refused_and_changes_nothing() -> None:
    cache = empty_quantized()
    with pytest.raises(ValueError, match=r"head dims 80 and 80; no supported size can"):
        write(cache, 2, shape(80))
    assert (cache.offset, cache.fetch(), cache.group_size) == (0, None, 64)


@pytest.mark.requirement("QC-8")
@pytest.mark.parametrize("dtype", floats.DTYPES)
@pytest.mark.parametrize("bits", BITS)
def test_bytes_of_a_quantized_row_follow_the_formula(bits: int, dtype: str) -> None:
    cache = quantized(5, 32, bits, 96, value_dim=64, heads=2, dtype=dtype)
    per_row = sum(d * bits / 8 + 2 * floats.ITEM_SIZES[dtype] * d / 32 for d in (96, 64)) * 2
    assert cache.nbytes == 256 * per_row
    stored = [len(arrays.packed) + len(arrays.scales) + len(arrays.biases) for arrays in content(cache)]
    assert sum(stored) == 5 * per_row


@pytest.mark.requirement("QC-10")
@pytest.mark.parametrize(
    ("cache", "rows", "empty", "nbytes"),
    [
        (plain(0), 0, True, 0),
        (plain(3, dtype="float16"), 3, False, 256 * 128 * 2),
        (trimmed(3), 0, True, 256 * 128 * 4),
        (quantized(3), 3, False, 256 * 2 * (32 + 8)),
        (rotating(0), 0, True, 0),
        (rotating(3, 16), 3, False, 16 * 512),
        (chunked(0), 0, True, 0),
        (caches.RecurrentCache(slots=2), None, True, 0),
        (recurrent(3), None, False, 3 * 16),
        (composite(recurrent(2), plain(0)), None, False, 32),
        (composite(plain(0), plain(0)), None, True, 0),
        (composite(plain(1), quantized(1)), None, False, 256 * 512 + 256 * 80),
    ],
)
def test_rows_emptiness_and_bytes_of_every_cache(cache: Any, rows: Any, empty: bool, nbytes: int) -> None:
    assert (cache.rows, cache.empty, cache.nbytes) == (rows, empty, nbytes)


@pytest.mark.requirement("QC-9")
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize(
    "make",
    [lambda: plain(5), lambda: quantized(5), lambda: rotating(5, 8), lambda: chunked(20)],
    ids=["plain", "quantized", "rotating", "chunked"],
)
def test_a_copy_shares_nothing(make: Any, duplicate: Any) -> None:
    original = make()
    before = content(original)
    twin = duplicate(original)
    assert content(twin) == before
    twin.trim(2)
    write(twin, 6, stream=7)
    assert content(original) == before
    assert original.offset == make().offset
    changed = content(twin)
    write(original, 4, stream=5)
    assert content(twin) == changed


@pytest.mark.requirement("QC-9", "KC-4", "KC-5")
def test_copies_of_composites_and_recurrent_state_share_nothing() -> None:
    original = composite(recurrent(2), plain(5))
    twin = copy.copy(original)
    twin.children[0].replace([(9.0,) * 4] * 2)
    write(twin.children[1], 2)
    twin.replace_child(0, recurrent(1))
    assert original.children[0].arrays == recurrent(2).arrays
    assert show(original) == "L(M,S5)"


# ---------------------------------------------------------------- conversion


@pytest.mark.requirement("QP-1", "MQ-12", "MQ-5")
@pytest.mark.parametrize("source", [quantized(5), recurrent(), composite(plain(5))])
def test_what_is_not_a_cache_of_plain_rows_cannot_be_converted(source: Any) -> None:
    with pytest.raises(NotImplementedError, match="cannot be quantized"):
        policy.convert_layer(source, 64, 4)


@pytest.mark.requirement("QP-2")
@pytest.mark.parametrize(
    "make", [lambda: chunked(20, dropped=True), lambda: _overwritten()], ids=["chunked", "rotating"]
)
def test_a_cache_that_dropped_rows_cannot_be_converted(make: Any) -> None:
    source = make()
    with pytest.raises(ValueError, match=r"holds 16 rows only"):
        policy.convert_layer(source, 64, 4)
    assert source.rows == 16


def _overwritten() -> caches.RotatingCache:
    cache = rotating(16, 16)
    write(cache, 1)
    return cache


@pytest.mark.requirement("MQ-8", "MQ-5")
def test_converting_an_empty_cache_gives_an_empty_one_of_the_requested_size() -> None:
    converted: Any = policy.convert_layer(plain(0), 128, 3)
    assert (converted.group_size, converted.bits, converted.fetch()) == (128, 3, None)
    write(converted, 2)
    assert converted.group_size == 64


# ---------------------------------------------------------------- KC-2 rotating


ROTATIONS = [  # appends, max_size, keep, offset, positions as stored (as measured on the real cache)
    ((20,), 16, 0, [*range(20)]),
    ((20, 1), 16, 0, [20, *range(5, 20)]),
    ((20, 1), 16, 4, [0, 1, 2, 3, 20, *range(9, 20)]),
    ((10, 10), 16, 4, [*range(20)]),
    ((10, 1, 1, 10), 16, 4, [*range(22)]),
    ((20, 1, 1, 5), 16, 4, [0, 1, 2, 3, *range(11, 27)]),
    ((5, 3), 16, 0, [*range(8)]),
    ((16, 1), 16, 0, [16, *range(1, 16)]),
    ((15, 1, 1), 16, 0, [16, *range(1, 16)]),
    ((5, 1), 16, 4, [*range(6)]),
    ((16, 1, 1, 1), 4, 1, [0, 16, 17, 18]),
    ((4, 1, 1, 1, 1), 4, 1, [0, 7, 5, 6]),
    ((3,), 1, 0, [0, 1, 2]),
    ((3, 2), 1, 0, [3, 4]),
    ((3, 1), 1, 0, [3]),
]


@pytest.mark.requirement("KC-2")
@pytest.mark.parametrize(("appends", "max_size", "keep", "stored"), ROTATIONS)
def test_a_rotating_cache_stores_its_rows_in_this_order(
    appends: tuple[int, ...], max_size: int, keep: int, stored: list[int]
) -> None:
    cache = rotating(0, max_size, keep)
    got: Any = None
    for rows in appends:
        got = write(cache, rows, shape())
    assert positions(cache) == stored
    assert (got.count, cache.rows, cache.offset) == (len(stored), len(stored), sum(appends))


@pytest.mark.requirement("KC-2")
@settings(deadline=None)  # the machine may be busy
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=12),
    st.integers(1, 6).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1))),
)
def test_a_rotating_cache_holds_the_kept_and_the_newest_rows(appends: list[int], sizes: Any) -> None:
    max_size, keep = sizes
    cache = rotating(0, max_size, keep)
    held: list[int] = []
    for rows in appends:
        new = list(range(cache.offset, cache.offset + rows))
        write(cache, rows, shape())
        limit = max_size - 1  # of old rows, before new ones
        surplus = max(0, len(held) - limit)
        held = held[:keep] + held[keep + surplus :] + new
        assert sorted(positions(cache)) == held
        assert positions(cache)[:keep] == list(range(min(keep, cache.offset)))
        assert [b.source.position + i for b, i in cache.in_time_order()] == held
        assert cache.rows <= max_size + rows - 1
    assert cache.offset == sum(appends)


@pytest.mark.requirement("KC-2")
def test_a_rotating_cache_is_trimmable_only_below_its_max_size() -> None:
    cache = rotating(15, 16)
    assert cache.trimmable
    assert cache.trim(3) == 3
    assert positions(cache) == list(range(12))
    write(cache, 4)
    assert not cache.trimmable
    assert cache.trim(3) == 0
    assert (cache.offset, cache.rows) == (16, 16)


@pytest.mark.requirement("KC-2", "QC-8")
def test_a_rotating_cache_allocates_what_it_stores_and_no_more_than_its_window() -> None:
    cache = rotating(3, 300)
    assert cache.capacity == 256
    write(cache, 270)
    assert cache.capacity == 300
    write(cache, 200)
    assert cache.capacity == cache.rows == 473
    write(cache, 1)
    assert (cache.capacity, cache.rows) == (300, 300)


@pytest.mark.requirement("KC-2")
@pytest.mark.parametrize(("max_size", "keep"), [(16, 16), (16, 17), (0, 0), (16, -1)])
def test_a_rotating_cache_without_room_for_new_rows_is_refused(max_size: int, keep: int) -> None:
    with pytest.raises(ValueError, match=f"keep {keep} is not below max size {max_size}"):
        caches.RotatingCache(max_size=max_size, keep=keep)


# ---------------------------------------------------------------- KC-3 chunked


@pytest.mark.requirement("KC-3")
def test_a_chunked_cache_drops_its_front_when_asked_and_keeps_positions_absolute() -> None:
    cache = chunked(20)
    assert (cache.rows, cache.start_position) == (20, 0)
    assert cache.drop_front() == 4
    assert (cache.offset, cache.rows, cache.start_position) == (20, 16, 4)
    assert positions(cache) == list(range(4, 20))
    got = write(cache, 3)
    assert got.count == 19
    assert positions(cache) == list(range(4, 23))
    assert cache.drop_front() == 3
    assert positions(cache) == list(range(7, 23))


@pytest.mark.requirement("KC-3")
@pytest.mark.parametrize("rows", [0, 3, 16])
def test_a_chunked_cache_that_holds_no_more_than_its_size_drops_nothing(rows: int) -> None:
    cache = chunked(rows)
    assert cache.drop_front() == 0
    assert (cache.rows, cache.start_position) == (rows, 0)


@pytest.mark.requirement("KC-3")
def test_a_chunked_cache_trims_no_more_rows_than_it_holds() -> None:
    cache = chunked(20, dropped=True)
    assert cache.trim(100) == 16
    assert (cache.offset, cache.rows, cache.start_position) == (4, 0, 4)
    write(cache, 2)
    assert positions(cache) == [4, 5]


@pytest.mark.requirement("KC-3")
def test_a_chunked_cache_of_no_size_is_refused() -> None:
    with pytest.raises(ValueError, match="chunk size 0"):
        caches.ChunkedCache(chunk_size=0)


# ---------------------------------------------------------------- KC-4, KC-5


@pytest.mark.requirement("KC-4")
def test_a_recurrent_cache_replaces_whole_arrays_and_has_no_offset_and_no_trim() -> None:
    cache = recurrent(2)
    old = cache.arrays
    cache.replace([(1.0,) * 4, (2.0,) * 4])
    assert cache.arrays == ((1.0,) * 4, (2.0,) * 4)
    assert old == recurrent(2).arrays
    assert (cache.offset, cache.trim(3), cache.trimmable) == (None, 0, False)
    with pytest.raises(ValueError, match="1 arrays for 2 slots"):
        cache.replace([(1.0,) * 4])
    with pytest.raises(NotImplementedError, match="takes no rows"):
        cache.append(block(1))
    with pytest.raises(ValueError, match="0 slots"):
        caches.RecurrentCache(slots=0)


@pytest.mark.requirement("KC-5")
def test_a_composite_is_trimmable_iff_all_its_children_are() -> None:
    both = composite(plain(5), quantized(5))
    assert both.trimmable
    assert both.trim(2) == 2
    assert show(both) == "L(S3,Q3:64,4)"
    mixed = composite(plain(5), recurrent())
    assert not mixed.trimmable
    assert mixed.trim(2) == 0
    assert show(mixed) == "L(S5,M)"
    assert mixed.offset is None
