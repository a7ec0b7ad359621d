"""Tokens a second of the reference's iterator over those of mlx-lm's ``generate_step``, on real models.

Run it alone, on a quiet machine: ``python benchmarks/iterator.py``. Wants no ratio below 1 by more than the
noise, which is what ``generate_step`` against itself gives; no test asserts the numbers.

Both loops go on from a copy of the same warm caches and hand out a few tokens each in turn, again and again,
in one process; their order changes from round to round. What is compared is CPU time of the whole process, so
that other work on the machine counts little. A ratio is taken within a round, and the median of them shown.
"""

from __future__ import annotations

import argparse
import copy
import gc
import itertools
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

os.environ.setdefault("MLX_DISABLE_COMPILE", "1")

import mlx.core as mx
from kvconform.generate import mlx_arrays, mlx_caches
from kvconform.generate.mlx_model import MlxModel, make_prompt_cache
from kvconform.models import tiny
from kvconform.models.load import load_model
from kvconform.models.loaded import LoadedModel
from kvconform_reference.container import CacheContainer
from kvconform_reference.iterator import TokenIterator
from kvconform_reference.parameters import GenerateParameters

generate_step: Any = import_module("mlx_lm.generate").generate_step
REGISTERED = (mlx_arrays, mlx_caches)
"""Imported so that the reference knows MLX's arrays and mlx-lm's caches."""

TOKENS = {"smollm2": 8}
"""Tokens of a timed run: about two CPU seconds of SmolLM2 on the machine this was written on."""
TINY_TOKENS = 200
SETTINGS: dict[str, dict[str, Any]] = {
    "full precision": {"bits": None},
    "4 bits from the start": {"bits": 4},
    "4 bits, start never reached": {"bits": 4, "start": 1_000_000},
}
RESAMPLES = 2000
"""Resamples of the bootstrap that says how far a median of so many pairs is off."""

Loop = Callable[[LoadedModel, Sequence[int], list[Any], int, dict[str, Any]], Iterator[Any]]


def by_generate_step(
    loaded: LoadedModel, prompt: Sequence[int], caches: list[Any], tokens: int, setting: dict[str, Any]
) -> Iterator[Any]:
    """mlx-lm's own loop."""
    return generate_step(
        mx.array(list(prompt), mx.uint32),
        loaded.model,
        max_tokens=tokens,
        prompt_cache=caches,
        kv_bits=setting["bits"],
        kv_group_size=64,
        quantized_kv_start=setting.get("start", 0),
    )


def by_reference(
    loaded: LoadedModel, prompt: Sequence[int], caches: list[Any], tokens: int, setting: dict[str, Any]
) -> Iterator[Any]:
    """The reference's iterator over the same model and caches."""
    parameters = GenerateParameters(max_tokens=tokens, **setting)
    container = CacheContainer(caches, parameters=parameters)
    prompt_array = mx.array(list(prompt), mx.uint32)
    return TokenIterator(prompt_array, MlxModel(loaded.model), container=container, parameters=parameters)


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """The median of paired ratios of tokens a second, and how far such a median is off."""

    median: float
    low: float
    high: float
    """Where 90 % of the medians of resampled pairs lie."""

    def __str__(self) -> str:
        return f"{self.median:.3f} ({self.low:.3f} to {self.high:.3f})"


def ratio_of(pairs: Sequence[float]) -> Ratio:
    """The median of the ratios with its bootstrap interval; the same for the same ratios."""
    chance = random.Random(0)
    medians = sorted(statistics.median(chance.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return Ratio(
        median=statistics.median(pairs),
        low=medians[RESAMPLES // 20],
        high=medians[-RESAMPLES // 20],
    )


def seconds(loop: Loop, loaded: LoadedModel, warm: list[Any], tokens: int, setting: dict[str, Any]) -> float:
    """CPU seconds of ``tokens`` tokens after the first one: exactly as many steps are computed in between."""
    stream = loop(loaded, [1], copy.deepcopy(warm), tokens + 2, setting)
    next(stream)
    gc.collect()
    mx.synchronize()
    began = time.process_time()
    for _ in range(tokens):
        next(stream)
    mx.synchronize()
    return time.process_time() - began


def compare(
    loaded: LoadedModel, setting: dict[str, Any], *, pairs: int, tokens: int
) -> tuple[Ratio, Ratio, float]:
    """Reference over ``generate_step``, ``generate_step`` over itself, and its tokens a CPU second."""
    warm = warm_caches(loaded)
    loops: tuple[Loop, ...] = (by_generate_step, by_reference, by_generate_step)
    orders = itertools.cycle(itertools.permutations(range(3)))
    rounds: list[list[float]] = []
    for number in range(-1, pairs):  # the first round warms up and is not counted
        taken = [0.0] * 3
        for which in next(orders):
            taken[which] = seconds(loops[which], loaded, warm, tokens, setting)
        if number >= 0:
            rounds.append(taken)
    return (
        ratio_of([first / ours for first, ours, _ in rounds]),
        ratio_of([first / again for first, _, again in rounds]),
        tokens / statistics.median(first for first, _, _ in rounds),
    )


def warm_caches(loaded: LoadedModel) -> list[Any]:
    """The caches after a short prompt."""
    prompt = tiny.catalogue()["llama-d64"].prompts["short"]
    layers: list[Any] = list(make_prompt_cache(loaded.model))
    loaded.model(mx.array([prompt]), cache=layers)
    mlx_arrays.MLX_OPS.computed(layers)
    return layers


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 when a ratio is below 1 by more than the noise."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", default=["llama-d64", "smollm2"])
    parser.add_argument("--pairs", type=int, default=30, help="rounds; at least 20")
    parser.add_argument("--tokens", type=int, help="tokens of a timed run")
    parser.add_argument("--settings", nargs="*", choices=[*SETTINGS], default=[*SETTINGS])
    options = parser.parse_args(arguments)
    slower = False
    print(f"{'':<40} {'reference / generate_step':<26} {'generate_step / itself':<26} tokens per CPU s")
    for name in options.models:
        loaded = load_model(name)
        tokens = options.tokens or TOKENS.get(name, TINY_TOKENS)
        for title in options.settings:
            ours, noise, rate = compare(loaded, SETTINGS[title], pairs=max(20, options.pairs), tokens=tokens)
            band = max(1 - noise.low, noise.high - 1)
            below = ours.median < 1 - band
            slower |= below
            said = f"  below 1 by more than {band:.3f}" if below else ""
            print(f"{name + ', ' + title:<40} {ours!s:<26} {noise!s:<26} {rate:8.1f}{said}", flush=True)
    return int(slower)


if __name__ == "__main__":
    sys.exit(main())
