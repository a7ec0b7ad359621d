"""Where the vector files are, and how they are read: from a checkout and from the wheel alike."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from ..errors import UserError
from ..jsondata import first_fault
from .document import VECTOR, Vector

PACKAGE = Path(__file__).parents[1]
"""The installed package, or its folder in a checkout."""


def goldens_folder(package: Path = PACKAGE) -> Path:
    """The folder ``goldens``: inside the installed package, or at the top of a checkout."""
    for folder in (package / "goldens", package.parents[1] / "goldens"):
        if (folder / "vectors").is_dir():
            return folder
    raise UserError(
        f"goldens: there are none beside {package}. Install kvconform again, or run from a whole checkout."
    )


def vector_path(vector: Vector, *, folder: Path | None = None) -> Path:
    """``goldens/vectors/<area>/<id>.json``."""
    return (folder or goldens_folder()) / "vectors" / vector.area / f"{vector.id}.json"


def read_vector(path: Path) -> Vector:
    """The vector in a file; a clear error names file and field."""
    try:
        return VECTOR.validate_json(path.read_bytes())
    except ValidationError as error:
        raise UserError(
            f"vector file {path}: {first_fault(error)}. Bring back the recorded file, or correct it "
            "(docs/vectors.md)."
        ) from None
    except OSError as error:
        raise UserError(
            f"vector file {path}: cannot be read: {error.strerror}. Give an existing file."
        ) from None


def committed_ids() -> tuple[str, ...]:
    """The ids that exist for good (``goldens/vectors/ids.txt``)."""
    return _ids_in(_ids_file())


def commit_id(name: str) -> None:
    """Add an id to those that exist for good."""
    known = set(committed_ids()) if _ids_file().exists() else set[str]()
    _ids_file().write_text("\n".join(sorted(known | {name})) + "\n", encoding="utf-8")


def _ids_file() -> Path:
    return goldens_folder() / "vectors" / "ids.txt"


def _ids_in(path: Path) -> tuple[str, ...]:
    try:
        return tuple(path.read_text(encoding="utf-8").split())
    except FileNotFoundError:
        raise UserError(f"vectors: {path} is missing. Install kvconform again, or bring it back.") from None


def vector_ids() -> tuple[str, ...]:
    """Every id, area by area, without reading a file."""
    return tuple(path.stem for path in _paths())


def _paths() -> list[Path]:
    return sorted((goldens_folder() / "vectors").glob("*/*.json"))


@cache
def all_vectors() -> Mapping[str, Vector]:
    """Every vector by id, area by area."""
    return MappingProxyType(read_vectors(goldens_folder()))


def read_vectors(folder: Path) -> dict[str, Vector]:
    """The vectors of a folder of goldens by id, area by area; :class:`UserError` unless it holds just those.

    A file under another name than its vector's, an id that was never recorded, and one that has no file: all
    would go unnoticed where vectors are asked by their ids.
    """
    committed = set(_ids_in(folder / "vectors" / "ids.txt"))
    vectors: dict[str, Vector] = {}
    for path in sorted((folder / "vectors").rglob("*.json")):
        vector = read_vector(path)
        _check_place(path, vector, folder)
        if vector.id not in committed:
            raise UserError(
                f"vector file {path}: {vector.id} was never recorded; ids.txt lacks it. Take it away, "
                "or give it a source and record it (docs/vectors.md)."
            )
        vectors[vector.id] = vector
    if lost := sorted(committed - set(vectors)):
        raise UserError(
            f"vectors: {lost[0]} has no file below {folder / 'vectors'}, nor have {len(lost) - 1} more. "
            "Ids are permanent: install kvconform again, or bring back the files."
        )
    return vectors


def _check_place(path: Path, vector: Vector, folder: Path) -> None:
    place = vector_path(vector, folder=folder)
    if path == place:
        return
    what = "so two files hold it" if place.exists() else "so it would not be found"
    raise UserError(
        f"vector file {path}: holds vector {vector.id}, which belongs into {vector.area}/{vector.id}.json, "
        f"{what}. Rename it, or take it away."
    )
