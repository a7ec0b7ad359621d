"""What the tests of all drivers share: toolchains, one build a session, and comparison with the reference.

A driver is copied out of the package and built in a folder of its own outside the tree, so that a build
never leaves files beside the sources that the wheel carries.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from kvconform.implementation import Implementation, Unsupported
from kvconform.implementations.reference import factory as reference
from kvconform.observation import Observation
from kvconform.scenario import Scenario, as_data

DRIVERS = Path(str(files("kvconform"))) / "drivers"
ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "goldens" / "vectors"
LEFT_OUT = shutil.ignore_patterns(".build", "build", "target", "node_modules", "__pycache__")
NEVER_COMPARED = ("message", "prefill_times", "nbytes", "accesses")
"""Texts and spare capacity are each implementation's own, times differ every time."""


def require_tools(language: str, *tools: str, headers: Sequence[str] = ()) -> None:
    """Skip, saying why, where the toolchain is missing; on CI, which judges every driver, fail."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    missing += [header for header in headers if not Path(header).exists()]
    if not missing:
        return
    reason = f"the {language} driver cannot be built here: {', '.join(missing)} not found"
    if os.environ.get("CI"):
        pytest.fail(f"{reason}; CI must have every toolchain, install it")
    pytest.skip(reason)


def build_once(language: str, build: Callable[[Path], None]) -> Path:
    """The folder of a built copy of ``drivers/<language>``: built when its sources changed, else reused.

    ``build`` gets the copy. Parallel test processes wait for the one that builds.
    """
    root = Path(os.environ.get("KVCONFORM_BUILD_CACHE") or Path(tempfile.gettempdir()) / "kvconform-drivers")
    root.mkdir(parents=True, exist_ok=True)
    source = DRIVERS / language
    folder = root / f"{language}-{sources_digest(source)}"
    with locked(root / f"{language}.lock"):
        if not (folder / "built").exists():
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(source, folder, ignore=LEFT_OUT)
            build(folder)
            (folder / "built").touch()
    return folder


def sources_digest(source: Path) -> str:
    """Changes whenever a file of the driver does."""
    digest = hashlib.sha256()
    ignored = {".build", "build", "target", "node_modules", "__pycache__"}
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source)
        if path.is_file() and ignored.isdisjoint(inside.parts):
            digest.update(str(inside).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def run_tool(command: Sequence[str], *, cwd: Path, **env: str) -> str:
    """What the tool prints; a failed test with all of its output when it fails."""
    done = subprocess.run(
        command, cwd=cwd, env=environment() | env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def environment() -> dict[str, str]:
    """This process's environment, without a fault for the example."""
    return {name: value for name, value in os.environ.items() if name != "KVCONFORM_PLANT"}


def page(language: str) -> str:
    """The documentation page of a driver."""
    return (ROOT / "docs" / "drivers" / f"{language}.md").read_text(encoding="utf-8")


def code_block(text: str, language: str) -> str:
    """The first block of code in this language on a page."""
    return text.split(f"```{language}\n", 1)[1].split("```", 1)[0]


def lines_of_code(source: str, comment: str) -> list[str]:
    """The lines that are neither blank nor a comment."""
    return [line for line in source.splitlines() if line.strip() and not line.strip().startswith(comment)]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Only one process at a time."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# ---------------------------------------------------------------- comparison


def differences(implementation: Implementation, scenarios: Iterable[Scenario]) -> list[str]:
    """Where the answers differ from the reference's in the same dialect: one text a scenario, all of it."""
    expected = reference(implementation.info.dialect)
    found: list[str] = []
    for scenario in scenarios:
        wanted = comparable(expected.run(scenario))
        try:
            given = comparable(implementation.run(scenario))
        except Unsupported as reason:
            given = f"unsupported: {reason}"
        if given != wanted:
            where = first_difference(wanted, given)
            found.append(f"{scenario.model_dump_json(exclude_defaults=True)}\n    {where}")
    return found


def comparable(observation: Observation) -> Any:
    """The observation as data, without what is never compared; a refusal counts as such alone."""
    return without(as_data(observation), NEVER_COMPARED)


def without(data: Any, names: tuple[str, ...]) -> Any:
    """A copy of the data without the fields of these names."""
    if isinstance(data, dict):
        return {name: without(value, names) for name, value in data.items() if name not in names}
    return [without(item, names) for item in data] if isinstance(data, list) else data


def first_difference(wanted: Any, given: Any, path: str = "") -> str:
    """Where two pieces of data differ first."""
    if isinstance(wanted, dict) and isinstance(given, dict) and wanted.keys() == given.keys():
        pairs = [(f"{path}.{name}", wanted[name], given[name]) for name in wanted]
    elif isinstance(wanted, list) and isinstance(given, list) and len(wanted) == len(given):
        pairs = [(f"{path}[{i}]", *both) for i, both in enumerate(zip(wanted, given, strict=True))]
    else:
        return f"{path or 'all'}: expected {str(wanted)[:400]}, got {str(given)[:400]}"
    return next(first_difference(a, b, where) for where, a, b in pairs if a != b)
