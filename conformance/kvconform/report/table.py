"""The verdict for people: a table of areas and implementations, then every failure, then the last lines."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..outcomes import FAILURES
from .failure import render_failure
from .verdict import RequirementVerdict, Verdict

LEGEND = "passed / failed / known failures / not judged, counted in requirements"

Tally = tuple[int, int, int, int]


def print_summary(verdicts: Sequence[Verdict], console: Console) -> None:
    """Everything that is said at the end of a run."""
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
    for verdict in verdicts:
        table.add_column(Text(_title(verdict)), justify="right", no_wrap=True)
    for area in _areas(verdicts):
        table.add_row(area, *(_cell(tally(_within(verdict, area))) for verdict in verdicts))
    table.add_row("all", *(_cell(tally(verdict.requirements)) for verdict in verdicts), style="bold")
    return table


def tally(requirements: Sequence[RequirementVerdict]) -> Tally:
    """Passed, failed, known failures, not judged. An unexpected pass is passed: the file is wrong."""
    outcomes = [requirement.outcome for requirement in requirements]
    return (
        sum(outcome in ("pass", "unexpected pass") for outcome in outcomes),
        sum(outcome in FAILURES for outcome in outcomes),
        sum(outcome == "known failure" for outcome in outcomes),
        sum(outcome in ("unsupported", "not run") for outcome in outcomes),
    )


def closing_lines(verdict: Verdict) -> list[str]:
    """What is to be known of one implementation's run, in lines."""
    passed, failed, known, unjudged = tally(verdict.requirements)
    judged, universal = verdict.universal
    name = _title(verdict)
    if verdict.log.header is None:
        message = (
            verdict.log.broken.message if verdict.log.broken else "the run was cut short before it began"
        )
        return [f"{name}: not judged. {message}"]
    header = verdict.log.header
    lines = [
        f"{name}, dialect {_dialect(verdict)}: {passed} passed, {failed} failed, {known} known failures, "
        f"{unjudged} not judged (seed {header.seed}, budget {header.budget})",
        f"U requirements judged: {judged} of {universal}",
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


def _shoulds(verdict: Verdict) -> list[str]:
    failed = [r.listed.id for r in verdict.failures if not r.failed]
    return [f"of level should, reported only: {', '.join(failed)}"] if failed else []


def _busy(verdict: Verdict) -> str:
    busy = verdict.log.busy
    return f" It was busy with {', '.join(busy)}." if busy else ""


def _print_failures(verdict: Verdict, console: Console) -> None:
    for requirement in verdict.failures:
        for result in requirement.failures:
            console.print()
            lines = render_failure(result, requirement.listed).splitlines()
            console.print(
                Text(f"{verdict.implementation.name}: {lines[0]}", style="bold red"), soft_wrap=True
            )
            console.print(Text("\n".join(lines[1:])), soft_wrap=True)


def _title(verdict: Verdict) -> str:
    subject = verdict.implementation
    return f"{subject.name} {subject.version}" if subject.version else subject.name


def _dialect(verdict: Verdict) -> str:
    dialect = verdict.implementation.dialect
    return dialect if isinstance(dialect, str) else "of its own"


def _areas(verdicts: Sequence[Verdict]) -> list[str]:
    return list(dict.fromkeys(r.listed.area for verdict in verdicts for r in verdict.requirements))


def _within(verdict: Verdict, area: str) -> list[RequirementVerdict]:
    return [requirement for requirement in verdict.requirements if requirement.listed.area == area]


def _cell(counts: Tally) -> Text:
    if not any(counts):
        return Text("-", style="dim")
    styles = ("green", "red", "yellow", "dim")
    parts = [Text(str(n), style=style if n else "dim") for n, style in zip(counts, styles, strict=True)]
    return Text(" / ", style="dim").join(parts)
