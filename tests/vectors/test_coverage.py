"""The vectors cover what vectors can cover: requirements, dialects, kinds, faults."""

from __future__ import annotations

from collections import Counter

import pytest
from kvconform.faults import FaultyImplementation, catalogued
from kvconform.outcomes import FAILURES
from kvconform.requirements import catalogue
from kvconform.vectors import coverage, library
from kvconform.vectors.checking import check_vectors
from kvconform.vectors.document import Vector
from kvconform.vectors.needs import needs_of
from kvconform.vectors.source import all_sources
from kvconform_reference.dialect import DIALECTS

pytestmark = pytest.mark.goldens

VECTORS = tuple(library.all_vectors().values())

SEEN_BY_PROPERTIES_ONLY = {"QC-8", "QC-11", "NX-5"}
"""A fault that breaks one of these first may escape the vectors: bytes, exports, and the prefill's clock."""


AS_DECLARED = {"errors-by-declaration"}
"""Breaks a universal statement by doing what its dialect says, so that every vector of the dialect is met."""


def test_there_are_enough_of_them() -> None:
    assert len(all_sources()) >= 150
    assert len(VECTORS) >= len(all_sources())


def test_every_requirement_that_a_vector_can_express_has_one() -> None:
    assert coverage.uncovered(VECTORS) == set(coverage.INEXPRESSIBLE)


def test_the_requirements_of_a_vector_exist_and_one_is_of_its_area() -> None:
    for vector in VECTORS:
        assert set(vector.requirements) <= set(catalogue()), vector.id
        assert vector.area in {name.partition("-")[0].lower() for name in vector.requirements}, vector.id


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_named_dialect_has_vectors_that_only_it_passes(dialect: str) -> None:
    candidates = [vector for vector in VECTORS if vector.dialects == (dialect,)]
    alone = [vector.id for vector in candidates if coverage.passing_dialects(vector) == (dialect,)]
    assert alone


def test_the_reference_passes_every_vector_in_its_dialects_and_in_no_other_that_was_asked() -> None:
    restricted = {source.id for source in all_sources() if source.dialects is not None}
    for vector in VECTORS:
        passing = coverage.passing_dialects(vector)
        assert set(vector.dialects) <= set(passing), vector.id
        if not any(vector.id.startswith(name) for name in restricted):
            assert set(vector.dialects) == set(passing), vector.id


def test_in_one_dialect_no_scenario_comes_twice() -> None:
    for dialect in DIALECTS:
        asked = Counter(v.scenario.model_dump_json() for v in VECTORS if dialect in v.dialects)
        assert asked.most_common(1)[0][1] == 1, dialect


def test_what_a_vector_needs_is_read_off_its_scenario() -> None:
    assert all(vector.needs == needs_of(vector.scenario) for vector in VECTORS)


def test_every_scenario_kind_that_the_reference_answers_has_vectors() -> None:
    assert {vector.scenario.kind for vector in VECTORS} == {
        "resolve",
        "quantize",
        "cache",
        "container",
        "iterate",
    }


@pytest.mark.slow
def test_a_fault_that_no_vector_about_its_requirements_catches_breaks_what_no_vector_can_express() -> None:
    escaped = {
        name: fault.breaks
        for name, fault in catalogued().items()
        if fault.breaks[0] not in SEEN_BY_PROPERTIES_ONLY and name not in AS_DECLARED and not caught(name)
    }
    assert not escaped, "write a vector for each (kvconform/vectors/source), then record it"


def caught(name: str) -> bool:
    fault = catalogued()[name]
    about: list[Vector] = [v for v in VECTORS if set(v.requirements) & set(fault.breaks)]
    verdicts = (
        check_vectors("fault", FaultyImplementation(fault, dialect), about) for dialect in fault.dialects
    )
    return any(one.outcome in FAILURES for verdict in verdicts for one in verdict.requirements)
