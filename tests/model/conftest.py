"""Fixtures of the tests of ``kvconform model``: a model tried in this process, quicker than in a child."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

os.environ.setdefault("MLX_DISABLE_COMPILE", "1")

from kvconform.advice.trial import LoopRun, Request, Subject, Trial
from model_scenes import layer, sliding

Try = Callable[..., Trial]


@pytest.fixture
def try_model(tmp_path: Path) -> Try:
    """``try_model(name, bits=4, ...)``: what the probe finds out. Group size 0 would end the process."""
    pytest.importorskip("mlx.core", reason="MLX is not installed")
    pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")
    from kvconform.advice import child, probe

    def run(name: str, *, bits: int = 4, group_size: int = 64, start: int = 0) -> Trial:
        request = Request(model=name, bits=bits, group_size=group_size, start=start)
        out = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        code = probe.main(json.dumps(asdict(request)), str(out))
        return child.trial_from(request, child.read_parts(out), code)

    return run


@pytest.fixture
def trial() -> Trial:
    """A model of two full and two sliding layers that works in both loops."""
    return Trial(
        subject=Subject(
            name="some-model",
            source="folder some",
            dtype="bfloat16",
            architecture="llama",
            versions={"mlx": "0.32.4", "mlx-lm": "0.32.2"},
        ),
        layers=(layer("0"), layer("1"), sliding("2"), sliding("3")),
        reference=LoopRun(converted=2),
        mlx_lm=LoopRun(converted=2),
    )
