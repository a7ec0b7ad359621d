"""The event log: append-only JSON lines with a header and a footer, the source of every report.

One process writes it (the controller of a distributed run). A log without its footer is incomplete, and
says so in every report: no footer, no verdict.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from ..errors import UserError
from ..jsondata import first_fault
from ..outcomes import Outcome
from ..scenario import Document

FORMAT = 1
"""Version of the log format."""


class Subject(Document):
    """Who was judged: how it was named on the command line, and what it says of itself."""

    spec: str
    name: str
    version: str | None = None
    dialect: str | dict[str, Any] | None = None
    language: str | None = None
    backend: str | None = None


class Listed(Document):
    """One requirement that the run was asked to judge, so that a report needs nothing but the log."""

    id: str
    area: str
    tier: str
    """``U`` (universal) or ``D`` (dialect)."""
    level: str
    """``must`` or ``should``; a failed ``should`` never fails a run."""
    statement: str
    checks: tuple[str, ...] = ()
    """Ids of the suite's checks; without any the requirement cannot be judged on an implementation."""
    elsewhere: str = ""
    """Who looks after what no scenario can express."""


class Excuse(Document):
    """One entry of a known-failures file. Source: ``known.py``, which checks it."""

    key: str
    """Requirement, check or ``vector:`` id that it covers."""
    reason: str
    url: str = ""
    message: str = ""
    outcome: Literal["fail", "crash"] = "fail"
    signal: str = ""
    scenario: dict[str, Any] | None = None


class Header(Document):
    """First line: who is judged, with what, and what is to be judged."""

    event: Literal["start"] = "start"
    format: Literal[1] = FORMAT
    implementation: Subject
    seed: int
    budget: str
    versions: dict[str, str]
    selected: tuple[str, ...] = ()
    """Requirements or areas that were asked for; empty is all."""
    requirements: tuple[Listed, ...]
    known: tuple[Excuse, ...] = ()
    known_source: str | None = None
    started: str


class Begun(Document):
    """A check is being judged: what a log that breaks off was busy with."""

    event: Literal["begun"] = "begun"
    check: str


class Judged(Document):
    """The result of one check."""

    event: Literal["result"] = "result"
    requirement: str
    check: str
    oracle: str = ""
    catch_all: bool = False
    """Whether it is expected to fail together with others, which say more precisely what is wrong."""
    outcome: Outcome
    message: str = ""
    """What is wrong, or why it was not judged."""
    scenario: dict[str, Any] | None = None
    expected: Any = None
    observed: Any = None
    detail: str = ""
    """Last lines of stderr, or a traceback."""
    signal: str = ""
    replay: str | None = None
    """Path of the replay file."""
    matched: tuple[int, ...] = ()
    """Numbers of the known-failure entries that this check's failures matched."""
    examined: tuple[int, ...] = ()
    """Numbers of the known-failure entries that this check could have matched."""
    examples: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """What is worth saying of the implementation that belongs to no scenario."""


class Noted(Document):
    """What was seen of the implementation when it was ended, behind every check."""

    event: Literal["note"] = "note"
    notes: tuple[str, ...]


class Broken(Document):
    """The implementation could not be started, or the run fell over: there is no verdict."""

    event: Literal["broken"] = "broken"
    spec: str
    message: str


class Footer(Document):
    """Last line of a complete log."""

    event: Literal["end"] = "end"
    results: int
    seconds: float


Event = Annotated[Header | Begun | Judged | Noted | Broken | Footer, Field(discriminator="event")]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)
E = TypeVar("E")


class LogWriter:
    """Appends events to a file, one flushed line each, so that a killed run loses at most the last."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")

    def write(self, event: Event) -> None:
        """Append one event."""
        self._file.write(EVENT.dump_json(event).decode() + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file; the log is complete only if a footer was written."""
        self._file.close()


@dataclass(frozen=True, kw_only=True)
class Log:
    """A log as read back."""

    header: Header | None = None
    results: tuple[Judged, ...] = ()
    broken: Broken | None = None
    footer: Footer | None = None
    busy: tuple[str, ...] = ()
    """Checks that were begun and have no result."""
    notes: tuple[str, ...] = ()
    """What was noticed when the implementation was ended."""

    @property
    def complete(self) -> bool:
        """Whether the run came to its end and every result is there."""
        return (
            self.header is not None and self.footer is not None and self.footer.results == len(self.results)
        )

    @classmethod
    def of(cls, events: list[Event]) -> Self:
        """The log that these events make."""
        results = tuple(event for event in events if isinstance(event, Judged))
        begun = [event.check for event in events if isinstance(event, Begun)]
        done = {result.check for result in results}
        return cls(
            header=_last(events, Header),
            results=results,
            broken=_last(events, Broken),
            footer=_last(events, Footer),
            busy=tuple(check for check in begun if check not in done),
            notes=tuple(note for event in events if isinstance(event, Noted) for note in event.notes),
        )


def _last(events: list[Event], kind: type[E]) -> E | None:
    return next((event for event in reversed(events) if isinstance(event, kind)), None)


def read_log(path: Path) -> Log:
    """Read a log. Half a last line is what a killed run leaves, and is dropped; anything else is refused."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise UserError(
            f"log {os.fspath(path)}: cannot be read: {why}. Give a file that a run wrote: .kvconform/logs/."
        ) from None
    lines = text.split("\n")
    whole = [line for line in lines[:-1] if line]
    return Log.of([_event(line, number, path) for number, line in enumerate(whole, start=1)])


def _event(line: str, number: int, path: Path) -> Event:
    try:
        return EVENT.validate_json(line)
    except ValidationError as error:
        raise UserError(
            f"log {os.fspath(path)}, line {number}: {first_fault(error)}. Give a log of this version."
        ) from None


class LogFollower:
    """Reads a log while it is written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._line = 0

    def new_events(self) -> list[Event]:
        """The events of the whole lines that came since the last call."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._position)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._position += len(whole)
        events: list[Event] = []
        for line in whole.decode().split("\n")[:-1]:
            self._line += 1
            events.append(_event(line, self._line, self._path))
        return events
