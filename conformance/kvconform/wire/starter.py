"""Processes in working order: started, introduced, kept spare, within the restart budget."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Mapping, Sequence

from kvconform.implementation import Info, StartFailed, Trouble, unknown_capability

from . import diagnosis, messages
from .child import Child, Silence
from .limits import Limits
from .readable import is_readable

LONGEST_NAME = 80
"""Characters of a name or version: they stand in tables."""

START_ATTEMPTS = 2
"""Starts tried for one scenario once the first start of all has worked; the second may be luckier."""


class Starter:
    """Starts children of one command and knows every one that lives; forgotten ones die with it.

    With ``spare`` a second child is always on its way, so that the next one costs no start time.
    """

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], *, name: str, limits: Limits, spare: bool
    ) -> None:
        self.info: Info | None = None
        """What the first child declared; every later one must declare the same."""
        self._command = tuple(command)
        self._env = env
        self._name = name
        self._limits = limits
        self._wants_spare = spare
        self._spare: Child | None = None
        self._troubles = 0
        self._alive: set[Child] = set()
        self._finalizer = weakref.finalize(self, _kill_all, self._alive)

    def start(self) -> Child:
        """A child that has answered ``initialize``; ``StartFailed`` says why there is none."""
        child = self._spare_child()
        if child is None:
            child = self._launch()
            self._initialize(child)
        if self._wants_spare:
            with contextlib.suppress(StartFailed):  # it will be said when the child is needed
                self._spare = self._launch()
        return child

    def start_again(self) -> Child:
        """The same after the first start; counts failed starts as trouble."""
        for attempt in range(1, START_ATTEMPTS + 1):
            self._check_budget()
            try:
                return self.start()
            except StartFailed:
                self.count_trouble()
                if attempt == START_ATTEMPTS:
                    raise
        raise AssertionError("the loop returns or raises")

    def count_trouble(self) -> None:
        """Take one restart off the budget."""
        self._troubles += 1

    def drop(self, child: Child) -> None:
        """Kill a child."""
        child.kill()
        self._alive.discard(child)

    def close(self) -> None:
        """Kill every child."""
        self._spare = None
        self._finalizer()

    def _check_budget(self) -> None:
        if self._troubles > self._limits.restarts:
            what = f"{self._name} was started again {self._limits.restarts} times after trouble"
            raise StartFailed(
                f"{what}; put its crashes and timeouts right, or raise the budget with --limit restarts=N"
            )

    def _spare_child(self) -> Child | None:
        child, self._spare = self._spare, None
        if child is not None:
            try:
                self._initialize(child)
            except StartFailed:  # it broke while nobody looked: a fresh one is tried
                return None
        return child

    def _launch(self) -> Child:
        """A child that has been sent ``initialize``; its answer is not waited for."""
        try:
            child = Child(self._command, self._env, answer_bytes=self._limits.answer_bytes)
        except (OSError, ValueError) as error:  # ValueError: a null byte in the command or environment
            cause = error if isinstance(error, OSError) else OSError(0, str(error))
            raise diagnosis.not_started(cause, self._command, self._name) from None
        self._alive.add(child)
        child.send(messages.initialize_line(child.next_id()), deadline=child.started + self._limits.start)
        return child

    def _initialize(self, child: Child) -> None:
        try:
            info = self._introduction(child)
        except Trouble as trouble:
            self.drop(child)
            raise diagnosis.start_failed(trouble, self._name) from None
        except BaseException:  # Ctrl-C, a time limit around this one
            self.drop(child)
            raise
        if self.info is not None and info != self.info:
            self.drop(child)
            what = (
                f"{self._name} declares something else than at its first start: {info} instead of {self.info}"
            )
            raise StartFailed(f"{what}; declare the same every time")
        self.info = info

    def _introduction(self, child: Child) -> Info:
        try:
            line = child.receive(deadline=child.started + self._limits.start)
            answer = messages.read_answer(line, messages.INITIALIZED, id=1)
            if child.rest:
                raise messages.BadLine("more than one answer", child.rest, code=messages.NOT_JSON)
            return accepted(answer, line)
        except (Silence, messages.BadLine) as failure:
            seconds = self._limits.start
            place = diagnosis.Place(
                doing="answering initialize", limits=self._limits, seconds=seconds, starts=True
            )
            raise diagnosis.trouble_of(child, failure, place) from None


def accepted(answer: messages.Answer[messages.Initialized], line: bytes) -> Info:
    """Who the process is; ``BadLine`` for an error, a version nobody asked for, or a concept nobody knows."""
    if answer.result is None:
        raise messages.BadLine("initialize was answered with an error", line)
    if not messages.OLDEST_PROTOCOL <= answer.result.protocol <= messages.PROTOCOL:
        asked = f"{messages.OLDEST_PROTOCOL} to {messages.PROTOCOL}"
        raise messages.BadLine(f"protocol {answer.result.protocol} where {asked} was asked for", line)
    for name, text in answer.result.implementation:
        if not is_readable(text):
            raise messages.BadLine(f"result.implementation.{name} holds a control character", line)
        if len(text) not in range(1, LONGEST_NAME + 1):
            why = f"result.implementation.{name} has {len(text)} characters, 1 to {LONGEST_NAME} are due"
            raise messages.BadLine(why, line)
    unknown = unknown_capability(answer.result.capabilities)
    if unknown:
        raise messages.BadLine(unknown, line)
    return answer.result.info()


def _kill_all(children: set[Child]) -> None:
    for child in tuple(children):
        child.kill()
    children.clear()
