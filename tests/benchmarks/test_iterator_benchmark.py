"""The iterator benchmark compares like with like; what it measures is for reading and not asserted."""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("MLX_DISABLE_COMPILE", "1")
pytest.importorskip("mlx.core", reason="MLX is not installed")
pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")

from kvconform.models.load import load_model

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "iterator.py"


@pytest.fixture(scope="module")
def benchmark_script() -> Any:
    spec = importlib.util.spec_from_file_location("iterator_benchmark", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_both_loops_hand_out_the_same_tokens_in_every_setting(benchmark_script: Any) -> None:
    loaded = load_model("llama-d64")
    for setting in benchmark_script.SETTINGS.values():
        taken = []
        for loop in (benchmark_script.by_generate_step, benchmark_script.by_reference):
            stream = loop(loaded, [1], benchmark_script.warm_caches(loaded), 12, setting)
            taken.append(
                [each if isinstance(each, int) else each[0] for each in itertools.islice(stream, 12)]
            )
        assert taken[0] == taken[1]
        assert len(taken[0]) == 12


class Counting:
    """A model that notes how many tokens each call gets."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.layers = model.layers
        self.calls: list[int] = []

    def __call__(self, tokens: Any, cache: Any) -> Any:
        self.calls.append(tokens.size)
        return self.model(tokens, cache=cache)


@pytest.mark.parametrize("name", ["by_generate_step", "by_reference"])
def test_a_timed_run_computes_as_many_steps_in_both_loops(benchmark_script: Any, name: str) -> None:
    loaded = load_model("llama-d64")
    counting = Counting(loaded.model)
    watched, warm = replace(loaded, model=counting), benchmark_script.warm_caches(loaded)
    loop = getattr(benchmark_script, name)
    seconds = benchmark_script.seconds(loop, watched, warm, 5, {"bits": None})
    assert seconds > 0
    assert counting.calls == [1] * 7  # the first token and the one ahead of it, then one a token


def test_a_ratio_is_the_median_and_where_such_medians_lie(benchmark_script: Any) -> None:
    ratio = benchmark_script.ratio_of([0.9, 1.0, 1.1] * 10)
    assert ratio.median == 1.0
    assert 0.9 <= ratio.low <= 1.0 <= ratio.high <= 1.1
    assert benchmark_script.ratio_of([2.0] * 20) == benchmark_script.Ratio(median=2.0, low=2.0, high=2.0)
    assert ratio == benchmark_script.ratio_of([0.9, 1.0, 1.1] * 10)
