"""Tensors to quantize: rows of every shape that a group can have, exact ties and edges included."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from ..checks import Context
from ..pattern import GOLDEN, MASK, fmix
from ..scenario import QuantizeScenario, Tensor
from . import declared, numbers


def encode(values: Sequence[float], dtype: str) -> bytes:
    """Little-endian bytes of values; bfloat16 is the upper half of a float32, rounded half to even."""
    if dtype == "float32":
        return struct.pack(f"<{len(values)}f", *values)
    if dtype == "float16":
        return struct.pack(f"<{len(values)}e", *values)
    words = struct.unpack(f"<{len(values)}I", struct.pack(f"<{len(values)}f", *values))
    return struct.pack(f"<{len(values)}H", *((word + 0x7FFF + (word >> 16 & 1)) >> 16 for word in words))


def tensor(rows: Sequence[Sequence[float]], dtype: str) -> Tensor:
    """A ``[rows, dim]`` tensor."""
    data = b"".join(encode(row, dtype) for row in rows)
    shape = (len(rows), len(rows[0]) if rows else 0)
    return Tensor(dtype=dtype, shape=shape, data=base64.b64encode(data).decode())  # pyright: ignore[reportArgumentType]


def _noise(seed: int, index: int) -> float:
    """A number in [-1, 1) with 24 random bits."""
    return (fmix((seed * 0x85EBCA6B + index * GOLDEN) & MASK) >> 8) / 2**23 - 1


def _spread(seed: int, dim: int, bits: int, size: float) -> list[float]:
    return [size * _noise(seed, i) for i in range(dim)]


def _one_sided(seed: int, dim: int, bits: int, size: float) -> list[float]:
    sign = 1 if seed % 2 else -1
    return [sign * size * (1.5 + _noise(seed, i)) for i in range(dim)]


def _outlier(seed: int, dim: int, bits: int, size: float) -> list[float]:
    return [size * _noise(seed, i) * (1 if i == seed % dim else 1e-3) for i in range(dim)]


def _constant(seed: int, dim: int, bits: int, size: float) -> list[float]:
    return [size * (_noise(seed, 0) if seed else 0.0)] * dim


def _tiny(seed: int, dim: int, bits: int, size: float) -> list[float]:
    return [1e-7 * _noise(seed, i) for i in range(dim)]


def _halves(seed: int, dim: int, bits: int, size: float) -> list[float]:
    """Every value half-way between two codes: how ties round shows in each."""
    top, step = 2**bits - 1, 2.0 ** (seed % 5 - 3)
    ends = [0.0, top * step]
    return (ends + [(fmix(seed + i) % top + 0.5) * step for i in range(dim)])[:dim]


def _edge_tie(seed: int, dim: int, bits: int, size: float) -> list[float]:
    """The edge lies half-way between two multiples of the scale: its rounding moves the whole group."""
    top, step = 2**bits - 1, 2.0 ** (seed % 5 - 3)
    low = -(top // 2 + 1 + (seed // 5) % max(1, top // 2) + 0.5) * step
    values = [low + (fmix(seed + i) % (top + 1)) * step for i in range(dim)]
    return [low, low + top * step, *values][:dim]


def _around_zero(seed: int, dim: int, bits: int, size: float) -> list[float]:
    values = [0.0, -0.0, 2.0**-149, -(2.0**-149), size, -size, size / 3]
    return [values[fmix(seed + i) % len(values)] for i in range(dim)]


SHAPES: dict[str, Any] = {
    "spread": _spread,
    "constant": _constant,
    "one-sided": _one_sided,
    "edge tie": _edge_tie,
    "halves": _halves,
    "outlier": _outlier,
    "tiny": _tiny,
    "around zero": _around_zero,
}
"""Row shapes by name: each makes ``dim`` values from a seed, the bits it will be quantized at and a size."""

SIZES = (1.0, 2.0**-10, 37.5, 1e-5, 6e4)
"""Magnitudes that all three number formats hold."""


@st.composite
def rows(
    draw: st.DrawFn, *, dim: int, bits: int, dtype: str, shapes: tuple[str, ...] = tuple(SHAPES)
) -> list[float]:
    """One row of some shape that the format can hold."""
    shape = draw(st.sampled_from(shapes))
    seed, size = draw(st.integers(0, 5000)), draw(st.sampled_from(SIZES))
    limit = 65504.0 if dtype == "float16" else 3e38
    return [max(-limit, min(limit, value)) for value in SHAPES[shape](seed, dim, bits, size)]


@st.composite
def scenarios(
    draw: st.DrawFn,
    context: Context,
    *,
    shapes: tuple[str, ...] = tuple(SHAPES),
    dtypes: tuple[str, ...] | None = None,
    least: int = 1,
    most: int = 2,
) -> QuantizeScenario:
    """A few rows of one to three groups each."""
    bits, group_size = draw(numbers.good_bits(context)), draw(numbers.usable_requests(context))
    dtype = draw(st.sampled_from(dtypes or declared.dtypes(context)))
    dim = group_size * draw(st.integers(1, 3 if group_size == 32 else 2))
    row = rows(dim=dim, bits=bits, dtype=dtype, shapes=shapes)
    return QuantizeScenario(
        tensor=tensor(draw(st.lists(row, min_size=least, max_size=most)), dtype),
        bits=bits,
        group_size=group_size,
    )
