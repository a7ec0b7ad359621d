"""Affine quantization a second time, from the written rules, to judge content without the reference.

Float32 step by step, each operation rounded once. Finite values only. Source: specification section 14.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

SMALLEST = struct.unpack("<f", struct.pack("<f", 1e-7))[0]


class Quantized(NamedTuple):
    """One row: little-endian bytes of words, scales and biases."""

    packed: bytes
    scales: bytes
    biases: bytes


def to_float32(value: float) -> float:
    """The nearest float32."""
    return array("f", (value,))[0]


def encode(values: Sequence[float], dtype: str) -> bytes:
    """Little-endian bytes in a number format, rounded half to even."""
    if dtype == "float16":
        return struct.pack(f"<{len(values)}e", *values)
    singles = struct.pack(f"<{len(values)}f", *values)
    if dtype == "float32":
        return singles
    words = struct.unpack(f"<{len(values)}I", singles)
    return struct.pack(f"<{len(values)}H", *(word + 0x7FFF + (word >> 16 & 1) >> 16 for word in words))


def decode(data: bytes, dtype: str) -> list[float]:
    """The values of little-endian bytes."""
    if dtype == "float16":
        return list(struct.unpack(f"<{len(data) // 2}e", data))
    if dtype == "bfloat16":
        data = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2))
    return list(struct.unpack(f"<{len(data) // 4}f", data))


class Group(NamedTuple):
    """One quantized group before storing: ``edge_code`` 0 means that zero itself is the bias."""

    scale: float
    bias: float
    edge_code: float
    codes: list[int]


def quantize_group(values: Sequence[float], bits: int) -> Group:
    """Scale, bias and codes of one group of finite float32 values."""
    top = 2**bits - 1
    low, high = min(values), max(values)
    scale = max(to_float32(to_float32(high - low) / top), SMALLEST)
    edge = low if abs(low) > abs(high) else high
    scale = scale if abs(low) > abs(high) else -scale
    edge_code = float(round(to_float32(edge / scale)))
    bias = 0.0
    if edge_code != 0:
        scale, bias = to_float32(edge / edge_code), edge
    return Group(scale, bias, edge_code, _codes(values, scale, bias, top))


def _codes(values: Sequence[float], scale: float, bias: float, top: int) -> list[int]:
    """Each value's code; an array of float32 rounds every difference and quotient once."""
    differences = array("f", [value - bias for value in values])
    quotients = array("f", [difference / scale for difference in differences])
    return [min(top, max(0, round(quotient))) for quotient in quotients]


def quantize_row(values: Sequence[float], *, bits: int, group_size: int, dtype: str) -> Quantized:
    """A row of values that the format can hold."""
    groups = [quantize_group(values[i : i + group_size], bits) for i in range(0, len(values), group_size)]
    codes = [code for group in groups for code in group.codes]
    return Quantized(
        pack(codes, bits),
        encode([group.scale for group in groups], dtype),
        encode([group.bias for group in groups], dtype),
    )


def pack(codes: Sequence[int], bits: int) -> bytes:
    """A little-endian bit stream, value after value, in whole 32-bit words (QC-6)."""
    stream = 0
    for code in reversed(codes):
        stream = stream << bits | code
    return stream.to_bytes(len(codes) * bits // 8, "little")


def unpack(packed: bytes, bits: int, count: int) -> list[int]:
    """The first ``count`` codes of a bit stream."""
    stream, mask = int.from_bytes(packed, "little"), 2**bits - 1
    return [stream >> i * bits & mask for i in range(count)]


def dequantize_row(row: Quantized, *, bits: int, group_size: int, dtype: str) -> list[float]:
    """The values that a row decodes to, in float64 of the stored scales and biases."""
    scales, biases = decode(row.scales, dtype), decode(row.biases, dtype)
    codes = unpack(row.packed, bits, len(scales) * group_size)
    return [scales[i // group_size] * code + biases[i // group_size] for i, code in enumerate(codes)]


@lru_cache(maxsize=20_000)
def quantized_values(values: tuple[float, ...], bits: int, group_size: int, dtype: str) -> Quantized:
    """:func:`quantize_row`, remembered: the rows of the content pattern come again and again."""
    return quantize_row(values, bits=bits, group_size=group_size, dtype=dtype)


def accepts_exactly(
    values: tuple[float, ...], row: Quantized, *, bits: int, group_size: int, dtype: str
) -> str | None:
    """Why ``row`` is not, bit for bit, the quantization of ``values``; ``None`` when it is."""
    expected = quantized_values(values, bits, group_size, dtype)
    if row == expected:
        return None
    parts = [name for name, a, b in zip(Quantized._fields, row, expected, strict=True) if a != b]
    return f"{' and '.join(parts)} differ"
