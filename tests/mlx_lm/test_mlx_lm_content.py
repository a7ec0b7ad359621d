"""Content of the adapter's arrays, and tensors in and out of MLX."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from kvconform.pattern import row_values
from mlx_lm_scenes import R, S, op

pytestmark = pytest.mark.mlx

CODES = {"float32": "f", "float16": "e", "bfloat16": "H"}


def values(tensor: Any) -> list[float]:
    raw = base64.b64decode(tensor.data)
    words = struct.unpack(f"<{len(raw) // struct.calcsize(CODES[tensor.dtype])}{CODES[tensor.dtype]}", raw)
    if tensor.dtype == "bfloat16":
        return [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in words]
    return list(words)


@pytest.mark.parametrize(
    ("stream", "salt", "role", "start", "rows", "heads", "dim"),
    [
        (0, 0, 0, 0, 1, 1, 1),
        (3, 7, 1, 250, 9, 2, 64),
        (11, 999_983, 0, 70_000, 3, 3, 33),
        (1, 1_000_000, 1, 5, 4, 1, 576),
    ],
)
def test_the_vectorised_pattern_equals_the_row_by_row_one(
    adapter: Any, stream: int, salt: int, role: int, start: int, rows: int, heads: int, dim: int
) -> None:
    from kvconform.implementations.mlx_lm_adapter.content import pattern_block

    block = pattern_block(stream, salt, role, heads=heads, start=start, rows=rows, dim=dim)
    assert block.shape == (1, heads, rows, dim)
    for head in range(heads):
        for row in range(rows):
            assert tuple(block[0, head, row]) == row_values(stream, salt, role, head, start + row, dim)


@pytest.mark.parametrize("dtype", CODES)
def test_a_reader_sees_the_pattern_exactly_in_every_dtype(ask: Any, dtype: str) -> None:
    layer = S(3, 32, 64, heads=2, dtype=dtype)
    answer = ask("cache", layer=layer, operations=[op("append", rows=2, salt=5)], observe={"content": True})
    view = answer.records[1].objects[0]
    for role, (side, dim) in enumerate(((view.keys, 32), (view.values, 64))):
        expected: list[float] = []
        for head in range(2):
            for position in range(5):
                expected += row_values(0, 0 if position < 3 else 5, role, head, position, dim)
        assert side.dtype == dtype
        assert side.shape == (1, 2, 5, dim)
        assert values(side) == expected


def test_content_changes_nothing_else_that_is_observed(ask: Any) -> None:
    operations = [op("append", rows=20), op("trim", rows=3), op("state"), op("append", rows=1)]
    for layer in (S(5), R(9), R(30, singly=True), {"kind": "quantized", "length": 5}):
        with_content = ask("cache", layer=layer, operations=operations, observe={"content": True})
        without = ask("cache", layer=layer, operations=operations)
        for seen, unseen in zip(with_content.records, without.records, strict=True):
            bare = tuple(view.model_copy(update={"keys": None, "values": None}) for view in seen.objects)
            assert (bare, seen.result, seen.current) == (unseen.objects, unseen.result, unseen.current)


@pytest.mark.requirement("AQ-1")
@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
def test_quantize_answers_with_the_shapes_of_packed_rows(ask: Any, dtype: str, bits: int) -> None:
    size = 4 if dtype == "float32" else 2
    tensor = {"dtype": dtype, "shape": [3, 128], "data": base64.b64encode(bytes(3 * 128 * size)).decode()}
    answer = ask("quantize", tensor=tensor, bits=bits, group_size=32)
    assert (answer.packed.dtype, answer.packed.shape) == ("uint32", (3, 128 * bits // 32))
    assert (answer.scales.dtype, answer.scales.shape) == (dtype, (3, 4))
    assert (answer.biases.dtype, answer.biases.shape) == (dtype, (3, 4))


@pytest.mark.requirement("AQ-1")
def test_quantize_takes_the_tensor_of_the_scenario(ask: Any) -> None:
    ramp = struct.pack("<32f", *(float(i % 16) for i in range(32)))
    tensor = {"dtype": "float32", "shape": [1, 32], "data": base64.b64encode(ramp).decode()}
    answer = ask("quantize", tensor=tensor, bits=4, group_size=32)
    (scale,), (bias,) = values(answer.scales), values(answer.biases)
    packed = int.from_bytes(base64.b64decode(answer.packed.data), "little")
    decoded = [scale * (packed >> 4 * i & 15) + bias for i in range(32)]
    assert decoded == [float(i % 16) for i in range(32)]


@pytest.mark.parametrize(("bits", "group_size"), [(7, 32), (0, 32), (4, 16), (4, 48), (4, -1)])
def test_quantize_refuses_what_mlx_does_not_take(ask: Any, bits: int, group_size: int) -> None:
    tensor = {"dtype": "float32", "shape": [1, 96], "data": base64.b64encode(bytes(384)).decode()}
    assert ask("quantize", tensor=tensor, bits=bits, group_size=group_size).kind == "refused"
