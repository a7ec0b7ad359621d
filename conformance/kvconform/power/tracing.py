"""Which seams and which dialect parameters a scenario touches: a fault elsewhere cannot change its answer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import cache
from inspect import getattr_static
from typing import Any

from kvconform_reference.dialect import PARAMETERS, Dialect

from ..faults import Fault, catalogued
from ..faults.planting import Patch, planted, wrapped

Touched = set[str]
"""Seams by :attr:`Patch.seam`, parameters as ``dialect.NAME``."""

TRACEABLE = (staticmethod, classmethod, property)


def touches(fault: Fault) -> frozenset[str] | None:
    """What a scenario must touch for the fault to show; none when it cannot be said (a constant)."""
    if any(not _is_traceable(patch) for patch in fault.patches):
        return None
    return frozenset([patch.seam for patch in fault.patches] + [f"dialect.{name}" for name in fault.behaves])


def _is_traceable(patch: Patch) -> bool:
    there = getattr_static(patch.owner, patch.name)
    return isinstance(there, TRACEABLE) or (callable(there) and not isinstance(there, type))


@contextmanager
def traced(touched: Touched) -> Generator[None]:
    """While the block runs every seam that is used is added to ``touched``."""
    with planted([_tracer(patch, touched.add) for patch in _seams()]):
        yield


def _tracer(patch: Patch, note: Callable[[str], None]) -> Patch:
    seam = patch.seam

    def noted(original: Any, *args: Any, **options: Any) -> Any:
        note(seam)
        return original(*args, **options)

    return wrapped(patch.owner, patch.name, noted)


@cache
def _seams() -> tuple[Patch, ...]:
    """One patch a seam of the catalogue, base classes first, so that what is inherited is traced too."""
    patches = {patch.seam: patch for fault in catalogued().values() for patch in fault.patches}
    return tuple(sorted(filter(_is_traceable, patches.values()), key=_depth))


def _depth(patch: Patch) -> int:
    return len(getattr(patch.owner, "__mro__", ()))


class TracedDialect(Dialect):
    """A dialect that notes which of its parameters are read."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name in PARAMETERS:
            _reading.update([f"dialect.{name}"])
        return super().__getattribute__(name)


_reading: Touched = set()


def read_parameters(parameters: Iterable[str] = ()) -> Touched:
    """The parameters read since the last call, which starts anew."""
    read = set(_reading) | set(parameters)
    _reading.clear()
    return read
