"""Ready-made drivers in other languages: a kit, and an example implementation to be replaced.

Each folder here is one language, complete as it lies there; ``kvconform driver new`` copies it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from ..errors import UserError, near_matches

FOLDER = Path(__file__).parent

OTHER_NAMES = {
    "c++": "cpp",
    "js": "javascript",
    "typescript": "javascript",
    "ts": "javascript",
    "node": "javascript",
}
"""What a language is called beside the name of its folder."""

_LEFT_OUT = shutil.ignore_patterns(".build", "build", "target", "node_modules", "__pycache__", "Cargo.lock")
"""What tools leave behind in a checkout."""


def languages() -> tuple[str, ...]:
    """The languages there is a driver for, by the names of their folders."""
    return tuple(sorted(readme.parent.name for readme in FOLDER.glob("*/README.md")))


def copy_driver(language: str, path: Path) -> Path:
    """Write a driver that runs to a new or empty folder; the folder.

    :class:`UserError` for a language there is no driver for, or a path where something is already.
    """
    source = driver_folder(language)
    _check_free(path)
    try:
        shutil.copytree(source, path, dirs_exist_ok=True, ignore=_LEFT_OUT)
    except (OSError, shutil.Error) as error:
        raise UserError(
            f"driver {path}: cannot be written: {error}. Give a path in a writable folder."
        ) from None
    return path


def driver_folder(language: str) -> Path:
    """Where the driver of a language lies; :class:`UserError` when there is none."""
    name = OTHER_NAMES.get(language.lower(), language.lower())
    if name not in languages():
        known = ", ".join(languages())
        near = near_matches(language, [*languages(), *OTHER_NAMES])
        raise UserError(
            f"driver language {language!r}: there is no driver for it; the languages are {known}{near}. "
            f"Take one of them, or write a driver by hand (docs/wire.md)."
        )
    return FOLDER / name


def first_commands(language: str) -> tuple[str, ...]:
    """What its README says to type first: build, then judge."""
    lines = (driver_folder(language) / "README.md").read_text(encoding="utf-8").splitlines()
    return tuple(_first_block(lines))


def _first_block(lines: list[str]) -> Iterator[str]:
    begun = False
    for line in lines:
        indented = line.startswith("    ")
        if indented:
            yield line.strip()
        elif begun:
            return
        begun = begun or indented


def _check_free(path: Path) -> None:
    if path.is_dir():
        inside = next(path.iterdir(), None)
        if inside is None:
            return
        raise UserError(f"driver {path}: the folder is not empty, it holds {inside.name}. Give a new path.")
    if path.exists() or path.is_symlink():
        raise UserError(f"driver {path}: there is a file of this name. Give a new path.")
