"""Replay files: one failing scenario with what was expected and observed, ready to be run again."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from .errors import UserError
from .jsondata import first_fault, is_object
from .scenario import SCENARIO, VERSION, Document, Scenario, as_data

FOLDER = Path(".kvconform") / "failures"
"""Where replay files go, below the directory that the run was started in."""


class Replay(Document):
    """A failing scenario and everything that is needed to judge it again."""

    replay: Literal[1] = 1
    """Version of the format; its presence tells a replay file from a bare scenario."""
    implementation: str
    """As it was named on the command line."""
    requirement: str
    check: str
    statement: str = ""
    outcome: str
    message: str = ""
    scenario: Scenario
    expected: Any = None
    observed: Any = None
    known: str = ""
    """The reason, when this failure is a known one."""


_REPLAY: TypeAdapter[Replay] = TypeAdapter(Replay)


def replay_name(implementation: str, check: str, scenario: dict[str, Any]) -> str:
    """The file's name: the same failure has the same name in every run."""
    text = json.dumps([implementation, check, scenario], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12] + ".json"


def write_replay(replay: Replay, *, folder: Path = FOLDER) -> Path | None:
    """Write a replay file; ``None`` where nothing can be written (the failure is reported all the same)."""
    name = replay_name(replay.implementation, replay.check, as_data(replay.scenario))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f".{name}.{os.getpid()}"
        part.write_text(replay.model_dump_json(indent=2) + "\n", encoding="utf-8")
        part.replace(folder / name)
    except OSError:
        return None
    return folder / name


def run_folder(path: Path) -> Path | None:
    """The folder that the run was started in, as the place of its replay file says; none if it was moved."""
    folder = path.resolve().parent
    return folder.parents[1] if folder.parts[-2:] == FOLDER.parts else None


def replay_command(path: str | Path) -> str:
    """The command that runs a replay file again."""
    return f"kvconform replay {shlex.quote(os.fspath(path))}"


def read_replay(path: Path) -> Replay | Scenario:
    """A replay file, or a bare scenario."""
    data: Any = read_json(path, what="scenario file")
    if not is_object(data):
        raise UserError(
            f"scenario file {path}: holds {_kind(data)}, not an object. Give a scenario or a replay file."
        )
    if "replay" in data:
        return _parsed(_REPLAY, data, path, advice="Give a file that a run of this version wrote.")
    if data.get("version") != VERSION:
        raise UserError(
            f"scenario file {path}: version is {data.get('version')!r}, must be {VERSION}. "
            "Give a scenario of this version (docs/scenarios.md)."
        )
    return _parsed(SCENARIO, data, path, advice="Correct it (docs/scenarios.md says what the fields mean).")


def read_json(path: Path, *, what: str) -> Any:
    """Decoded JSON of a file, or a clear refusal."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{what} {path}: cannot be read: {error.strerror}. Give an existing file.") from None
    except UnicodeDecodeError:
        raise UserError(f"{what} {path}: not UTF-8 text. Give a JSON file.") from None
    except json.JSONDecodeError as error:
        raise UserError(
            f"{what} {path}, line {error.lineno} column {error.colno}: not JSON: {error.msg}. Correct it."
        ) from None


def _parsed(adapter: TypeAdapter[Any], data: Any, path: Path, *, advice: str) -> Any:
    try:
        return adapter.validate_json(json.dumps(data))
    except ValidationError as error:
        raise UserError(f"scenario file {path}: {first_fault(error)}. {advice}") from None


def _kind(data: Any) -> str:
    names = {"list": "a list", "str": "a string", "NoneType": "null", "bool": "a boolean"}
    return names.get(type(data).__name__, "a number")
