"""The reference against MLX on the CPU: equal bit for bit on tens of thousands of groups (AQ-1).

Every distribution is seeded, so a failure names the row that shows it. NaN is compared as NaN: its sign and
payload are undefined.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from typing import Any

import pytest
from kvconform.installing import INSTALL_MLX
from kvconform_reference import acceptance, affine, floats

mx: Any = pytest.importorskip("mlx.core", reason=f"MLX is not installed: {INSTALL_MLX}")

BITS = (2, 3, 4, 5, 6, 8)
GROUP_SIZES = (32, 64, 128)
GROUPS_PER_ROW = 2
ROWS_PER_DISTRIBUTION = 12
NAN, INF = math.nan, math.inf

Distribution = Callable[[random.Random, int, int], list[float]]
"""(random, how many values, bits) -> the values of one group."""


def uniform(rng: random.Random, count: int, bits: int) -> list[float]:
    return [rng.uniform(-1, 1) for _ in range(count)]


def normal(rng: random.Random, count: int, bits: int) -> list[float]:
    return [rng.gauss(0, 1) for _ in range(count)]


def normal_of_any_magnitude(rng: random.Random, count: int, bits: int) -> list[float]:
    unit = 10 ** rng.uniform(-9, 4)
    return [rng.gauss(0, unit) for _ in range(count)]


def far_from_zero(rng: random.Random, count: int, bits: int) -> list[float]:
    centre = rng.choice((-1, 1)) * 2 ** rng.uniform(-4, 12)
    return [centre + rng.gauss(0, abs(centre) / 100) for _ in range(count)]


def one_huge(rng: random.Random, count: int, bits: int) -> list[float]:
    values = normal(rng, count, bits)
    values[rng.randrange(count)] = rng.choice((-1, 1)) * 10 ** rng.uniform(2, 4.5)
    return values


def outliers(rng: random.Random, count: int, bits: int) -> list[float]:
    return [rng.gauss(0, 1) / max(rng.random(), 1e-3) for _ in range(count)]


def all_positive(rng: random.Random, count: int, bits: int) -> list[float]:
    return [rng.expovariate(1) + rng.choice((0, 1)) for _ in range(count)]


def all_negative(rng: random.Random, count: int, bits: int) -> list[float]:
    return [-value for value in all_positive(rng, count, bits)]


def symmetric_ends(rng: random.Random, count: int, bits: int) -> list[float]:
    end = 2 ** rng.uniform(-3, 3)
    return shuffled(rng, [end, -end, *[rng.uniform(-end, end) for _ in range(count - 2)]])


def code_ties(rng: random.Random, count: int, bits: int) -> list[float]:
    """The scale is a power of two and most values lie exactly half-way between two codes."""
    top, unit, side = (1 << bits) - 1, 2.0 ** rng.randint(-6, 4), rng.choice((-1, 1))
    between = [side * unit * (rng.randrange(top) + 0.5) for _ in range(count - 2)]
    return shuffled(rng, [side * unit * top, 0.0, *between])


def edge_ties(rng: random.Random, count: int, bits: int) -> list[float]:
    """The edge lies exactly half-way between two edge codes: one rounding moves the whole scale."""
    top, unit, side = (1 << bits) - 1, 2.0 ** rng.randint(-6, 4), rng.choice((-1, 1))
    near = rng.randrange(1, top + 1, 2)
    far = 2 * top - near
    inner = [side * unit * rng.uniform(-near, far) for _ in range(count - 2)]
    return shuffled(rng, [side * unit * far, -side * unit * near, *inner])


def edge_near_ties(rng: random.Random, count: int, bits: int) -> list[float]:
    """As edge ties, but off by a few float32 places."""
    return [value * (1 + rng.randint(-2, 2) * 2.0**-23) for value in edge_ties(rng, count, bits)]


def few_integers(rng: random.Random, count: int, bits: int) -> list[float]:
    span = rng.choice((1, 3, 7, 15, 31, 255))
    low = rng.randint(-span, 1)
    return [float(rng.randint(low, low + span)) for _ in range(count)]


def neighbours(rng: random.Random, count: int, bits: int) -> list[float]:
    """A large offset and a range of a few float32 places."""
    base = rng.choice((-1, 1)) * 2.0 ** rng.randint(-10, 10)
    return [base * (1 + rng.randrange(rng.choice((2, 5, 50, 1000))) * 2.0**-23) for _ in range(count)]


def constant(rng: random.Random, count: int, bits: int) -> list[float]:
    return [rng.choice((-1, 1)) * 10 ** rng.uniform(-9, 4.5)] * count


def tiny_constant(rng: random.Random, count: int, bits: int) -> list[float]:
    """Around 5e-8, where the edge code of a constant turns to zero, and around 1e-7, the smallest scale."""
    return [rng.choice((-1, 1)) * rng.choice((1e-8, 4.9e-8, 5e-8, 5.1e-8, 1e-7, 1.5e-7, 2.5e-7))] * count


def tiny_range(rng: random.Random, count: int, bits: int) -> list[float]:
    """Ranges at which the scale is about the smallest one."""
    unit = 10 ** rng.uniform(-9, -5)
    return [rng.choice((0, unit)) + rng.uniform(-1, 1) * unit for _ in range(count)]


def zeros(rng: random.Random, count: int, bits: int) -> list[float]:
    return [rng.choice((0.0, -0.0)) for _ in range(count)]


def mostly_zeros(rng: random.Random, count: int, bits: int) -> list[float]:
    return [rng.choice((0.0, -0.0, 0.0, rng.gauss(0, 1))) for _ in range(count)]


def subnormals(rng: random.Random, count: int, bits: int) -> list[float]:
    """Below the normal range of float32 and bfloat16, and (every other group) of float16."""
    unit = rng.choice((2.0**-149, 2.0**-133, 2.0**-127, 2.0**-24, 2.0**-20))
    return [unit * rng.randint(-9, 9) for _ in range(count)]


def largest(rng: random.Random, count: int, bits: int) -> list[float]:
    """At the end of the format's range, sometimes with a range that overflows."""
    sides = rng.choice(((1,), (-1,), (1, -1)))
    unit = rng.choice((65504.0, 3.0e38, 1.0e38))
    return [rng.choice(sides) * unit * rng.choice((1.0, rng.random())) for _ in range(count)]


def largest_constant(rng: random.Random, count: int, bits: int) -> list[float]:
    """A constant so large that its edge code overflows float32."""
    return [rng.choice((-1, 1)) * rng.choice((65504.0, 3.0e30, 3.0e31, 3.0e32, 3.3e38))] * count


def one_nan(rng: random.Random, count: int, bits: int) -> list[float]:
    values = rng.choice((normal, constant, zeros))(rng, count, bits)
    values[rng.choice((0, 1, count - 1, rng.randrange(count)))] = rng.choice((NAN, -NAN))
    return values


def mostly_nan(rng: random.Random, count: int, bits: int) -> list[float]:
    return shuffled(rng, [rng.gauss(0, 1), *[rng.choice((NAN, NAN, NAN, 1.0)) for _ in range(count - 1)]])


def nothing_but_nan(rng: random.Random, count: int, bits: int) -> list[float]:
    return [NAN] * count


def one_infinity(rng: random.Random, count: int, bits: int) -> list[float]:
    values = normal(rng, count, bits)
    values[rng.randrange(count)] = rng.choice((INF, -INF))
    return values


def infinities(rng: random.Random, count: int, bits: int) -> list[float]:
    choice = rng.choice(((INF,), (-INF,), (INF, -INF), (INF, NAN), (-INF, NAN, 1.0), (INF, -INF, NAN, 0.0)))
    return [rng.choice(choice) for _ in range(count)]


def any_bit_pattern(rng: random.Random, count: int, bits: int) -> list[float]:
    """Random patterns of float32: every exponent, now and then a NaN or an infinity."""
    return list(struct.unpack(f"<{count}f", rng.randbytes(4 * count)))


def sparse_patterns(rng: random.Random, count: int, bits: int) -> list[float]:
    """Random patterns with exponents of a narrow band."""
    shift = rng.randint(-20, 15)
    return [
        math.ldexp(rng.choice((-1, 1)) * rng.uniform(1, 2), shift + rng.randint(-3, 3)) for _ in range(count)
    ]


def shuffled(rng: random.Random, values: list[float]) -> list[float]:
    rng.shuffle(values)
    return values


DISTRIBUTIONS: tuple[Distribution, ...] = (
    uniform,
    normal,
    normal_of_any_magnitude,
    far_from_zero,
    one_huge,
    outliers,
    all_positive,
    all_negative,
    symmetric_ends,
    code_ties,
    edge_ties,
    edge_near_ties,
    few_integers,
    neighbours,
    constant,
    tiny_constant,
    tiny_range,
    zeros,
    mostly_zeros,
    subnormals,
    largest,
    largest_constant,
    one_nan,
    mostly_nan,
    nothing_but_nan,
    one_infinity,
    infinities,
    any_bit_pattern,
    sparse_patterns,
)
GROUPS_PER_CASE = len(DISTRIBUTIONS) * ROWS_PER_DISTRIBUTION * GROUPS_PER_ROW


def rows_of(bits: int, group_size: int, dtype: str) -> list[tuple[str, list[float]]]:
    """Named rows of whole groups, exactly representable in the dtype."""
    rng = random.Random(f"{bits}/{group_size}/{dtype}")
    rows: list[tuple[str, list[float]]] = []
    for distribution in DISTRIBUTIONS:
        for index in range(ROWS_PER_DISTRIBUTION):
            groups = [distribution(rng, group_size, bits) for _ in range(GROUPS_PER_ROW)]
            values = [value for group in groups for value in group]
            rows.append((f"{distribution.__name__} {index}", floats.round_values(values, dtype)))
    return rows


def to_mlx(rows: list[list[float]], dtype: str) -> Any:
    """The rows as an MLX array, by their bytes."""
    data = b"".join(floats.encode(row, dtype) for row in rows)
    patterns = mx.array(memoryview(data).cast("I" if dtype == "float32" else "H"))
    return patterns.view(getattr(mx, dtype)).reshape(len(rows), -1)


def bytes_of(array: Any) -> list[bytes]:
    """The bytes of each row of an MLX array."""
    patterns = array.view(mx.uint32 if array.dtype.size == 4 else mx.uint16)
    data, rows = bytes(memoryview(patterns)), array.shape[0]
    return [data[index * len(data) // rows : (index + 1) * len(data) // rows] for index in range(rows)]


def one_nan_pattern(data: bytes, dtype: str) -> bytes:
    return floats.encode(floats.decode(data, dtype), dtype)


def quantized_by_mlx(
    rows: list[list[float]], *, bits: int, group_size: int, dtype: str
) -> list[affine.QuantizedRow]:
    with mx.stream(mx.cpu):
        arrays = mx.quantize(to_mlx(rows, dtype), group_size=group_size, bits=bits)
        packed, scales, biases = map(bytes_of, arrays)
    return [
        affine.QuantizedRow(words, one_nan_pattern(scale, dtype), one_nan_pattern(bias, dtype))
        for words, scale, bias in zip(packed, scales, biases, strict=True)
    ]


@pytest.mark.requirement("AQ-1")
@pytest.mark.parametrize("dtype", floats.DTYPES)
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("group_size", GROUP_SIZES)
def test_every_row_is_quantized_bit_for_bit_as_mlx_does(bits: int, group_size: int, dtype: str) -> None:
    rows = rows_of(bits, group_size, dtype)
    expected = quantized_by_mlx([values for _, values in rows], bits=bits, group_size=group_size, dtype=dtype)
    for (name, values), row in zip(rows, expected, strict=True):
        assert affine.quantize_row(values, bits=bits, group_size=group_size, dtype=dtype) == row, name


def test_the_comparison_covers_more_than_twenty_thousand_groups() -> None:
    cases = len(floats.DTYPES) * len(BITS) * len(GROUP_SIZES)
    assert cases * GROUPS_PER_CASE >= 20_000


@pytest.mark.parametrize("dtype", floats.DTYPES)
@pytest.mark.parametrize("bits", BITS)
def test_every_row_decodes_bit_for_bit_as_mlx_does(bits: int, dtype: str) -> None:
    rows = [values for _, values in rows_of(bits, 64, dtype)]
    with mx.stream(mx.cpu):
        arrays = mx.quantize(to_mlx(rows, dtype), group_size=64, bits=bits)
        decoded = mx.dequantize(*arrays, group_size=64, bits=bits)
        found = bytes_of(decoded)
    for values, data in zip(rows, found, strict=True):
        row = affine.quantize_row(values, bits=bits, group_size=64, dtype=dtype)
        ours = affine.dequantize_row(row, bits=bits, group_size=64, dtype=dtype)
        assert floats.encode(ours, dtype) == one_nan_pattern(data, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_floats_are_rounded_to_16_bits_as_mlx_does(dtype: str) -> None:
    rng = random.Random(dtype)
    values = [*any_bit_pattern(rng, 20_000, 8), *normal(rng, 5000, 8), *subnormals(rng, 5000, 8)]
    with mx.stream(mx.cpu):
        rounded = to_mlx([values], "float32").astype(getattr(mx, dtype))
        (found,) = bytes_of(rounded)
    assert floats.encode(values, dtype) == one_nan_pattern(found, dtype)


@pytest.mark.requirement("AQ-2")
def test_mlx_quantizes_each_row_by_itself() -> None:
    rows = [values for _, values in rows_of(4, 64, "float32")][::17]
    together = quantized_by_mlx(rows, bits=4, group_size=64, dtype="float32")
    alone = [quantized_by_mlx([row], bits=4, group_size=64, dtype="float32")[0] for row in rows]
    assert together == alone


@pytest.mark.requirement("AQ-1")
def test_a_float64_computation_would_not_have_been_enough() -> None:
    """The reason for rounding every step: leaving it out is seen by this comparison."""
    rng = random.Random(64)
    rows = [floats.round_values(normal(rng, 64, 8), "bfloat16") for _ in range(300)]
    expected = quantized_by_mlx(rows, bits=8, group_size=64, dtype="bfloat16")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(floats, "round_float32", float)
        patched.setattr(
            affine, "code_quotients", lambda group, scale, bias: [(x - bias) / scale for x in group]
        )
        unrounded = [affine.quantize_row(row, bits=8, group_size=64, dtype="bfloat16") for row in rows]
    assert unrounded != expected


@pytest.mark.requirement("AQ-1")
@pytest.mark.parametrize("dtype", floats.DTYPES)
def test_what_mlx_computes_on_the_cpu_is_in_the_acceptance_set(dtype: str) -> None:
    rows = [values for _, values in rows_of(4, 32, dtype)]
    expected = quantized_by_mlx(rows, bits=4, group_size=32, dtype=dtype)
    for values, row in zip(rows, expected, strict=True):
        assert acceptance.why_rejected(row, values, bits=4, group_size=32, dtype=dtype) is None
