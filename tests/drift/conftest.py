"""Fixtures of the tests of ``kvconform drift``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

os.environ.setdefault("MLX_DISABLE_COMPILE", "1")

from drift_scenes import drift, report
from kvconform.drift.result import DriftReport

Measured = Callable[..., Any]


@pytest.fixture(scope="session")
def measurement() -> Measured:
    """``measurement(name, settings, tokens=24)``: a measurement of a tiny model on its short prompt."""
    pytest.importorskip("mlx.core", reason="MLX is not installed")
    pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")
    from kvconform.drift.measure import Measurement
    from kvconform.drift.runs import Runs
    from kvconform.models import tiny
    from kvconform.models.load import load_model

    def build(name: str, settings: Any, *, tokens: int = 24) -> Measurement:
        prompt = tiny.tiny_spec(name).prompts["short"]
        return Measurement(Runs(load_model(name), prompt), settings, tokens=tokens)

    return build


@pytest.fixture
def sample() -> DriftReport:
    """Six tokens under 8 bits (one close call), 4 bits (two others), and 2 bits that end with an error."""
    return report(
        drift(8, divergences=(0, 0.0005, 0.02, 0, 0, 0)),
        drift(4, divergences=(0, 0.5, 0.25, 0.1, 2.0, 0.15), differs={2, 4}, nbytes=300),
        drift(2, divergences=(0, 0.5), error="no sinks", nbytes=200),
    )
