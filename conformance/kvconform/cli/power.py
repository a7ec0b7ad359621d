"""``kvconform power``: put the catalogue of faults to the suite, and print what catches what."""

from __future__ import annotations

import json as json_format
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .output import check_writable, console, write_text
from .run import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..power.matrix import Matrix
    from ..power.trial import Trial


def power(
    budget: Annotated[Budget, typer.Option("--budget", help="How much is generated.")] = "default",
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of everything that is generated.")
    ] = None,
    fault: Annotated[
        list[str] | None, typer.Option("--fault", metavar="NAME", help="Only this fault; may be repeated.")
    ] = None,
    named_only: Annotated[
        bool,
        typer.Option("--named-only", help="Only the checks of the requirements that a fault names: quicker."),
    ] = False,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the matrix as JSON.")
    ] = None,
    workers: Annotated[
        int, typer.Option("-n", "--workers", metavar="WORKERS", min=1, help="Processes that judge.")
    ] = 2,
) -> None:
    """Does the suite bite? Exit code 0 means: every fault was killed by a requirement that it names."""
    from ..power.matrix import as_data
    from ..power.run import PowerOptions, run_power, tasks_of
    from ..session import DEFAULT_SEED

    check_writable(json)
    options = PowerOptions(
        faults=tuple(fault or ()),
        budget=budget,
        seed=DEFAULT_SEED if seed is None else seed,
        matrix=not named_only,
        processes=workers,
    )
    with _following(len(tasks_of(options))) as on_trial:
        matrix = run_power(options, on_trial)
    _print_table(matrix)
    _print_summary(matrix)
    if json is not None:
        write_text(json, json_format.dumps(as_data(matrix), indent=1) + "\n")
    raise typer.Exit(0 if len(matrix.of_verdict("killed")) == len(matrix.trials) else 1)


@contextmanager
def _following(total: int) -> Generator[Callable[[Trial], None]]:
    """A function that takes each trial: shows how far it is, and at once what was not killed."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as progress:
        task = progress.add_task("asking", total=total)

        def show(trial: Trial) -> None:
            progress.update(task, advance=1, description=trial.label)
            if trial.verdict != "killed":
                screen.print(f"{trial.verdict}: {trial.label}, which breaks {', '.join(trial.breaks)}")

        yield show


def _print_table(matrix: Matrix) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name, justify in (("fault", "left"), ("caught by", "left"), ("not by", "left"), ("also", "left")):
        table.add_column(name, justify=justify)  # pyright: ignore[reportArgumentType]
    table.add_column("scenarios", justify="right")
    table.add_column("s", justify="right")
    for trial in matrix.trials:
        missed = [name for name in trial.breaks if name not in trial.named]
        table.add_row(
            trial.label,
            " ".join(trial.named) or trial.verdict.upper(),
            " ".join(missed),
            " ".join(trial.others),
            str(trial.examples),
            f"{trial.seconds:.2f}",
        )
    console().print(table)


def _print_summary(matrix: Matrix) -> None:
    out = console()
    killed = matrix.of_verdict("killed")
    out.print(
        f"\n{len(killed)} of {len(matrix.trials)} killed by a requirement that they name, "
        f"{len(matrix.of_verdict('wrong reason'))} for the wrong reason, "
        f"{len(matrix.of_verdict('survived'))} survived (budget {matrix.budget}, seed {matrix.seed})"
    )
    if killed:
        out.print(_effort_text(matrix.examples_to_kill, matrix.seconds_to_kill))
    for verdict in ("wrong reason", "survived"):
        for trial in matrix.of_verdict(verdict):
            out.print(f"{verdict}: {trial.label}: {_where(trial)}")


def _effort_text(examples: Sequence[int], seconds: Sequence[float]) -> str:
    """How much it takes to kill a fault; both are sorted."""
    from statistics import median_low

    from ..report.table import counted

    usual = f"{counted(median_low(examples), 'scenario')}, {median_low(seconds):.2f} s in the median"
    return f"until caught: {usual}; {counted(examples[-1], 'scenario')}, {seconds[-1]:.2f} s at most"


def _where(trial: Trial) -> str:
    told = ", ".join(f"{kill.check} ({kill.message})" for kill in trial.kills[:3])
    return told or f"nothing failed; it breaks {', '.join(trial.breaks)}"
