"""Known failures: what an implementation is known to get wrong, each with its reason, reviewed in a file.

An entry excuses exactly what it describes. A failure with another message is reported as a failure; an
entry that nothing matches any more is stale and fails the run, so that the file never outlives the bugs.
The format is in ``docs/cli.md``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from .errors import STALE, UserError, near_matches
from .jsondata import first_fault, is_object
from .report.log import Excuse

VERSION = 1
"""Version of the file format."""

_KEYS = ("requirement", "check", "vector")
FIELDS = {*_KEYS, "reason", "url", "message", "outcome", "signal", "scenario"}


@dataclass(frozen=True, kw_only=True)
class KnownFailures:
    """The entries in force, and where they come from."""

    entries: tuple[Excuse, ...] = ()
    source: str | None = None

    def covering(self, check: str) -> tuple[int, ...]:
        """Numbers of the entries that cover a check (``GS-3.nearest``), by its id or its requirement's."""
        names = {check, check.split(".", 1)[0]}
        return tuple(number for number, entry in enumerate(self.entries) if entry.key in names)

    def matching(self, check: str, *, outcome: str, message: str, signal: str = "") -> int | None:
        """The number of the entry that excuses this failure of ``check``, if one does."""
        for number in self.covering(check):
            if excuses(self.entries[number], outcome=outcome, message=message, signal=signal):
                return number
        return None


def excuses(entry: Excuse, *, outcome: str, message: str, signal: str) -> bool:
    """Whether an entry describes this failure: a crash by its signal, all else by how its message begins.

    ``*`` in the entry stands for any text, as messages name positions and sizes.
    A timeout or a protocol error is never excused: nothing can be said of what would have come.
    """
    beginning = ".*?".join(map(re.escape, entry.message.split("*")))
    if not re.match(beginning, message, flags=re.DOTALL):
        return False
    if entry.outcome == "crash":
        return outcome == "crash" and signal == entry.signal
    return outcome in ("fail", "error")


def load_known_failures(path: Path, *, ids: Sequence[str] = ()) -> KnownFailures:
    """Read and check a file. ``ids`` are the requirement and check ids that entries may name (empty: any)."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"known-failures file {path}: cannot be read: {getattr(error, 'strerror', None) or error}. "
            "Give an existing TOML file, or none to switch known failures off."
        ) from None
    return parse_known_failures(text, source=str(path), ids=ids)


def parse_known_failures(text: str, *, source: str, ids: Sequence[str] = ()) -> KnownFailures:
    """The entries of a file's text."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"known-failures file {source}: not TOML: {error}. Correct that line.") from None
    _check_head(data, source)
    entries = data.get("known", [])
    return KnownFailures(
        entries=tuple(
            _entry(entry, f"{source}, entry {number}", ids) for number, entry in enumerate(entries, 1)
        ),
        source=source,
    )


def shipped_path(name: str) -> Path | None:
    """The reviewed file of a shipped implementation, if it has one."""
    folder = resources.files("kvconform") / "known_failures"
    path = Path(str(folder)) / f"{name}.toml"
    return path if "/" not in name and path.is_file() else None


def known_failures_for(spec: str, option: str | None, *, ids: Sequence[str] = ()) -> KnownFailures:
    """What ``--known-failures`` asks for: a file, ``none``, or (not given) the shipped file of ``spec``."""
    if option == "none":
        return KnownFailures()
    path = shipped_path(spec) if option is None else Path(option)
    return load_known_failures(path, ids=ids) if path else KnownFailures()


def _check_head(data: dict[str, Any], source: str) -> None:
    unknown = sorted(set(data) - {"version", "known"})
    if unknown:
        raise UserError(
            f"known-failures file {source}: field {unknown[0]!r} is not known. "
            "A file has version = 1 and [[known]] entries."
        )
    if data.get("version") != VERSION:
        raise UserError(
            f"known-failures file {source}: version is {data.get('version')!r}, must be {VERSION}. "
            f"Write version = {VERSION} at its top."
        )
    if not isinstance(data.get("known", []), list):
        raise UserError(
            f"known-failures file {source}: known is not a list. Write each entry under [[known]]."
        )


def _entry(data: Any, where: str, ids: Sequence[str]) -> Excuse:
    if not is_object(data):
        raise UserError(f"known-failures file {where}: not a table. Write each entry under [[known]].")
    _check_fields(data, where)
    key = _key(data, where, ids)
    outcome, signal = data.get("outcome", "fail"), data.get("signal", "")
    if outcome not in ("fail", "crash"):
        raise UserError(f"known-failures file {where}: outcome {outcome!r} is neither 'fail' nor 'crash'.")
    if (outcome == "crash") != bool(signal):
        raise UserError(
            f'known-failures file {where}: a crash is excused by outcome = "crash" together with its signal, '
            'e.g. signal = "SIGFPE", and nothing else has one. Give both or neither.'
        )
    if outcome == "fail" and not data.get("message"):
        raise UserError(
            f"known-failures file {where}: no message, so it would excuse everything. "
            "Give the beginning of the failure's message."
        )
    return Excuse(
        key=key,
        reason=data["reason"],
        url=data.get("url", ""),
        message=data.get("message", ""),
        outcome=outcome,
        signal=signal,
        scenario=_scenario(data, where),
    )


def _check_fields(data: dict[str, Any], where: str) -> None:
    unknown = sorted(set(data) - FIELDS)
    if unknown:
        near = near_matches(unknown[0], sorted(FIELDS))
        raise UserError(
            f"known-failures file {where}: field {unknown[0]!r} is not known{near}. Correct its name."
        )
    wrong = [name for name, value in data.items() if not isinstance(value, str)]
    if wrong:
        raise UserError(f"known-failures file {where}: {wrong[0]} is {data[wrong[0]]!r}, must be a string.")
    if not data.get("reason", "").strip():
        raise UserError(f"known-failures file {where}: no reason. Say why this failure is accepted.")


def _key(data: dict[str, Any], where: str, ids: Sequence[str]) -> str:
    given = [name for name in _KEYS if name in data]
    if len(given) != 1:
        raise UserError(
            f"known-failures file {where}: names {' and '.join(given) or 'nothing'}. "
            f"Give exactly one of {', '.join(_KEYS)}."
        )
    key: str = data[given[0]]
    key = f"vector:{key}" if given[0] == "vector" else key
    if ids and key not in ids:
        near = near_matches(key, list(ids))
        raise UserError(
            f"known-failures file {where}: {given[0]} {key!r} does not exist{near}. "
            "Correct it or take the entry out.",
            code=STALE,
        )
    return key


def _scenario(data: dict[str, Any], where: str) -> dict[str, Any] | None:
    if "scenario" not in data:
        return None
    if "check" not in data:
        raise UserError(
            f"known-failures file {where}: a scenario needs to know its judge. "
            "Name a check instead of a requirement."
        )
    from pydantic import ValidationError

    from .scenario import as_data, scenario_from_json

    try:
        return as_data(scenario_from_json(data["scenario"]))
    except ValidationError as error:
        raise UserError(f"known-failures file {where}: scenario: {first_fault(error)}. Correct it.") from None
