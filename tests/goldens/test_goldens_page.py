"""The numbers on the page are those in the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kvconform.generate import cases, tolerances
from kvconform.generate.tolerances import Bound
from kvconform.models import tiny

pytestmark = pytest.mark.goldens

PAGE = (Path(__file__).parents[2] / "docs" / "goldens.md").read_text(encoding="utf-8")


def rows(first_cell: str) -> list[list[str]]:
    """Cells of the table rows whose first cell matches."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines()]
    return [row for row in cells if len(row) > 1 and re.fullmatch(first_cell, row[0])]


def bound(text: str) -> Bound:
    step, mean = text.split(", ")
    return Bound(float(step), float(mean))


def test_the_bounds_on_the_page_are_those_in_the_code() -> None:
    said: set[int] = set()
    for widths, shallow, deep, _measured in rows(r"\d(, \d)*"):
        for bits in map(int, widths.split(", ")):
            assert bound(shallow) == tolerances.SHALLOW[bits]
            assert bound(deep) == tolerances.DEEP[bits]
            said.add(bits)
    assert said == set(tolerances.DEEP)


def test_the_tie_tolerances_on_the_page_are_those_in_the_code() -> None:
    said = {name: float(number) for names, number, _why in rows(r".*float.*") for name in names.split(", ")}
    assert said == tolerances.TIES


def test_the_page_says_where_a_stream_counts_as_deep_and_how_many_models_there_are() -> None:
    assert f"fewer than {tolerances.DEEP_LAYERS} converted layers" in PAGE
    assert f"{len(tiny.catalogue())} tiny models" in PAGE
    assert len(cases.smollm2_cases(full=False)) == 4
    assert "four short streams of SmolLM2" in PAGE
