"""What commands share: the console, lines on stderr, report files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from ..report.verdict import Verdict

PLAIN_WIDTH = 120
"""Columns where there is no terminal to ask: CI logs do not wrap."""


def console(*, stderr: bool = False) -> Console:
    """A console; no colours and no wrapping at 80 columns where the output is not a terminal."""
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made.width = PLAIN_WIDTH
    return made


def fail(message: str) -> None:
    """One line on stderr."""
    print(f"kvconform: {message}", file=sys.stderr)


def print_verdicts(verdicts: Sequence[Verdict]) -> None:
    """The verdicts for people; what was never judged is no verdict, and goes to stderr."""
    from ..report.table import closing_lines, print_summary

    print_summary(verdicts, console())
    for verdict in verdicts:
        if verdict.log.header is None:
            fail(" ".join(closing_lines(verdict)))


def check_writable(path: Path | None, *, what: str = "report") -> None:
    """Refuse a path that cannot be written, before the run and without touching what is there."""
    if path is None:
        return
    existed = path.exists()
    try:
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise UserError(
            f"{what} {path}: cannot be written: {error.strerror}. Give a path in a writable folder."
        ) from None
    if not existed:
        path.unlink()


def check_reports(*paths: Path | None) -> None:
    """Refuse reports that cannot be written, or that would overwrite each other."""
    given = [path for path in paths if path is not None]
    for path in given:
        check_writable(path)
    files = [path.resolve() for path in given if path.is_file() or not path.exists()]
    twice = next((path for path in files if files.count(path) > 1), None)
    if twice is not None:
        raise UserError(f"report {twice}: two reports would go there. Give each a file of its own.")


def write_report(verdicts: Sequence[Verdict], *, json: Path | None, junit: Path | None) -> None:
    """Write the reports that were asked for."""
    from ..report.json_report import json_text
    from ..report.junit import junit_text

    for path, text_of in ((json, json_text), (junit, junit_text)):
        if path is not None:
            write_text(path, text_of(verdicts))


def write_text(path: Path, text: str) -> None:
    """Write a report; a full disk, or a folder that has gone meanwhile, is told as such."""
    with telling_why(path):
        path.write_text(text, encoding="utf-8")


@contextmanager
def telling_why(path: Path, *, what: str = "report") -> Generator[None]:
    """Around what writes a file: says which, why not, and what to do."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{what} {path}: cannot be written: {error.strerror}. Make room, or give another path."
        ) from None


@contextmanager
def printing_after(show: Callable[[], None]) -> Generator[None]:
    """Shows the result behind the block that writes it, also when that fails: neither costs the other."""
    try:
        yield
    finally:
        show()
