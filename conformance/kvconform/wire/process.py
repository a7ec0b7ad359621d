"""An implementation that is a process: started, asked over the pipe, killed and restarted as needed.

Whatever the process does, ``run`` returns or raises within its time limit, and the next scenario is
answered by a process in working order.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from kvconform.implementation import Info, ProtocolBroken, StartFailed, Trouble, Unsupported
from kvconform.observation import Observation, Refusal
from kvconform.scenario import Scenario

from . import diagnosis, messages
from .child import Child, Ended, Silence
from .limits import Limits, chosen_limits
from .readable import readable
from .starter import Starter


class ProcessImplementation:
    """A command that speaks the wire, as an implementation.

    ``command`` is split like a shell would if it is a string; no shell runs. ``env`` is added to the
    inherited environment. ``limits`` are :func:`~kvconform.wire.limits.chosen_limits` unless given.
    ``spare`` keeps a second process started and ready, so that a crash costs no start time. The
    constructor starts the process and raises :class:`StartFailed` when that fails; so does ``run`` when the
    process cannot be started again, and then there is no sense in going on. Close it, or use it in a
    ``with`` statement; what is forgotten is killed at exit. Not for use by several threads.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        limits: Limits | None = None,
        spare: bool = False,
        env: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> None:
        self.command = split_command(command)
        self.limits = limits or chosen_limits()
        self.name = name or shlex.join(self.command)
        self._exits = 0
        self._late: list[Trouble] = []
        self._closed = False
        environment = {**os.environ, **(env or {})}
        self._starter = Starter(self.command, environment, name=self.name, limits=self.limits, spare=spare)
        self._child: Child | None = self._starter.start()

    # ------------------------------------------------------------ the implementation protocol

    @property
    def info(self) -> Info:
        """What the process declared when it was first started."""
        assert self._starter.info is not None
        return self._starter.info

    def run(self, scenario: Scenario) -> Observation:
        """The observation of ``scenario``; an error of kind ``refused`` is the observation :class:`Refusal`.

        Raises ``Unsupported`` and ``Trouble`` as :class:`~kvconform.implementation.Implementation` says.
        After an internal error the process stays, after every other trouble a new one is started.
        """
        child = self._ready()
        try:
            return self._ask(child, scenario)
        except _GoneBeforeError:
            return self._ask(self._ready(), scenario)

    # ------------------------------------------------------------ beyond it

    @property
    def late(self) -> tuple[Trouble, ...]:
        """Troubles after a complete answer: a crash, or output that nobody asked for.

        They belong to no scenario that is being asked, so ``run`` does not raise them; a report shows them.
        """
        return tuple(self._late)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth saying about the process though nothing is wrong with its answers."""
        if not self._exits:
            return ()
        times = "once" if self._exits == 1 else f"{self._exits} times"
        what = f"{self.name} exited with status 0 after an answer {times} and was started again"
        return (f"{what}; answer until shutdown instead, every start costs time",)

    def close(self) -> None:
        """Shut the process down, kill it when it does not go, and start no other. Twice is fine."""
        if self._child is not None and self._child.answers:
            self._look_for_late_trouble(self._child)
        if self._child is not None:
            self._say_goodbye(self._child)
        self._closed = True
        self._child = None
        self._starter.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # ------------------------------------------------------------ one scenario

    def _ask(self, child: Child, scenario: Scenario) -> Observation:
        place = self._place(f"answering a {scenario.kind} scenario", self.limits.call)
        try:
            answer = self._exchange(child, scenario)
        except Ended as failure:
            self._let_go(child, failure)
            raise self._trouble(child, failure, place) from None
        except (Silence, messages.BadLine) as failure:
            raise self._trouble(child, failure, place) from None
        except BaseException:  # Ctrl-C, somebody's time limit: the answer would come to the next scenario
            self._drop(child)
            raise
        child.answers += 1
        return self._error(answer.error, child) if answer.result is None else answer.result

    def _exchange(self, child: Child, scenario: Scenario) -> messages.Answer[Observation]:
        if not child.answers and (early := child.unasked()):  # it could pass for the answer
            raise messages.BadLine("an answer before the request", early, code=messages.NOT_JSON)
        number = child.next_id()
        line = child.ask(messages.run_line(number, scenario), seconds=self.limits.call)
        answer = messages.read_answer(line, messages.OBSERVED, id=number)
        if child.rest:
            raise messages.BadLine("more than one answer", child.rest, code=messages.NOT_JSON)
        if answer.result is not None and answer.result.kind != scenario.kind:
            why = f"a result of kind {answer.result.kind} to a {scenario.kind} scenario"
            if answer.result.kind == "refused":
                why = "a refusal as a result (on the wire it is an error of kind refused)"
            raise messages.BadLine(why, line)
        return answer

    def _error(self, error: messages.WireError | None, child: Child) -> Refusal:
        assert error is not None
        message = readable(error.message)
        if error.kind == "refused":
            return Refusal(message=message)
        if error.kind == "unsupported":
            raise Unsupported(message)
        detail = readable(error.data.detail) if error.data else ""
        detail = "\n".join(filter(None, (detail, child.stderr())))
        if error.kind == "protocol":
            raise ProtocolBroken(message, detail=detail)
        raise Trouble(message, detail=detail)

    def _let_go(self, child: Child, failure: Ended) -> None:
        """Tell an end that belongs to the last answer from one that this scenario caused.

        An exit with status 0 between two answers is no trouble at all, and a crash of a process that never
        read the scenario is late trouble. In both cases the scenario is asked of a new process.
        """
        if not child.answers or failure.partial:
            return
        status = child.exit_status()
        if status == 0 or (status and child.unheard):
            self._went_after_answer(child, status)
            raise _GoneBeforeError from None

    def _went_after_answer(self, child: Child, status: int | None) -> None:
        if status == 0:
            self._exits += 1
            self._drop(child)
        else:
            place = self._place("it had nothing to answer, after a complete answer", 0)
            self._note_late(child, diagnosis.ended(status, b"", place))

    def _note_late(self, child: Child, trouble: Trouble) -> None:
        self._starter.count_trouble()
        self._drop(child)
        trouble.detail = child.stderr()
        self._late.append(trouble)

    # ------------------------------------------------------------ processes

    def _ready(self) -> Child:
        """The process, in working order: a new one when it has gone or said something unasked."""
        if self._closed:
            raise RuntimeError(f"{self.name} is closed")
        if self._child is not None and self._child.answers:
            self._look_for_late_trouble(self._child)
        if self._child is None:
            self._child = self._starter.start_again()
        return self._child

    def _look_for_late_trouble(self, child: Child) -> None:
        unasked = child.unasked()
        if unasked is None:
            self._went_after_answer(child, child.exit_status())
        elif unasked:
            place = self._place("it had nothing to answer, after a complete answer", 0)
            failure = messages.BadLine("output", unasked, code=messages.NOT_JSON)
            self._note_late(child, diagnosis.bad_line(failure, place))

    def _trouble(self, child: Child, failure: Silence | messages.BadLine, place: diagnosis.Place) -> Trouble:
        trouble = diagnosis.trouble_of(child, failure, place)
        self._starter.count_trouble()
        self._drop(child)
        return trouble

    def _drop(self, child: Child) -> None:
        self._starter.drop(child)
        if self._child is child:
            self._child = None

    def _say_goodbye(self, child: Child) -> None:
        """``shutdown``, then its end; what goes wrong here harms no answer and is late trouble."""
        place = self._place("shutting down", self.limits.shutdown)
        deadline = time.monotonic() + place.seconds
        number = child.next_id()
        try:
            child.send(messages.shutdown_line(number), deadline=deadline)
            child.close_input()
            messages.read_answer(child.receive(deadline=deadline), messages.CLOSING, id=number)
        except (Silence, messages.BadLine) as failure:
            # To exit in order without answering is an answer too.
            if not isinstance(failure, Ended) or failure.partial or child.exit_status() != 0:
                self._late.append(diagnosis.trouble_of(child, failure, place))
            return
        status = child.exit_status(seconds=max(0.05, deadline - time.monotonic()))
        if status != 0:
            self._late.append(
                diagnosis.lingers(place) if status is None else diagnosis.ended(status, b"", place)
            )

    def _place(self, doing: str, seconds: float) -> diagnosis.Place:
        return diagnosis.Place(doing=doing, limits=self.limits, seconds=seconds)


class PythonChild(ProcessImplementation):
    """A Python implementation in a process of its own, started as ``python -m kvconform.wire.serve SPEC``.

    For implementations that can take the whole process down, as MLX can. The child imports what this
    process could import. MLX's kernel compilation is off in it: on the CPU that calls a C++ compiler.
    """

    def __init__(
        self,
        spec: str,
        *,
        limits: Limits | None = None,
        spare: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> None:
        path = os.pathsep.join(dict.fromkeys(os.path.abspath(entry) for entry in sys.path))
        super().__init__(
            [sys.executable, "-m", "kvconform.wire.serve", spec],
            limits=limits,
            spare=spare,
            env={"MLX_DISABLE_COMPILE": "1", "PYTHONPATH": path, **(env or {})},
            name=spec,
        )


def split_command(command: str | Sequence[str]) -> tuple[str, ...]:
    """The words of a command; :class:`StartFailed` when there is none or a quote is not closed."""
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError as error:
        raise StartFailed(
            f"command {command!r} cannot be split into words ({error}); check its quotes"
        ) from None
    if not words or not words[0]:
        raise StartFailed("the command is empty; give one such as exec:./driver")
    return tuple(words)


class _GoneBeforeError(Exception):
    """The process went before it read the scenario; a new one is asked."""
