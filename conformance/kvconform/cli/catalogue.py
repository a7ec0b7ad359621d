"""``kvconform list`` and ``kvconform explain``: the requirement catalogue."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UserError, near_matches

if TYPE_CHECKING:
    from ..requirements import Requirement


def list_requirements(
    area: Annotated[str | None, typer.Argument(metavar="AREA", help="Only this area, such as MQ.")] = None,
) -> None:
    """List the requirements: id, tier, level, statement."""
    from ..requirements import area_titles, catalogue

    titles = area_titles()
    if area is not None and area.upper() not in titles:
        near = near_matches(area, list(titles))
        raise UserError(f"area {area!r} does not exist{near}. The areas are {', '.join(titles)}.")
    wanted = [area.upper()] if area else list(titles)
    for name in wanted:
        typer.echo(f"{name}  {titles[name]}")
        for requirement in catalogue().values():
            if requirement.area == name:
                typer.echo(_line(requirement))


def explain(
    requirement: Annotated[str, typer.Argument(metavar="ID", help="A requirement, such as MQ-12.")],
) -> None:
    """Explain a requirement: what it says, to whom it applies, what judges it."""
    from ..requirements import area_titles, catalogue

    found = catalogue().get(requirement.upper())
    if requirement.upper() in area_titles():
        area = requirement.upper()
        raise UserError(
            f"{area} is an area, not a requirement. `kvconform list {area}` prints its requirements."
        )
    if found is None:
        near = near_matches(requirement, list(catalogue()))
        raise UserError(f"requirement {requirement!r} does not exist{near}. `kvconform list` prints all ids.")
    for label, lines in _facts(found).items():
        for number, line in enumerate(lines):
            typer.echo(f"{label if number == 0 else '':<12} {line}")


def _line(requirement: Requirement) -> str:
    sort = "should" if requirement.level == "should" else _tier(requirement)
    return f"  {requirement.id:<6} {sort:<10} {requirement.statement}"


def _tier(requirement: Requirement) -> str:
    return "universal" if requirement.tier == "universal" else "dialect"


def _facts(requirement: Requirement) -> dict[str, list[str]]:
    from ..requirements import area_titles

    checks = _checks(requirement.id)
    return {
        requirement.id: textwrap.wrap(requirement.statement, 96),
        "area": [f"{requirement.area}: {area_titles()[requirement.area]}"],
        "tier": [_tier(requirement)],
        "level": [requirement.level],
        "needs": [need.replace("|", " or ") for need in requirement.needs] or ["nothing"],
        "dialects": [f"{name}: {' or '.join(map(str, v))}" for name, v in requirement.dialects.items()]
        or ["all"],
        "implied by": [", ".join(requirement.implied_by)] if requirement.implied_by else [],
        "checks": checks or ["none: it is not judged on an implementation"],
        "elsewhere": [requirement.covered_by] if requirement.covered_by else [],
        "own tests": _own_tests(requirement.id),
    }


def _checks(requirement: str) -> list[str]:
    from ..suite import all_checks

    return [f"{check.id} ({check.oracle})" for check in all_checks() if check.requirement == requirement]


def _own_tests(requirement: str) -> list[str]:
    from ..own_tests import covering_tests, tests_folder

    folder = tests_folder(Path.cwd())
    if folder is None:
        return ["listed where the current folder is a checkout of kvconform"]
    return covering_tests(requirement, folder=folder) or ["none"]
