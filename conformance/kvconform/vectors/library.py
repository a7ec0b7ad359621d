"""Where the vector files are, and how they are read: from a checkout and from the wheel alike."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from ..errors import UserError
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
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise UserError(
            f"vector file {path}: field {place}: {first['msg']}. Correct it (docs/vectors.md)."
        ) from None
    except OSError as error:
        raise UserError(
            f"vector file {path}: cannot be read: {error.strerror}. Give an existing file."
        ) from None


def committed_ids() -> tuple[str, ...]:
    """The ids that exist for good (``goldens/vectors/ids.txt``)."""
    return tuple(_ids_file().read_text(encoding="utf-8").split())


def commit_id(name: str) -> None:
    """Add an id to those that exist for good."""
    known = set(committed_ids()) if _ids_file().exists() else set[str]()
    _ids_file().write_text("\n".join(sorted(known | {name})) + "\n", encoding="utf-8")


def _ids_file() -> Path:
    return goldens_folder() / "vectors" / "ids.txt"


def vector_ids() -> tuple[str, ...]:
    """Every id, area by area, without reading a file."""
    return tuple(path.stem for path in _paths())


def _paths() -> list[Path]:
    return sorted((goldens_folder() / "vectors").glob("*/*.json"))


@cache
def all_vectors() -> Mapping[str, Vector]:
    """Every vector by id, area by area."""
    vectors = [read_vector(path) for path in _paths()]
    return MappingProxyType({vector.id: vector for vector in vectors})
