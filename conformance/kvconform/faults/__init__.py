"""Wrong implementations, each one decision away from the reference: what the suite must catch.

``faulty("tie-goes-high")`` is an implementation like any other; on the command line it is
``kvconform run fault:tie-goes-high``. Faults compose over the reference's seams and are in force only while a
scenario runs. ``docs/faults.md`` lists them all with what catches each.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from .fault import DialectSpec, Fault
from .faulty import FaultyImplementation

__all__ = ["Fault", "FaultyImplementation", "catalogued", "faulty"]


@cache
def catalogued() -> Mapping[str, Fault]:
    """Every fault by name, in the order of the specification's sections."""
    from . import (
        caches,
        containers,
        declared,
        iterating,
        narrow_caches,
        narrow_layers,
        narrow_numbers,
        narrow_turns,
        numbers,
        passes,
        resolving,
    )

    modules = (
        resolving,
        passes,
        containers,
        iterating,
        caches,
        numbers,
        declared,
        narrow_layers,
        narrow_turns,
        narrow_caches,
        narrow_numbers,
    )
    listed = [fault for module in modules for fault in module.FAULTS]
    named = {fault.name: fault for fault in listed}
    if len(named) != len(listed):
        names = [fault.name for fault in listed]
        raise ValueError(f"two faults are called {next(name for name in names if names.count(name) > 1)}")
    return MappingProxyType(named)


def faulty(name: str, dialect: DialectSpec | None = None) -> FaultyImplementation:
    """The fault called ``name`` as an implementation, in the first dialect it is wrong in or the one given.

    ValueError for a name that is not in the catalogue.
    """
    known = catalogued()
    if name not in known:
        from ..errors import near_matches

        raise ValueError(
            f"fault {name!r} is not known{near_matches(name, list(known))}; docs/faults.md lists them"
        )
    return FaultyImplementation(known[name], dialect)
