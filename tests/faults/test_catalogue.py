"""The catalogue of faults: complete, well-formed, and every entry is what it says."""

from __future__ import annotations

import pytest
from kvconform.faults import catalogued, faulty
from kvconform.requirements import catalogue
from kvconform_reference.dialect import PARAMETERS

FAULTS = tuple(catalogued().values())


def test_there_are_at_least_seventy() -> None:
    assert len(FAULTS) >= 70


def test_every_universal_requirement_is_broken_by_a_fault() -> None:
    universal = {r.id for r in catalogue().values() if r.tier == "universal"}
    assert universal - {name for fault in FAULTS for name in fault.breaks} == set()


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_every_dialect_parameter_is_followed_otherwise_than_declared(parameter: str) -> None:
    values = {fault.behaves[parameter] for fault in FAULTS if parameter in fault.behaves}
    declared = {
        getattr(fault.declared(dialect), parameter)
        for fault in FAULTS
        if parameter in fault.behaves
        for dialect in fault.dialects
    }
    assert values
    assert declared
    for fault in FAULTS:
        for dialect in fault.dialects:
            for name, value in fault.behaves.items():
                assert getattr(fault.declared(dialect), name) != value, fault.name


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_told_in_one_sentence_and_names_known_requirements(fault: object) -> None:
    entry = catalogued()[fault.name]  # pyright: ignore
    assert entry.does.endswith(".")
    assert entry.does[0].isupper()
    assert ". " not in entry.does
    assert entry.seen
    assert entry.breaks
    assert len(set(entry.breaks)) == len(entry.breaks)
    assert set(entry.breaks) <= set(catalogue())
    assert not (entry.patches and entry.behaves)
    assert entry.patches or entry.behaves or entry.name == "errors-by-declaration"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_what_a_fault_breaks_is_put_to_it_in_each_of_its_dialects(fault: object) -> None:
    from kvconform.requirements import applies

    entry = catalogued()[fault.name]  # pyright: ignore
    for dialect in entry.dialects:
        made = faulty(entry.name, dialect)
        put = [applies(catalogue()[name], made.info, entry.declared(dialect)) for name in entry.breaks]
        assert None in put, put


def test_an_unknown_fault_is_told_with_its_neighbours() -> None:
    with pytest.raises(ValueError, match="near are tie-goes-high"):
        faulty("tie-goes-hihg")
