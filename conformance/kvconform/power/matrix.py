"""The kill matrix: every fault, every requirement, what caught what, and what that says of the suite."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
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


@cache
def consequences(requirement: str) -> frozenset[str]:
    """The requirements that fail as well when this one does, step by step (``implied_by``)."""
    direct = {other.id for other in catalogue().values() if requirement in other.implied_by}
    return frozenset(direct).union(*map(consequences, direct))


def stands_alone(requirement: str, failed: Collection[str]) -> bool:
    """Whether of these failures this one is the only one that is no consequence of it."""
    return requirement in failed and set(failed) - {requirement} <= consequences(requirement)


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
