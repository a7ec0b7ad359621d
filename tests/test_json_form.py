"""An implementation in Python may answer with the JSON form of what the wire carries."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import kvconform
import pytest
from kvconform.implementations import reference
from kvconform.scenario import Scenario, as_data

DECLARED: dict[str, Any] = {
    "name": "mine",
    "version": "1",
    "capabilities": {"kinds": ["resolve"], "features": ["resolver"]},
}
FROM_THE_WIRE: dict[str, Any] = {
    "protocol": 1,
    "implementation": {"name": "mine", "version": "1", "language": "Python", "backend": "cpu"},
    "dialect": "proposal",
    "capabilities": DECLARED["capabilities"],
}


class InJson:
    """The reference, with all that it says as a dict."""

    def __init__(self, info: Any = DECLARED, change: Any = None) -> None:
        self.info = info
        self.closed = False
        self._change: Any = change or dict
        self._reference = reference.factory()

    def run(self, scenario: Scenario) -> Any:
        return self._change(as_data(self._reference.run(scenario)))

    def close(self) -> None:
        self.closed = True


def judge(implementation: Any) -> Any:
    return kvconform.run_conformance(implementation, requirements=["GS-4", "GS-8"])


@pytest.mark.parametrize("info", [DECLARED, FROM_THE_WIRE, MappingProxyType(DECLARED)])
@pytest.mark.parametrize("form", [dict, MappingProxyType])
def test_answers_and_info_in_json_form_are_judged_like_any_other(info: Mapping[str, Any], form: Any) -> None:
    verdict = judge(InJson(info, form))
    assert [result.outcome for result in verdict.requirements] == ["pass", "pass"]


def test_a_wrong_answer_in_json_form_fails_the_requirement() -> None:
    with pytest.raises(kvconform.NonConforming) as raised:
        judge(lambda: InJson(change=lambda answer: answer | {"group_size": 32}))
    assert {result.outcome for result in raised.value.verdict.failures} == {"fail"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"group_size": 64}, "'kind'"),
        ({"kind": "resolve", "group_size": 64, "group": 3}, "resolve.group: unknown field"),
        ({"kind": "resolve", "group_size": "64"}, "resolve.group_size: Input should be a valid integer"),
        ({"kind": "resolve", "group_size": math.nan}, "it cannot be written as JSON .Out of range"),
        ({"kind": "resolve", "group_size": {64}}, "it cannot be written as JSON .Object of type set"),
        (None, r"run\(\) returned None"),
        ([64], r"run\(\) returned list"),
    ],
)
def test_what_is_no_observation_says_which_class_to_return(given: Any, told: str) -> None:
    with pytest.raises(kvconform.NonConforming) as raised:
        judge(lambda: InJson(change=lambda _answer: given))
    for result in raised.value.verdict.failures:
        assert result.outcome == "protocol"
    said = " ".join(str(raised.value).split())
    assert "return a kvconform.ResolveObservation, or its JSON form (docs/wire.md) as a dict" in said
    assert re.search(told, said)


@pytest.mark.parametrize(
    ("info", "told"),
    [
        ({"name": "mine"}, "its info is a dict, but version: Field required; correct that"),
        (DECLARED | {"bits": [4]}, "but bits: unknown field"),
        (FROM_THE_WIRE | {"name": "mine"}, "but name: unknown field"),
        (DECLARED | {"dialect": {1}}, "it cannot be written as JSON"),
    ],
)
def test_an_info_that_is_none_names_the_field(info: Any, told: str) -> None:
    with pytest.raises(kvconform.StartFailed, match=told):
        judge(lambda: InJson(info))


def test_who_made_it_closes_it() -> None:
    mine, theirs = InJson(), InJson()
    judge(mine)
    judge(lambda: theirs)
    assert (mine.closed, theirs.closed) == (False, True)


@pytest.mark.parametrize("name", kvconform.__all__)
def test_what_an_implementer_needs_is_in_the_package_itself(name: str) -> None:
    assert getattr(kvconform, name) is not None
