"""A check: one requirement, the scenarios that could break it, and the judge of the answers.

The suite is a list of checks. A judge is either an invariant (it knows no reference), a comparison of
a projection of the observation with what the reference answers in the declared dialect, or a relation
between the implementation's answers to two scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .implementation import Info
from .observation import Observation
from .scenario import Scenario

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy
    from kvconform_reference.dialect import Dialect


@dataclass(frozen=True, kw_only=True)
class Context:
    """What generation and judging may know of the implementation under test."""

    info: Info
    dialect: Dialect
    budget: str = "default"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One way in which an observation breaks a requirement.

    ``message`` says what is wrong with which value and where, what is wrong first: known failures match
    its beginning. ``expected`` and ``observed`` are the smallest JSON-ready values that show the difference.
    """

    message: str
    expected: Any = None
    observed: Any = None


Judge = Callable[[Context, Scenario, Observation, "Expect"], Iterable[Finding]]
Expect = Callable[[], Observation]
"""What the observation is compared with, computed at most once, only when called: the reference's
observation of the same scenario, or (with a companion) the implementation's own of the companion."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One way of judging one requirement. ``name`` is unique within the requirement."""

    requirement: str
    name: str
    scenarios: Callable[[Context], SearchStrategy[Any]] | None
    """Generator; ``None`` when only the explicit scenarios are run."""
    judge: Judge
    oracle: Literal["invariant", "reference", "relation"] = "invariant"
    explicit: Callable[[Context], tuple[Scenario, ...]] = field(default=lambda _context: ())
    """Scenarios that are always run, before generation."""
    companion: Callable[[Context, Scenario], Scenario] | None = None
    """The second scenario of a relation."""
    needs: tuple[str, ...] = ()
    """What this check needs beside what its requirement does, in the same form."""
    dialects: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, "tuple[Any, ...]"])
    """Dialect parameters to which this check is limited, beside its requirement's."""
    judges_refusals: bool = False
    """Whether the judge wants to see refusals of whole scenarios; otherwise those are failures (but for
    resolve scenarios: whether a size that cannot be used is an error depends on the dialect)."""
    broad: bool = False
    """A net under many requirements: it is expected to fail together with others."""
    weight: float = 1.0
    """Multiplies the budget's number of examples."""

    @property
    def id(self) -> str:
        """``GS-3.nearest``: requirement and name."""
        return f"{self.requirement}.{self.name}"

    @property
    def area(self) -> str:
        """``GS`` of ``GS-3``."""
        return self.requirement.partition("-")[0]
