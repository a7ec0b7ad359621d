"""The page ``docs/faults.md``: the catalogue of faults, and the kill matrix of a recorded run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..faults import Fault, catalogued
from ..requirements import AREAS, catalogue
from .matrix import stands_alone

INTRO = """# Faults

A conformance suite is worth what it catches. These are wrong implementations, each one decision away from the
reference, that the suite is tried on. Any of them can be run like every other implementation:

    kvconform run fault:tie-goes-high
    kvconform run fault:composite-is-rebuilt@mlx-swift-lm

`kvconform power` puts them all to the suite. A fault is *killed* when a requirement that it names fails; when
only others fail it was caught for the *wrong reason*. *Seen* says where such a fault was met: `B` and `O` are
public reports and finds of our own, the rest are hazards of the specification and of its dialects.
"""


def fault_page(recorded: dict[str, Any]) -> str:
    """The page for a recorded run (the JSON report of ``kvconform power``)."""
    trials: list[dict[str, Any]] = recorded["trials"]
    parts = [INTRO, _summary(recorded), _faults(trials), _requirements(trials)]
    return "\n".join(parts)


def _summary(recorded: dict[str, Any]) -> str:
    seconds, examples = recorded["seconds to kill"], recorded["examples to kill"]
    return (
        f"Recorded with `kvconform power --budget {recorded['budget']} --seed {recorded['seed']} "
        f"--json docs/kill-matrix.json`:\n{recorded['killed']} of {recorded['faults']} killed.\n"
        f"Scenarios until the first failure: {examples['median']:g} in the median, {examples['most']} at "
        f"most; seconds: {seconds['median']:.2g} and {seconds['most']:.2g}.\n"
    )


# ---------------------------------------------------------------- fault by fault


def _faults(trials: Iterable[dict[str, Any]]) -> str:
    by_fault: dict[str, list[dict[str, Any]]] = {}
    for trial in trials:
        by_fault.setdefault(trial["fault"], []).append(trial)
    head = (
        "## The faults\n\n"
        "*Caught by*: named requirements; those that did not fail are struck out. *Scenarios*: how many it "
        "took.\n\n"
        "| fault | what it does | seen | caught by | also fail | scenarios |\n|---|---|---|---|---|---|\n"
    )
    rows = [_fault_row(fault, by_fault.get(fault.name, [])) for fault in catalogued().values()]
    return head + "\n".join(row for rows_of_one in rows for row in rows_of_one) + "\n"


def _fault_row(fault: Fault, trials: list[dict[str, Any]]) -> list[str]:
    return [
        _row(
            f"`{fault.name}`" + ("" if trial["dialect"] == "proposal" else f" ({trial['dialect']})"),
            fault.does,
            fault.seen,
            ", ".join(name if name in trial["killed by"] else f"~~{name}~~" for name in trial["breaks"]),
            ", ".join(trial["also"]),
            str(trial["examples"]),
        )
        for trial in trials
    ]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


# ---------------------------------------------------------------- requirement by requirement


def _requirements(trials: Iterable[dict[str, Any]]) -> str:
    listed = list(trials)
    head = (
        "## What each requirement catches\n\n"
        "*Alone*: faults that nothing caught but this requirement and what follows from it. Every "
        "requirement has\none, or follows from others itself.\n\n"
        "| requirement | kills | alone | follows from |\n|---|---|---|---|\n"
    )
    ordered = [r for area in AREAS for r in catalogue().values() if r.area == area]
    rows = [
        _row(
            requirement.id,
            str(sum(requirement.id in trial["killed by"] for trial in listed)),
            ", ".join(f"`{name}`" for name in alone(requirement.id, listed)),
            ", ".join(requirement.implied_by),
        )
        for requirement in ordered
    ]
    return head + "\n".join(rows) + "\n"


def alone(requirement: str, trials: Iterable[dict[str, Any]]) -> list[str]:
    """The faults that name this requirement and that nothing caught but it and what follows from it."""
    caught = [trial["fault"] for trial in trials if _is_alone(requirement, trial)]
    return list(dict.fromkeys(caught))


def _is_alone(requirement: str, trial: dict[str, Any]) -> bool:
    failed = [*trial["killed by"], *trial["also"]]
    return requirement in trial["killed by"] and stands_alone(requirement, failed)
