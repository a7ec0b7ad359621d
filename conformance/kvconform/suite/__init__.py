"""The conformance suite: every check, by area, and the test files that pytest runs on an implementation."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from ..requirements import AREAS

if TYPE_CHECKING:
    from ..checks import Check


@cache
def checks_for(area: str) -> tuple[Check, ...]:
    """The checks of one area (``GS``), in the order of the requirements."""
    module = importlib.import_module(f"kvconform.areas.{area.lower()}")
    return module.CHECKS


def all_checks() -> tuple[Check, ...]:
    """The checks of every area, in the order of the specification."""
    return tuple(check for area in AREAS for check in checks_for(area))
