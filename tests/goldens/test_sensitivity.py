"""The measurement behind the tolerances: it runs, and what it finds lies within them."""

from __future__ import annotations

import pytest
from kvconform.generate import sensitivity, tolerances

pytestmark = [pytest.mark.mlx, pytest.mark.goldens]

MODELS = ["llama-d64", "llama-sliding", "nemotron_h-d64"]


@pytest.mark.parametrize("bits", [8, 6, 5, 4, 3, 2])
def test_what_rounding_does_to_tiny_models_lies_within_half_their_bounds(mlx: None, bits: int) -> None:
    found = list(sensitivity.moves(MODELS, bits, units=15, dtype=None))
    assert [move.model for move in found] == MODELS
    bound = tolerances.SHALLOW[bits]
    assert 0 < max(move.step for move in found) < bound.step / 2
    assert max(move.mean for move in found) < bound.mean / 2


def test_without_quantization_rounding_moves_margins_far_less_than_the_tie_tolerance(mlx: None) -> None:
    found = list(sensitivity.moves(MODELS, None, units=1, dtype=None))
    assert max(move.step for move in found) < tolerances.tie_tolerance("float32") / 100


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_in_half_precision_it_moves_them_more(mlx: None, dtype: str) -> None:
    (half,) = sensitivity.moves(["llama-d64"], 4, units=1, dtype=dtype)
    (single,) = sensitivity.moves(["llama-d64"], 4, units=1, dtype=None)
    assert single.mean < half.mean < tolerances.HALF[dtype][4].mean


def test_a_width_that_converts_nothing_is_not_measured(mlx: None) -> None:
    assert list(sensitivity.moves(["llama-d80"], 4, units=1, dtype=None)) == []


def test_the_command_prints_a_line_for_each_width(mlx: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert sensitivity.main(["llama-d64"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "full",
        *(f"{bits} bits" for bits in (8, 6, 5, 4, 3, 2)),
    ]
    assert all("1 streams, worst step" in line for line in lines)


def test_a_model_that_is_not_there_ends_the_command_with_one_line(
    mlx: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sensitivity.main(["llama-d97"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
