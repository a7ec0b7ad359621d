"""What catches what at the quick budget, as a snapshot: it changes only when a fault or a check does."""

from __future__ import annotations

import pytest
from kvconform.power.run import PowerOptions, run_power
from kvconform.session import DEFAULT_SEED
from syrupy.assertion import SnapshotAssertion


@pytest.mark.slow
@pytest.mark.timeout(1800)  # a minute on a free core
def test_the_quick_budget_kills_what_it_killed(snapshot: SnapshotAssertion) -> None:
    found = run_power(PowerOptions(budget="quick", seed=DEFAULT_SEED, matrix=False, processes=1))
    lines = [f"{trial.label}: {' '.join(trial.named) or trial.verdict}" for trial in found.trials]
    assert "\n".join(lines) == snapshot
    assert len(found.of_verdict("killed")) >= 0.95 * len(found.trials)
