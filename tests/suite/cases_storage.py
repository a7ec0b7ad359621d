"""Cases of cache and quantize scenarios."""

from __future__ import annotations

import base64
from functools import partial
from math import prod
from typing import Any

from kvconform.invariants import affine, contents, numeric, storage
from kvconform.strategies import tensors
from suite_answers import both, put, scenario
from suite_cases import Case

ONE = {"kind": "quantized", "length": 1}
SMALL = {"kind": "quantized", "length": 1, "group_size": 32, "key_dim": 32, "value_dim": 32}
PLAIN = {"kind": "plain", "length": 1}
APPEND = {"op": "append", "rows": 1}
SAVE = {"op": "save-load"}
CONVERT = {"op": "convert", "bits": 4, "group_size": 32}
CONTENT = {"content": True}
ACCOUNTING = {"accounting": True}
EXACT = {"accepts": affine.accepts_exactly}


def made(layer: Any, *operations: Any, observe: Any = None) -> Any:
    return scenario("cache", layer=layer, operations=list(operations), observe=observe or {})


def quantized(values: list[list[float]], *, bits: int = 4, dtype: str = "float32") -> Any:
    tensor = tensors.tensor(values, dtype).model_dump(mode="json")
    return scenario("quantize", tensor=tensor, bits=bits, group_size=32)


def zeros(dtype: str, *shape: int) -> dict[str, Any]:
    """A tensor of zeros, as JSON data."""
    size = prod(shape) * (4 if dtype in ("float32", "uint32") else 2)
    return {"dtype": dtype, "shape": list(shape), "data": base64.b64encode(bytes(size)).decode()}


def flip(path: str) -> Any:
    """Another letter at the start of some base64 data."""

    def edit(data: Any) -> None:
        *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        for part in parents:
            data = data[part]
        data[last] = ("B" if data[last][0] == "A" else "A") + data[last][1:]

    return edit


RAMP = [i / 8 for i in range(32)]
HALF = [1.5] * 32


def reversed_of_itself(asked: Any, observation: Any) -> Any:
    """AQ-2 for a tensor of two equal rows, which is its own companion."""
    return numeric.reversed_rows(asked, observation, observation)


reversed_of_itself.judged = numeric.reversed_rows  # pyright: ignore

CASES = (
    Case(
        name="an append that raises",
        statement=storage.nothing_raises,
        scenario=made(ONE, APPEND),
        wrong=put("records.1.error", {"kind": "internal", "message": "shapes"}),
        says="append raised",
    ),
    Case(
        name="rows beyond the offset",
        statement=storage.reader_gets_offset_rows,
        scenario=made(SMALL, observe=CONTENT),
        wrong=put("records.0.objects.0.rows", 256),
        says="a reader gets other than `offset` rows",
    ),
    Case(
        name="nothing from a filled cache",
        statement=storage.reader_gets_offset_rows,
        scenario=made(SMALL, observe=CONTENT),
        wrong=put("records.0.objects.0.values", None),
        says="wrong values of an empty or filled cache",
    ),
    Case(
        name="scales of the padding",
        statement=storage.reader_gets_offset_rows,
        scenario=made(SMALL, observe=CONTENT),
        wrong=put("records.0.objects.0.keys.scales", zeros("float32", 1, 1, 256, 1)),
        says="keys of another number of rows",
    ),
    Case(
        name="plain keys in a quantized cache",
        statement=storage.reader_gets_offset_rows,
        scenario=made(SMALL, observe=CONTENT),
        wrong=put("records.0.objects.0.keys", zeros("float32", 1, 1, 1, 32)),
        says="keys are not words, scales and biases",
    ),
    Case(
        name="a word too many",
        statement=storage.packed_width,
        scenario=made({**SMALL, "bits": 8}, observe=CONTENT),
        wrong=put("records.0.objects.0.keys.packed", zeros("uint32", 1, 1, 1, 9)),
        says="keys rows of another width",
    ),
    Case(
        name="a trim that grows",
        statement=storage.trims_right,
        scenario=made(ONE, {"op": "trim", "rows": -1}),
        wrong=put("records.1.objects.0.offset", 2),
        says="a trim moved the offset forward",
    ),
    Case(
        name="a trim that takes more than there is",
        statement=storage.trims_right,
        scenario=made(ONE, {"op": "trim", "rows": 2}),
        wrong=put("records.1.result", 2),
        says="a trim took another number of rows",
    ),
    Case(
        name="a negative trim that trims",
        statement=storage.trims_right,
        scenario=made(ONE, {"op": "trim", "rows": -1}),
        wrong=put("records.1.objects.0.offset", 0),
        says="a negative trim moved the offset",
    ),
    Case(
        name="bits lost on the way",
        statement=storage.round_trip,
        scenario=made(ONE, SAVE),
        wrong=put("records.1.objects.1.bits", 8),
        says="other bits after a round trip",
    ),
    Case(
        name="an offset lost on the way",
        statement=storage.round_trip,
        scenario=made(ONE, {"op": "state"}),
        wrong=put("records.1.objects.1.offset", 0),
        says="other offset after a round trip",
    ),
    Case(
        name="padding that is saved",
        statement=storage.exported_rows,
        scenario=made(ONE, SAVE),
        wrong=put("records.1.result", 256),
        says="an exported array holds rows beyond the offset",
    ),
    Case(
        name="no bytes at all",
        statement=storage.bytes_fit,
        scenario=made(ONE, observe=ACCOUNTING),
        wrong=put("records.0.objects.0.nbytes", 0),
        says="bytes are not those of its rows",
    ),
    Case(
        name="twice the growth",
        statement=storage.bytes_fit,
        scenario=made(ONE, observe=ACCOUNTING),
        wrong=put("records.0.objects.0.nbytes", 2 * 256 * 80),
        says="bytes are not those of its rows",
    ),
    Case(
        name="a size of 0",
        statement=storage.accounts_right,
        scenario=made(ONE, observe=ACCOUNTING),
        wrong=put("records.0.objects.0.size", 0),
        says="wrong size",
    ),
    Case(
        name="empty when it is not",
        statement=storage.accounts_right,
        scenario=made(ONE, observe=ACCOUNTING),
        wrong=put("records.0.objects.0.empty", True),
        says="wrong empty",
    ),
    Case(
        name="bytes that raise",
        statement=storage.accounts_right,
        scenario=made({"kind": "quantized"}, observe=ACCOUNTING),
        wrong=both(
            put("records.0.objects.0.nbytes", None), put("records.0.objects.0.errors", {"nbytes": "oops"})
        ),
        says="asking for nbytes raised",
    ),
    Case(
        name="bytes of a cache that was never written",
        statement=storage.bytes_reported,
        scenario=made({"kind": "quantized"}, observe=ACCOUNTING),
        wrong=put("records.0.objects.0.nbytes", 80),
        says="wrong byte count",
    ),
    Case(
        name="a full window that can be trimmed",
        statement=storage.trimmable_right,
        scenario=made({"kind": "rotating", "length": 16}, observe=ACCOUNTING),
        wrong=put("records.0.objects.0.trimmable", True),
        says="wrong answer to whether a rotating cache can be trimmed",
    ),
    Case(
        name="a composite that can be trimmed although a child cannot",
        statement=storage.trimmable_right,
        scenario=made({"kind": "composite", "children": [PLAIN, {"kind": "recurrent"}]}, observe=ACCOUNTING),
        wrong=put("records.0.objects.0.trimmable", True),
        says="wrong answer to whether a composite cache can be trimmed",
    ),
    Case(
        name="one slot of two",
        statement=storage.state_replaced,
        scenario=made({"kind": "recurrent"}, APPEND),
        wrong=lambda data: data["records"][1]["objects"][0]["state"].__setitem__(
            1, data["records"][0]["objects"][0]["state"][1]
        ),
        says="wrong state of a recurrent cache",
    ),
    Case(
        name="a capacity that doubles",
        statement=storage.grows_by_steps,
        scenario=made({"kind": "plain", "length": 512}, APPEND, observe=ACCOUNTING),
        wrong=put("records.1.objects.0.nbytes", 1024 * 512),
        says="bytes are not those of its rows",
    ),
    Case(
        name="converted rows that a growth changes",
        statement=storage.growth_keeps_converted_rows,
        scenario=made(
            {"kind": "plain", "length": 2, "key_dim": 32, "value_dim": 32}, CONVERT, APPEND, observe=CONTENT
        ),
        wrong=flip("records.2.objects.1.values.scales.data"),
        says="a growth lost converted rows: the scales of the values",
    ),
    Case(
        name="converted rows that are packed no more",
        statement=storage.growth_keeps_converted_rows,
        scenario=made(
            {"kind": "plain", "length": 2, "key_dim": 32, "value_dim": 32}, CONVERT, APPEND, observe=CONTENT
        ),
        wrong=put("records.2.objects.1.keys", zeros("float32", 1, 1, 3, 32)),
        says="the keys of a converted cache are not packed",
    ),
    Case(
        name="a converted cache that takes no rows",
        statement=storage.growth_keeps_converted_rows,
        scenario=made(
            {"kind": "plain", "length": 2, "key_dim": 32, "value_dim": 32}, CONVERT, APPEND, observe=CONTENT
        ),
        wrong=put("records.2.error", {"kind": "internal", "message": "no"}),
        says="an append to a converted cache raised",
    ),
    Case(
        name="a direct conversion to other bits",
        statement=storage.converted_directly,
        scenario=made(PLAIN, CONVERT),
        wrong=put("records.1.objects.1.bits", 8),
        says="a direct conversion has another kind, offset or bits",
    ),
    Case(
        name="other words in a cache",
        statement=partial(contents.cache_content, **EXACT),
        scenario=made(SMALL, APPEND, observe=CONTENT),
        wrong=flip("records.1.objects.0.keys.packed.data"),
        says="wrong content of a quantized cache",
    ),
    Case(
        name="a row of a copy that changed",
        statement=partial(contents.cache_content, **EXACT),
        scenario=made(SMALL, {"op": "copy"}, {"op": "append", "rows": 1, "salt": 1}, observe=CONTENT),
        wrong=flip("records.2.objects.0.keys.packed.data"),
        says="wrong content of a quantized cache",
    ),
    Case(
        name="a copy that is the cache itself",
        statement=partial(contents.cache_content, **EXACT),
        scenario=made(SMALL, {"op": "copy"}, observe=CONTENT),
        wrong=lambda data: data["records"][1].update(current=0, objects=data["records"][0]["objects"]),
        says="nothing new was made: operation 1, copy() answered with object 0",
    ),
    Case(
        name="a plain row that changed",
        statement=partial(contents.cache_content, **EXACT),
        scenario=made({**PLAIN, "key_dim": 2, "value_dim": 3}, observe=CONTENT),
        wrong=flip("records.0.objects.0.values.data"),
        says="wrong content of a plain cache",
    ),
    Case(
        name="a start position that stays",
        statement=contents.cache_counts,
        scenario=made({"kind": "chunked", "length": 3, "chunk_size": 2}, {"op": "drop-front"}),
        wrong=put("records.1.objects.0.start_position", 0),
        says="wrong start_position of a chunked cache",
    ),
    Case(
        name="a window that grows",
        statement=contents.cache_counts,
        scenario=made({"kind": "rotating", "length": 3, "max_size": 2, "singly": True}, APPEND),
        wrong=put("records.1.objects.0.rows", 3),
        says="wrong rows of a rotating cache",
    ),
    Case(
        name="scales in another dtype",
        statement=numeric.shapes,
        scenario=quantized([RAMP], dtype="float16"),
        wrong=put("scales", zeros("float32", 1, 1)),
        says="words, scales or biases of another shape",
    ),
    Case(
        name="a code off by one",
        statement=partial(numeric.exact, **EXACT),
        scenario=quantized([RAMP]),
        wrong=flip("packed.data"),
        says="not the affine quantization, packed differ",
    ),
    Case(
        name="a constant that decodes to something else",
        statement=numeric.constant_rows,
        scenario=quantized([HALF]),
        wrong=flip("biases.data"),
        says="a constant row does not decode to its value",
    ),
    Case(
        name="a value that is far off",
        statement=numeric.error_bound,
        scenario=quantized([RAMP]),
        wrong=put("biases.data", "AADIQg=="),
        says="value 0 is off by more than its scale",
    ),
    Case(
        name="rows that depend on their place",
        statement=reversed_of_itself,
        scenario=quantized([RAMP, RAMP]),
        wrong=flip("scales.data"),
        says="scales depend on the other rows",
    ),
)
