"""Examines one implementation by one check: explicit scenarios, generated ones, the smallest failure.

Every way in which an answer can fail becomes a :class:`Result`; nothing an implementation does ends a run.
"""

from __future__ import annotations

import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from hypothesis import HealthCheck, Phase, Verbosity, given, reject, settings
from hypothesis import seed as hypothesis_seed
from hypothesis.errors import Flaky, FlakyFailure, Unsatisfiable

from .checks import Check, Context, Expect, Finding
from .implementation import Crash, Implementation, TimedOut, Trouble, Unsupported
from .observation import Observation, Refusal
from .oracle import ReferenceOracle
from .outcomes import Outcome
from .requirements import catalogue, missing, outside
from .result import (
    Malformed,
    Raised,
    Result,
    answer,
    finding_result,
    refused_result,
    size,
    trouble_result,
)
from .scenario import Scenario
from .structure import why_malformed

EXAMPLES = {"quick": 15, "default": 120, "thorough": 1200}
"""Generated examples of a check of weight 1, by budget: what fits the promised times of a run (docs)."""

CRASHES_WHILE_SHRINKING = 4
"""A crash costs the restart of a process, seconds with MLX: so few are spent on a smaller scenario."""

TIMEOUTS_WHILE_SHRINKING = 1
"""Each costs a whole time limit."""

SHRINK_SECONDS = 10.0
"""Beyond this a smaller scenario is not worth the wait; it is the smallest found so far that is shown."""

UNHELPFUL = (
    HealthCheck.too_slow,
    HealthCheck.filter_too_much,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
)
"""What Hypothesis would complain of is up to the implementation here: how fast it is, what it can answer."""

HOPELESS = 40
"""After so many answers of `unsupported` in a row nothing else is expected."""


def examples_for(check: Check, budget: str) -> int:
    """How many scenarios a budget generates for a check."""
    return max(1, round(EXAMPLES[budget] * check.weight))


def why_not(check: Check, context: Context) -> str | None:
    """Why the check is not put to this implementation, or ``None`` when it is."""
    requirement = catalogue()[check.requirement]
    capabilities = context.info.capabilities
    return (
        missing(requirement.needs, capabilities)
        or outside(requirement.dialects, context.dialect)
        or missing(check.needs, capabilities)
        or outside(check.dialects, context.dialect)
    )


def examine(
    check: Check,
    implementation: Implementation,
    context: Context,
    *,
    seed: int,
    max_examples: int,
    shrink: bool = True,
) -> Result:
    """The verdict of ``check``: explicit scenarios first, then ``max_examples`` generated from ``seed``.

    The same seed gives the same scenarios, whatever else runs. With ``shrink`` a failure is reduced to the
    smallest scenario that still fails.
    """
    started = time.perf_counter()
    examination = _Examination(check=check, implementation=implementation, context=context, shrink=shrink)
    reason = why_not(check, context)
    if reason is None:
        examination.run_explicit()
        if check.scenarios is not None and (shrink or examination.smallest is None):
            examination.run_generated(seed=seed, max_examples=max_examples)
    result = examination.result(reason)
    return replace(result, seconds=time.perf_counter() - started)


def judge_scenario(
    check: Check, implementation: Implementation, context: Context, scenario: Scenario
) -> Result:
    """The verdict of ``check`` on one scenario, as when a failure is replayed."""
    started = time.perf_counter()
    examination = _Examination(check=check, implementation=implementation, context=context, shrink=False)
    examination.judge(scenario)
    return replace(examination.result(None), seconds=time.perf_counter() - started)


class _Enough(BaseException):
    """Ends Hypothesis's search at once; not an Exception, so that it is not taken for a failing example."""


class _Failed(Exception):  # noqa: N818 - tells Hypothesis that the example is interesting
    """One class an outcome, so that shrinking does not slip from one kind of failure to another."""


_FAILED: dict[str, type[_Failed]] = {
    outcome: type(f"_Failed_{outcome}", (_Failed,), {})
    for outcome in ("fail", "error", "crash", "timeout", "protocol")
}


@dataclass(kw_only=True)
class _Examination:
    """The state of one call of :func:`examine`."""

    check: Check
    implementation: Implementation
    context: Context
    shrink: bool
    judged: int = 0
    refused: int = 0
    unsupported_in_a_row: int = 0
    crashes: int = 0
    timeouts: int = 0
    unsupported: str = ""
    last_refusal: tuple[Scenario, str] | None = None
    smallest: Result | None = None
    last: Result | None = None
    """The failure seen last."""
    first_failure_at: float | None = None
    oracle: ReferenceOracle | None = field(default=None)

    def run_explicit(self) -> None:
        """Judge the check's own scenarios until one fails."""
        for scenario in self.check.explicit(self.context):
            if self.judge(scenario) in _FAILED:
                return

    def run_generated(self, *, seed: int, max_examples: int) -> None:
        """Search with Hypothesis, which shrinks what it finds."""
        # A failure of an explicit scenario is searched for again, to see whether a smaller one exists.
        explicit, self.smallest, self.last, self.first_failure_at = self.smallest, None, None, None
        try:
            # What matters of these was recorded in ``judge``.
            with suppress(_Enough, Flaky, FlakyFailure, Unsatisfiable):
                self._hypothesis_test(seed, max_examples)()
        except _Failed:
            self.smallest = self.last  # Hypothesis ends with a replay of its minimal example
        found = [result for result in (explicit, self.smallest) if result is not None]
        self.smallest = min(found, key=size, default=None)

    def _hypothesis_test(self, seed: int, max_examples: int) -> Callable[[], None]:
        assert self.check.scenarios is not None

        @hypothesis_seed(seed * 2**32 + zlib.crc32(self.check.id.encode()))
        @settings(
            max_examples=max_examples,
            database=None,
            deadline=None,
            derandomize=False,
            phases=(Phase.generate, Phase.shrink) if self.shrink else (Phase.generate,),
            suppress_health_check=UNHELPFUL,
            report_multiple_bugs=False,
            print_blob=False,
            verbosity=Verbosity.quiet,
        )
        @given(self.check.scenarios(self.context))
        def judge_generated(scenario: Scenario) -> None:
            outcome = self.judge(scenario)
            self._stop_if_enough()
            if outcome == "unsupported":
                reject()
            if outcome in _FAILED:
                raise _FAILED[outcome]

        return judge_generated

    def _stop_if_enough(self) -> None:
        if self.crashes > CRASHES_WHILE_SHRINKING or self.timeouts > TIMEOUTS_WHILE_SHRINKING:
            raise _Enough
        if self.unsupported_in_a_row >= HOPELESS and not self.judged:
            raise _Enough
        if self.first_failure_at and time.perf_counter() - self.first_failure_at > SHRINK_SECONDS:
            raise _Enough

    def judge(self, scenario: Scenario) -> Outcome:
        """Run one scenario, judge the answer, remember it if it is the smallest failure so far.

        No check makes a scenario that may be refused as a whole, but for those whose judges ask for
        refusals, and for resolve scenarios: whether a size that cannot be used is an error is a matter of
        the dialect. ``not run`` says so: an answer, but nothing to judge by.
        """
        try:
            observation = answer(self.implementation, scenario)
            if isinstance(observation, Refusal) and not self._judges_refusals():
                if scenario.kind != "resolve":
                    return self._failed(refused_result(self.check, scenario, observation))
                self.refused += 1
                self.last_refusal = scenario, observation.message
                return "not run"
            finding = next(iter(self._findings(scenario, observation)), None)
        except Unsupported as unsupported:
            self.unsupported_in_a_row += 1
            self.unsupported = str(unsupported)
            return "unsupported"
        except Trouble as trouble:
            self.crashes += isinstance(trouble, Crash)
            self.timeouts += isinstance(trouble, TimedOut)
            return self._failed(trouble_result(self.check, scenario, trouble))
        self.judged += self.shrink or self.smallest is None  # a failure run again to confirm it is not new
        self.unsupported_in_a_row = 0
        if finding is None:
            return "pass"
        return self._failed(finding_result(self.check, scenario, observation, finding))

    def _judges_refusals(self) -> bool:
        return self.check.judges_refusals or self.check.oracle == "reference"

    def _findings(self, scenario: Scenario, observation: Observation) -> Iterator[Finding]:
        malformed = why_malformed(scenario, observation)
        if malformed:
            raise Malformed(malformed, detail=repr(observation)[:2000])
        try:
            yield from self.check.judge(self.context, scenario, observation, self._expect(scenario))
        except (Trouble, Unsupported):
            raise  # of a companion: the implementation's own
        except Exception as error:
            # An answer of a shape that nobody thought of, or a bug of ours: either way no pass.
            message = f"the answer could not be judged: {type(error).__name__}: {error}"
            raise Raised(message, detail=traceback.format_exc()) from error

    def _expect(self, scenario: Scenario) -> Expect:
        answer: Observation | None = None

        def expect() -> Observation:
            nonlocal answer
            answer = answer or self._compute_expected(scenario)
            return answer

        return expect

    def _compute_expected(self, scenario: Scenario) -> Observation:
        if self.check.companion is not None:
            return answer(self.implementation, self.check.companion(self.context, scenario))
        self.oracle = self.oracle or ReferenceOracle(self.context.dialect)
        return self.oracle(scenario)

    def _failed(self, result: Result) -> Outcome:
        self.last = result
        if self.first_failure_at is None:
            self.first_failure_at = time.perf_counter()
        if self.smallest is None or size(result) <= size(self.smallest):
            self.smallest = result
        return result.outcome

    def result(self, reason: str | None) -> Result:
        """The verdict on all that was run."""
        if self.smallest is not None:
            return replace(self.smallest, examples=self.judged)
        result = Result(
            requirement=self.check.requirement, check=self.check.id, outcome="pass", examples=self.judged
        )
        if self.judged:
            return result
        if self.last_refusal is not None:
            scenario, message = self.last_refusal
            told = f"every scenario was refused: {self.refused} of them, the last with: {message}"
            return replace(result, outcome="fail", message=told, scenario=scenario)
        return replace(result, outcome="unsupported", message=reason or self.unsupported)
