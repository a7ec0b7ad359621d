"""The verdict for people: a table of areas and implementations, then every failure, then the last lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..outcomes import ERRORS
from ..requirements import area_titles
from .failure import render_failure
from .reasons import known_lines, unjudged_lines
from .verdict import RequirementVerdict, Verdict

COLUMNS = "passed / failed / errors / known failures / not judged"

LEGEND = f"{COLUMNS}, counted in requirements"


class Tally(NamedTuple):
    """How many requirements ended how: the counts of :data:`COLUMNS`."""

    passed: int
    failed: int
    errors: int
    known: int
    unjudged: int


def print_summary(verdicts: Sequence[Verdict], console: Console) -> None:
    """Everything that is said at the end of a run of what was started."""
    verdicts = [verdict for verdict in verdicts if verdict.log.header is not None]
    if any(verdict.requirements for verdict in verdicts):
        console.print(outcome_table(verdicts))
        console.print(LEGEND, style="dim", soft_wrap=True)
    for verdict in verdicts:
        _print_failures(verdict, console)
    for verdict in verdicts:
        console.print()
        for line in closing_lines(verdict):
            console.print(Text(line), soft_wrap=True)


def outcome_table(verdicts: Sequence[Verdict]) -> Table:
    """Areas down, implementations across, the counts of :data:`LEGEND` in the cells."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("area")
    table.add_column("about")
    for verdict in verdicts:
        table.add_column(Text(_title(verdict)), justify="right", no_wrap=True)
    for area in _areas(verdicts):
        table.add_row(area, _about(area), *(_cell(tally(_within(verdict, area))) for verdict in verdicts))
    table.add_row("all", "", *(_cell(tally(verdict.requirements)) for verdict in verdicts), style="bold")
    return table


def tally(requirements: Sequence[RequirementVerdict]) -> Tally:
    """The counts of some requirements. An unexpected pass is passed: the file is wrong."""
    outcomes = [requirement.outcome for requirement in requirements]
    return Tally(
        passed=sum(outcome in ("pass", "unexpected pass") for outcome in outcomes),
        failed=outcomes.count("fail"),
        errors=sum(outcome in ERRORS for outcome in outcomes),
        known=outcomes.count("known failure"),
        unjudged=sum(outcome in ("unsupported", "not run") for outcome in outcomes),
    )


def tally_text(verdict: Verdict, unit: str) -> str:
    """The counts in a sentence; of failures also in how many checks, since each of those is shown."""
    counts = tally(verdict.requirements)
    failed = _checks_of([r for r in verdict.requirements if r.outcome == "fail"])
    broken = _checks_of([r for r in verdict.requirements if r.outcome in ERRORS])
    return (
        f"{counted(counts.passed, unit)} passed, {counts.failed} failed{failed}, "
        f"{counted(counts.errors, 'error')}{broken}, {counted(counts.known, 'known failure')}, "
        f"{counts.unjudged} not judged"
    )


def counted(number: int, thing: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{number} {thing}" + "s" * (number != 1)


def _checks_of(requirements: Sequence[RequirementVerdict]) -> str:
    checks = sum(len(requirement.failures) for requirement in requirements)
    return f" ({counted(checks, 'check')})" if checks != len(requirements) else ""


def closing_lines(verdict: Verdict) -> list[str]:
    """What is to be known of one implementation's run, in lines."""
    judged, universal = verdict.universal
    name = _title(verdict)
    if verdict.log.header is None:
        message = (
            verdict.log.broken.message if verdict.log.broken else "the run was cut short before it began"
        )
        return [not_judged(name, message)]
    header = verdict.log.header
    lines = [
        f"{name}, dialect {_dialect(verdict)}: {tally_text(verdict, 'requirement')} "
        f"(seed {header.seed}, budget {header.budget})",
        f"U (universal) requirements judged: {judged} of {universal}",
        *unjudged_lines(verdict),
        *known_lines(verdict),
        *_shoulds(verdict),
        *(f"note: {note}" for note in verdict.notes),
    ]
    lines += [
        f"known failure is stale: {e.key}: {e.reason}. Take it out of {header.known_source}."
        for e in verdict.stale
    ]
    if verdict.log.broken:
        lines.append(f"The run fell over: {verdict.log.broken.message}")
    if not verdict.complete:
        lines.append("INCOMPLETE: the run was cut short, so this is no verdict." + _busy(verdict))
    return lines


def not_judged(name: str, message: str) -> str:
    """Why there is no verdict; most messages name the implementation themselves."""
    return message if name.removeprefix("exec:") in message else f"{name}: not judged: {message}"


def _shoulds(verdict: Verdict) -> list[str]:
    failed = [r.listed.id for r in verdict.failures if not r.failed]
    return [f"of level should, reported only: {', '.join(failed)}"] if failed else []


def _busy(verdict: Verdict) -> str:
    busy = verdict.log.busy
    return f" It was busy with {', '.join(busy)}." if busy else ""


def _print_failures(verdict: Verdict, console: Console) -> None:
    for requirement, result in verdict.failed_checks:
        console.print()
        lines = render_failure(result, requirement.listed).splitlines()
        console.print(Text(f"{verdict.implementation.name}: {lines[0]}", style="bold red"), soft_wrap=True)
        console.print(Text("\n".join(lines[1:])), soft_wrap=True)


def _title(verdict: Verdict) -> str:
    subject = verdict.implementation
    return f"{subject.name} {subject.version}" if subject.version else subject.name


def _dialect(verdict: Verdict) -> str:
    dialect = verdict.implementation.dialect
    return dialect if isinstance(dialect, str) else "of its own"


def _areas(verdicts: Sequence[Verdict]) -> list[str]:
    return list(dict.fromkeys(r.listed.area for verdict in verdicts for r in verdict.requirements))


def _about(area: str) -> Text:
    """The title of an area: cut, not wrapped, where the screen is narrow."""
    return Text(area_titles().get(area, ""), no_wrap=True, overflow="ellipsis")


def _within(verdict: Verdict, area: str) -> list[RequirementVerdict]:
    return [requirement for requirement in verdict.requirements if requirement.listed.area == area]


def _cell(counts: Tally) -> Text:
    if not any(counts):
        return Text("-", style="dim")
    styles = ("green", "red", "red", "yellow", "dim")
    parts = [Text(str(n), style=style if n else "dim") for n, style in zip(counts, styles, strict=True)]
    return Text(" / ", style="dim").join(parts)
