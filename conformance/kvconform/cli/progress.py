"""The progress bar of a run; nothing where stderr is no terminal."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..outcomes import FAILURES
from ..report.log import Begun, Event, Header, Judged
from .output import console

if TYPE_CHECKING:
    from ..runner import OnEvent


@contextmanager
def following(spec: str) -> Generator[OnEvent]:
    """A function that takes the events of one run and shows how far it is."""
    screen = console(stderr=True)
    columns = (
        TextColumn("{task.fields[name]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[failed]} failed  {task.description}"),
    )
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as progress:
        task = progress.add_task("starting", total=None, name=spec, failed=0)
        failed = 0

        def show(event: Event) -> None:
            nonlocal failed
            if isinstance(event, Header):
                progress.update(task, total=sum(len(listed.checks) for listed in event.requirements))
            elif isinstance(event, Begun):
                progress.update(task, description=event.check)
            elif isinstance(event, Judged):
                failed += event.outcome in FAILURES
                progress.update(task, advance=1, failed=failed)

        yield show
