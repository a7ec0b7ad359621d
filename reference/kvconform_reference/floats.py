"""The three number formats of KV caches: rounding to them, and their little-endian bytes.

Values travel as Python floats that are exactly representable in their format. Rounding is to nearest,
ties to even, overflow goes to infinity, subnormals and -0.0 are kept. The 16-bit formats are rounded
from float32, as every backend makes them. The product, sum, difference, quotient and square root of
two such values, computed as a Python float and then rounded here once, equal the hardware's operation in that
format: float64 has more than twice the digits of float32, so the double rounding cannot be seen.

A NaN has no sign and no payload here: it is encoded as the positive quiet NaN of its format.
"""

from __future__ import annotations

import math
import struct
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

ITEM_SIZES: Mapping[str, int] = MappingProxyType({"float32": 4, "float16": 2, "bfloat16": 2})
DTYPES = tuple(ITEM_SIZES)

FLOAT16_OVERFLOW = 65520.0  # half-way between the largest float16 and the next power of two
SWAP_BYTES = sys.byteorder == "big"


def round_values(values: Iterable[float], dtype: str) -> list[float]:
    """Each value as `dtype` stores it."""
    return _ROUNDERS[check_dtype(dtype)](values)


def round_value(value: float, dtype: str) -> float:
    """One value as `dtype` stores it."""
    return round_values((value,), dtype)[0]


def encode(values: Iterable[float], dtype: str) -> bytes:
    """The little-endian bytes of the values, each rounded to `dtype` first."""
    return _ENCODERS[check_dtype(dtype)](values)


def decode(data: bytes, dtype: str) -> list[float]:
    """The values that little-endian bytes of `dtype` hold; ValueError for a broken length."""
    size = ITEM_SIZES[check_dtype(dtype)]
    if len(data) % size:
        raise ValueError(
            f"{len(data)} bytes are no whole number of {dtype} values; give a multiple of {size}"
        )
    return _DECODERS[dtype](data)


def check_dtype(dtype: str) -> str:
    """The dtype itself; ValueError when it is none of the three."""
    if dtype not in ITEM_SIZES:
        raise ValueError(f"dtype {dtype!r} is not known to the reference; use one of {', '.join(DTYPES)}")
    return dtype


def divide(dividend: float, divisor: float) -> float:
    """Division as IEEE 754 defines it, where Python would raise: by zero gives an infinity or NaN."""
    if divisor:
        return dividend / divisor
    if not dividend or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def round_float32(value: float) -> float:
    """One value as float32 stores it."""
    return array("f", (value,))[0]


def _round_to_float32(values: Iterable[float]) -> list[float]:
    return array("f", values).tolist()  # array casts as C does: nearest even, overflow to infinity


def _round_to_float16(values: Iterable[float]) -> list[float]:
    return _decode_float16(_encode_float16(values))


def _round_to_bfloat16(values: Iterable[float]) -> list[float]:
    return _decode_bfloat16(_encode_bfloat16(values))


def _encode_float32(values: Iterable[float]) -> bytes:
    return _little_endian(array("f", map(_plain_nan, values)))


def _decode_float32(data: bytes) -> list[float]:
    items = array("f", data)
    if SWAP_BYTES:
        items.byteswap()
    return items.tolist()


def _encode_float16(values: Iterable[float]) -> bytes:
    single = _round_to_float32(map(_plain_nan, values))
    try:
        return struct.pack(f"<{len(single)}e", *single)
    except OverflowError:
        return struct.pack(f"<{len(single)}e", *map(_float16_overflow, single))


def _decode_float16(data: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(data) // 2}e", data))


def _encode_bfloat16(values: Iterable[float]) -> bytes:
    """The upper half of each float32, after adding just under half of what is cut off (ties to even)."""
    patterns = array("I", array("f", map(_plain_nan, values)).tobytes())
    return _little_endian(array("H", [(bits + 0x7FFF + (bits >> 16 & 1)) >> 16 for bits in patterns]))


def _decode_bfloat16(data: bytes) -> list[float]:
    halves = array("H", data)
    if SWAP_BYTES:
        halves.byteswap()
    patterns = array("I", [half << 16 for half in halves])
    return array("f", patterns.tobytes()).tolist()


def _plain_nan(value: float) -> float:
    return value if value == value else math.nan


def _float16_overflow(value: float) -> float:
    return math.copysign(math.inf, value) if abs(value) >= FLOAT16_OVERFLOW else value


def _little_endian(items: array[int] | array[float]) -> bytes:
    if SWAP_BYTES:
        items.byteswap()
    return items.tobytes()


_ROUNDERS: Mapping[str, Callable[[Iterable[float]], list[float]]] = MappingProxyType(
    {"float32": _round_to_float32, "float16": _round_to_float16, "bfloat16": _round_to_bfloat16}
)
_ENCODERS: Mapping[str, Callable[[Iterable[float]], bytes]] = MappingProxyType(
    {"float32": _encode_float32, "float16": _encode_float16, "bfloat16": _encode_bfloat16}
)
_DECODERS: Mapping[str, Callable[[bytes], list[float]]] = MappingProxyType(
    {"float32": _decode_float32, "float16": _decode_float16, "bfloat16": _decode_bfloat16}
)
