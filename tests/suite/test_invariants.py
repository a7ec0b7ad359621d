"""Every invariant accepts the right answer and rejects a wrong one made of it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import cases_container
import cases_resolving
import cases_storage
import cases_turns
import pytest
from kvconform import invariants
from kvconform.invariants import resolving
from kvconform.observation import Refusal
from suite_cases import Case

CASES = (*cases_resolving.CASES, *cases_container.CASES, *cases_turns.CASES, *cases_storage.CASES)


def _name(case: Case) -> str:
    return f"{case.function.__name__}: {case.name}"


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_the_right_answer_is_accepted(case: Case):
    assert case.findings_of_right() == []


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_a_wrong_answer_is_rejected_with_its_message(case: Case):
    findings = case.findings_of_wrong()
    assert findings, "the wrong answer was accepted"
    assert any(finding.message.startswith(case.says) for finding in findings), findings[0].message


@pytest.mark.requirement("GS-12")
def test_bad_head_dims_must_be_refused():
    scenario, accepted = cases_resolving.ACCEPTED_DIMS
    assert list(resolving.bad_dims_refused(scenario, Refusal(message="no"))) == []
    (finding,) = resolving.bad_dims_refused(scenario, accepted)
    assert finding.message.startswith("head dims that no array has were accepted")


def test_every_invariant_has_a_case():
    judged = {case.function for case in CASES} | {resolving.bad_dims_refused}
    missing = [
        f"{module.__name__}.{name}"
        for info in pkgutil.iter_modules(invariants.__path__)
        for module in [importlib.import_module(f"kvconform.invariants.{info.name}")]
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and not name.startswith("_")
        and "Iterator[Finding]" in str(function.__annotations__.get("return"))
        and function not in judged
    ]
    assert not missing


def test_invariants_know_no_reference():
    for info in pkgutil.iter_modules(invariants.__path__):
        module = importlib.import_module(f"kvconform.invariants.{info.name}")
        imported = [line for line in inspect.getsource(module).splitlines() if "import" in line]
        assert not [line for line in imported if "kvconform_reference" in line or "oracle" in line]
