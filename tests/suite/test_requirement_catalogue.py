"""The catalogue of requirements, and that every id is covered by a check or by a test of our own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from kvconform import requirements, suite
from kvconform.implementation import FEATURES, Capabilities, Info
from kvconform.requirements import AREAS, Requirement, applies, catalogue, committed_ids
from kvconform_reference.dialect import PARAMETERS, PROPOSAL, named

CHECKED = {check.requirement for check in suite.all_checks()}
TESTS = Path(__file__).parents[1]
MARKER = re.compile(r"mark\.requirement\(([^)]*)\)")
ID = re.compile(r"^[A-Z]{2}-\d+$")


def marked_ids() -> dict[str, list[str]]:
    """Every id that a test of ours is marked with, with the files that do so."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for group in MARKER.findall(path.read_text(encoding="utf-8")):
            for name in re.findall(r"[\"']([^\"']+)[\"']", group):
                found.setdefault(name, []).append(path.name)
    return found


def info(**capabilities: Any) -> Info:
    return Info(name="some", version="1", capabilities=Capabilities(**capabilities))


def test_no_id_ever_disappears_and_new_ones_are_written_down():
    assert list(catalogue()) == list(committed_ids())


def test_ids_are_in_the_order_of_the_specification():
    expected = sorted(catalogue().values(), key=lambda r: (AREAS.index(r.area), r.number))
    assert list(catalogue().values()) == expected
    assert {requirement.area for requirement in catalogue().values()} == set(AREAS)


@pytest.mark.parametrize("requirement", catalogue().values(), ids=lambda r: r.id)
def test_every_requirement_has_a_check_or_says_who_covers_it(requirement: Requirement):
    assert requirement.id in CHECKED or requirement.covered_by


@pytest.mark.parametrize("requirement", catalogue().values(), ids=lambda r: r.id)
def test_a_statement_is_one_short_paragraph(requirement: Requirement):
    assert 20 < len(requirement.statement) <= 200
    assert requirement.statement.endswith(".")
    assert ID.match(requirement.id)


def test_what_is_covered_elsewhere_is_marked_in_a_test_of_ours():
    for requirement in catalogue().values():
        if requirement.covered_by:
            assert requirement.id in marked_ids(), f"no test of ours is marked with {requirement.id}"


def test_checks_name_only_known_requirements():
    assert set(catalogue()) >= CHECKED


def test_tests_are_marked_with_known_requirements_only():
    unknown = {name: files for name, files in marked_ids().items() if name not in catalogue()}
    assert not unknown


def test_implications_name_known_requirements_and_do_not_go_round():
    def implied(name: str, seen: tuple[str, ...] = ()) -> None:
        assert name not in seen, f"{name} implies itself"
        for other in catalogue()[name].implied_by:
            implied(other, (*seen, name))

    for name in catalogue():
        implied(name)


def test_check_ids_are_unique_and_stand_in_the_order_of_requirements():
    checks = suite.all_checks()
    assert len({check.id for check in checks}) == len(checks)
    order = list(catalogue())
    places = [order.index(check.requirement) for check in checks]
    assert places == sorted(places)


@pytest.mark.parametrize("area", AREAS)
def test_an_area_holds_its_own_checks(area: str):
    assert suite.checks_for(area)
    assert {check.area for check in suite.checks_for(area)} == {area}


@pytest.mark.parametrize("check", suite.all_checks(), ids=lambda check: check.id)
def test_what_a_check_needs_exists(check: Any):
    sorts = {"kind": requirements.KINDS, "feature": FEATURES, "layer": requirements.LAYERS}
    for need in check.needs:
        for alternative in need.split("|"):
            sort, _, name = alternative.partition(":")
            assert name in sorts[sort]
    for parameter, values in check.dialects.items():
        assert set(values) <= set(PARAMETERS[parameter])


@pytest.mark.parametrize("check", suite.all_checks(), ids=lambda check: check.id)
def test_a_check_has_what_its_oracle_asks_for(check: Any):
    assert (check.companion is not None) == (check.oracle == "relation")
    assert check.scenarios is not None or check.explicit(_context())


def _context() -> Any:
    from suite_answers import context

    return context()


def test_universal_requirements_have_an_oracle_that_knows_no_reference():
    without = {
        requirement.id
        for requirement in catalogue().values()
        if requirement.tier == "universal"
        and not any(c.requirement == requirement.id and c.oracle != "reference" for c in suite.all_checks())
    }
    assert not without


def test_a_requirement_applies_where_everything_is_declared():
    assert applies(catalogue()["MQ-12"], info(), PROPOSAL) is None


def test_a_kind_that_is_not_declared_is_the_reason_why_not():
    reason = applies(catalogue()["AQ-1"], info(kinds=("container",)), PROPOSAL)
    assert reason == "not declared: kind quantize"


def test_one_of_two_alternatives_is_enough():
    requirement = catalogue()["QC-5"]
    assert applies(requirement, info(features=("state",)), PROPOSAL) is None
    assert applies(requirement, info(), PROPOSAL) == "not declared: feature save-load or feature state"


def test_a_dialect_outside_the_statement_is_the_reason_why_not():
    reason = applies(catalogue()["CT-4"], info(features=("container",)), named("mlx-lm"))
    assert reason == "dialect: latch is none; this is about first-trigger"


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({"needs": ["feature:teleport"]}, "need 'feature:teleport' is not known"),
        ({"needs": ["kind:container|layer:teapot"]}, "need 'layer:teapot' is not known"),
        ({"dialects": {"latch": ["sometimes"]}}, "not in the dialect table"),
        ({"dialects": {"latches": ["none"]}}, "not in the dialect table"),
        ({"tier": "cosmic"}, "tier 'cosmic'"),
        ({"level": "may"}, "level 'may'"),
    ],
)
def test_a_typing_mistake_in_the_catalogue_is_an_error(entry: dict[str, Any], complaint: str):
    whole = {"statement": "Something holds.", "tier": "universal", **entry}
    with pytest.raises(ValueError, match=re.escape(complaint)):
        requirements._requirement("GS", "GS-99", whole)
