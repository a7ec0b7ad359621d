"""No fault is caught by luck: explicit scenarios alone, which are asked at every seed, catch each."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kvconform.faults import catalogued
from kvconform.power.run import dialect_name
from kvconform.power.trial import hunt
from kvconform.session import BUDGETS, DEFAULT_SEED
from kvconform.suite import all_checks

WITHOUT_GENERATION = tuple(replace(check, scenarios=None) for check in all_checks())


@pytest.mark.parametrize("budget", BUDGETS)
def test_explicit_scenarios_of_a_named_requirement_catch_every_fault(budget: str) -> None:
    lucky = [
        f"{fault.name} @ {dialect_name(dialect)}: {', '.join(fault.breaks)}"
        for fault in catalogued().values()
        for dialect in fault.dialects
        if not hunt(fault, dialect, WITHOUT_GENERATION, seed=DEFAULT_SEED, budget=budget, stop_at_first=True)[
            0
        ]
    ]
    assert lucky == []
