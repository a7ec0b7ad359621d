"""The pass: sections HD, QP, TH and MQ of the specification, example by example and for every dialect."""

from __future__ import annotations

from copy import copy
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kvconform_reference import caches, policy, protocol
from kvconform_reference.dialect import DIALECTS, PROPOSAL, Dialect
from notation import (
    chunked,
    composite,
    content,
    plain,
    positions,
    quantized,
    quantized_directly,
    read_back,
    recurrent,
    rotating,
    show_all,
    trimmed,
    write,
)

PER_LAYER = Dialect(scope="per-layer")
FIRST = Dialect(scope="first-then-all", threshold="above")


def after(
    layers: list[Any], start: int = 0, *, bits: int = 4, group_size: int = 64, dialect: Dialect = PROPOSAL
):
    """The list after one free pass, as text."""
    policy.maybe_quantize(layers, bits, group_size, start, dialect=dialect)
    return show_all(layers)


# ---------------------------------------------------------------- HD


@pytest.mark.requirement("HD-1", "GS-10")
@pytest.mark.parametrize(
    ("layer", "dims"),
    [
        (plain(5, 64, 96), (64, 96)),
        (plain(0), None),
        (trimmed(), (64, 64)),
        (chunked(5), (64, 64)),
        (rotating(5), (64, 64)),
        (rotating(0), None),
        (quantized(5), None),
        (recurrent(2), None),
        (recurrent(3), None),
        (composite(plain(5)), None),
        (object(), None),
    ],
)
def test_head_dims_are_those_of_the_one_key_and_value_array_held(layer: Any, dims: Any) -> None:
    assert protocol.head_dims(layer) == dims


@pytest.mark.requirement("HD-2")
@pytest.mark.parametrize(
    ("layer", "compatible"),
    [
        (plain(5, 96), True),
        (plain(5, 80), False),
        (plain(5, 64, 80), False),
        (plain(5, 96, 64), True),
        (plain(0), False),
        (trimmed(), True),
    ],
)
def test_whether_a_layer_is_compatible_is_a_matter_of_its_dims(layer: Any, compatible: bool) -> None:
    assert policy.is_compatible(layer) is compatible


@pytest.mark.requirement("HD-2", "GS-9")
@pytest.mark.parametrize("requested", [32, 64, 128, 7, 0, -1])
def test_head_dim_96_is_quantized_whatever_size_is_requested(requested: int) -> None:
    assert after([plain(5, 96)], group_size=requested) == ["Q5:32,4"]


@pytest.mark.requirement("HD-3")
def test_a_recurrent_layer_with_two_arrays_is_never_asked_for_its_compatibility() -> None:
    class Trap(caches.RecurrentCache):
        @property
        def head_dims(self) -> tuple[int, int] | None:
            raise AssertionError("asked for the head dims of a recurrent layer")

    layers: list[Any] = [Trap(slots=2), plain(5)]
    assert after(layers) == ["M", "Q5:64,4"]


# ---------------------------------------------------------------- QP


QUANTIZABLE = {"plain": True, "chunked": True, "rotating": False, "quantized": False, "recurrent": False}


@pytest.mark.requirement("QP-1", "QP-2", "QP-3")
@pytest.mark.parametrize(
    ("layer", "kind"),
    [
        (plain(0), "plain"),
        (plain(5, 80), "plain"),
        (trimmed(), "plain"),
        (chunked(5), "chunked"),
        (chunked(20, dropped=True), "chunked"),
        (rotating(5), "rotating"),
        (quantized(5), "quantized"),
        (recurrent(2), "recurrent"),
        (composite(plain(5)), "composite"),
    ],
)
def test_which_kinds_are_quantizable(layer: Any, kind: str) -> None:
    before = dict(vars(layer))
    assert policy.is_quantizable(layer) is QUANTIZABLE.get(kind, False)
    assert policy.is_quantizable(layer, Dialect(rotating="convert")) is (
        QUANTIZABLE.get(kind, False) or kind == "rotating"
    )
    assert policy.is_quantizable(layer, Dialect(chunked="keep")) is (kind == "plain")
    assert vars(layer) == before


@pytest.mark.requirement("QP-2")
def test_a_chunked_layer_counts_as_plain_until_it_dropped_rows() -> None:
    whole, dropped = chunked(20), chunked(20, dropped=True)
    layers = [whole, dropped, plain(3)]
    assert after(layers, 10) == ["Q20:64,4", "C20", "Q3:64,4"]
    assert layers[1] is dropped
    assert dropped.rows == 16
    only = [chunked(20, dropped=True), plain(3)]
    assert policy.maybe_quantize(only, 4, 64, 10), "it still triggers"


@pytest.mark.requirement("QP-2")
def test_a_design_that_keeps_chunked_layers_neither_converts_nor_triggers_on_them() -> None:
    layers = [chunked(20), plain(3)]
    dialect = Dialect(chunked="keep")
    assert not policy.maybe_quantize(layers, 4, 64, 10, dialect=dialect)
    assert after([chunked(20), plain(12)], 10, dialect=dialect) == ["C20", "Q12:64,4"]


@pytest.mark.requirement("QP-1", "MQ-17")
@pytest.mark.parametrize("rotating", ["keep", "error", "convert"])
def test_an_object_of_an_unknown_class_is_no_rotating_layer(rotating: Any) -> None:
    stranger = object()
    dialect = Dialect(rotating=rotating)
    assert not policy.is_quantizable(stranger, dialect)
    layers: list[Any] = [stranger, plain(5)]
    policy.maybe_quantize(layers, 4, dialect=dialect)
    assert layers[0] is stranger


@pytest.mark.requirement("QP-1")
def test_an_object_of_an_unknown_class_passes_through_untouched() -> None:
    stranger = object()
    layers: list[Any] = [stranger, plain(5)]
    policy.maybe_quantize(layers, 4, dialect=DIALECTS["mlx-swift-lm"], start=1)
    assert layers[0] is stranger
    assert show_all(layers[1:]) == ["Q5:64,4"]


# ---------------------------------------------------------------- TH


@pytest.mark.requirement("TH-1")
@pytest.mark.parametrize(
    ("threshold", "starts"), [("at-least", {9, 10}), ("above", {9}), ("none", {9, 10, 11})]
)
def test_ten_positions_qualify_up_to_the_threshold(threshold: Any, starts: set[int]) -> None:
    dialect = Dialect(threshold=threshold)
    assert {start for start in (9, 10, 11) if policy.qualifies(plain(10), start, dialect)} == starts


@pytest.mark.requirement("TH-2")
@pytest.mark.parametrize(("threshold", "expected"), [("at-least", True), ("above", False), ("none", True)])
def test_an_empty_layer_at_start_0(threshold: Any, expected: bool) -> None:
    assert policy.qualifies(plain(0), 0, Dialect(threshold=threshold)) is expected


@pytest.mark.requirement("TH-3")
@pytest.mark.parametrize("threshold", ["at-least", "above"])
def test_every_plain_layer_qualifies_at_a_negative_start(threshold: Any) -> None:
    assert all(policy.qualifies(layer, -1, Dialect(threshold=threshold)) for layer in (plain(0), plain(5)))


@pytest.mark.requirement("TH-3", "MQ-14", "GS-9")
@pytest.mark.parametrize(
    ("options", "word"), [((7, 64, 0), "bits"), ((4, 0, 0), "group size"), ((4, 64, -1), "start")]
)
def test_bad_options_are_refused_when_given_where_the_dialect_says_so(options: Any, word: str) -> None:
    layers: list[Any] = [plain(5, 80)]
    with pytest.raises(ValueError, match=word):
        policy.maybe_quantize(layers, *options, dialect=Dialect(bad_options="refuse"))
    with pytest.raises(ValueError, match=word):
        policy.maybe_quantize([], *options, dialect=Dialect(bad_options="refuse"))
    assert show_all(layers) == ["S5"]


@pytest.mark.requirement("TH-3", "GS-9")
@pytest.mark.parametrize(("options", "refused"), [((4, 1, 0), None), ((4, -1, 0), "group size -1")])
def test_a_refusing_design_refuses_group_sizes_from_0_down_and_no_start_from_0_up(
    options: Any, refused: str | None
) -> None:
    dialect = Dialect(bad_options="refuse")
    if refused is None:
        assert policy.maybe_quantize([plain(5)], *options, dialect=dialect)
        return
    with pytest.raises(ValueError, match=refused):
        policy.maybe_quantize([plain(5)], *options, dialect=dialect)


@pytest.mark.requirement("MQ-1")
def test_without_bits_there_are_no_options_to_refuse() -> None:
    assert not policy.maybe_quantize([plain(5)], None, 0, -1, dialect=Dialect(bad_options="refuse"))


@pytest.mark.requirement("TH-4")
def test_an_incompatible_layer_over_the_line_triggers_the_others() -> None:
    assert after([plain(12, 80), plain(3)], 10) == ["S12", "Q3:64,4"]


@pytest.mark.requirement("TH-4")
def test_a_rotating_layer_0_over_the_line_triggers_in_first_then_all() -> None:
    assert after([rotating(12), plain(3)], 10, dialect=FIRST) == ["R12", "Q3:64,4"]
    assert after([rotating(10), plain(30)], 10, dialect=FIRST) == ["R10", "S30"]


@pytest.mark.requirement("TH-4", "MQ-17")
@pytest.mark.parametrize("first", [recurrent(), composite(plain(50)), object()])
def test_a_layer_0_without_an_offset_triggers_nothing_in_first_then_all(first: Any) -> None:
    layers = [first, plain(50)]
    assert not policy.maybe_quantize(layers, 4, dialect=FIRST)


@pytest.mark.requirement("TH-5")
@pytest.mark.parametrize("dialect", [PROPOSAL, PER_LAYER])
@pytest.mark.parametrize("layer", [rotating(50), quantized(50), recurrent(), composite(plain(50))])
def test_layers_that_are_not_quantizable_never_qualify(layer: Any, dialect: Dialect) -> None:
    layers = [layer, plain(3)]
    assert not policy.maybe_quantize(layers, 4, 64, 10, dialect=dialect)
    assert layers[0] is layer
    assert show_all(layers[1:]) == ["S3"]


# ---------------------------------------------------------------- MQ


@pytest.mark.requirement("MQ-1")
@pytest.mark.parametrize("name", DIALECTS)
def test_nothing_happens_without_bits_or_layers(name: str) -> None:
    layers = [plain(12)]
    kept = list(layers)
    assert policy.maybe_quantize(layers, None, dialect=DIALECTS[name]) is False
    assert layers == kept
    assert policy.maybe_quantize([], 4, dialect=DIALECTS[name]) is False


@pytest.mark.requirement("MQ-2")
@pytest.mark.parametrize("name", DIALECTS)
def test_nothing_happens_below_the_line(name: str) -> None:
    layers = [plain(5), rotating(5), recurrent(), chunked(5), composite(plain(5))]
    kept = list(layers)
    assert policy.maybe_quantize(layers, 4, 64, 10, dialect=DIALECTS[name]) is False
    assert layers == kept
    assert show_all(layers[4].children) == ["S5"]


@pytest.mark.requirement("MQ-0", "MQ-14")
def test_bits_are_validated_only_once_a_layer_qualifies() -> None:
    assert policy.maybe_quantize([plain(5)], 7, 64, 10) is False
    with pytest.raises(ValueError, match="bits 7"):
        policy.maybe_quantize([plain(12)], 7, 64, 10)


@pytest.mark.requirement("MQ-14", "MQ-13")
@pytest.mark.parametrize("bits", [-1, 0, 1, 7, 9, 16, True, 4.0])
def test_bits_outside_the_supported_set_are_a_clear_error(bits: Any) -> None:
    layers = [plain(12), plain(3)]
    kept = list(layers)
    with pytest.raises(ValueError, match=r"use one of 2, 3, 4, 5, 6, 8"):
        policy.maybe_quantize(layers, bits, 64, 10)
    assert layers == kept


@pytest.mark.requirement("MQ-3", "MQ-4")
def test_untouched_layers_keep_identity_offset_and_content() -> None:
    kept = [rotating(12), recurrent(), composite(plain(12)), quantized(12), plain(12, 80), plain(0)]
    before = [content(layer) for layer in kept if layer.fetch() is not None]
    layers = [plain(12), *kept, plain(3)]
    policy.maybe_quantize(layers, 8, 64, 10)
    assert layers[1:-1] == kept
    assert len(layers) == 8
    assert show_all(layers) == ["Q12:64,8", "R12", "M", "L(S12)", "Q12:64,4", "S12", "S0", "Q3:64,8"]
    assert [content(layer) for layer in kept if layer.fetch() is not None] == before


@pytest.mark.requirement("MQ-5", "QC-7")
@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize(("dims", "heads", "dtype"), [((96, 64), 1, "float32"), ((128, 64), 3, "bfloat16")])
def test_a_converted_layer_is_the_quantization_of_its_rows(
    bits: int, dims: tuple[int, int], heads: int, dtype: str
) -> None:
    source = plain(5, *dims, heads=heads, dtype=dtype)
    layers: list[Any] = [source]
    policy.maybe_quantize(layers, bits, 64, 0)
    (converted,) = layers
    assert (converted.offset, converted.rows, converted.bits) == (5, 5, bits)
    assert converted.group_size == {96: 32, 128: 64}[dims[0]]
    assert content(converted) == quantized_directly(source, bits=bits, group_size=converted.group_size)


@pytest.mark.requirement("MQ-5", "GS-5")
@pytest.mark.parametrize(
    ("resolver", "sizes"),
    [
        ("nearest", {32: 32, 48: 32, 64: 32, 128: 32}),
        ("largest-below", {31: None, 32: 32, 48: 32, 64: 32, 128: 32}),
        ("ordered-64-32-128", {32: 32, 48: 32, 64: 32}),
        ("exact", {32: 32, 48: None, 64: None}),
    ],
)
def test_the_pass_and_a_direct_conversion_resolve_alike(resolver: Any, sizes: dict[int, int | None]) -> None:
    dialect = Dialect(resolver=resolver)
    for requested, size in sizes.items():
        layers: list[Any] = [plain(5, 96)]
        policy.maybe_quantize(layers, 4, requested, dialect=dialect)
        if size is None:
            assert show_all(layers) == ["S5"]
            with pytest.raises(ValueError, match=f"group size {requested} "):
                policy.convert_layer(plain(5, 96), requested, 4, dialect)
        else:
            assert layers[0].group_size == size
            assert policy.convert_layer(plain(5, 96), requested, 4, dialect).group_size == size


@pytest.mark.requirement("MQ-6")
def test_the_source_of_a_conversion_is_not_mutated() -> None:
    source = plain(12)
    before = content(source)
    layers: list[Any] = [source]
    policy.maybe_quantize(layers, 4)
    write(layers[0], 3)
    assert show_all([source]) == ["S12"]
    assert content(source) == before


@pytest.mark.requirement("MQ-7")
@pytest.mark.parametrize(
    ("rows", "dialect", "expected"),
    [
        ((12, 3), PROPOSAL, ["Q12:64,4", "Q3:64,4"]),
        ((12, 3), PER_LAYER, ["Q12:64,4", "S3"]),
        ((12, 3), FIRST, ["Q12:64,4", "Q3:64,4"]),
        ((3, 12), PROPOSAL, ["Q3:64,4", "Q12:64,4"]),
        ((3, 12), PER_LAYER, ["S3", "Q12:64,4"]),
        ((3, 12), FIRST, ["S3", "S12"]),
    ],
)
def test_the_scope_decides_whom_a_layer_over_the_line_takes_along(
    rows: tuple[int, ...], dialect: Dialect, expected: list[str]
) -> None:
    assert after([plain(count) for count in rows], 10, dialect=dialect) == expected


@pytest.mark.requirement("MQ-8")
def test_an_empty_layer_stays_waits_or_becomes_an_empty_quantized_cache() -> None:
    assert after([plain(12), plain(0)], 10) == ["Q12:64,4", "S0"]
    assert after([plain(12), plain(0)], 10, dialect=replace(FIRST, empty_layer="wait")) == ["Q12:64,4", "S0"]
    converting = replace(FIRST, empty_layer="convert")
    assert after([plain(12), plain(0)], 10, dialect=converting) == ["Q12:64,4", "Q0:64,4"]
    per_layer = replace(PER_LAYER, empty_layer="convert")
    assert after([plain(12), plain(0)], 10, dialect=per_layer) == ["Q12:64,4", "S0"]
    assert after([plain(0)], 0, dialect=per_layer) == ["Q0:64,4"], "at start 0 it qualifies itself"


@pytest.mark.requirement("MQ-8", "GS-5")
def test_the_first_write_to_an_empty_converted_layer_resolves_the_requested_size() -> None:
    dialect = replace(PER_LAYER, empty_layer="convert")
    layers: list[Any] = [plain(0)]
    policy.maybe_quantize(layers, 4, 128, dialect=dialect)
    assert show_all(layers) == ["Q0:128,4"]
    write(layers[0], 2, plain(1, 96).shape)
    assert show_all(layers) == ["Q2:32,4"]
    exact: list[Any] = [plain(0)]
    policy.maybe_quantize(exact, 4, 128, dialect=replace(dialect, resolver="exact"))
    with pytest.raises(ValueError, match="128"):
        write(exact[0], 2, plain(1, 96).shape)
    assert exact[0].offset == 0
    assert exact[0].fetch() is None


@pytest.mark.requirement("MQ-9")
def test_an_incompatible_layer_stays_while_it_triggers_the_others() -> None:
    incompatible = plain(12, 80)
    layers: list[Any] = [incompatible, plain(3)]
    policy.maybe_quantize(layers, 4, 64, 10)
    assert layers[0] is incompatible
    assert show_all(layers) == ["S12", "Q3:64,4"]


@pytest.mark.requirement("MQ-3", "MQ-13")
def test_a_design_that_takes_incompatible_layers_for_errors_says_so_and_changes_nothing() -> None:
    layers = [plain(12), plain(12, 80), plain(12)]
    kept = list(layers)
    with pytest.raises(ValueError, match=r"layer 1: group size 64 .* head dims 80 and 80; no supported size"):
        policy.maybe_quantize(layers, 4, 64, 10, dialect=DIALECTS["mlx-lm"])
    assert layers == kept
    with pytest.raises(ValueError, match=r"layer 0: group size 64 .* head dims 96 and 80; no supported size"):
        policy.maybe_quantize([plain(12, 96, 80)], 4, 64, 10, dialect=DIALECTS["mlx-lm"])
    with pytest.raises(ValueError, match=r"head dims 96 and 64; 32 can"):
        policy.maybe_quantize([plain(12, 96, 64)], 4, 64, 10, dialect=DIALECTS["mlx-lm"])
    with pytest.raises(ValueError, match=r"head dims 64 and 128; 32 or 64 can"):
        policy.maybe_quantize([plain(12, 64, 128)], 4, 128, 10, dialect=DIALECTS["mlx-lm"])


@pytest.mark.requirement("MQ-10")
def test_composites_are_opaque_or_have_their_plain_children_replaced() -> None:
    assert after([composite(recurrent(), plain(50))]) == ["L(M,S50)"]
    inner, outer = plain(50), composite(recurrent(), plain(50))
    state, child = outer.children
    layers: list[Any] = [outer, composite(composite(inner))]
    assert after(layers, dialect=Dialect(nested="recurse")) == ["L(M,Q50:64,4)", "L(L(Q50:64,4))"]
    assert layers[0] is outer
    assert outer.children[0] is state
    assert show_all([child, inner]) == ["S50", "S50"]


@pytest.mark.requirement("MQ-10", "MQ-13")
def test_a_pass_that_fails_inside_a_composite_changes_no_child() -> None:
    outer = composite(plain(50), plain(50, 80))
    kept = outer.children
    dialect = Dialect(nested="recurse", incompatible="error")
    with pytest.raises(ValueError, match=r"layer 0\.1:"):
        policy.maybe_quantize([outer], 4, dialect=dialect)
    assert outer.children == kept


@pytest.mark.requirement("MQ-11", "MQ-13")
def test_rotating_layers_are_kept_or_an_error() -> None:
    window = rotating(50)
    layers: list[Any] = [window, plain(50)]
    assert after(layers) == ["R50", "Q50:64,4"]
    assert layers[0] is window
    for scope in ("per-layer", "any-then-all"):
        layers = [plain(50), rotating(50), plain(50)]
        kept = list(layers)
        with pytest.raises(NotImplementedError, match="layer 1: a rotating cache cannot be quantized"):
            policy.maybe_quantize(layers, 4, dialect=Dialect(rotating="error", scope=scope))
        assert layers == kept


@pytest.mark.requirement("MQ-11", "TH-5")
def test_a_rotating_layer_that_is_an_error_is_one_only_when_it_is_selected() -> None:
    per_layer, together = DIALECTS["mlx-lm"], Dialect(rotating="error")
    assert after([rotating(5), plain(12)], 10, dialect=per_layer) == ["R5", "Q12:64,4"]
    assert not policy.maybe_quantize([rotating(50)], 4, 64, 10, dialect=together)
    with pytest.raises(NotImplementedError):
        policy.maybe_quantize([rotating(50)], 4, 64, 10, dialect=per_layer)


@pytest.mark.requirement("MQ-11", "QP-1", "QP-2")
def test_a_design_that_converts_rotating_layers_does_so_while_they_hold_every_row() -> None:
    dialect = Dialect(rotating="convert")
    source = rotating(12, 16)
    layers: list[Any] = [source, rotating(10, 16), plain(3)]
    write(layers[1], 10)
    write(layers[1], 1)
    assert layers[1].rows < layers[1].offset
    assert after(layers, 10, dialect=dialect) == ["Q12:64,4", "R21", "Q3:64,4"]
    assert content(layers[0]) == quantized_directly(source, bits=4, group_size=64)
    assert positions(source) == list(range(12))


@pytest.mark.requirement("MQ-12")
@pytest.mark.parametrize("name", DIALECTS)
def test_a_quantized_layer_is_never_quantized_again(name: str) -> None:
    layers: list[Any] = [plain(12), plain(12)]
    dialect = DIALECTS[name]
    policy.maybe_quantize(layers, 4, 64, 10, dialect=dialect)
    converted = list(layers)
    for bits, group_size, start in ((8, 32, 0), (4, 64, 10), (2, 128, 0)):
        policy.maybe_quantize(layers, bits, group_size, start, dialect=dialect)
    assert show_all(converted) == ["Q12:64,4", "Q12:64,4"]
    assert layers == converted


@pytest.mark.requirement("MQ-12")
def test_an_object_that_sits_in_two_places_stays_one_object() -> None:
    shared = plain(12)
    layers: list[Any] = [shared, plain(12), shared]
    policy.maybe_quantize(layers, 4)
    assert layers[0] is layers[2]
    assert layers[0] is not layers[1]


@pytest.mark.requirement("MQ-13")
def test_the_list_is_as_before_when_a_conversion_fails_half_way() -> None:
    class Broken(caches.PlainCache):
        def to_quantized(self, *, group_size: int, bits: int, resolver: str = "nearest") -> Any:
            raise MemoryError("no memory left")

    broken = Broken()
    write(broken, 12)
    layers: list[Any] = [plain(12), broken, plain(12)]
    kept = list(layers)
    with pytest.raises(MemoryError):
        policy.maybe_quantize(layers, 4)
    assert layers == kept


@pytest.mark.requirement("MQ-13", "MQ-10")
def test_list_and_composites_are_as_before_when_a_child_cannot_be_put_into_its_slot() -> None:
    class Sealed(caches.CompositeCache):
        def replace_child(self, index: int, child: Any) -> None:
            raise RuntimeError("sealed")

    first, sealed = composite(plain(12)), Sealed([plain(12)])
    layers: list[Any] = [plain(12), first, sealed]
    kept, children = list(layers), first.children
    with pytest.raises(RuntimeError, match="sealed"):
        policy.maybe_quantize(layers, 4, dialect=Dialect(nested="recurse"))
    assert layers == kept
    assert first.children == children


@pytest.mark.requirement("MQ-15")
@pytest.mark.parametrize(
    ("make", "start", "triggered"),
    [
        (lambda: [plain(12, 80)], 10, (True, True)),
        (lambda: [plain(0), plain(0)], 0, (True, True)),
        (lambda: [plain(12)], 10, (True, False)),
        (lambda: [rotating(50)], 0, (False, False)),
        (lambda: [quantized(50), quantized(3)], 0, (False, False)),
        (lambda: [plain(9)], 10, (False, False)),
    ],
)
def test_the_free_pass_answers_whether_it_triggered(make: Any, start: int, triggered: Any) -> None:
    layers = make()
    assert tuple(policy.maybe_quantize(layers, 4, 64, start) for _ in range(2)) == triggered


@pytest.mark.requirement("MQ-16")
def test_a_layer_trimmed_to_nothing_becomes_a_quantized_cache_without_rows() -> None:
    layers: list[Any] = [trimmed(3)]
    assert after(layers) == ["Q0:64,4"]
    assert layers[0].rows == 0
    write(layers[0], 2)
    fresh = plain(2)
    assert content(layers[0]) == quantized_directly(fresh, bits=4, group_size=64)


LAYERS: list[Any] = [
    lambda: plain(12),
    lambda: plain(3, 80),
    lambda: plain(0),
    lambda: trimmed(),
    lambda: chunked(20, dropped=True),
    lambda: rotating(12),
    lambda: rotating(40, 16),
    lambda: quantized(5),
    lambda: recurrent(),
    lambda: composite(recurrent(), plain(12, 80)),
    object,
]
KEEPING = [name for name, d in DIALECTS.items() if (d.rotating, d.incompatible) == ("keep", "keep")]


@pytest.mark.requirement("MQ-17", "MQ-4")
@settings(deadline=None)  # the machine may be busy
@given(
    st.lists(st.sampled_from(LAYERS), max_size=5),
    st.sampled_from(KEEPING),
    st.integers(0, 20),
    st.sampled_from((2, 3, 4, 5, 6, 8)),
    st.integers(1, 300),
)
def test_no_layer_makes_a_pass_raise_where_the_design_keeps_what_it_cannot_convert(
    makers: list[Any], name: str, start: int, bits: int, group_size: int
) -> None:
    layers = [make() for make in makers]
    before = list(layers)
    policy.maybe_quantize(layers, bits, group_size, start, dialect=DIALECTS[name])
    assert len(layers) == len(before)
    for old, new in zip(before, layers, strict=True):
        assert new is old or (new.rows, new.offset) == (old.offset, old.offset)


# ---------------------------------------------------------------- cells of the named dialects


CELLS = [  # ([S12, S3, E, R12, C20 dropped to 16 rows, L(S12)] at start 10), by dialect
    ("proposal", ["Q12:64,4", "Q3:64,4", "S0", "R12", "C20", "L(S12)"]),
    ("mlx-lm-0.28", ["Q12:64,4", "Q3:64,4", "Q0:64,4", "R12", "C20", "L(S12)"]),
    ("mlx-lm-0.26", ["Q12:64,4", "Q3:64,4", "Q0:64,4", "R12", "C20", "L(S12)"]),
    ("mlx-swift-lm", ["Q12:64,4", "S3", "S0", "R12", "C20", "L(Q12:64,4)"]),
    ("mlx-swift-lm-3.31.4", ["Q12:64,4", "Q3:64,4", "S0", "R12", "C20", "L(Q12:64,4)"]),
]


@pytest.mark.requirement("MQ-7", "MQ-8", "MQ-10", "MQ-11", "QP-2")
@pytest.mark.parametrize(("name", "expected"), CELLS)
def test_one_list_under_each_named_dialect(name: str, expected: list[str]) -> None:
    layers = [plain(12), plain(3), plain(0), rotating(12), chunked(20, dropped=True), composite(plain(12))]
    assert after(layers, 10, dialect=DIALECTS[name]) == expected


@pytest.mark.requirement("MQ-7", "MQ-8", "QP-2")
@pytest.mark.parametrize(("name", "chunk"), [("mlx-lm", "C20"), ("mlx-lm-0.29", "Q20:64,4")])
def test_one_list_without_a_rotating_layer_under_mlx_lm(name: str, chunk: str) -> None:
    layers = [plain(12), plain(3), plain(0), chunked(20), composite(plain(12))]
    assert after(layers, 10, dialect=DIALECTS[name]) == ["Q12:64,4", "S3", "S0", chunk, "L(S12)"]
    assert after([plain(0), plain(3)], 0, dialect=DIALECTS[name]) == ["Q0:64,4", "Q3:64,4"]


@pytest.mark.requirement("TH-1")
@pytest.mark.parametrize("name", DIALECTS)
def test_the_threshold_of_each_named_dialect(name: str) -> None:
    dialect = DIALECTS[name]
    expected = "Q10:64,4" if dialect.threshold == "at-least" else "S10"
    assert after([plain(10)], 10, dialect=dialect) == [expected]
    assert after([plain(10)], 9, dialect=dialect) == ["Q10:64,4"]
    assert after([plain(10)], 11, dialect=dialect) == ["S10"]


@pytest.mark.requirement("GS-8", "MQ-3")
@pytest.mark.parametrize("name", DIALECTS)
def test_head_dim_96_and_request_64_under_each_named_dialect(name: str) -> None:
    if DIALECTS[name].resolver == "nearest":
        assert after([plain(12, 96)], 5, dialect=DIALECTS[name]) == ["Q12:32,4"]
        return
    with pytest.raises(ValueError, match="group size 64 cannot be used for head dims 96 and 96; 32 can"):
        policy.maybe_quantize([plain(12, 96)], 4, 64, 5, dialect=DIALECTS[name])


@pytest.mark.requirement("CT-3")
def test_a_design_with_new_lists_leaves_the_given_one_alone() -> None:
    given_list = [plain(12), plain(3)]
    kept = list(given_list)
    result = policy.quantized_list(given_list, 4, 64, 10, dialect=Dialect(owner="new-list", threshold="none"))
    assert show_all(result) == ["Q12:64,4", "Q3:64,4"]
    assert given_list == kept


@pytest.mark.requirement("CT-12")
def test_first_layer_designs_skip_while_layer_0_is_quantized() -> None:
    dialect = DIALECTS["mlx-lm-0.28"]
    assert after([quantized(20), plain(20)], 10, dialect=dialect) == ["Q20:64,4", "S20"]
    assert after([quantized(20), plain(20)], 10, dialect=replace(dialect, latch="none")) == [
        "Q20:64,4",
        "Q20:64,4",
    ]
    for first in (rotating(20), plain(20, 80)):
        layers = [first, plain(20)]
        assert after(layers, 10, dialect=replace(dialect, incompatible="keep"))[1] == "Q20:64,4"
        assert layers[0] is first


# ---------------------------------------------------------------- the forms of the pass


def in_place(layers: list[Any], *options: Any, **more: Any) -> list[Any]:
    policy.maybe_quantize(layers, *options, **more)
    return layers


FORMS = [in_place, policy.quantized_list]


@pytest.mark.requirement("MQ-5")
@pytest.mark.parametrize("form", FORMS)
def test_a_pass_that_names_no_group_size_requests_64(form: Any) -> None:
    assert show_all(form([plain(5, 128)], 4, dialect=Dialect(resolver="exact"))) == ["Q5:64,4"]


@pytest.mark.requirement("TH-2", "MQ-16")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("threshold", "expected"), [("at-least", "Q0:64,4"), ("above", "S0")])
def test_a_pass_that_names_no_start_starts_at_0(form: Any, threshold: Any, expected: str) -> None:
    assert show_all(form([trimmed()], 4, dialect=Dialect(threshold=threshold))) == [expected]


@pytest.mark.parametrize("form", [policy.maybe_quantize, policy.quantized_list, policy.plan_pass])
def test_the_dialect_of_a_pass_is_given_by_name(form: Any) -> None:
    with pytest.raises(TypeError, match="positional"):
        form([plain(5)], 4, 64, 0, PROPOSAL)


def test_the_dialect_of_a_check_is_given_by_name() -> None:
    with pytest.raises(TypeError, match="positional"):
        policy.check_options(4, 64, 0, PROPOSAL)  # pyright: ignore[reportCallIssue]


@pytest.mark.requirement("MQ-13")
def test_a_plan_is_named_in_full_and_cannot_be_changed_after_it_was_made() -> None:
    with pytest.raises(TypeError, match="positional"):
        policy.Plan(True)  # pyright: ignore[reportCallIssue]
    with pytest.raises(FrozenInstanceError):
        policy.Plan().triggered = True  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.requirement("MQ-2")
def test_a_pass_that_does_not_trigger_plans_nothing_and_waits_for_nothing() -> None:
    plan = policy.plan_pass([plain(5), plain(0)], 4, 64, 10, dialect=Dialect(empty_layer="wait"))
    assert (plan.triggered, plan.replacements, plan.waiting) == (False, (), False)


# ---------------------------------------------------------------- what was read, not written


def outcome(layers: list[Any], start: int, dialect: Dialect) -> list[str] | str:
    """The list after a pass, or what the pass refused."""
    try:
        return after(layers, start, dialect=dialect)
    except (ValueError, NotImplementedError) as error:
        return str(error)


@pytest.mark.requirement("MQ-7", "MQ-8", "MQ-10", "QP-2", "CT-12")
@pytest.mark.parametrize("start", [10, 0])
@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_read_from_a_file_is_followed_as_the_named_one(name: str, start: int) -> None:
    def layers(first: Any) -> list[Any]:
        return [copy(first), plain(3), plain(0), chunked(20), composite(plain(12)), plain(12)]

    for first in (plain(12), quantized(12), rotating(3), chunked(20)):
        named = outcome(layers(first), start, DIALECTS[name])
        assert outcome(layers(first), start, read_back(DIALECTS[name])) == named


@pytest.mark.requirement("MQ-3", "MQ-11", "TH-3")
def test_a_dialect_read_from_a_file_refuses_what_the_named_one_refuses() -> None:
    for dialect, layer, error in (
        (Dialect(incompatible="error"), plain(12, 80), ValueError),
        (Dialect(rotating="error", scope="per-layer"), rotating(12), NotImplementedError),
    ):
        with pytest.raises(error, match="layer 0"):
            policy.maybe_quantize([layer], 4, dialect=read_back(dialect))
    for dialect, layer in ((Dialect(), plain(12, 80)), (Dialect(rotating="convert"), rotating(12))):
        assert policy.maybe_quantize([layer], 4, dialect=read_back(dialect))
    policy.maybe_quantize([plain(5)], 4, 0, dialect=read_back(Dialect(bad_options="per-call")))
    with pytest.raises(ValueError, match="group size 0"):
        policy.maybe_quantize([plain(5)], 4, 0, dialect=read_back(Dialect(bad_options="refuse")))


@pytest.mark.requirement("MQ-8")
def test_a_dialect_read_from_a_file_waits_for_empty_layers_as_the_named_one() -> None:
    dialect = read_back(Dialect(empty_layer="wait"))
    plan = policy.plan_pass([plain(12), plain(0)], 4, 64, 10, dialect=dialect)
    assert (plan.triggered, plan.waiting) == (True, True)


@pytest.mark.requirement("QP-1", "QP-2", "MQ-11")
@pytest.mark.parametrize("make", [plain, chunked, rotating, quantized])
@pytest.mark.parametrize("dialect", [*DIALECTS.values(), Dialect(rotating="convert")])
def test_a_kind_is_known_by_its_text_and_not_by_its_object(make: Any, dialect: Dialect) -> None:
    own, foreign = make(12), make(12)
    foreign.__class__ = type("Foreign", (type(own),), {"kind": "".join(own.kind)})
    assert policy.is_quantizable(foreign, dialect) is policy.is_quantizable(own, dialect)
    assert policy.is_forbidden(foreign, dialect) is policy.is_forbidden(own, dialect)
    assert policy.is_skipped([foreign], dialect) is policy.is_skipped([own], dialect)
