"""Known failures inside one check: taken out of what it sees, so that it still finds every other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .checks import Check, Context, Expect, Finding
from .examine import Result
from .implementation import Crash, Trouble
from .known import KnownFailures
from .observation import Observation
from .outcomes import FAILURES
from .scenario import Scenario


@dataclass(kw_only=True)
class Matcher:
    """Takes known failures out of what a check sees, and remembers one of each."""

    check: Check
    known: KnownFailures
    seen: dict[int, Result] = field(default_factory=dict[int, Result])

    def filtering(self, check: Check) -> Check:
        """The check, blind to the findings that an entry describes."""

        def judge(
            context: Context, scenario: Scenario, observation: Observation, expect: Expect
        ) -> Iterable[Finding]:
            for finding in check.judge(context, scenario, observation, expect):
                if not self.note_if_known(self._result(finding, scenario)):
                    yield finding

        return replace(check, judge=judge)

    def excused(self, trouble: Trouble, scenario: Scenario) -> bool:
        """Whether an entry describes this trouble."""
        return self.note_if_known(
            Result(
                requirement=self.check.requirement,
                check=self.check.id,
                outcome=trouble.outcome,  # pyright: ignore[reportArgumentType] - declared as str for adapters
                message=str(trouble),
                scenario=scenario,
                detail=trouble.detail,
                signal=trouble.signal if isinstance(trouble, Crash) else "",
            )
        )

    def note_if_known(self, result: Result) -> bool:
        """Remember a failure that an entry describes; whether there is one."""
        if result.outcome not in FAILURES:
            return False
        number = self.known.matching(
            self.check.id, outcome=result.outcome, message=result.message, signal=result.signal
        )
        if number is not None:
            self.note(number, result)
        return number is not None

    def note(self, number: int, result: Result) -> None:
        """Remember the first failure of an entry."""
        self.seen.setdefault(number, result)

    def _result(self, finding: Finding, scenario: Scenario) -> Result:
        return Result(
            requirement=self.check.requirement,
            check=self.check.id,
            outcome="fail",
            message=finding.message,
            scenario=scenario,
            expected=finding.expected,
            observed=finding.observed,
        )
