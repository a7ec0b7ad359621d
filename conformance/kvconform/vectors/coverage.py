"""What vectors cover: requirements, and dialects that only theirs pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from kvconform_reference.dialect import DIALECTS

from ..implementations import reference
from ..requirements import catalogue
from . import compare, recording
from .document import Vector
from .needs import unmet

INEXPRESSIBLE: Mapping[str, str] = MappingProxyType(
    {
        "PS-4": "the draw of a sampler is not compared across implementations; argmax is in every vector",
        "QC-8": "byte counts are compared with a formula and a bound, not with a number",
        "QC-11": "how many rows an export holds is each design's own business below the bound",
    }
)
"""Requirements that no vector can express, and why."""


def uncovered(vectors: Iterable[Vector]) -> set[str]:
    """Requirements that no vector names."""
    return set(catalogue()) - {name for vector in vectors for name in vector.requirements}


def passing_dialects(vector: Vector) -> tuple[str, ...]:
    """The named dialects in which the reference answers a vector as expected."""
    return tuple(name for name in DIALECTS if _passes(vector, name))


def _passes(vector: Vector, dialect: str) -> bool:
    context = recording.reference_context(dialect)
    if unmet(vector.needs, context.info.capabilities):
        return False
    answer = reference.factory(dialect).run(vector.scenario)
    return compare.same(context, vector.scenario, vector.expected, answer)
