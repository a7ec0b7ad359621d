"""A covered check: known failures are excused, no other is, and what no longer fails is found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from kvconform.checks import Check, Context, Expect, Finding
from kvconform.implementation import Crash, Info, StartFailed, TimedOut
from kvconform.implementations import reference
from kvconform.known import KnownFailures
from kvconform.observation import Observation, ResolveObservation
from kvconform.report.log import Excuse, Judged
from kvconform.scenario import ResolveScenario, Scenario, as_data
from kvconform.session import Session


class Faulty:
    """The reference, except where the fault answers or raises."""

    def __init__(self, *faults: Callable[[ResolveScenario], ResolveObservation | None]) -> None:
        self._reference = reference.factory()
        self._faults = faults

    @property
    def info(self) -> Info:
        return self._reference.info

    def run(self, scenario: Scenario) -> Observation:
        assert isinstance(scenario, ResolveScenario)
        for fault in self._faults:
            answer = fault(scenario)
            if answer is not None:
                return answer
        return self._reference.run(scenario)


def _judge(
    _context: Context, scenario: Scenario, observation: Observation, expect: Expect
) -> Iterable[Finding]:
    assert isinstance(scenario, ResolveScenario)
    assert isinstance(observation, ResolveObservation)
    if observation != expect():
        yield Finding(
            message=f"request {'even' if scenario.requested % 2 == 0 else 'odd'}: {observation.group_size}"
        )


def _scenarios(_context: Context) -> st.SearchStrategy[Scenario]:
    return st.builds(
        ResolveScenario, requested=st.integers(1, 200), key_dim=st.just(128), value_dim=st.just(128)
    )


CHECK = Check(requirement="GS-3", name="nearest", scenarios=_scenarios, judge=_judge, oracle="reference")
EVEN = Excuse(key="GS-3.nearest", reason="even requests are wrong", message="request even")


def _even_is_wrong(scenario: ResolveScenario) -> ResolveObservation | None:
    return ResolveObservation(group_size=7) if scenario.requested % 2 == 0 else None


def _odd_over_100_is_wrong(scenario: ResolveScenario) -> ResolveObservation | None:
    wrong = scenario.requested % 2 == 1 and scenario.requested > 100
    return ResolveObservation(group_size=9) if wrong else None


def _dies_at_77(scenario: ResolveScenario) -> None:
    if scenario.requested == 77:
        raise Crash("the process died", signal="SIGFPE")


def _at(requested: int) -> dict[str, Any]:
    return as_data(ResolveScenario(requested=requested, key_dim=128, value_dim=128))


@pytest.fixture
def examine(tmp_path: Path) -> Callable[..., Judged]:
    def examine(*faults: Any, known: tuple[Excuse, ...] = (), check: Check = CHECK) -> Judged:
        session = Session(
            spec="faulty", implementation=Faulty(*faults), known=KnownFailures(entries=known), base=tmp_path
        )
        return session.examine(check)

    return examine


Examine = Callable[..., Judged]


def test_without_an_entry_the_failure_is_a_failure_and_is_shrunk(examine: Examine) -> None:
    judged = examine(_even_is_wrong)
    assert judged.outcome == "fail"
    assert judged.scenario is not None
    assert judged.scenario["requested"] == 2


def test_a_matching_entry_excuses_it_and_is_matched(examine: Examine) -> None:
    judged = examine(_even_is_wrong, known=(EVEN,))
    assert judged.outcome == "known failure"
    assert (judged.matched, judged.examined) == ((0,), (0,))
    assert judged.message.startswith("even requests are wrong")
    assert judged.scenario is not None


def test_a_failure_of_another_kind_in_the_same_check_is_found_and_shrunk(examine: Examine) -> None:
    judged = examine(_even_is_wrong, _odd_over_100_is_wrong, known=(EVEN,))
    assert judged.outcome == "fail"
    assert judged.message == "request odd: 9"
    assert judged.scenario is not None
    assert judged.scenario["requested"] == 101
    assert judged.matched == (0,)  # it still fails in the known way, too: the entry is not stale


def test_an_entry_with_another_message_excuses_nothing(examine: Examine) -> None:
    other = EVEN.model_copy(update={"message": "request odd"})
    judged = examine(_even_is_wrong, known=(other,))
    assert judged.outcome == "fail"
    assert (judged.matched, judged.examined) == ((), (0,))


def test_a_check_that_passes_leaves_its_entry_unmatched(examine: Examine) -> None:
    judged = examine(known=(EVEN,))
    assert judged.outcome == "pass"
    assert (judged.matched, judged.examined) == ((), (0,))


def test_an_entrys_scenario_is_judged_so_that_a_rare_failure_is_not_taken_for_stale(examine: Examine) -> None:
    never = Check(requirement="GS-3", name="nearest", scenarios=None, judge=_judge, oracle="reference")
    judged = examine(_even_is_wrong, known=(EVEN.model_copy(update={"scenario": _at(48)}),), check=never)
    assert judged.outcome == "known failure"
    assert judged.scenario is not None
    assert judged.scenario["requested"] == 48


def test_an_entrys_scenario_that_fails_in_another_way_is_a_failure(examine: Examine) -> None:
    judged = examine(_odd_over_100_is_wrong, known=(EVEN.model_copy(update={"scenario": _at(101)}),))
    assert judged.outcome == "fail"
    assert judged.message == "request odd: 9"


def test_a_known_crash_is_excused_by_its_signal_and_the_search_goes_on(examine: Examine) -> None:
    crash = Excuse(key="GS-3", reason="dies at 77", outcome="crash", signal="SIGFPE", scenario=_at(77))
    assert examine(_dies_at_77, known=(crash,)).outcome == "known failure"
    beside = examine(_dies_at_77, _odd_over_100_is_wrong, known=(crash,))
    assert (beside.outcome, beside.matched) == ("fail", (0,))


def test_a_crash_by_another_signal_is_a_crash(examine: Examine) -> None:
    crash = Excuse(key="GS-3", reason="dies at 77", outcome="crash", signal="SIGSEGV", scenario=_at(77))
    judged = examine(_dies_at_77, known=(crash,))
    assert (judged.outcome, judged.signal) == ("crash", "SIGFPE")


def test_a_timeout_is_never_excused(examine: Examine) -> None:
    def hangs(_scenario: ResolveScenario) -> None:
        raise TimedOut("no answer")

    anything = Excuse(key="GS-3", reason="slow", message="no")
    assert examine(hangs, known=(anything,)).outcome == "timeout"


def test_the_replay_file_of_a_known_failure_says_why_it_is_known(examine: Examine, tmp_path: Path) -> None:
    judged = examine(_even_is_wrong, known=(EVEN,))
    assert judged.replay is not None
    data = json.loads((tmp_path / judged.replay).read_text())
    assert data["known"] == "even requests are wrong"


def test_an_implementation_that_cannot_be_started_again_is_not_asked_any_more(tmp_path: Path) -> None:
    asked: list[Scenario] = []

    def gone(scenario: ResolveScenario) -> None:
        asked.append(scenario)
        raise StartFailed("no such file")

    session = Session(spec="faulty", implementation=Faulty(gone), base=tmp_path)
    first = session.examine(CHECK)
    assert first.outcome == "protocol"
    assert "could not be started again: no such file" in first.message
    asked.clear()
    second = session.examine(CHECK)
    assert (second.outcome, asked) == ("not run", [])
