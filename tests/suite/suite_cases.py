"""One table: for each invariant right answers that it must accept and wrong ones that it must reject."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from kvconform.checks import Finding
from kvconform.observation import Refusal
from kvconform.scenario import Scenario
from kvconform_reference.dialect import PROPOSAL, Dialect
from suite_answers import Edit, edited, right


@dataclass(frozen=True, kw_only=True)
class Case:
    """A statement, a scenario whose right answer it accepts, and an edit that makes a wrong one."""

    name: str
    statement: Callable[..., Iterable[Finding]]
    scenario: Scenario
    wrong: Edit | Refusal
    says: str
    """How the finding begins: known failures go by it."""
    dialect: Dialect = PROPOSAL

    def findings_of_right(self) -> list[Finding]:
        """On the reference's answer."""
        return list(self.statement(self.scenario, right(self.scenario, self.dialect)))

    def findings_of_wrong(self) -> list[Finding]:
        """On the edited one."""
        if isinstance(self.wrong, Refusal):
            return list(self.statement(self.scenario, self.wrong))
        return list(self.statement(self.scenario, edited(right(self.scenario, self.dialect), self.wrong)))

    @property
    def function(self) -> Any:
        """The invariant itself, without arguments that a case gives it."""
        inner = self.statement
        while isinstance(inner, partial):
            inner = inner.func
        return getattr(inner, "judged", inner)


def with_context(function: Any, context: Any) -> Any:
    """A statement about what is declared, for this declaration."""

    def statement(scenario: Any, observation: Any) -> Any:
        return function(scenario, observation, context)

    statement.judged = function
    return statement
