"""Where vectors come from: tables, one module an area, written from the specification and from reports."""

from __future__ import annotations

from importlib import import_module

from .words import Source

MODULES = ("gs", "mq", "st", "qc", "aq")


def all_sources() -> tuple[Source, ...]:
    """Every source, area by area."""
    return tuple(source for name in MODULES for source in import_module(f"{__name__}.{name}").VECTORS)
