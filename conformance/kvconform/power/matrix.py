"""The kill matrix: every fault, every requirement, what caught what, and what that says of the suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ..requirements import catalogue
from .trial import Trial


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """The trials of one run."""

    trials: tuple[Trial, ...]
    seed: int
    budget: str
    complete: bool
    """Whether every check was put to every fault, not only those of the requirements that it names."""

    def of_verdict(self, verdict: str) -> tuple[Trial, ...]:
        """The trials that ended so."""
        return tuple(trial for trial in self.trials if trial.verdict == verdict)

    @property
    def seconds_to_kill(self) -> tuple[float, ...]:
        """Sorted; of the faults that were killed."""
        return tuple(sorted(trial.seconds for trial in self.of_verdict("killed")))

    @property
    def examples_to_kill(self) -> tuple[int, ...]:
        """Sorted; of the faults that were killed."""
        return tuple(sorted(trial.examples for trial in self.of_verdict("killed")))


def killed_by(trials: Iterable[Trial]) -> Mapping[str, tuple[Trial, ...]]:
    """Per requirement of the catalogue the trials of faults that name it and that it caught."""
    known = {identifier: list[Trial]() for identifier in catalogue()}
    for trial in trials:
        for identifier in trial.named:
            known[identifier].append(trial)
    return {identifier: tuple(caught) for identifier, caught in known.items()}


def caught_alone(trials: Iterable[Trial]) -> Mapping[str, tuple[Trial, ...]]:
    """Per requirement the trials of faults that nothing else caught, nets aside."""
    alone: dict[str, list[Trial]] = {}
    for trial in trials:
        failed = {kill.requirement for kill in trial.kills if not kill.broad}
        if len(failed) == 1:
            alone.setdefault(failed.pop(), []).append(trial)
    return {identifier: tuple(caught) for identifier, caught in alone.items()}


def as_data(matrix: Matrix) -> dict[str, Any]:
    """The JSON report."""
    seconds = matrix.seconds_to_kill
    return {
        "seed": matrix.seed,
        "budget": matrix.budget,
        "complete": matrix.complete,
        "faults": len(matrix.trials),
        "killed": len(matrix.of_verdict("killed")),
        "wrong reason": [trial.label for trial in matrix.of_verdict("wrong reason")],
        "survived": [trial.label for trial in matrix.of_verdict("survived")],
        "seconds to kill": {"median": _median(seconds), "most": max(seconds, default=0)},
        "examples to kill": {
            "median": _median(matrix.examples_to_kill),
            "most": max(matrix.examples_to_kill, default=0),
        },
        "trials": [_trial_data(trial) for trial in matrix.trials],
    }


def _median(numbers: Sequence[float]) -> float:
    return median(numbers) if numbers else 0.0


def _trial_data(trial: Trial) -> dict[str, Any]:
    return {
        "fault": trial.fault,
        "dialect": trial.dialect,
        "verdict": trial.verdict,
        "breaks": list(trial.breaks),
        "killed by": list(trial.named),
        "also": list(trial.others),
        "checks": {kill.check: kill.examples for kill in trial.kills},
        "examples": trial.examples,
        "seconds": round(trial.seconds, 4),
    }
