"""The arrays of a saved cache: rows as bytes in base64, and blocks that read them back.

Plain arrays are `[1, heads, rows, dim]`; quantized ones `[1, heads, rows, ...]` of packed words, scales and
biases. Source: QC-5, QC-11, KC-6.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from . import affine, packing, tensor

SIDES = ("keys", "values")
PARTS = ("packed", "scales", "biases")


def packed_bytes(rows: tensor.Rows, role: int, heads: int) -> affine.QuantizedRow:
    """Packed words, scales and biases of all rows, each as the bytes of a `[1, heads, rows, ...]` array."""
    parts = [block.packed_row(role, head, index) for head in range(heads) for block, index in rows]
    return affine.QuantizedRow(
        packed=b"".join([row.packed for row in parts]),
        scales=b"".join([row.scales for row in parts]),
        biases=b"".join([row.biases for row in parts]),
    )


def rows_to_data(rows: tensor.Rows, shape: tensor.RowShape | None, *, packed: bool) -> dict[str, Any] | None:
    """JSON-ready data of the rows; none when the cache was never written."""
    if shape is None:
        return None
    return {
        "count": rows.count,
        "shape": {name: getattr(shape, name) for name in ("heads", "key_dim", "value_dim", "dtype")},
        **{side: _side_to_data(rows, role, shape.heads, packed) for role, side in enumerate(SIDES)},
    }


def rows_from_data(data: Any, parameters: Mapping[str, Any]) -> tuple[tensor.RowShape | None, tensor.Rows]:
    """Shape and rows; ValueError or KeyError when an array is missing or has a wrong length."""
    if data is None:
        return None, tensor.NO_ROWS
    shape, count = tensor.RowShape(**data["shape"]), data["count"]
    if "bits" not in parameters:
        keys, values = (_from_base64(data[side]) for side in SIDES)
        source = tensor.StoredRows(count, shape, keys, values)
        return shape, tensor.rows_of(tensor.Block(count, shape, source))
    sides = [{part: _from_base64(data[side][part]) for part in PARTS} for side in SIDES]
    block = StoredPackedRows(
        count, shape, sides, bits=parameters["bits"], group_size=parameters["group_size"]
    )
    return shape, tensor.rows_of(block)


class StoredPackedRows:
    """A block of quantized rows over the bytes of saved arrays."""

    def __init__(
        self, count: int, shape: tensor.RowShape, sides: list[dict[str, bytes]], *, bits: int, group_size: int
    ) -> None:
        self.count = count
        self._sides = sides
        self._sizes = [_part_sizes(shape, role, bits, group_size) for role in tensor.ROLES]
        for side, arrays, sizes in zip(SIDES, sides, self._sizes, strict=True):
            for part in PARTS:
                expected = shape.heads * count * sizes[part]
                if len(arrays[part]) != expected:
                    raise ValueError(
                        f"stored {side} have {len(arrays[part])} bytes of {part}, {count} rows need "
                        f"{expected}; the saved cache is damaged, save it again"
                    )

    def packed_row(self, role: int, head: int, index: int) -> affine.QuantizedRow:
        """One row's packed words, scales and biases."""
        at, arrays, sizes = head * self.count + index, self._sides[role], self._sizes[role]
        return affine.QuantizedRow(
            **{part: arrays[part][at * sizes[part] : (at + 1) * sizes[part]] for part in PARTS}
        )


def _part_sizes(shape: tensor.RowShape, role: int, bits: int, group_size: int) -> dict[str, int]:
    dim = shape.dim(role)
    affine.check_parameters(dim, bits=bits, group_size=group_size)
    edge = dim // group_size * shape.itemsize
    return {"packed": packing.words_per_row(dim, bits) * 4, "scales": edge, "biases": edge}


def _side_to_data(rows: tensor.Rows, role: int, heads: int, packed: bool) -> Any:
    if not packed:
        return _to_base64(tensor.row_bytes(rows, role, heads))
    arrays = packed_bytes(rows, role, heads)
    return {part: _to_base64(getattr(arrays, part)) for part in PARTS}


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _from_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
