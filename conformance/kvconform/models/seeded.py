"""Weights from our own seeded stream, one stream for each parameter path.

The initialisers of a module library are not a stable source: they have changed between releases, and they
draw from one global stream, so that a new parameter anywhere moves every weight behind it. Here a weight
depends on three things only, its path, the seed and the gain, and each value is a random 16-bit integer,
scaled and shifted by operations of which at most two round, so that every backend gets the same bits.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# (the type stubs of MLX are partial)

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from typing import Any, cast

import mlx.core as mx
from mlx.utils import tree_flatten, tree_unflatten

from kvconform.models.errors import ModelError


@dataclass(frozen=True)
class Rule:
    """How the parameters whose path matches ``pattern`` are filled: uniformly over centre +- spread.

    ``spread`` none marks a weight matrix: gain / sqrt(fan in) (of a convolution: taps x channels).
    """

    pattern: re.Pattern[str]
    centre: float = 0.0
    spread: float | None = None


# The first match counts. The ranges are those of trained models of each family, roughly; all that is asked of
# them is that states neither die out nor explode within a few hundred steps.
RULES = (
    Rule(re.compile(r"(norm\w*|ln_\w+)\.weight$"), 1.0, 0.1),
    Rule(re.compile(r"\.A_log$"), 0.75, 0.75),
    Rule(re.compile(r"\.D$"), 1.0, 0.2),
    Rule(re.compile(r"\.dt_bias$"), -1.0, 1.0),
    Rule(re.compile(r"\.recurrent_param$"), -3.0, 1.0),
    Rule(re.compile(r"\.sinks$"), 0.0, 1.0),
    Rule(re.compile(r"bias$"), 0.0, 0.1),
    Rule(re.compile(r"(^|\.)\w*(weight|conv_k|conv_v)$")),
)


def fill_weights(model: Any, *, seed: int, gain: float) -> None:
    """Replace every parameter of ``model`` by float32 values of the stream (seed, path).

    Raises ModelError when a parameter matches no rule: a silent default would leave the module's own initial
    values in place.
    """
    filled = [
        (path, seeded_array(path, array.shape, seed=seed, gain=gain)) for path, array in parameters(model)
    ]
    model.update(tree_unflatten(filled))
    mx.eval(model.parameters())


def parameters(model: Any) -> list[tuple[str, mx.array]]:
    """The model's parameters as (path, array), in the order of the paths."""
    flat = tree_flatten(model.parameters(), destination={})
    return sorted(dict(flat).items())


def seeded_array(path: str, shape: tuple[int, ...], *, seed: int, gain: float) -> mx.array:
    """The float32 array of ``shape`` that belongs to this path."""
    rule = find_rule(path)
    spread = gain / math.sqrt(fan_in(path, shape)) if rule.spread is None else rule.spread
    steps = mx.random.randint(-(2**15), 2**15, shape, key=mx.random.key(path_seed(path, seed)))
    unit = steps.astype(mx.float32) * 2.0**-15  # exact: multiples of 2^-15 in [-1, 1)
    return unit * spread + rule.centre


def find_rule(path: str) -> Rule:
    """The first rule that matches the path."""
    for rule in RULES:
        if rule.pattern.search(path):
            return rule
    raise ModelError(
        "no rule says how to fill this parameter",
        where=f"parameter {path}",
        advice="Add a rule for it to kvconform.models.seeded.RULES.",
    )


def fan_in(path: str, shape: tuple[int, ...]) -> int:
    """How many inputs one output sums over: the last axis, of a convolution all axes but the first."""
    return math.prod(shape[1:]) if "conv" in path else shape[-1]


def path_seed(path: str, seed: int) -> int:
    """A 63-bit seed made of the model's seed and the parameter's path."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{path}".encode()).digest()[:8], "little") >> 1


def fingerprint(model: Any) -> str:
    """A sha256 over path, shape, type and bytes of every parameter: says whether two models are the same."""
    digest = hashlib.sha256()
    for path, array in parameters(model):
        digest.update(f"{path} {array.shape} {array.dtype}\n".encode())
        digest.update(bytes(memoryview(cast("Any", array))))
    return digest.hexdigest()
