"""One fault on trial: which requirements fail, after how many scenarios, in how many seconds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..checks import Check
from ..examine import Result, answer, examine, examples_for, judge_scenario
from ..faults import Fault, FaultyImplementation
from ..faults.fault import DialectSpec
from ..implementation import Trouble, Unsupported
from ..observation import Observation
from ..outcomes import FAILURES
from ..scenario import Scenario
from ..session import context_of
from .corpus import Asked, Corpus
from .tracing import touches


@dataclass(frozen=True, kw_only=True)
class Kill:
    """One check that failed."""

    requirement: str
    check: str
    outcome: str
    examples: int
    """Scenarios that were judged until then, that one included."""
    message: str
    broad: bool = False


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What became of one fault in one dialect."""

    fault: str
    dialect: str
    breaks: tuple[str, ...]
    kills: tuple[Kill, ...]
    examples: int
    """Scenarios put to it until the first check of a named requirement failed; all of them if none did."""
    seconds: float
    """Time until then, generation included."""

    @property
    def label(self) -> str:
        """The fault, with its dialect where that is not the default."""
        return self.fault if self.dialect == "proposal" else f"{self.fault} @ {self.dialect}"

    @property
    def named(self) -> tuple[str, ...]:
        """The requirements that it names and that failed."""
        failed = {kill.requirement for kill in self.kills}
        return tuple(requirement for requirement in self.breaks if requirement in failed)

    @property
    def others(self) -> tuple[str, ...]:
        """The requirements that failed without being named, nets aside."""
        failed = dict.fromkeys(kill.requirement for kill in self.kills if not kill.broad)
        return tuple(requirement for requirement in failed if requirement not in self.breaks)

    @property
    def verdict(self) -> str:
        """``killed``, ``wrong reason`` when only others caught it, ``survived``."""
        if self.named:
            return "killed"
        return "wrong reason" if self.kills else "survived"


def hunt(
    fault: Fault,
    dialect: DialectSpec,
    checks: Sequence[Check],
    *,
    seed: int,
    budget: str,
    stop_at_first: bool = False,
) -> tuple[list[Kill], int, float]:
    """Examine a fault by the checks of the requirements it names, as a run of the suite does.

    The kills, and the scenarios and seconds until the first one.
    """
    faulty = FaultyImplementation(fault, dialect)
    context = context_of(faulty, budget=budget)
    kills: list[Kill] = []
    examples, started = 0, time.perf_counter()
    first: tuple[int, float] | None = None
    for check in naming(fault, checks):
        most = examples_for(check, budget)
        result = examine(check, faulty, context, seed=seed, max_examples=most, shrink=False)
        examples += result.examples
        if result.outcome in FAILURES:
            kills.append(_kill(check, result))
            first = first or (examples, time.perf_counter() - started)
            if stop_at_first:
                break
    return kills, *(first or (examples, time.perf_counter() - started))


def naming(fault: Fault, checks: Iterable[Check]) -> list[Check]:
    """The checks of the requirements that a fault names, the one it hunts first at the front; nets last."""
    chosen = [check for check in checks if check.requirement in fault.breaks]
    return sorted(chosen, key=lambda check: (check.broad, fault.breaks.index(check.requirement)))


def replayed(fault: Fault, dialect: DialectSpec, checks: Iterable[Check], corpus: Corpus) -> Iterator[Kill]:
    """Put a fault to the scenarios of the corpus: what :func:`examine` finds there, without generating."""
    faulty = _Remembering(FaultyImplementation(fault, dialect))
    needed = touches(fault)
    for check in checks:
        kill = _replay(check, faulty, corpus, needed)
        if kill is not None:
            yield kill


class _Remembering:
    """A faulty implementation that is asked once where its answer is first compared and then judged."""

    def __init__(self, faulty: FaultyImplementation) -> None:
        self.info = faulty.info
        self._faulty = faulty
        self._asked: Scenario | None = None
        self._answer: Observation | Exception | None = None

    def run(self, scenario: Scenario) -> Observation:
        """The answer, or what was raised instead of one."""
        if self._asked is not scenario:
            self._asked, self._answer = scenario, self._ask(scenario)
        if isinstance(self._answer, Exception):
            raise self._answer
        assert self._answer is not None
        return self._answer

    def _ask(self, scenario: Scenario) -> Observation | Exception:
        try:
            return self._faulty.run(scenario)
        except Exception as error:  # raised again, each time it is asked for
            return error


def _replay(check: Check, faulty: _Remembering, corpus: Corpus, needed: frozenset[str] | None) -> Kill | None:
    judged = refused = 0
    last: Result | None = None
    for asked in corpus.asked(check):
        result = _result(check, faulty, corpus, asked, needed)
        if result is None or result.outcome not in FAILURES:
            judged += result is None or bool(result.examples)
        elif result.examples or result.outcome != "fail" or asked.scenario.kind != "resolve":
            if not corpus.fails_itself(check, asked):
                return _kill(check, result, examples=judged + 1)
        else:
            refused += 1  # alone it tells nothing: a size that cannot be used may be an error
            last = result
    return _kill(check, last, examples=refused) if last and not judged else None


def _result(
    check: Check,
    faulty: _Remembering,
    corpus: Corpus,
    asked: Asked,
    needed: frozenset[str] | None,
) -> Result | None:
    """None where the fault changes nothing, so that the verdict is the reference's, which is to pass."""
    if needed is not None and not needed & asked.touched:
        return None
    if check.companion is None and _same(faulty, asked):
        return None
    return judge_scenario(check, faulty, corpus.context, asked.scenario)


def _same(faulty: _Remembering, asked: Asked) -> bool:
    try:
        return answer(faulty, asked.scenario) == asked.answer
    except Unsupported:
        return asked.answer is None
    except Trouble:
        return False


def _kill(check: Check, result: Result, *, examples: int | None = None) -> Kill:
    return Kill(
        requirement=check.requirement,
        check=check.id,
        outcome=result.outcome,
        examples=result.examples if examples is None else examples,
        message=result.message,
        broad=check.broad,
    )
