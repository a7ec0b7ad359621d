"""Affine quantization of the reference by its own laws: AQ-2, AQ-3, AQ-4, QC-6, and the acceptance set.

That it equals MLX bit for bit (AQ-1) is in test_affine_mlx.py; this file needs no MLX.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from kvconform_reference import acceptance, affine, floats, packing

BITS = (2, 3, 4, 5, 6, 8)
GROUP_SIZES = (32, 64, 128)
NAN, INF = math.nan, math.inf

bits_values = st.sampled_from(BITS)
group_sizes = st.sampled_from(GROUP_SIZES)
dtypes = st.sampled_from(floats.DTYPES)
# Small enough that no difference of two of them overflows float32.
finite = st.floats(-(2.0**126), 2.0**126, width=32)
magnitudes = st.sampled_from((1e-30, 1e-8, 1e-7, 1e-6, 1e-3, 1.0, 100.0, 1e6, 1e30))


@st.composite
def groups(draw: st.DrawFn, elements: st.SearchStrategy[float] | None = None) -> list[float]:
    """One group: free values, or values of one magnitude (where free ones let the largest drown the rest)."""
    size = draw(group_sizes)
    if elements is None:
        unit = draw(magnitudes)
        near = st.floats(-1, 1, width=32).map(lambda value: floats.round_float32(value * unit))
        elements = draw(st.sampled_from((finite, near)))
    return draw(st.lists(elements, min_size=size, max_size=size))


def decoded(values: Sequence[float], *, bits: int, dtype: str = "float32") -> list[float]:
    """The values after one round trip, as one group."""
    row = affine.quantize_row(values, bits=bits, group_size=len(values), dtype=dtype)
    return affine.dequantize_row(row, bits=bits, group_size=len(values), dtype=dtype)


def codes_of(row: affine.QuantizedRow, *, bits: int, count: int) -> list[int]:
    return packing.unpack_codes(packing.words_from_bytes(row.packed), bits, count)


def pack_row(trace: affine.GroupTrace, *, bits: int, dtype: str = "float32") -> affine.QuantizedRow:
    """A row of one group, as a backend with these results would store it."""
    return affine.QuantizedRow(
        packed=packing.words_to_bytes(packing.pack_codes(trace.codes, bits)),
        scales=floats.encode([trace.stored_scale], dtype),
        biases=floats.encode([trace.stored_bias], dtype),
    )


@pytest.mark.requirement("QC-6")
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("group_size", GROUP_SIZES)
@pytest.mark.parametrize("dtype", floats.DTYPES)
def test_a_row_takes_the_words_scales_and_biases_of_its_width(bits: int, group_size: int, dtype: str) -> None:
    dim = 3 * group_size
    row = affine.quantize_row([0.5] * dim, bits=bits, group_size=group_size, dtype=dtype)
    assert len(row.packed) == 4 * (dim * bits // 32)
    assert len(row.scales) == len(row.biases) == 3 * floats.ITEM_SIZES[dtype]


@pytest.mark.requirement("AQ-2")
@given(first=groups(), second=groups(), other=groups(), bits=bits_values, dtype=dtypes)
def test_a_group_is_quantized_the_same_whatever_stands_beside_it(
    first: list[float], second: list[float], other: list[float], bits: int, dtype: str
) -> None:
    size = min(len(first), len(second), len(other))
    first, second, other = first[:size], second[:size], other[:size]

    def quantized(values: list[float]) -> affine.QuantizedRow:
        return affine.quantize_row(values, bits=bits, group_size=size, dtype=dtype)

    alone, pair, changed = quantized(second), quantized(first + second), quantized(other + second)
    for row in (pair, changed):
        assert row.packed[len(alone.packed) :] == alone.packed
        assert row.scales[len(alone.scales) :] == alone.scales
        assert row.biases[len(alone.biases) :] == alone.biases


@pytest.mark.requirement("AQ-3")
@given(value=st.floats(allow_nan=False, allow_infinity=False, width=32), bits=bits_values, dtype=dtypes)
def test_a_constant_group_is_exact_unless_its_edge_code_is_zero(value: float, bits: int, dtype: str) -> None:
    stored = floats.round_value(value, dtype)
    assume(math.isfinite(stored))
    group = [stored] * 32
    trace = affine.explain_group(group, bits=bits, dtype=dtype)
    assert decoded(group, bits=bits, dtype=dtype) == ([0.0] * 32 if trace.edge_code == 0 else group)


@pytest.mark.requirement("AQ-3")
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("sign", [1, -1])
def test_constants_below_5e_8_decode_to_zero_and_above_they_are_exact(bits: int, sign: int) -> None:
    small, large = (floats.round_float32(sign * magnitude) for magnitude in (4.99e-8, 5.01e-8))
    assert decoded([small] * 32, bits=bits) == [0.0] * 32
    assert decoded([large] * 32, bits=bits) == [large] * 32


@pytest.mark.requirement("AQ-4")
@given(values=groups(), bits=bits_values)
def test_the_error_is_at_most_the_scale(values: list[float], bits: int) -> None:
    trace = affine.explain_group(values, bits=bits)
    bound = abs(trace.stored_scale) * (1 + 2**-10)
    for value, result in zip(values, decoded(values, bits=bits), strict=True):
        assert abs(value - result) <= bound


@given(values=groups(), bits=bits_values)
def test_zero_is_representable_in_every_group_that_holds_it(values: list[float], bits: int) -> None:
    values = [0.0, *values[1:]]
    trace = affine.explain_group(values, bits=bits)
    at_zero = decoded(values, bits=bits)[0]
    assert abs(at_zero) <= abs(trace.scale) * 2**-12


@given(values=groups(), bits=bits_values)
def test_the_edge_of_a_group_decodes_exactly(values: list[float], bits: int) -> None:
    trace = affine.explain_group(values, bits=bits)
    assume(trace.edge_code != 0)
    assert decoded(values, bits=bits)[values.index(trace.edge)] == trace.edge


@pytest.mark.parametrize("bits", BITS)
def test_a_group_on_an_even_grid_is_exact(bits: int) -> None:
    top = (1 << bits) - 1
    values = [float((index * 7) % (top + 1) - top) for index in range(32)]
    values[0], values[1] = float(-top), 0.0
    trace = affine.explain_group(values, bits=bits)
    assert (trace.edge, trace.edge_code, trace.scale, trace.bias) == (-top, -top, 1.0, -top)
    assert list(trace.codes) == [int(value) + top for value in values]
    assert decoded(values, bits=bits) == values


def test_the_intermediate_values_of_a_worked_example_are_these() -> None:
    trace = affine.explain_group([float(value) for value in range(-8, 24)], bits=4)
    # 31 / 15 = 2.0667; 23 is farther from zero, so the scale is negative; 23 / -2.0667 = -11.1, so -11.
    assert (trace.low, trace.high, trace.edge, trace.edge_code) == (-8.0, 23.0, 23.0, -11.0)
    assert trace.scale == trace.stored_scale == floats.round_float32(23 / -11)
    assert trace.bias == trace.stored_bias == 23.0
    assert trace.codes[:4] == (15, 14, 14, 13)
    assert trace.codes[-4:] == (1, 1, 0, 0)


# What one infinity, NaN or overflow does to a group (as MLX on the CPU, see test_affine_mlx.py).


@given(values=groups(), bits=bits_values, lane=st.integers(0, 31))
def test_a_nan_takes_code_zero_and_disturbs_no_other_lane(values: list[float], bits: int, lane: int) -> None:
    neighbour = values[lane - 1]
    with_nan, without = list(values), list(values)
    with_nan[lane], without[lane] = NAN, neighbour
    damaged = affine.explain_group(with_nan, bits=bits)
    intact = affine.explain_group(without, bits=bits)
    assert damaged.codes[lane] == 0
    assert (damaged.scale, damaged.bias) == (intact.scale, intact.bias)
    assert damaged.codes[:lane] + damaged.codes[lane + 1 :] == intact.codes[:lane] + intact.codes[lane + 1 :]


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("dtype", floats.DTYPES)
@pytest.mark.parametrize(
    "values",
    [[INF] + [1.0] * 31, [1.0] * 31 + [-INF], [INF, -INF] * 16, [INF, NAN] * 16, [NAN] * 32, [INF] * 32],
)
def test_an_infinity_or_nothing_but_nan_makes_the_whole_group_nan(
    values: list[float], bits: int, dtype: str
) -> None:
    row = affine.quantize_row(values, bits=bits, group_size=32, dtype=dtype)
    assert set(codes_of(row, bits=bits, count=32)) == {0}
    assert all(math.isnan(scale) for scale in floats.decode(row.scales, dtype))
    assert all(math.isinf(bias) for bias in floats.decode(row.biases, dtype))
    assert all(math.isnan(value) for value in decoded(values, bits=bits, dtype=dtype))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_range_that_overflows_float32_loses_the_group(dtype: str) -> None:
    values = floats.round_values([3e38] * 16 + [-3e38] * 16, dtype)
    trace = affine.explain_group(values, bits=4, dtype=dtype)
    assert (abs(trace.scale), trace.bias, set(trace.codes)) == (INF, 0.0, {0})
    assert all(math.isnan(value) for value in decoded(values, bits=4, dtype=dtype))


def test_values_are_rounded_to_the_dtype_first() -> None:
    fine = [index / 1000 for index in range(32)]
    for dtype in floats.DTYPES:
        coarse = floats.round_values(fine, dtype)
        expected = affine.quantize_row(coarse, bits=8, group_size=32, dtype=dtype)
        assert affine.quantize_row(fine, bits=8, group_size=32, dtype=dtype) == expected


@pytest.mark.requirement("MQ-14")
@pytest.mark.parametrize("bits", [0, 1, 7, 9, 16, -4, True, 4.0, None])
def test_unsupported_bits_are_refused_by_name(bits: Any) -> None:
    with pytest.raises(ValueError, match=r"bits .* are not supported; use one of 2, 3, 4, 5, 6, 8"):
        affine.quantize_row([0.0] * 64, bits=bits, group_size=64)


@pytest.mark.requirement("GS-11")
@pytest.mark.parametrize("group_size", [0, -1, 1, 16, 48, 96, 256, 64.0, None])
def test_unsupported_group_sizes_are_refused_by_name(group_size: Any) -> None:
    with pytest.raises(ValueError, match=r"group size .* is not supported; use one of 32, 64, 128"):
        affine.quantize_row([0.0] * 64, bits=4, group_size=group_size)


def test_a_row_that_the_group_size_does_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="group size 64 does not divide a row of 96 values"):
        affine.quantize_row([0.0] * 96, bits=4, group_size=64)


def test_a_stored_row_whose_parts_do_not_fit_is_refused() -> None:
    row = affine.quantize_row([1.0] * 64, bits=4, group_size=32)
    with pytest.raises(ValueError, match="2 scales and 1 biases"):
        affine.dequantize_row(dataclasses.replace(row, biases=row.biases[:4]), bits=4, group_size=32)
    with pytest.raises(ValueError, match="need 16 words, not 8"):
        affine.dequantize_row(row, bits=8, group_size=32)


@pytest.mark.parametrize(("scales", "biases"), [(1, 2), (2, 1), (300, 299)])
def test_a_stored_row_has_as_many_biases_as_scales(scales: int, biases: int) -> None:
    row = affine.QuantizedRow(packed=bytes(16), scales=bytes(4 * scales), biases=bytes(4 * biases))
    with pytest.raises(ValueError, match=f"a row with {scales} scales and {biases} biases"):
        affine.dequantize_row(row, bits=4, group_size=32)


@pytest.mark.requirement("AQ-2")
def test_a_row_of_hundreds_of_groups_decodes_group_by_group() -> None:
    values = [float(7 * group) for group in range(300) for _ in range(32)]
    row = affine.quantize_row(values, bits=2, group_size=32)
    assert affine.dequantize_row(row, bits=2, group_size=32) == values


@pytest.mark.parametrize(
    "call",
    [
        lambda: affine.quantize_row([0.5] * 32, 4, 32),  # pyright: ignore[reportCallIssue]
        lambda: affine.explain_row([0.5] * 32, 4, 32),  # pyright: ignore[reportCallIssue]
        lambda: affine.explain_group([0.5] * 32, 4),  # pyright: ignore[reportCallIssue]
        lambda: affine.dequantize_row(affine.QuantizedRow(b"", b"", b""), 4, 32),  # pyright: ignore[reportCallIssue]
        lambda: affine.decode_codes([1], 1.0, 0.0, "float16"),  # pyright: ignore[reportCallIssue]
        lambda: affine.check_parameters(32, 4, 32),  # pyright: ignore[reportCallIssue]
    ],
    ids=[
        "quantize_row",
        "explain_row",
        "explain_group",
        "dequantize_row",
        "decode_codes",
        "check_parameters",
    ],
)
def test_bits_group_size_and_dtype_are_given_by_name_since_they_are_easily_swapped(
    call: Callable[[], object],
) -> None:
    with pytest.raises(TypeError, match="positional"):
        call()


def test_a_stored_row_and_a_trace_are_values_that_cannot_be_changed() -> None:
    for value, name in (
        (affine.quantize_row([0.5] * 32, bits=4, group_size=32), "packed"),
        (affine.explain_group([0.5] * 32, bits=4), "scale"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, None)
        assert not hasattr(value, "__dict__"), "caches hold many: nothing is stored but the fields"


def test_an_empty_row_has_no_groups() -> None:
    row = affine.quantize_row([], bits=4, group_size=64)
    assert row == affine.QuantizedRow(packed=b"", scales=b"", biases=b"")
    assert affine.dequantize_row(row, bits=4, group_size=64) == []


# The decisions that a fault may replace, one by one: each must matter.

COUNT_UP = [float(value) for value in range(-8, 24)]
# The snapped scale is smaller than the first one, so the far end lies 15.5 scales away and is clipped.
CLIPPED = [20.0, -11.0, *[0.0] * 30]
# The scale is 1 and fifteen values are exact ties.
TIED = [-15.0, 0.0, *[-index - 0.5 for index in range(15)], *[0.0] * 15]
DECISIONS: list[tuple[str, Callable[..., Any], list[float]]] = [
    ("choose_edge", lambda low, high: (low, 1.0), COUNT_UP),
    ("round_edge_code", lambda quotient: math.floor(quotient), COUNT_UP),
    ("snap_scale", lambda edge, edge_code, scale: scale, COUNT_UP),
    ("choose_bias", lambda edge, edge_code: edge, [1e-8] * 32),
    (
        "round_codes",
        lambda quotients: [math.floor(q) for q in quotients],
        [0.3 * value for value in range(32)],
    ),
    ("round_codes", lambda quotients: [math.floor(q + 0.5) for q in quotients], TIED),
    ("clip_codes", lambda codes, bits: [max(0, int(code)) % 16 for code in codes], CLIPPED),
    (
        "scale_size",
        lambda low, high, bits: (high - low) / (1 << bits),
        COUNT_UP,
    ),
]


@pytest.mark.parametrize(
    ("decision", "wrong", "values"),
    DECISIONS,
    ids=[f"{index}-{case[0]}" for index, case in enumerate(DECISIONS)],
)
def test_replacing_one_decision_changes_the_result(
    monkeypatch: pytest.MonkeyPatch, decision: str, wrong: Callable[..., Any], values: list[float]
) -> None:
    right = affine.quantize_row(values, bits=4, group_size=32)
    monkeypatch.setattr(affine, decision, wrong)
    assert affine.quantize_row(values, bits=4, group_size=32) != right


# The acceptance set for other backends: wide enough for their rules, not wider.


def rejected(
    row: affine.QuantizedRow, values: Sequence[float], bits: int = 4, dtype: str = "float32"
) -> str | None:
    return acceptance.why_rejected(row, values, bits=bits, group_size=len(values), dtype=dtype)


@pytest.mark.requirement("AQ-1")
@given(values=groups(st.floats(width=32)), bits=bits_values, dtype=dtypes)
def test_what_the_cpu_computes_is_always_accepted(values: list[float], bits: int, dtype: str) -> None:
    row = affine.quantize_row(values, bits=bits, group_size=len(values), dtype=dtype)
    assert rejected(row, values, bits, dtype) is None


def edge_tie() -> list[float]:
    """A group whose edge lies exactly 8.5 scales from zero, so that both 8 and 9 may be its edge code."""
    return [-17.0, 13.0, *[float(value) for value in range(-16, 14)]]


@pytest.mark.requirement("AQ-1")
@pytest.mark.parametrize("edge_code", [-9.0, -8.0])
def test_both_edge_codes_of_a_tie_are_accepted_as_whole_branches(
    monkeypatch: pytest.MonkeyPatch, edge_code: float
) -> None:
    values = edge_tie()
    assert affine.explain_group(values, bits=4).edge_code == -8.0
    with monkeypatch.context() as patched:
        patched.setattr(affine, "round_edge_code", lambda quotient: edge_code)
        row = affine.quantize_row(values, bits=4, group_size=32)
    assert rejected(row, values) is None


@pytest.mark.requirement("AQ-1")
def test_the_scale_of_one_branch_with_the_codes_of_another_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = edge_tie()
    even = affine.quantize_row(values, bits=4, group_size=32)
    with monkeypatch.context() as patched:
        patched.setattr(affine, "round_edge_code", lambda quotient: -9.0)
        away = affine.quantize_row(values, bits=4, group_size=32)
    assert even.packed != away.packed
    assert even.scales != away.scales
    mixed = rejected(dataclasses.replace(even, scales=away.scales), values)
    assert mixed is not None
    assert mixed.startswith("group 0 ")
    assert rejected(dataclasses.replace(away, scales=even.scales), values) is not None


@pytest.mark.requirement("AQ-1")
def test_an_edge_code_away_from_a_tie_has_one_side_only(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [-17.0, 13.5, *[float(value) for value in range(-16, 14)]]
    with monkeypatch.context() as patched:
        patched.setattr(affine, "round_edge_code", lambda quotient: -9.0)
        row = affine.quantize_row(values, bits=4, group_size=32)
    assert rejected(row, values) is not None


def half_away(quotients: Sequence[float]) -> list[float]:
    return [math.copysign(math.floor(abs(quotient) + 0.5), quotient) for quotient in quotients]


@pytest.mark.requirement("AQ-1")
def test_half_away_from_zero_is_accepted_for_all_ties_of_a_group_or_for_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    even = affine.explain_group(TIED, bits=4)
    with monkeypatch.context() as patched:
        patched.setattr(affine, "round_codes", half_away)
        away = affine.explain_group(TIED, bits=4)
    differing = [index for index in range(32) if even.codes[index] != away.codes[index]]
    assert len(differing) >= 5
    mixed = list(even.codes)
    mixed[differing[0]] = away.codes[differing[0]]
    assert rejected(pack_row(even, bits=4), TIED) is None
    assert rejected(pack_row(away, bits=4), TIED) is None
    assert rejected(pack_row(dataclasses.replace(even, codes=tuple(mixed)), bits=4), TIED) is not None


@pytest.mark.requirement("AQ-1")
def test_the_maximum_may_start_at_zero_in_a_group_of_negative_values(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [-3.0 - index / 8 for index in range(32)]
    plain = affine.quantize_row(values, bits=4, group_size=32)
    with monkeypatch.context() as patched:
        patched.setattr(affine, "group_bounds", lambda group: (min(group), 0.0))
        from_zero = affine.quantize_row(values, bits=4, group_size=32)
    assert from_zero != plain
    assert rejected(from_zero, values) is None


@pytest.mark.requirement("AQ-1")
@pytest.mark.parametrize(
    ("values", "wrong_bounds"),
    [
        ([3.0 + index / 8 for index in range(32)], lambda group: (0.0, max(group))),
        ([-3.0 + index / 8 for index in range(32)], lambda group: (min(group), 0.0)),
        ([-3.0 - index / 8 for index in range(32)], lambda group: (min(group), 1.0)),
    ],
    ids=["minimum at zero", "maximum cut at zero", "maximum above zero"],
)
def test_no_other_bounds_are_accepted(
    monkeypatch: pytest.MonkeyPatch, values: list[float], wrong_bounds: Callable[..., Any]
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(affine, "group_bounds", wrong_bounds)
        row = affine.quantize_row(values, bits=4, group_size=32)
    assert rejected(row, values) is not None


@pytest.mark.requirement("AQ-1")
@given(values=groups(), bits=bits_values, lane=st.integers(0, 31), step=st.sampled_from((-1, 1)))
def test_a_code_that_is_off_by_one_is_rejected(values: list[float], bits: int, lane: int, step: int) -> None:
    trace = affine.explain_group(values, bits=bits)
    wrong = trace.codes[lane] + step
    assume(0 <= wrong < 1 << bits)
    quotient = affine.code_quotients(values, trace.scale, trace.bias)[lane]
    assume(abs(abs(quotient - trace.codes[lane]) - 0.5) > 1e-3)
    changed = dataclasses.replace(trace, codes=(*trace.codes[:lane], wrong, *trace.codes[lane + 1 :]))
    others = acceptance.acceptance_set(values, bits=bits, group_size=len(values))[0][1:]
    assume(all(branch.stored_scale != trace.stored_scale for branch in others))
    assert rejected(pack_row(changed, bits=bits), values, bits) is not None


def test_beside_a_tie_both_codes_are_accepted_and_the_group_is_still_one_branch() -> None:
    quotient = 7.5 * (1 - 2.0**-23)
    assert acceptance.beside_tie(quotient)
    assert not acceptance.beside_tie(7.5 * (1 - 2.0**-20))
    assert acceptance.possible_edge_codes(-7.5) == [-8.0, -7.0]
    assert acceptance.possible_edge_codes(-7.4) == [-7.0]
    assert acceptance.possible_edge_codes(NAN) != []


def test_the_code_of_a_nan_is_free_since_it_is_undefined_off_the_cpu() -> None:
    values = [NAN, *[float(value) for value in range(31)]]
    trace = affine.explain_group(values, bits=4)
    for code in (0, 7, 15):
        changed = dataclasses.replace(trace, codes=(code, *trace.codes[1:]))
        assert rejected(pack_row(changed, bits=4), values) is None
    changed = dataclasses.replace(trace, codes=(0, (trace.codes[1] + 5) % 16, *trace.codes[2:]))
    assert rejected(pack_row(changed, bits=4), values) is not None


def test_a_wrong_number_of_groups_is_rejected_with_the_numbers() -> None:
    row = affine.quantize_row([1.0] * 64, bits=4, group_size=32)
    message = acceptance.why_rejected(row, [1.0] * 32, bits=4, group_size=32)
    assert message == "2 scales and 2 biases for 1 groups; one of each is right"
