"""Random scenarios of every kind, wider than the suite's: a driver must answer exactly as the reference.

Plain ``random`` with a seed, so that thousands cost little and a failure can be made again.
"""

from __future__ import annotations

import base64
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

from kvconform.scenario import Scenario, scenario_from_json
from pydantic import TypeAdapter

DIMS = (64, 32, 96, 128, 80, 48, 16, 160, 192, 1, 31, 112)
BITS = (4, 8, 2, 3, 5, 6)
SIZES = (64, 32, 128, 48, 96, 1, 0, -1, 256, 10**6)
DTYPES = ("float32", "float16", "bfloat16")
JSON = TypeAdapter(dict[str, Any])


def scenarios(seed: int, count: int, *kinds: str) -> Iterator[Scenario]:
    """``count`` scenarios of these kinds in turn, of all kinds if none is named."""
    rng = random.Random(seed)
    chosen = kinds or tuple(MAKERS)
    for number in range(count):
        data = MAKERS[chosen[number % len(chosen)]](rng)
        yield scenario_from_json(JSON.dump_json(data))


# ---------------------------------------------------------------- layers


def layer(rng: random.Random, *, longest: int = 14, depth: int = 0) -> dict[str, Any]:
    """A layer of any kind; sometimes one that cannot be built."""
    kind = rng.choice(("plain", "plain", "chunked", "rotating", "quantized", "recurrent", "composite"))
    if kind == "recurrent":
        return {"kind": kind, "slots": rng.randint(1, 3), "filled": rng.random() < 0.7}
    if kind == "composite":
        if depth == 2:
            return rows_layer(rng, "plain", longest)
        children = [layer(rng, longest=longest, depth=depth + 1) for _ in range(rng.randint(1, 3))]
        return {"kind": kind, "children": children}
    return rows_layer(rng, kind, longest)


def rows_layer(rng: random.Random, kind: str, longest: int = 14) -> dict[str, Any]:
    """A layer that holds rows."""
    length = rng.choice((0, rng.randint(1, longest), rng.randint(1, longest)))
    key = rng.choice(DIMS if rng.random() < 0.4 else (64, 32, 128))
    made: dict[str, Any] = {
        "kind": kind,
        "length": length,
        "key_dim": key,
        "value_dim": rng.choice((key, key, rng.choice(DIMS))),
        "heads": rng.choice((1, 1, 2)),
        "dtype": rng.choice(DTYPES),
    }
    if kind == "plain":
        made["trim"] = rng.choice((0, 0, length, rng.randint(0, length)))
    elif kind == "chunked":
        made |= {"chunk_size": rng.choice((16, 4, 1)), "drop_front": rng.random() < 0.5}
    elif kind == "rotating":
        size = rng.choice((16, 4, 8, 1))
        made |= {"max_size": size, "keep": rng.choice((0, 0, 1, 4)), "singly": rng.random() < 0.5}
        if rng.random() < 0.95:
            made["keep"] = min(made["keep"], size - 1)
    else:
        made |= {
            "group_size": rng.choice(SIZES[:5]),
            "bits": rng.choice(BITS if rng.random() < 0.95 else (7, 1)),
        }
        if rng.random() < 0.9:
            made |= {"key_dim": rng.choice((64, 128, 96)), "value_dim": rng.choice((64, 32))}
    return made


def layers(rng: random.Random) -> list[dict[str, Any]]:
    """None to four layers."""
    return [layer(rng) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4)))]


def observe(rng: random.Random) -> dict[str, bool]:
    """Bytes and accounting now and then."""
    return {"content": rng.random() < 0.3, "accounting": rng.random() < 0.4}


# ---------------------------------------------------------------- kinds


def resolve(rng: random.Random) -> dict[str, Any]:
    """A pair of dims or a layer; sometimes both or neither."""
    made: dict[str, Any] = {
        "version": 1,
        "kind": "resolve",
        "requested": rng.choice((*SIZES, rng.randint(-5, 300))),
    }
    if rng.random() < 0.4:
        made["layer"] = layer(rng)
        if rng.random() < 0.95:
            return made
    odd = rng.random() < 0.1
    made["key_dim"] = rng.choice((0, -1, -64, 10**9)) if odd else rng.choice(DIMS)
    if rng.random() < 0.95:
        made["value_dim"] = rng.choice((made["key_dim"], rng.choice(DIMS)))
    return made


def quantize(rng: random.Random) -> dict[str, Any]:
    """One to three rows; sometimes a shape, bits or group size that nothing can take."""
    dtype, group_size = rng.choice(DTYPES), rng.choice((32, 64, 128))
    rows, dim = rng.randint(0, 3), group_size * rng.randint(1, 2)
    shape = [rows, dim] if rng.random() < 0.95 else [1, rows, dim]
    data = b"".join(row(rng, dim, dtype) for _ in range(rows))
    bad = rng.random()
    if dtype == "float32" and rng.random() < 0.05:
        dtype = "uint32"
    return {
        "version": 1,
        "kind": "quantize",
        "tensor": {"dtype": dtype, "shape": shape, "data": base64.b64encode(data).decode()},
        "bits": rng.choice(BITS) if bad > 0.05 else rng.choice((0, 1, 7, 9, -4)),
        "group_size": group_size if bad < 0.95 else rng.choice((0, 48, 256, -32, 128)),
    }


def row(rng: random.Random, dim: int, dtype: str) -> bytes:
    """The bytes of a row: usual values, or any bit patterns, NaN and infinities included."""
    style, size = rng.randrange(6), 10.0 ** rng.randint(-9, 4)
    if style == 0:
        item = 4 if dtype == "float32" else 2
        return rng.randbytes(item * dim)
    values = [size * rng.uniform(-1, 1) for _ in range(dim)]
    if style == 1:
        values = [size * rng.randint(-9, 9) / 2 for _ in range(dim)]
    elif style == 2:
        values = [rng.choice((0.0, -0.0, size, 1e-45))] * dim
    elif style == 3:
        values = [abs(value) for value in values]
    elif style == 4:
        values = [-abs(value) for value in values]
    if dtype == "float16":
        return struct.pack(f"<{dim}e", *(max(-65504.0, min(65504.0, value)) for value in values))
    packed = struct.pack(f"<{dim}f", *values)
    return packed if dtype == "float32" else b"".join(packed[i + 2 : i + 4] for i in range(0, 4 * dim, 4))


def cache(rng: random.Random) -> dict[str, Any]:
    """Any operations on any cache."""
    operations = [rng.choice(OPERATIONS)(rng) for _ in range(rng.randint(0, 6))]
    return {
        "version": 1,
        "kind": "cache",
        "layer": layer(rng, longest=rng.choice((14, 14, 14, 300))),
        "operations": operations,
        "observe": observe(rng),
    }


OPERATIONS: tuple[Callable[[random.Random], dict[str, Any]], ...] = (
    lambda rng: {"op": "append", "rows": rng.choice((1, 1, 2, 5, 20)), "salt": rng.randint(0, 3)},
    lambda rng: {"op": "append", "rows": rng.choice((1, 1, 3, 255, 256)), "salt": rng.randint(0, 3)},
    lambda rng: {"op": "trim", "rows": rng.choice((0, 1, 3, 20, -2))},
    lambda rng: {"op": "convert", "bits": rng.choice((*BITS, *BITS, 7, 0)), "group_size": rng.choice(SIZES)},
    lambda rng: {"op": "copy"},
    lambda rng: {"op": "save-load"},
    lambda rng: {"op": "state"},
    lambda rng: {"op": "drop-front"},
    lambda rng: {"op": "select", "cache": rng.randint(0, 3)},
)


def container(rng: random.Random) -> dict[str, Any]:
    """Any steps over any layers, in both forms."""
    made = layers(rng)
    form = rng.choice(("container", "free"))
    return {
        "version": 1,
        "kind": "container",
        "layers": made,
        "form": form,
        "given": rng.choice(("list", "list", "model")) if form == "container" else "list",
        "built": {"bits": rng.choice((4, 8, None)), "group_size": rng.choice((64, 32, 0))},
        "twin": rng.random() < 0.4,
        "steps": [step(rng, len(made)) for _ in range(rng.randint(0, 6))],
        "observe": observe(rng),
    }


def step(rng: random.Random, count: int) -> dict[str, Any]:
    """A pass most often."""
    do = rng.choice(("pass", "pass", "pass", "append", "trim", "drop-front"))
    some = [rng.randrange(count) for _ in range(rng.randint(1, 2))] if count and rng.random() < 0.4 else None
    if rng.random() < 0.03:
        some = [count + 1]
    if do == "append":
        return {"do": do, "rows": rng.randint(1, 6), "salt": rng.randint(0, 3), "layers": some}
    if do == "trim":
        return {"do": do, "rows": rng.choice((1, 2, 20, -1)), "layers": some}
    if do == "drop-front":
        return {"do": do}
    bits = rng.choice((*BITS, None, 7)) if rng.random() < 0.5 else 4
    return {"do": do, "bits": bits, "group_size": rng.choice(SIZES), "start": rng.randint(-1, 14)}


def iterate(rng: random.Random) -> dict[str, Any]:
    """One to three turns."""
    turns = [turn(rng, first=number == 0) for number in range(rng.choice((1, 1, 2, 3)))]
    return {
        "version": 1,
        "kind": "iterate",
        "layers": layers(rng),
        "given": rng.choice(("model", "list", "list", "container", "container", "both")),
        "built": {"bits": rng.choice((4, None)), "group_size": rng.choice((64, 32))},
        "model": {
            "seed": rng.randint(0, 5),
            "vocab": rng.choice((61, 61, 2, 7, 1000)),
            "prepare": rng.choice(("tokens", "tokens", "tokens", "logits", "all", "raise")),
            "state": rng.choice(("none", "always", "alternate")),
            "ties": rng.random() < 0.2,
        },
        "turns": turns,
        "observe": observe(rng),
    }


def turn(rng: random.Random, *, first: bool) -> dict[str, Any]:
    """A turn with odd parameters now and then."""
    window = rng.choice((512, 8, 4, 1, 3)) if rng.random() < 0.95 else rng.choice((0, -1))
    return {
        "prompt": {
            "length": rng.choice((0, rng.randint(1, 20), rng.randint(1, 20), 513)),
            "seed": rng.randint(0, 9),
        },
        "parameters": {
            "max_tokens": rng.choice((None, None, 0, 1, 3, -1)),
            "bits": rng.choice((None, 4, 4, 8)) if rng.random() < 0.95 else 7,
            "group_size": rng.choice(SIZES),
            "start": rng.randint(-1, 16),
            "prefill_step": window,
            "repetition_penalty": rng.choice((None, None, 1.25, 2.0, 0.5)),
            "repetition_context_size": rng.choice((20, 3, 1)),
        },
        "form": rng.choice(("general", "general", "sampler-first", "prompt-array")),
        "cache": "same" if first else rng.choice(("same", "same", "caller-list")),
        "processor": rng.choice(("none", "none", "boost")),
        "sampler": rng.choice(("parameters", "argmax", "argmin")),
        "nexts": rng.randint(0, 5),
    }


MAKERS: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "resolve": resolve,
    "quantize": quantize,
    "cache": cache,
    "container": container,
    "iterate": iterate,
}
