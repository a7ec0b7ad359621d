"""Keeps the events of a run, and writes them to the log if there is one."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from . import __version__
from .checks import Check
from .errors import UserError
from .outcomes import Outcome
from .report.log import Begun, Broken, Event, Footer, Header, Judged, Listed, Log, LogWriter
from .report.verdict import Verdict, verdict_of
from .session import Session, subject_of

PACKAGES = ("hypothesis", "pydantic", "pytest", "mlx", "mlx-lm")
"""Packages whose version may explain a difference between two runs."""


class Recorder:
    """The events of one run, in memory and (with a path) on disk."""

    def __init__(self, path: Path | None, *, spec: str) -> None:
        self.spec = spec
        self._events: list[Event] = []
        self._writer = _open(path) if path else None

    def write(self, event: Event) -> None:
        """Keep one event."""
        self._events.append(event)
        if self._writer:
            self._writer.write(event)

    def begun(self, check: Check) -> None:
        """A check is being judged."""
        self.write(Begun(check=check.id))

    def broken(self, message: str) -> None:
        """There will be no verdict."""
        self.write(Broken(spec=self.spec, message=message))

    def died(self, check: Check, report: Any) -> None:
        """A test that gave no result: its process died, it could not begin, or we went wrong."""
        outcome, message = self._end_of(check, report)
        self.write(
            Judged(
                requirement=check.requirement,
                check=check.id,
                oracle=check.oracle,
                catch_all=check.broad,
                outcome=outcome,
                message=message,
                detail=str(report.longrepr),
            )
        )

    def _end_of(self, check: Check, report: Any) -> tuple[Outcome, str]:
        if report.when == "setup":
            return "protocol", "the implementation could not be started again, in another process"
        if report.when == "???":  # how xdist reports the test that a lost worker was running
            return "crash", (
                "the process that ran the implementation died. Put it behind the pipe to see the scenario: "
                f'kvconform run "exec:kvconform serve {self.spec}" --requirement {check.requirement}'
            )
        return "error", "the check did not come to a result"

    def finish(self, *, seconds: float) -> None:
        """Write the footer, if every check that was to be judged has a result."""
        log = Log.of(self._events)
        if log.header is not None and log.broken is None:
            planned = {check for listed in log.header.requirements for check in listed.checks}
            if planned <= {result.check for result in log.results}:
                self.write(Footer(results=len(log.results), seconds=round(seconds, 3)))
        if self._writer:
            self._writer.close()
            self._writer = None

    def verdict(self) -> Verdict:
        """The verdict on what has been kept so far."""
        return verdict_of(Log.of(self._events), spec=self.spec)


def header_of(session: Session, *, listed: tuple[Listed, ...], selected: tuple[str, ...]) -> Header:
    """The log's first line for a session."""
    return Header(
        implementation=subject_of(session.spec, session.implementation),
        seed=session.seed,
        budget=session.budget,
        versions=versions(),
        selected=selected,
        requirements=listed,
        known=session.known.entries,
        known_source=session.known.source,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Versions of this program, Python, the platform and the packages that are installed."""
    found = {"kvconform": __version__, "python": platform.python_version(), "platform": platform.platform()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _open(path: Path) -> LogWriter:
    try:
        path.unlink(missing_ok=True)
        return LogWriter(path)
    except OSError as error:
        raise UserError(
            f"log {path}: cannot be written: {error.strerror}. Give a path in a writable folder."
        ) from None
