"""Scenarios in one or a few short lines, in the notation of the specification, for people."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

Data = dict[str, Any]

_FACTORY: Data = {"key_dim": 64, "value_dim": 64, "heads": 1, "dtype": "float32"}
"""What a layer has when nothing is said of it (``scenario.py``)."""


def compact_scenario(scenario: Data) -> list[str]:
    """Lines that say what a scenario does, leaving out what has its default."""
    return _KINDS.get(scenario.get("kind", ""), _anything)(scenario)


def compact_layer(layer: Data) -> str:
    """One layer: ``S(80,80,12)``, ``R(50; max 16)``, ``L(M, S(50))``."""
    match layer["kind"]:
        case "composite":
            return f"L({', '.join(map(compact_layer, layer['children']))})"
        case "recurrent":
            return "M" + _bracket([], _changed(layer, {"slots": 2, "filled": True}))
        case "plain":
            return _plain(layer)
        case "chunked":
            return "C" + _rows(layer, [f"chunk {layer['chunk_size']}", *_flag(layer, "drop_front")])
        case "rotating":
            keep = [f"keep {layer['keep']}"] if layer["keep"] else []
            return "R" + _rows(layer, [f"max {layer['max_size']}", *keep, *_flag(layer, "singly")])
        case "quantized":
            return "Q" + _rows(layer, [f"g{layer['group_size']}", f"{layer['bits']} bits"])
        case other:
            return str(other)


def compact_layers(layers: list[Data]) -> str:
    """A layer list in brackets."""
    return f"[{', '.join(map(compact_layer, layers))}]"


def describe_tensor(tensor: Data, *, most: int = 6) -> str:
    """Type, shape and the first values that differ from zero: ``float32[1,32]: 0, 0.5, 1e-7 ...``."""
    values = tensor_values(tensor)
    tail = [0.0] * len(values)
    while values and values[-1] == 0:
        values.pop()
    shown = [f"{value:.9g}" for value in values[:most]]
    rest = "then 0" if len(values) < len(tail) else ""
    more = "..." if len(values) > most else rest
    head = f"{tensor['dtype']}[{','.join(map(str, tensor['shape']))}]"
    return f"{head}: {', '.join(part for part in (*shown, more) if part)}" if tail else head


def tensor_values(tensor: Data) -> list[float]:
    """The numbers of a tensor, in order."""
    data = base64.b64decode(tensor["data"])
    if tensor["dtype"] == "bfloat16":
        wide = b"".join(b"\0\0" + data[at : at + 2] for at in range(0, len(data), 2))
        return list(struct.unpack(f"<{len(wide) // 4}f", wide))
    code, size = {"float32": ("f", 4), "float16": ("e", 2), "uint32": ("I", 4)}[tensor["dtype"]]
    return list(struct.unpack(f"<{len(data) // size}{code}", data))


def _plain(layer: Data) -> str:
    if layer["length"] == 0:
        return "E" + _bracket(_dims(layer), _storage(layer))
    if layer["length"] == layer["trim"]:
        return "Z" + _bracket(_dims(layer), [f"{layer['length']} rows trimmed", *_storage(layer)])
    trimmed = [f"{layer['trim']} rows trimmed"] if layer["trim"] else []
    return "S" + _bracket([*_dims(layer), str(layer["length"] - layer["trim"])], [*trimmed, *_storage(layer)])


def _rows(layer: Data, extra: list[str]) -> str:
    return _bracket([*_dims(layer), str(layer["length"])], [*extra, *_storage(layer)])


def _dims(layer: Data) -> list[str]:
    dims = [layer["key_dim"], layer["value_dim"]]
    return [] if dims == [64, 64] else [str(dim) for dim in dims]


def _storage(layer: Data) -> list[str]:
    return _changed({name: layer[name] for name in ("heads", "dtype")}, _FACTORY)


def _flag(layer: Data, name: str) -> list[str]:
    return [name.replace("_", " ")] if layer.get(name) else []


def _bracket(main: list[str], extra: list[str]) -> str:
    inside = "; ".join(part for part in (",".join(main), ", ".join(extra)) if part)
    return f"({inside})" if inside else ""


def _changed(data: Data, defaults: Data) -> list[str]:
    return [
        f"{name}={_value(value)}"
        for name, value in data.items()
        if defaults.get(name, _Nothing) != value and name != "kind"
    ]


class _Nothing:
    """Differs from every JSON value."""


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _call(name: str, data: Data, defaults: Data, *, skip: tuple[str, ...] = ()) -> str:
    shown = _changed(
        {key: value for key, value in data.items() if key not in skip}, {**defaults, "kind": None}
    )
    return f"{name}({', '.join(shown)})" if shown else name


def _observed(scenario: Data) -> list[str]:
    looks = [name for name, wanted in scenario.get("observe", {}).items() if wanted]
    return [f"observe {', '.join(looks)}"] if looks else []


def _resolve(scenario: Data) -> list[str]:
    if scenario.get("layer"):
        return [f"resolve group size {scenario['requested']} for {compact_layer(scenario['layer'])}"]
    dims = f"key dim {scenario['key_dim']}, value dim {scenario['value_dim']}"
    return [f"resolve group size {scenario['requested']} for {dims}"]


def _quantize(scenario: Data) -> list[str]:
    tensor = describe_tensor(scenario["tensor"])
    return [f"quantize {tensor} to {scenario['bits']} bits, group size {scenario['group_size']}"]


_OPERATION_DEFAULTS: Data = {"salt": 0, "op": None}


def _cache(scenario: Data) -> list[str]:
    calls = [_call(step["op"], step, _OPERATION_DEFAULTS, skip=("op",)) for step in scenario["operations"]]
    return [f"cache {compact_layer(scenario['layer'])}", *_numbered(calls), *_observed(scenario)]


_STEP_DEFAULTS: Data = {"salt": 0, "layers": None, "through": "container"}


def _container(scenario: Data) -> list[str]:
    asked = ", asked of the model" if scenario["given"] == "model" else ""
    head = [f"container {compact_layers(scenario['layers'])}", _built(scenario) + asked]
    if scenario["form"] == "free":
        head = [f"free pass over {compact_layers(scenario['layers'])}{asked}"]
    if scenario["twin"]:
        head.append("and a twin container over the same objects")
    return [*head, *_numbered([_step(step) for step in scenario["steps"]]), *_observed(scenario)]


def _step(step: Data) -> str:
    bare = step["do"] == "pass" and step["bits"] is None
    name = "pass without bits" if bare else step["do"]
    return _call(name, _effective(step), _STEP_DEFAULTS, skip=("do", "bits") if bare else ("do",))


def _built(scenario: Data) -> str:
    built = _effective(scenario["built"])
    return _call("built", built, {"bits": None}) if any(built.values()) else "built without bits"


_WITHOUT_BITS: Data = {"group_size": 64, "start": 0}
"""Without bits no quantization is asked for, and these say nothing (MQ-1); another value is shown all the
same: the smallest failing scenario would not have it if it did not matter."""


def _effective(options: Data) -> Data:
    """The options without those that have no effect."""
    if options.get("bits", 0) is not None:
        return options
    return {
        name: value
        for name, value in options.items()
        if name not in _WITHOUT_BITS or value != _WITHOUT_BITS[name]
    }


_PARAMETER_DEFAULTS: Data = {
    "max_tokens": None,
    "bits": None,
    "repetition_penalty": None,
    "repetition_context_size": 20,
}
_ONE_CHUNK = 512
"""The default prefill step: it says nothing of a prompt that is no longer."""
_MODEL_DEFAULTS: Data = {"seed": 0, "vocab": 61, "prepare": "tokens", "state": "none", "ties": False}
_TURN_DEFAULTS: Data = {"form": "general", "cache": "same", "processor": "none", "sampler": "parameters"}


def _iterate(scenario: Data) -> list[str]:
    head = f"iterate over {compact_layers(scenario['layers'])}, given {scenario['given']}"
    built = [_built(scenario)] if scenario["given"] in ("container", "both") else []
    shown = _call("model", scenario["model"], _MODEL_DEFAULTS)
    model = [shown] if shown != "model" else []
    turns = [_turn(turn) for turn in scenario["turns"]]
    return [head, *built, *model, *_numbered(turns), *_observed(scenario)]


def _turn(turn: Data) -> str:
    options = _parameters(turn["parameters"], prompt=turn["prompt"]["length"])
    rest = {name: value for name, value in turn.items() if name in _TURN_DEFAULTS}
    prompt = turn["prompt"]
    seed = f" (seed {prompt['seed']})" if prompt["seed"] else ""
    parts = [
        f"prompt of {_counted(prompt['length'], 'token')}{seed}",
        *options,
        *_changed(rest, _TURN_DEFAULTS),
        _counted(turn["nexts"], "next"),
    ]
    return ", ".join(parts)


def _parameters(parameters: Data, *, prompt: int) -> list[str]:
    """The options of a turn that have an effect."""
    defaults = dict(_PARAMETER_DEFAULTS)
    if prompt <= _ONE_CHUNK:
        defaults["prefill_step"] = _ONE_CHUNK
    if parameters["repetition_penalty"] is None:
        defaults["repetition_context_size"] = parameters["repetition_context_size"]
    return _changed(_effective(parameters), defaults)


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _generate(scenario: Data) -> list[str]:
    options = ", ".join(_parameters(scenario["parameters"], prompt=len(scenario["prompt"])))
    return [
        f"generate with {scenario['model']}, {_counted(len(scenario['prompt']), 'prompt token')}, {options}"
    ]


def _anything(scenario: Data) -> list[str]:
    return [json.dumps(scenario)]


def _numbered(calls: list[str]) -> list[str]:
    return [f"{number}. {call}" for number, call in enumerate(calls, start=1)]


_KINDS = {
    "resolve": _resolve,
    "quantize": _quantize,
    "cache": _cache,
    "container": _container,
    "iterate": _iterate,
    "generate": _generate,
}
