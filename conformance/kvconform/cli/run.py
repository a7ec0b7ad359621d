"""``kvconform run``: judge implementations, print the verdict, write the reports."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .limits import LimitOption
from .output import check_reports, fail, print_verdicts, printing_after, write_report

if TYPE_CHECKING:
    from ..report.verdict import Verdict
    from ..runner import Finished, RunOptions

Budget = Literal["quick", "default", "thorough"]
"""The budgets of ``session.BUDGETS``, for the option's help; a test compares the two."""


def run(
    implementations: Annotated[
        list[str],
        typer.Argument(
            help="Registered names, module:factory, or exec:COMMAND.", metavar="IMPLEMENTATION..."
        ),
    ],
    requirement: Annotated[
        list[str] | None,
        typer.Option("--requirement", metavar="ID|AREA", help="Judge only this; may be repeated."),
    ] = None,
    budget: Annotated[
        Budget,
        typer.Option("--budget", metavar="BUDGET", help="How much is generated: quick, default or thorough."),
    ] = "default",
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of everything that is generated.")
    ] = None,
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
    workers: Annotated[
        int | None, typer.Option("-n", "--workers", metavar="WORKERS", min=1, help="Processes that judge.")
    ] = None,
    limit: LimitOption = None,
) -> None:
    """Judge implementations; exit code 0 means: every requirement that applies holds."""
    from ..runner import RunOptions, exit_code_of, usable_workers
    from ..session import DEFAULT_SEED

    signal.signal(signal.SIGTERM, _stop)
    check_reports(json, junit)
    options = RunOptions(
        requirements=tuple(requirement or ()),
        budget=budget,
        seed=DEFAULT_SEED if seed is None else seed,
        known=known_failures,
        workers=usable_workers(workers),
    )
    _validate(implementations, options)
    finished, verdicts = _run_all(implementations, options)
    with printing_after(lambda: _print(finished, verdicts)):
        write_report(verdicts, json=json, junit=junit)
    raise typer.Exit(exit_code_of(verdicts))


def _print(finished: list[Finished], verdicts: list[Verdict]) -> None:
    if not any(verdict.interrupted for verdict in verdicts):
        print_verdicts(verdicts)
        return
    logs = ", ".join(str(done.log) for done in finished) or "nothing"
    fail(f"interrupted, so there is no verdict; what was judged is in {logs}, reports say complete: false")


def _stop(_number: int, _frame: FrameType | None) -> None:
    """Being told to end is like Ctrl-C: processes are ended, what was judged is kept."""
    raise KeyboardInterrupt


def _validate(implementations: list[str], options: RunOptions) -> None:
    """Refuse a mistake before anything is started."""
    from ..known import known_failures_for, shipped_path
    from ..naming import check_spec
    from ..selection import selected_requirements

    selected_requirements(options.requirements)
    for spec in implementations:
        check_spec(spec)
        if options.known is not None or shipped_path(spec):
            known_failures_for(spec, options.known, ids=_known_ids())


def _known_ids() -> list[str]:
    """What entries may name; loading all the suite takes a second, so only where there is a file."""
    from ..selection import known_ids
    from ..suite import all_checks

    return known_ids(all_checks())


def _run_all(implementations: list[str], options: RunOptions) -> tuple[list[Finished], list[Verdict]]:
    """Each implementation's verdict; those that an interrupt left out are there, without anything judged."""
    from ..report.log import Log
    from ..report.verdict import verdict_of
    from ..runner import run_suite
    from .progress import following

    finished: list[Finished] = []
    for spec in implementations:
        with following(spec) as on_event:
            finished.append(run_suite(spec, options, on_event=on_event))
        if finished[-1].verdict.interrupted:
            break
    left_out = [verdict_of(Log(), spec=spec, interrupted=True) for spec in implementations[len(finished) :]]
    return finished, [*(done.verdict for done in finished), *left_out]
