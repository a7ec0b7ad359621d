"""The vector file: one scenario, what a correct implementation answers, and for whom that holds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from ..observation import Observation
from ..scenario import Document, Int, Scenario

VERSION = 1
"""Version of the vector format. A file of another version is refused."""

Id = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z0-9]+)+$")]
"""Area, then words: ``gs-table-96-96``. Permanent: an id never changes its meaning and never disappears."""


class Group(Document):
    """Every number on the way from one group of values to its codes (section 14). Floats are exact."""

    min: float
    max: float
    edge: float
    """Whichever of ``min`` and ``max`` is farther from zero, ``max`` on a tie."""
    edge_code: Int
    """The edge in scales, rounded half to even; 0 makes the bias 0."""
    scale: float
    """In float32, as the codes are computed with it."""
    bias: float
    codes: tuple[int, ...]
    stored_scale: float
    """The scale in the tensor's dtype, as stored."""
    stored_bias: float


class Vector(Document):
    """One vector file."""

    version: Literal[1] = VERSION
    id: Id
    requirements: Annotated[tuple[str, ...], Field(min_length=1)]
    """Statements of the specification that it is about."""
    comment: Annotated[str, Field(min_length=1)]
    """Which bug it hunts."""
    reports: tuple[str, ...] | None = None
    """Public reports of that kind of bug."""
    dialects: Annotated[tuple[str, ...], Field(min_length=1)]
    """Named dialects in which ``expected`` is right; for other designs a sibling holds, or none."""
    needs: tuple[str, ...] = ()
    """What an implementation must declare to be asked: kind, layers, features, bits and dtypes."""
    scenario: Scenario
    expected: Observation
    intermediate: tuple[Group, ...] | None = None
    """Numeric vectors only: every group of the tensor, row by row."""

    @property
    def area(self) -> str:
        """``gs`` of ``gs-table-96-96``: the folder that the file lies in."""
        return self.id.partition("-")[0]


VECTOR: TypeAdapter[Vector] = TypeAdapter(Vector)
"""Validates and dumps vector files."""
