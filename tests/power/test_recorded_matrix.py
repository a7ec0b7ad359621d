"""The kill matrix that the docs show: complete, everything killed, no requirement asleep or superfluous."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kvconform.faults import catalogued
from kvconform.power.page import alone
from kvconform.power.run import dialect_name
from kvconform.requirements import catalogue

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "kill-matrix.json").read_text(encoding="utf-8")
)
TRIALS: list[dict[str, Any]] = RECORDED["trials"]
HINT = "record it again: kvconform power --json docs/kill-matrix.json && python docs/generate.py"


def test_every_fault_was_tried_in_each_of_its_dialects_on_every_check() -> None:
    listed = [
        (fault.name, dialect_name(dialect), list(fault.breaks))
        for fault in catalogued().values()
        for dialect in fault.dialects
    ]
    assert [(trial["fault"], trial["dialect"], trial["breaks"]) for trial in TRIALS] == listed, HINT
    assert RECORDED["complete"]
    assert RECORDED["budget"] == "default"


def test_every_fault_was_killed_by_a_requirement_that_it_names() -> None:
    assert [trial["fault"] for trial in TRIALS if not trial["killed by"]] == []


@pytest.mark.parametrize("requirement", catalogue())
def test_a_requirement_kills_a_fault_that_names_it(requirement: str) -> None:
    assert any(requirement in trial["killed by"] for trial in TRIALS)


@pytest.mark.parametrize("requirement", catalogue())
def test_a_requirement_follows_from_others_or_catches_what_nothing_else_does(requirement: str) -> None:
    assert catalogue()[requirement].implied_by or alone(requirement, TRIALS)
