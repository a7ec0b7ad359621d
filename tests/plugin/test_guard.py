from __future__ import annotations

import signal
import time

import pytest
from kvconform.guard import Guarded, time_limit
from kvconform.implementation import Crash, Info, TimedOut, Trouble, Unsupported
from kvconform.observation import Observation, ResolveObservation
from kvconform.samples import SAMPLES
from kvconform.scenario import Scenario

pytestmark = pytest.mark.timeout(0)  # its alarm is the one that these tests are about

SCENARIO = SAMPLES["resolve"]


class _Does:
    def __init__(self, do: object) -> None:
        self.do = do
        self.info = Info(name="does", version="1")

    def run(self, scenario: Scenario) -> Observation:
        return self.do(scenario)


def test_an_answer_comes_through_unchanged() -> None:
    answer = ResolveObservation(group_size=32)
    assert Guarded(_Does(lambda _: answer)).run(SCENARIO) is answer


def test_an_endless_loop_in_this_process_is_a_timeout() -> None:
    def loop(_scenario: Scenario) -> Observation:
        while True:
            time.sleep(0.001)

    with pytest.raises(TimedOut):
        Guarded(_Does(loop), seconds=0.05).run(SCENARIO)


def test_the_alarm_is_off_after_an_answer_and_after_an_error() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with time_limit(5):
        pass
    with pytest.raises(KeyError), time_limit(5):
        raise KeyError
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert signal.getsignal(signal.SIGALRM) == before


def test_an_alarm_of_somebody_else_is_left_alone() -> None:
    def theirs(_number: int, _frame: object) -> None: ...

    before = signal.signal(signal.SIGALRM, theirs)
    try:
        with time_limit(5):
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        assert signal.getsignal(signal.SIGALRM) is theirs
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_known_trouble_reads_as_no_answer_and_an_unknown_one_comes_through() -> None:
    def dies(_scenario: Scenario) -> Observation:
        raise Crash("died", signal="SIGFPE")

    def excused(trouble: Trouble, _scenario: Scenario) -> bool:
        return isinstance(trouble, Crash) and trouble.signal == "SIGFPE"

    with pytest.raises(Unsupported, match="known failure: died"):
        Guarded(_Does(dies), excused=excused).run(SCENARIO)
    with pytest.raises(Crash):
        Guarded(_Does(dies)).run(SCENARIO)
