"""Requests that the schema forbids, made from ones that it allows: every kit draws the line where it does.

A scenario of each kind with every field spelled out is changed in one place. Whether the schema still allows
it is asked of the schema itself; a kit must answer what it forbids with -32602, and nothing else that way.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

import judged
from kvconform.jsondata import is_list, is_object
from kvconform.scenario import MAX_INTEGER, scenario_from_json
from pydantic import ValidationError

BAD_PARAMS = -32602
Place = tuple[str | int, ...]

LAYERS = (
    {"kind": "plain", "length": 3, "trim": 1},
    {"kind": "chunked", "length": 3, "chunk_size": 2, "drop_front": True},
    {"kind": "rotating", "length": 3, "max_size": 2, "keep": 1, "singly": True},
    {"kind": "quantized", "length": 3, "group_size": 32, "bits": 8},
    {"kind": "recurrent", "slots": 1, "filled": True},
    {"kind": "composite", "children": [{"kind": "plain", "length": 2}]},
)
OPERATIONS = (
    {"op": "append", "rows": 2, "salt": 1},
    {"op": "trim", "rows": 1},
    {"op": "convert", "bits": 8, "group_size": 32},
    {"op": "copy"},
    {"op": "save-load"},
    {"op": "state"},
    {"op": "drop-front"},
    {"op": "select", "cache": 0},
)
STEPS = (
    {"do": "append", "rows": 2, "salt": 1, "layers": [0], "through": "caller"},
    {"do": "trim", "rows": 1, "layers": [0]},
    {"do": "drop-front"},
    {"do": "pass", "bits": 4, "group_size": 64, "start": 1},
)
TURN = {
    "prompt": {"length": 3, "seed": 1},
    "parameters": {"max_tokens": 2, "bits": 4, "repetition_penalty": 1.5, "repetition_context_size": 4},
    "sampler": "argmax",
    "nexts": 1,
}
TENSOR = {"dtype": "float16", "shape": [1, 32], "data": "AAAA" * 21 + "AA=="}
VALID: tuple[dict[str, Any], ...] = (
    {"kind": "resolve", "requested": 64, "key_dim": 64, "value_dim": 32},
    {"kind": "resolve", "requested": 64, "layer": LAYERS[0]},
    {"kind": "quantize", "tensor": TENSOR, "bits": 4, "group_size": 32},
    *({"kind": "cache", "layer": layer} for layer in LAYERS),
    {"kind": "cache", "layer": LAYERS[0], "operations": list(OPERATIONS)},
    {"kind": "container", "layers": [LAYERS[0]], "built": {"bits": 4}, "steps": list(STEPS)},
    {"kind": "iterate", "layers": [LAYERS[0]], "given": "container", "turns": [TURN]},
)


def check_kit(command: Sequence[str]) -> None:
    """What is changed gets -32602 where the schema forbids it, and something else where it does not."""
    scenarios = list(changed())
    lines = [judged.run_line(json.dumps(data), number) for number, (_, data) in enumerate(scenarios, 2)]
    _, *answers = judged.answers(command, judged.INITIALIZE, *lines)
    assert len(answers) == len(scenarios) > 1000
    wrong: list[str] = []
    for (where, data), answer in zip(scenarios, answers, strict=True):
        refused = answer.get("error", {}).get("code") == BAD_PARAMS
        if refused == allows(data):
            wrong.append(f"{where}: {'refused' if refused else 'accepted'}: {json.dumps(answer)[:160]}")
    assert not wrong, "\n".join(wrong)


def allows(data: dict[str, Any]) -> bool:
    """Whether the schema does."""
    try:
        scenario_from_json(json.dumps(data))
    except ValidationError:
        return False
    return True


# ---------------------------------------------------------------- changes


def changed() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every valid scenario, then each with one thing changed, and what that is."""
    for valid in VALID:
        whole = scenario_from_json(json.dumps(valid)).model_dump(mode="json")
        yield whole["kind"], whole
        for place, value in places(whole, ()):
            for what, other in others(value):
                if place == ("version",) and other is True:
                    continue  # 1 and true are the same to Python alone
                yield f"{whole['kind']} {'.'.join(map(str, place))} {what}", put(whole, place, other)
            if place and isinstance(place[-1], str):
                yield f"{whole['kind']} {'.'.join(map(str, place))} left out", put(whole, place, LEFT_OUT)


LEFT_OUT = object()


def places(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    """Every value inside, the whole included."""
    yield place, value
    if is_object(value):
        for name, inner in value.items():
            yield from places(inner, (*place, name))
    elif is_list(value):
        for index, inner in enumerate(value):
            yield from places(inner, (*place, index))


def others(value: Any) -> Iterator[tuple[str, Any]]:
    """What stands there instead."""
    if isinstance(value, dict):
        yield "is a list", []
        for tag in {"kind", "op", "do"} & value.keys():
            yield f"has the number 0 as {tag}", {**value, tag: 0}
        for name in ("pancake", "rows", "slots", "bits", "length"):
            if name not in value:
                yield f"has {name}", {**value, name: 1}
    elif isinstance(value, list):
        yield "is an object", {}
        yield "is empty", []
        yield "is long", value * 9
    elif isinstance(value, bool):
        yield from (("is 1", 1), ("is a text", "true"))
    elif isinstance(value, str):
        yield from (("is another word", "pancake"), ("is a number", 7), ("ends early", value[:-1]))
    elif value is not None:
        yield from numbers()


def numbers() -> Iterator[tuple[str, Any]]:
    """Numbers that are small, or too large for any field (by 2: to JavaScript one more is no more)."""
    for number in (-1, 0, 1, 2, 1.5, MAX_INTEGER + 2, -MAX_INTEGER - 2, 2**63, 2**64 + 1, -(2**63) - 1):
        yield f"is {number}", number
    yield "is true", True
    yield "is a text", "1"
    yield "is 1000001", 1_000_001


def put(whole: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    """A copy with something else at a place."""
    if not place:
        return value if is_object(value) else {"kind": value}
    made = copy.deepcopy(whole)
    inner: Any = made
    for step in place[:-1]:
        inner = inner[step]
    if value is LEFT_OUT:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return made
