"""``kvconform vectors``: check an implementation against the vector files, and hand them out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..errors import UserError, near_matches
from .limits import LimitOption
from .output import check_reports, check_writable, console, fail, printing_after, telling_why, write_report

if TYPE_CHECKING:
    from ..implementation import Implementation
    from ..known import KnownFailures
    from ..report.verdict import Verdict
    from ..vectors.document import Vector

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Requirements = Annotated[
    list[str] | None,
    typer.Option("--requirement", metavar="ID|AREA", help="Only vectors about this; may be repeated."),
]
Ids = Annotated[
    list[str] | None, typer.Option("--vector", metavar="ID", help="Only this vector; may be repeated.")
]


@app.callback()
def vectors() -> None:
    """Scenario and expected answer in files: check against them, or export them."""


@app.command()
def check(
    implementation: Annotated[
        str,
        typer.Argument(metavar="IMPLEMENTATION", help="A registered name, module:factory, or exec:COMMAND."),
    ],
    vector: Ids = None,
    requirement: Requirements = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the JSON report.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the JUnit report.")
    ] = None,
    known_failures: Annotated[
        str | None,
        typer.Option(
            "--known-failures", metavar="FILE|none", help="Known failures; default: the shipped file."
        ),
    ] = None,
    limit: LimitOption = None,
) -> None:
    """Ask an implementation every vector of its dialect; exit codes as those of a run."""
    from ..known import known_failures_for
    from ..naming import check_spec
    from ..selection import known_ids
    from ..suite import all_checks

    check_reports(json, junit)
    check_spec(implementation)
    chosen = _selected(vector, requirement)
    known = known_failures_for(implementation, known_failures, ids=known_ids(all_checks()))
    verdict = _verdict(implementation, chosen, known)
    with printing_after(lambda: _print(verdict)):
        write_report([verdict], json=json, junit=junit)
    raise typer.Exit(verdict.exit_code)


def _selected(ids: list[str] | None, requirements: list[str] | None) -> tuple[Vector, ...]:
    from ..vectors import library, selection

    return selection.selected_vectors(library.all_vectors(), ids=ids or (), requirements=requirements or ())


def _verdict(spec: str, chosen: Sequence[Vector], known: KnownFailures) -> Verdict:
    from ..implementation import StartFailed
    from ..report.log import Broken, Log
    from ..report.verdict import verdict_of

    try:
        return _judged(spec, _start(spec), chosen, known)
    except StartFailed as failed:
        return verdict_of(Log(broken=Broken(spec=spec, message=str(failed))), spec=spec)


def _judged(
    spec: str, implementation: Implementation, chosen: Sequence[Vector], known: KnownFailures
) -> Verdict:
    """The verdict, with what went wrong when the implementation was ended as a note."""
    from ..session import notes_of
    from ..vectors.checking import check_vectors

    try:
        verdict = check_vectors(spec, implementation, chosen, known=known)
    finally:
        close = getattr(implementation, "close", None)
        if callable(close):
            close()
    return replace(verdict, log=replace(verdict.log, notes=notes_of(implementation)))


def _start(spec: str) -> Implementation:
    """In a process of its own, so that a crash costs one vector and not the run.

    The reference is trusted, and mlx-lm sees to its own process: it also knows what is to be installed.
    """
    from ..implementations import registry
    from ..wire.process import ProcessImplementation

    factory = registry.resolve_implementation(spec)
    if spec.startswith(registry.EXEC) or spec.partition("@")[0] in registry.SHIPPED:
        return factory()
    command = [sys.executable, "-m", "kvconform", "serve", spec]
    return ProcessImplementation(command, env={"MLX_DISABLE_COMPILE": "1"}, name=spec)


def _print(verdict: Verdict) -> None:
    from rich.text import Text

    from ..report.table import outcome_table
    from ..vectors import summary

    if verdict.log.header is None:
        fail(" ".join(summary.closing_lines(verdict)))
        return
    screen = console()
    if verdict.requirements:
        screen.print(outcome_table([verdict]))
        screen.print(summary.LEGEND, style="dim", soft_wrap=True)
    for text in summary.failures(verdict):
        screen.print()
        screen.print(Text(text), soft_wrap=True)
    screen.print()
    for line in summary.closing_lines(verdict):
        screen.print(Text(line), soft_wrap=True)


@app.command()
def export(
    format: Annotated[
        Literal["json", "jsonl"],
        typer.Option("--format", help="One JSON array, or one JSON object a line."),
    ] = "json",
    dialect: Annotated[
        list[str] | None,
        typer.Option("--dialect", metavar="NAME", help="Only vectors of this dialect; may be repeated."),
    ] = None,
    vector: Ids = None,
    requirement: Requirements = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Instead of stdout.")
    ] = None,
) -> None:
    """Write vectors in one piece, for test code in any language."""
    from ..vectors.export import exported

    check_writable(output, what="file of vectors")
    dialects = _dialects(dialect or [])
    chosen = _selected(vector, requirement)
    text = exported([v for v in chosen if not dialects or dialects & set(v.dialects)], format=format)
    if output is None:
        sys.stdout.write(text)
    else:
        with telling_why(output, what="file of vectors"):
            output.write_text(text, encoding="utf-8")


def _dialects(names: list[str]) -> set[str]:
    from kvconform_reference.dialect import DIALECTS

    for name in names:
        if name not in DIALECTS:
            near = near_matches(name, list(DIALECTS))
            raise UserError(f"dialect {name!r} does not exist{near}. Give one of {', '.join(DIALECTS)}.")
    return set(names)
