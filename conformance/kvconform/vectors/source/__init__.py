"""Where vectors come from: tables, one module an area, written from the specification and from reports."""

from __future__ import annotations

from importlib import import_module

from ...requirements import AREAS
from .words import Source


def all_sources() -> tuple[Source, ...]:
    """Every source, area by area in the order of the specification."""
    modules = [import_module(f"{__name__}.{area.lower()}") for area in AREAS]
    return tuple(source for module in modules for source in module.VECTORS)
