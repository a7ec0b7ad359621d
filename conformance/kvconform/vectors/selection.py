"""Which vectors are meant: by id, by requirement, by area."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import UserError, near_matches
from ..requirements import AREAS, catalogue
from .document import Vector


def selected_vectors(
    vectors: Mapping[str, Vector], *, ids: Sequence[str] = (), requirements: Sequence[str] = ()
) -> tuple[Vector, ...]:
    """The vectors that ids name, or requirements (MQ-12) or areas (MQ); all without any name."""
    wanted = {_known(name.lower(), list(vectors), "vector") for name in ids}
    names = {_known(name.upper(), [*AREAS, *catalogue()], "requirement") for name in requirements}
    return tuple(
        vector
        for vector in vectors.values()
        if (not wanted or vector.id in wanted) and (not names or _is_about(vector, names))
    )


def _known(name: str, names: list[str], what: str) -> str:
    if name not in names:
        raise UserError(f"{what} {name!r} does not exist{near_matches(name, names)}. Correct it.")
    return name


def _is_about(vector: Vector, names: set[str]) -> bool:
    return any(about in names or about.partition("-")[0] in names for about in vector.requirements)
