"""Reads the bytes of observed tensors."""

from __future__ import annotations

import base64
from math import prod

from ..scenario import Tensor

ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "uint32": 4}


def raw(tensor: Tensor) -> bytes:
    """The bytes; ``ValueError`` when they are not what the shape says."""
    data = base64.b64decode(tensor.data, validate=True)
    size = prod(tensor.shape) * ITEM_BYTES[tensor.dtype]
    if len(data) != size:
        raise ValueError(
            f"a tensor {tensor.dtype} {list(tensor.shape)} with {len(data)} bytes; {size} is right"
        )
    return data


def row_bytes(tensor: Tensor) -> list[bytes]:
    """One entry a row: the last axis, all other axes flattened."""
    data, width = raw(tensor), tensor.shape[-1] * ITEM_BYTES[tensor.dtype]
    return [data[i : i + width] for i in range(0, len(data), width)]
