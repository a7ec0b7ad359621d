"""Affine quantization of one row, step by step in float32, bit for bit as MLX computes it on the CPU.

A row of d values falls into d / group_size groups; each becomes `group_size` codes of `bits` bits, one scale
and one bias, and decodes to scale * code + bias. Every step is one float32 operation, rounded once; only the
stored scale and bias are rounded to the row's dtype afterwards. Every decision is a function of its own.
Source: specification section 14 (AQ) and measurements of MLX 0.32.4.

Values that are not finite, as measured: a NaN never wins a comparison and gets code 0, so its lane decodes to
the bias and the other lanes are not disturbed; an infinity, or nothing but NaN, makes the scale NaN, the bias
infinite and every code 0, so the whole group decodes to NaN; a finite group whose range overflows float32
gets an infinite scale, bias 0 and codes 0, and decodes to NaN. Undefined are the sign and payload of a
stored NaN (`floats` writes one NaN) and, off the CPUs that were measured, the code of a NaN (`acceptance`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from . import floats, packing
from . import group_size as group_sizes

SMALLEST_SCALE = floats.round_float32(1e-7)  # as measured: the scale of an all-zero group
# Added and subtracted again it rounds a float below 2^51 to an integer, half to even, and keeps a NaN.
ROUNDING_SHIFT = 1.5 * 2.0**52


@dataclass(frozen=True, slots=True)
class QuantizedRow:
    """One row as a cache stores it, in little-endian bytes: equal means equal bit for bit.

    `packed` has d * bits / 8 bytes of 32-bit words (QC-6); `scales` and `biases` have one value of the dtype
    a group.
    """

    packed: bytes
    scales: bytes
    biases: bytes


@dataclass(frozen=True, slots=True)
class GroupTrace:
    """How one group was quantized, with every intermediate value (for vectors and messages).

    `edge` is the end of the range that decodes exactly, `edge_code` its distance from zero in scales (a
    float, since it is infinite or NaN for some of the groups named above). `scale` and `bias` are the float32
    values that the codes were computed with, `stored_scale` and `stored_bias` what the dtype keeps of them.
    """

    low: float
    high: float
    edge: float
    edge_code: float
    scale: float
    bias: float
    codes: tuple[int, ...]
    stored_scale: float
    stored_bias: float


def quantize_row(
    values: Sequence[float], *, bits: int, group_size: int, dtype: str = "float32"
) -> QuantizedRow:
    """Quantize one row, rounded to `dtype` first (AQ-1).

    ValueError for bits, a group size or a dtype that is not supported, or a length the groups do not divide.
    """
    groups = explain_row(values, bits=bits, group_size=group_size, dtype=dtype)
    codes = [code for group in groups for code in group.codes]
    return QuantizedRow(
        packed=packing.words_to_bytes(packing.pack_codes(codes, bits)),
        scales=floats.encode([group.stored_scale for group in groups], dtype),
        biases=floats.encode([group.stored_bias for group in groups], dtype),
    )


def explain_row(
    values: Sequence[float], *, bits: int, group_size: int, dtype: str = "float32"
) -> list[GroupTrace]:
    """The groups of one row, each with its intermediate values; errors as in `quantize_row`."""
    check_parameters(len(values), bits=bits, group_size=group_size)
    stored = floats.round_values(values, dtype)
    starts = range(0, len(stored), group_size)
    return [explain_group(stored[start : start + group_size], bits=bits, dtype=dtype) for start in starts]


def explain_group(values: Sequence[float], *, bits: int, dtype: str = "float32") -> GroupTrace:
    """Quantize one group whose values `dtype` can hold, and keep every intermediate value."""
    low, high = group_bounds(values)
    edge, direction = choose_edge(low, high)
    first_scale = direction * scale_size(low, high, bits)
    edge_code = round_edge_code(edge_quotient(edge, first_scale))
    scale, bias = snap_scale(edge, edge_code, first_scale), choose_bias(edge, edge_code)
    codes = clip_codes(round_codes(code_quotients(values, scale, bias)), bits)
    return GroupTrace(
        low=low,
        high=high,
        edge=edge,
        edge_code=edge_code,
        scale=scale,
        bias=bias,
        codes=tuple(codes),
        stored_scale=floats.round_value(scale, dtype),
        stored_bias=floats.round_value(bias, dtype),
    )


def group_bounds(values: Sequence[float]) -> tuple[float, float]:
    """The least and the greatest value; a NaN never wins, a group of nothing else gives (inf, -inf)."""
    return min((math.inf, *values)), max((-math.inf, *values))


def scale_size(low: float, high: float, bits: int) -> float:
    """The range cut into 2^bits - 1 steps, never below the smallest scale; no sign yet."""
    step = floats.round_float32(floats.round_float32(high - low) / highest_code(bits))
    return max(SMALLEST_SCALE, step)


def choose_edge(low: float, high: float) -> tuple[float, float]:
    """The end that is farther from zero, the high one of a tie, and the sign of a scale that starts there."""
    return (low, 1.0) if abs(low) > abs(high) else (high, -1.0)


def edge_quotient(edge: float, scale: float) -> float:
    """How many scales the edge lies from zero, before rounding."""
    return floats.round_float32(floats.divide(edge, scale))


def round_edge_code(quotient: float) -> float:
    """To the nearest integer, half to even: this one rounding moves the scale of the whole group."""
    return float(round(quotient)) if math.isfinite(quotient) else quotient


def snap_scale(edge: float, edge_code: float, scale: float) -> float:
    """A scale that divides the edge, so that zero is representable; unchanged at edge code 0."""
    return floats.round_float32(floats.divide(edge, edge_code)) if edge_code != 0 else scale


def choose_bias(edge: float, edge_code: float) -> float:
    """What code 0 decodes to: the edge, but zero when the edge code is zero (AQ-3)."""
    return edge if edge_code != 0 else 0.0


def code_quotients(values: Sequence[float], scale: float, bias: float) -> list[float]:
    """How many scales each value lies from the bias, before rounding."""
    differences = floats.round_values([value - bias for value in values], "float32")
    if scale == 0:  # a constant group beyond 3e31: the edge code overflowed
        return [floats.divide(difference, scale) for difference in differences]
    return floats.round_values([difference / scale for difference in differences], "float32")


def round_codes(quotients: Sequence[float]) -> list[float]:
    """Each to the nearest integer, half to even; NaN and infinities stay."""
    return [quotient + ROUNDING_SHIFT - ROUNDING_SHIFT for quotient in quotients]


def clip_codes(codes: Sequence[float], bits: int) -> list[int]:
    """Into 0 .. 2^bits - 1; NaN becomes 0."""
    top = highest_code(bits)
    return [0 if not code > 0 else top if code > top else int(code) for code in codes]


def highest_code(bits: int) -> int:
    """The largest code: 2^bits - 1."""
    return (1 << bits) - 1


def dequantize_row(row: QuantizedRow, *, bits: int, group_size: int, dtype: str = "float32") -> list[float]:
    """The values that a stored row decodes to; ValueError when its parts do not fit these parameters."""
    scales, biases = floats.decode(row.scales, dtype), floats.decode(row.biases, dtype)
    if len(scales) != len(biases):
        raise ValueError(
            f"a row with {len(scales)} scales and {len(biases)} biases; give one of each a group"
        )
    count = len(scales) * group_size
    check_parameters(count, bits=bits, group_size=group_size)
    codes = packing.unpack_codes(packing.words_from_bytes(row.packed), bits, count)
    values: list[float] = []
    for index, (scale, bias) in enumerate(zip(scales, biases, strict=True)):
        group = codes[index * group_size : (index + 1) * group_size]
        values.extend(decode_codes(group, scale, bias, dtype=dtype))
    return values


def decode_codes(codes: Sequence[int], scale: float, bias: float, *, dtype: str = "float32") -> list[float]:
    """scale * code, then + bias, each rounded to `dtype` (as measured: MLX fuses nothing here)."""
    products = floats.round_values([scale * code for code in codes], dtype)
    return floats.round_values([product + bias for product in products], dtype)


def check_parameters(length: int, *, bits: int, group_size: int) -> None:
    """ValueError unless a row of this length can be quantized at these bits and this group size (MQ-14)."""
    if type(bits) is not int or bits not in group_sizes.SUPPORTED_BITS:
        raise ValueError(f"bits {bits!r} are not supported; use one of {_listed(group_sizes.SUPPORTED_BITS)}")
    if type(group_size) is not int or group_size not in group_sizes.SUPPORTED_GROUP_SIZES:
        raise ValueError(
            f"group size {group_size!r} is not supported; "
            f"use one of {_listed(group_sizes.SUPPORTED_GROUP_SIZES)}"
        )
    if length % group_size:
        raise ValueError(
            f"group size {group_size} does not divide a row of {length} values; "
            f"resolve the group size from the head dims first (GS)"
        )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
