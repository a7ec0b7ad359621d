"""Asks a process of its own to try a model, and reads what it found out."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import UserError
from .trial import LoopRun, Request, Trial, layers_from, run_from, subject_from

PROBE = (sys.executable, "-m", "kvconform.advice.probe")


def ask(request: Request, *, command: Sequence[str] = PROBE) -> Trial:
    """What came of trying the model.

    UserError, with the reason, for a model that cannot be loaded or does not run. A loop that takes the
    process down is part of the answer.
    """
    with tempfile.TemporaryDirectory(prefix="kvconform-") as folder:
        out = Path(folder) / "trial.jsonl"
        ended = subprocess.run([*command, json.dumps(asdict(request)), str(out)], check=False)
        found = read_parts(out)
    return trial_from(request, found, ended.returncode)


def read_parts(out: Path) -> dict[str, Any]:
    """The parts that were written, by name; the end of a process may leave half a line."""
    text = out.read_text(encoding="utf-8") if out.exists() else ""
    whole, _, _half = text.rpartition("\n")
    return {name: part for line in whole.splitlines() for name, part in json.loads(line).items()}


def trial_from(request: Request, found: Mapping[str, Any], code: int) -> Trial:
    """The trial of these parts, where the process that wrote them ended with this exit code."""
    if "failed" in found:
        raise UserError(found["failed"])
    if "layers" not in found:
        raise UserError(
            f"model {request.model}: the process that loaded it {how_it_ended(code)}. See what it wrote; "
            "if there is too little memory for the model, try a smaller version of it."
        )
    died = LoopRun(error=f"the process {how_it_ended(code)}", died=True)
    return Trial(
        subject=subject_from(found["subject"]),
        layers=layers_from(found["layers"]),
        reference=run_from(found["reference"]) if "reference" in found else died,
        mlx_lm=run_from(found["mlx_lm"]) if "mlx_lm" in found else died,
        mlx_lm_sizes=tuple(found.get("mlx_lm_sizes", ())),
    )


def how_it_ended(code: int) -> str:
    """An exit code in words: ``was ended by SIGFPE``, ``ended with code 3``."""
    if code < 0:
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"
    return f"ended with code {code}"
