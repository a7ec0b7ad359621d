"""``kvconform report``: make reports from event logs, of runs that were cut short too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .output import check_reports, print_verdicts, printing_after, write_report


def report(
    logs: Annotated[list[Path], typer.Argument(help="Event logs that runs have written.", metavar="LOG...")],
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the JSON report.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the JUnit report.")
    ] = None,
) -> None:
    """Print the verdict that event logs hold, and write reports of it; exits as the run would have."""
    from ..report.log import read_log
    from ..report.verdict import verdict_of
    from ..runner import exit_code_of

    check_reports(json, junit)
    verdicts = [verdict_of(read_log(log), spec=str(log)) for log in logs]
    with printing_after(lambda: print_verdicts(verdicts)):
        write_report(verdicts, json=json, junit=junit)
    raise typer.Exit(exit_code_of(verdicts))
