"""What the checks ask, once: every scenario of every check, the reference's answer, and what it touched.

The scenarios are those of :func:`examine` for the same seed, so that a hundred faults are put to the same
questions without generating them a hundred times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ..checks import Check, Context
from ..examine import examine, examples_for, judge_scenario, why_not
from ..implementations import reference
from ..observation import Observation, Refusal
from ..outcomes import FAILURES
from ..scenario import Scenario
from .tracing import TracedDialect, read_parameters, traced


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One scenario of one check."""

    scenario: Scenario
    answer: Observation | None
    """The reference's; none where it has no such concept."""
    touched: frozenset[str]
    """With those of the companion, where there is one."""


@dataclass(kw_only=True)
class Corpus:
    """The scenarios of the checks in one dialect, by check, asked for when first needed."""

    context: Context
    seed: int
    _known: dict[str, tuple[Asked, ...]] = field(default_factory=dict[str, "tuple[Asked, ...]"])

    def asked(self, check: Check) -> tuple[Asked, ...]:
        """The scenarios of one check, explicit ones first; empty when it does not apply."""
        if check.id not in self._known:
            self._known[check.id] = self._ask(check)
        return self._known[check.id]

    def prepare(self, checks: Iterable[Check]) -> None:
        """Ask for the scenarios of several checks now, before processes part."""
        for check in checks:
            self.asked(check)

    def fails_itself(self, check: Check, asked: Asked) -> bool:
        """Whether the unharmed reference fails there too: some dialects break universal statements."""
        unharmed = reference.factory(self.context.dialect)
        return judge_scenario(check, unharmed, self.context, asked.scenario).outcome in FAILURES

    def _ask(self, check: Check) -> tuple[Asked, ...]:
        if why_not(check, self.context) is not None:
            return ()
        listener = _Listener(self.context, check)
        silent = replace(check, judge=_no_findings, companion=None, judges_refusals=True)
        examples = examples_for(check, self.context.budget)
        examine(silent, listener, self.context, seed=self.seed, max_examples=examples, shrink=False)
        return tuple(listener.heard)


def _no_findings(*_judged: object) -> tuple[()]:
    return ()


class _Listener:
    """The reference, answering and noting what it touched."""

    def __init__(self, context: Context, check: Check) -> None:
        self.info = context.info
        self.heard: list[Asked] = []
        self._context = context
        self._companion = check.companion
        self._reference = reference.factory(TracedDialect(**context.dialect.as_dict()))

    def run(self, scenario: Scenario) -> Observation:
        """The reference's answer; Unsupported passes through."""
        touched: set[str] = set()
        answer: Observation | None = None
        try:
            with traced(touched):
                return (answer := self._answer(scenario))
        finally:
            for other in self._companions(scenario):
                with traced(touched):
                    self._answer(other)
            noted = frozenset(touched | read_parameters())
            self.heard.append(Asked(scenario=scenario, answer=answer, touched=noted))

    def _answer(self, scenario: Scenario) -> Observation:
        try:
            return self._reference.run(scenario)
        except (ValueError, TypeError, NotImplementedError) as refusal:
            return Refusal(message=str(refusal))

    def _companions(self, scenario: Scenario) -> Iterator[Scenario]:
        if self._companion is not None:
            yield self._companion(self._context, scenario)
