"""The three number formats: rounding, bytes, and the values where they are usually got wrong."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kvconform_reference import floats

# dtype: (significant bits, smallest exponent of a last place, largest finite value)
FORMATS = {
    "float32": (24, -149, (2 - 2**-23) * 2.0**127),
    "float16": (11, -24, 65504.0),
    "bfloat16": (8, -133, (2 - 2**-7) * 2.0**127),
}
single = st.floats(width=32)
dtypes = st.sampled_from(floats.DTYPES)


def rounded_by_fractions(value: float, dtype: str) -> float:
    """Nearest representable value, ties to even, in exact rational arithmetic."""
    significant, lowest, largest = FORMATS[dtype]
    if not math.isfinite(value) or value == 0:
        return value
    last_place = Fraction(2) ** max(math.frexp(value)[1] - significant, lowest)
    rounded = round(Fraction(value) / last_place) * last_place
    if abs(rounded) > largest:
        return math.copysign(math.inf, value)
    return math.copysign(float(rounded), value)


def bits_of(value: float) -> bytes:
    return struct.pack("<d", value)


@pytest.mark.parametrize("dtype", floats.DTYPES)
@given(value=single)
def test_rounding_is_to_nearest_with_ties_to_even(dtype: str, value: float) -> None:
    rounded, expected = floats.round_value(value, dtype), rounded_by_fractions(value, dtype)
    assert bits_of(rounded) == bits_of(expected) or (math.isnan(rounded) and math.isnan(expected))


@given(value=st.floats())
def test_any_float_is_rounded_to_the_nearest_float32(value: float) -> None:
    rounded, expected = floats.round_float32(value), rounded_by_fractions(value, "float32")
    assert bits_of(rounded) == bits_of(expected) or (math.isnan(rounded) and math.isnan(expected))


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (
            "float32",
            3.4028235677973362e38,
            3.4028234663852886e38,
        ),  # just under half a place above the largest
        ("float32", 3.4028235677973366e38, math.inf),
        ("float32", 2.0**-150, 0.0),
        ("float32", 1.5 * 2.0**-149, 2.0**-148),
        ("float16", 65519.0, 65504.0),
        ("float16", 65520.0, math.inf),
        ("float16", -65520.0, -math.inf),
        ("float16", 1e30, math.inf),
        ("float16", 2.0**-25, 0.0),
        ("float16", 1e-7, 2.0**-23),
        ("bfloat16", 1.00390625, 1.0),
        ("bfloat16", 1.01171875, 1.015625),
        ("bfloat16", 3.4e38, math.inf),
        ("bfloat16", 1e-40, 2.0**-133),
    ],
)
def test_known_values_round_as_the_hardware_does(dtype: str, value: float, expected: float) -> None:
    assert floats.round_value(value, dtype) == expected


@pytest.mark.parametrize("dtype", floats.DTYPES)
def test_an_overflow_leaves_its_neighbours_alone(dtype: str) -> None:
    assert floats.round_values([1.5, 1e39, -2.0, -1e39, 0.25], dtype) == [
        1.5,
        math.inf,
        -2.0,
        -math.inf,
        0.25,
    ]


@given(dtype=dtypes, values=st.lists(single, max_size=8))
def test_bytes_hold_exactly_the_rounded_values(dtype: str, values: list[float]) -> None:
    data = floats.encode(values, dtype)
    assert len(data) == len(values) * floats.ITEM_SIZES[dtype]
    rounded = floats.round_values(values, dtype)
    assert list(map(bits_of, floats.decode(data, dtype))) == [
        bits_of(math.nan if math.isnan(value) else value) for value in rounded
    ]


@pytest.mark.parametrize(
    ("dtype", "data"),
    [
        ("float32", "0000803f 00000080 0000807f 0000c07f"),
        ("float16", "003c 0080 007c 007e"),
        ("bfloat16", "803f 0080 807f c07f"),
    ],
)
def test_one_minus_zero_infinity_and_nan_have_their_little_endian_patterns(dtype: str, data: str) -> None:
    assert floats.encode([1.0, -0.0, math.inf, -math.nan], dtype) == bytes.fromhex(data)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_16_bit_pattern_survives_decoding_and_encoding(dtype: str) -> None:
    patterns = range(1 << 16)
    data = struct.pack("<65536H", *patterns)
    again = struct.unpack("<65536H", floats.encode(floats.decode(data, dtype), dtype))
    exponent = {"float16": 0x7C00, "bfloat16": 0x7F80}[dtype]
    nan = {"float16": 0x7E00, "bfloat16": 0x7FC0}[dtype]
    for pattern, found in zip(patterns, again, strict=True):
        is_nan = pattern & 0x7FFF > exponent
        assert found == (nan if is_nan else pattern)


@given(dividend=st.floats(), divisor=st.floats())
def test_division_never_raises_and_is_ordinary_division_where_that_is_defined(
    dividend: float, divisor: float
) -> None:
    quotient = floats.divide(dividend, divisor)
    if divisor:
        assert bits_of(quotient) == bits_of(dividend / divisor) or math.isnan(quotient)
    elif math.isnan(dividend) or dividend == 0:
        assert math.isnan(quotient)
    else:
        assert math.isinf(quotient)
        assert math.copysign(1, quotient) == math.copysign(1, dividend) * math.copysign(1, divisor)


def test_broken_lengths_and_unknown_dtypes_are_refused() -> None:
    with pytest.raises(ValueError, match="5 bytes are no whole number of float16 values"):
        floats.decode(b"12345", "float16")
    with pytest.raises(ValueError, match=r"'float64' is not known.*use one of float32, float16, bfloat16"):
        floats.encode([1.0], "float64")
