"""A check: one requirement, the scenarios that could break it, and the judge of the answers.

The suite is a list of checks. A judge is either an invariant (it knows no reference) or a comparison of
a projection of the observation with what the reference answers in the declared dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kvconform_reference.dialect import Dialect

from .implementation import Info
from .observation import Observation
from .scenario import Scenario

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True, kw_only=True)
class Context:
    """What generation and judging may know of the implementation under test."""

    info: Info
    dialect: Dialect
    budget: str = "default"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One way in which an observation breaks a requirement.

    ``message`` says what is wrong with which value and where; ``expected`` and ``observed`` are the
    smallest JSON-ready values that show the difference.
    """

    message: str
    expected: Any = None
    observed: Any = None


Judge = Callable[[Context, Scenario, Observation, "Expect"], Iterable[Finding]]
Expect = Callable[[], Observation]
"""Computes the reference's observation of the same scenario, at most once, only when called."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One way of judging one requirement. ``name`` is unique within the requirement."""

    requirement: str
    name: str
    scenarios: Callable[[Context], SearchStrategy[Scenario]] | None
    """Generator; ``None`` when only the explicit scenarios are run."""
    judge: Judge
    oracle: str = "invariant"
    """``invariant`` or ``reference``."""
    explicit: Callable[[Context], tuple[Scenario, ...]] = field(default=lambda _context: ())
    """Scenarios that are always run, before generation."""
    weight: float = 1.0
    """Multiplies the budget's number of examples."""

    @property
    def id(self) -> str:
        """``GS-3.nearest``: requirement and name."""
        return f"{self.requirement}.{self.name}"
