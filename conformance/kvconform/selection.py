"""Which requirements a run is about: all, or what ``--requirement`` names."""

from __future__ import annotations

from collections.abc import Sequence

from .checks import Check
from .errors import UserError, near_matches
from .report.log import Listed
from .requirements import AREAS, Requirement, catalogue


def selected_requirements(names: Sequence[str]) -> tuple[Requirement, ...]:
    """The requirements that ids and areas name, in the order of the catalogue; all without any name."""
    known = catalogue()
    wanted = {_canonical(name) for name in names}
    return tuple(r for r in known.values() if not wanted or r.id in wanted or r.area in wanted)


def selected_checks(checks: Sequence[Check], names: Sequence[str]) -> tuple[Check, ...]:
    """The checks of the requirements that are named."""
    wanted = {requirement.id for requirement in selected_requirements(names)}
    return tuple(check for check in checks if check.requirement in wanted)


def listed_requirements(checks: Sequence[Check], names: Sequence[str]) -> tuple[Listed, ...]:
    """The requirements that are named, each with its checks, as the log has them."""
    return tuple(_listed(requirement, checks) for requirement in selected_requirements(names))


def known_ids(checks: Sequence[Check]) -> list[str]:
    """Every id that a known-failures entry may name."""
    from .vectors.library import vector_ids

    vectors = (f"vector:{name}" for name in vector_ids())
    return [*catalogue(), *(check.id for check in checks), *vectors]


def _canonical(name: str) -> str:
    folded = name.upper()
    if folded in AREAS or folded in catalogue():
        return folded
    near = near_matches(name, [*AREAS, *catalogue()])
    raise UserError(
        f"requirement {name!r} does not exist{near}. "
        "`kvconform list` prints all ids; an area such as MQ works too."
    )


def _listed(requirement: Requirement, checks: Sequence[Check]) -> Listed:
    return Listed(
        id=requirement.id,
        area=requirement.area,
        tier="U" if requirement.tier == "universal" else "D",
        level=requirement.level,
        statement=requirement.statement,
        checks=tuple(check.id for check in checks if check.requirement == requirement.id),
        elsewhere=requirement.covered_by or "",
    )
