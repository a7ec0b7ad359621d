"""Every check passes on the reference, in every named dialect; and what it must not pass, it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from kvconform import suite
from kvconform.checks import Check
from kvconform.examine import examine, why_not
from kvconform.implementations import reference
from kvconform.observation import IterateObservation, Observation, Refusal
from kvconform.scenario import Scenario
from kvconform_reference.dialect import DIALECTS, Dialect, dialect_from
from suite_answers import context

EXAMPLES = 4
"""A few: the explicit scenarios are run as well, and the default budget runs on the reference elsewhere."""

RAISES_BY_DECLARATION = {
    "MQ-17.dims": "incompatible",
    "MQ-17.kinds": "rotating",
    "MQ-17.turns": "incompatible",
}
"""U statements that a design fails which declares `error` for this parameter, the reference included."""

OTHER_DIALECTS = {
    "converts rotating": {"rotating": "convert"},
    "largest below, waiting": {"resolver": "largest-below", "empty_layer": "wait"},
    "ordered, new lists": {"resolver": "ordered-64-32-128", "owner": "new-list", "latch": "none"},
    "without a start": {"threshold": "none", "empty_layer": "convert"},
    "settling, exact": {"resolver": "exact", "latch": "when-settled", "scope": "per-layer"},
    "full logits": {"logits_prefill": "full", "quantize_between_chunks": False, "prefill": "balanced"},
}
"""Values that no named dialect has, or not together."""


def _declared() -> list[Any]:
    named = [pytest.param(dialect, id=name) for name, dialect in DIALECTS.items()]
    return named + [pytest.param(dialect_from(spelled), id=name) for name, spelled in OTHER_DIALECTS.items()]


def _must_fail(check: Check, dialect: Dialect) -> bool:
    parameter = RAISES_BY_DECLARATION.get(check.id)
    return parameter is not None and getattr(dialect, parameter) == "error"


@pytest.mark.parametrize("area", sorted({check.area for check in suite.all_checks()}))
@pytest.mark.parametrize("dialect", _declared())
def test_the_reference_passes_in_its_dialect(dialect: Dialect, area: str):
    implementation, asked = reference.factory(dialect), context(dialect)
    for check in suite.checks_for(area):
        result = examine(check, implementation, asked, seed=7, max_examples=EXAMPLES, shrink=False)
        if why_not(check, asked) is not None:
            assert result.outcome == "unsupported"
        elif _must_fail(check, dialect):
            assert result.outcome == "fail", f"{check.id} does not see what the dialect declares"
        else:
            assert result.outcome == "pass", f"{check.id}: {result.message} {result.scenario}"
            assert result.examples > 0


def test_a_check_is_asked_of_the_reference_in_at_least_one_named_dialect():
    for check in suite.all_checks():
        assert any(why_not(check, context(dialect)) is None for dialect in DIALECTS.values()), check.id


REFUSAL_IS_RIGHT = {
    "GS-11.zero",
    "GS-12.dims",
    "MQ-0.iterator",
    "IT-2.both",
    "PR-5.empty-prompt",
    "PR-5.consumed",
    "PR-6.bad-window",
}
"""Checks whose every scenario may be refused."""


class Wrong:
    """The reference behind a fault of its answers."""

    def __init__(self, **capabilities: Any) -> None:
        self.inner = reference.factory()
        self.info = self.inner.info

    def run(self, scenario: Scenario) -> Observation:
        raise NotImplementedError


class RefusesEverything(Wrong):
    """Answers nothing at all."""

    def run(self, scenario: Scenario) -> Observation:
        return Refusal(message="not today")


@pytest.mark.parametrize("check", suite.all_checks(), ids=lambda check: check.id)
def test_whoever_refuses_everything_passes_nothing_that_is_about_answers(check: Check):
    implementation = RefusesEverything()
    asked = replace(context(), info=implementation.info)
    if why_not(check, asked) is None:
        result = examine(check, implementation, asked, seed=1, max_examples=3, shrink=False)
        assert result.outcome == ("pass" if check.id in REFUSAL_IS_RIGHT else "fail")


class SaysNothing(Wrong):
    """Answers iterate scenarios with empty traces."""

    def run(self, scenario: Scenario) -> Observation:
        answer = self.inner.run(scenario)
        if isinstance(answer, IterateObservation):
            turns = tuple(turn.model_copy(update={"trace": ()}) for turn in answer.turns)
            return answer.model_copy(update={"turns": turns})
        return answer


def test_whoever_logs_nothing_fails_in_every_area_of_the_iterator():
    implementation = SaysNothing()
    asked = replace(context(), info=implementation.info)
    for area in ("IT", "PR", "ST", "NX", "PS", "RF"):
        outcomes = {
            examine(check, implementation, asked, seed=1, max_examples=5, shrink=False).outcome
            for check in suite.checks_for(area)
        }
        assert "fail" in outcomes, area
