"""What stands between the suite and an implementation: time limit, lost implementations, known troubles."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

from .implementation import (
    Implementation,
    Info,
    ProtocolBroken,
    StartFailed,
    TimedOut,
    Trouble,
    Unsupported,
)
from .observation import Observation
from .scenario import Scenario
from .wire.limits import chosen_limits, extra_seconds

SECONDS = 120.0
"""Limit of one scenario. Above what a process is given for a start (60 s) and a call (30 s) together, because
those limits say more: where they are raised so is this one. Without a process there is no other."""

Excused = Callable[[Trouble, Scenario], bool]
"""Whether a trouble is a known failure."""


def nothing_excused(_trouble: Trouble, _scenario: Scenario) -> bool:
    """Every trouble counts."""
    return False


class Guarded:
    """An implementation behind a time limit, whose known troubles read as: no answer to judge."""

    def __init__(
        self,
        implementation: Implementation,
        *,
        excused: Excused = nothing_excused,
        seconds: float | None = None,
    ) -> None:
        self._implementation = implementation
        self._excused = excused
        self._seconds = SECONDS + extra_seconds(chosen_limits()) if seconds is None else seconds
        self.lost: str = ""
        """Why it can no longer be asked, once it cannot be started again."""

    @property
    def info(self) -> Info:
        """Who it is."""
        return self._implementation.info

    def run(self, scenario: Scenario) -> Observation:
        """The observation; raises what :class:`Implementation` says."""
        try:
            with time_limit(self._seconds):
                return self._implementation.run(scenario)
        except StartFailed as error:
            self.lost = str(error)
            raise ProtocolBroken(f"it could not be started again: {error}") from error
        except Trouble as trouble:
            if self._excused(trouble, scenario):
                raise Unsupported(f"known failure: {trouble}") from trouble
            raise


@contextmanager
def time_limit(seconds: float) -> Generator[None]:
    """Raise :class:`TimedOut` in the block after ``seconds``, where a timer can be had.

    It cannot in threads, where somebody else uses the alarm, and it does not reach into native code
    that never comes back: that is what the pipe is for.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if signal.getsignal(signal.SIGALRM) not in (signal.SIG_DFL, _expired):
        yield
        return

    signal.signal(signal.SIGALRM, _expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _expired(_number: int, _frame: FrameType | None) -> None:
    raise TimedOut("no answer within the time limit; run it behind the pipe to see where it hangs")
