"""Arrays: the content pattern with numpy, and tensors of the wire in and out of MLX.

The same numbers as ``kvconform.pattern``, a whole block at a time.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from ...pattern import GOLDEN, chain_all
from ...scenario import Tensor
from .package import mx

Words = npt.NDArray[np.uint32]

DTYPES: dict[str, Any] = {
    "float32": mx.float32,
    "float16": mx.float16,
    "bfloat16": mx.bfloat16,
    "uint32": mx.uint32,
}
_NAMES: dict[Any, str] = {dtype: name for name, dtype in DTYPES.items()}
_NUMPY: dict[str, str] = {"float32": "<f4", "float16": "<f2", "bfloat16": "<u2", "uint32": "<u4"}
"""How a dtype lies in memory; numpy has no bfloat16, so its bits travel as 16-bit integers."""


def _fmix(h: Words) -> Words:
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def _chain(h: Words, x: Words) -> Words:
    return _fmix(h * np.uint32(31) + x + np.uint32(GOLDEN))


def pattern_block(
    stream: int, salt: int, role: int, *, heads: int, start: int, rows: int, dim: int
) -> npt.NDArray[np.float32]:
    """Content of rows ``start .. start + rows - 1``: float32 ``[1, heads, rows, dim]``."""
    prefix = np.full((heads, 1), chain_all(stream, salt, role), np.uint32)
    by_head = _chain(prefix, np.arange(heads, dtype=np.uint32)[:, None])
    by_row = _chain(by_head, np.arange(start, start + rows, dtype=np.uint32)[None, :])
    steps = np.arange(dim, dtype=np.uint32) * np.uint32(GOLDEN)
    codes = _fmix(by_row[:, :, None] + steps) % np.uint32(257)
    return ((codes.astype(np.float32) - np.float32(128)) / np.float32(64))[None]


def pattern_array(
    stream: int, salt: int, role: int, *, heads: int, start: int, rows: int, dim: int, dtype: str
) -> Any:
    """The block as an MLX array of ``dtype``; the values are exact in every one of them."""
    block = pattern_block(stream, salt, role, heads=heads, start=start, rows=rows, dim=dim)
    return mx.array(block).astype(DTYPES[dtype])


def to_mlx(tensor: Tensor) -> Any:
    """The MLX array of a tensor of the wire; ``ValueError`` when its data does not fill its shape."""
    raw = np.frombuffer(base64.b64decode(tensor.data, validate=True), _NUMPY[tensor.dtype])
    array = mx.array(raw.reshape(tensor.shape))
    return array.view(mx.bfloat16) if tensor.dtype == "bfloat16" else array


def to_tensor(array: Any) -> Tensor:
    """An MLX array as a tensor of the wire."""
    return _tensor(_raw(array), _NAMES[array.dtype])


def rows_to_tensor(array: Any, rows: int) -> Tensor:
    """The first ``rows`` rows of a buffer ``[batch, heads, capacity, width]``, cut without a kernel."""
    return _tensor(_raw(array)[:, :, :rows], _NAMES[array.dtype])


def _raw(array: Any) -> npt.NDArray[Any]:
    """The array's own memory, read in place; bfloat16 as its bits."""
    return np.array(array.view(mx.uint16) if array.dtype == mx.bfloat16 else array, copy=False)


def _tensor(raw: npt.NDArray[Any], dtype: str) -> Tensor:
    data = base64.b64encode(raw.astype(_NUMPY[dtype], copy=False).tobytes()).decode()
    return Tensor(dtype=dtype, shape=raw.shape, data=data)  # pyright: ignore[reportArgumentType]
