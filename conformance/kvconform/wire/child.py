"""One child process and its three pipes: lines in, lines out, never a wait without a limit.

Knows nothing of messages. What went wrong is one of the :class:`Silence` family; what that means for
the scenario asked is decided in ``process.py``.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import select
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence

from .readable import readable

CHUNK = 65536
"""Bytes read at once: the capacity of a Linux pipe."""

STDERR_BYTES, STDERR_LINES = 16384, 40
"""What is kept of stderr's end: a Python traceback or an MLX abort message fits several times."""

GLANCE = 50
"""Milliseconds without output after which it is checked that the process still runs."""

EXIT_GRACE = 1.0
"""Seconds between the end of a process's output and its exit; a crash handler may write in between."""

TERM_GRACE = 0.3
"""Seconds between SIGTERM and SIGKILL: enough to dump a stack, not enough to hold up a run."""


class Silence(Exception):  # noqa: N818 - three ways of not answering
    """No answer within the time limit. ``partial`` is what had come of the line."""

    def __init__(self, partial: bytes = b"") -> None:
        super().__init__()
        self.partial = partial


class Ended(Silence):
    """The process closed its output without a whole line."""


class TooLong(Silence):
    """A line beyond the size limit."""


class Child:
    """A started process in a process group of its own. Raises ``OSError`` when it cannot be started."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], *, answer_bytes: int) -> None:
        self.started = time.monotonic()
        self.answers = 0
        """Whole answers to ``run``; counted by the owner."""
        self._next_id = 0
        self._answer_bytes = answer_bytes
        self._killed = self._refused = self._lingers = False
        self._buffer = bytearray()
        self._tail = bytearray()
        # A session of its own: Ctrl-C reaches only the suite, and everything the child starts can be killed.
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=dict(env),
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin = self._process.stdin.fileno()
        self._stdout = self._process.stdout.fileno()
        os.set_blocking(self._stdin, False)
        os.set_blocking(self._stdout, False)
        self._readable = select.poll()
        self._readable.register(self._stdout, select.POLLIN)
        self._drain = threading.Thread(target=self._drain_stderr, daemon=True, name=f"stderr-{self.pid}")
        self._drain.start()

    @property
    def pid(self) -> int:
        """The process id, which is also that of the group."""
        return self._process.pid

    def next_id(self) -> int:
        """A fresh request id; they count from 1 on each connection."""
        self._next_id += 1
        return self._next_id

    # ------------------------------------------------------------ talking

    def ask(self, line: bytes, *, seconds: float) -> bytes:
        """Write a line, then read the next one (without its end)."""
        deadline = time.monotonic() + seconds
        self.send(line, deadline=deadline)
        return self.receive(deadline=deadline)

    def send(self, line: bytes, *, deadline: float) -> None:
        """Write a line. While the pipe is full, what the child says is read: neither waits for the other."""
        try:
            sent = self._write(line)
            while sent < len(line):
                self._wait_for_room(deadline)
                sent += self._write(line[sent:])
        except BrokenPipeError:
            self._refused = True  # not raised: the end of its output says more, see receive

    def receive(self, *, deadline: float) -> bytes:
        """The next line, without its end."""
        searched = 0
        while (cut := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > self._answer_bytes:
                raise TooLong(self._taken())
            if not self._wait(self._readable, deadline) or not self._read():
                raise Ended(self._taken())
        if cut > self._answer_bytes:
            raise TooLong(self._taken())
        line = bytes(self._buffer[:cut])
        del self._buffer[: cut + 1]
        return line

    @property
    def unheard(self) -> bool:
        """Whether the child has not read the whole of the last line sent."""
        unread = array.array("i", [0])
        with contextlib.suppress(OSError):  # a system that cannot tell: then it counts as read
            fcntl.ioctl(self._stdin, termios.FIONREAD, unread)
        return self._refused or unread[0] > 0

    @property
    def deaf(self) -> bool:
        """Whether the child has closed its input."""
        return self._refused

    @property
    def rest(self) -> bytes:
        """What came together with the last line that was received, behind it."""
        return bytes(self._buffer)

    def unasked(self) -> bytes | None:
        """What came after the last line that was received; null when nothing did and the output has ended."""
        is_open = bool(self._buffer) or self._read()
        return bytes(self._buffer) if self._buffer or is_open else None

    def _write(self, data: bytes) -> int:
        try:
            return os.write(self._stdin, data)
        except BlockingIOError:
            return 0

    def _wait_for_room(self, deadline: float) -> None:
        both = select.poll()
        both.register(self._stdin, select.POLLOUT)
        both.register(self._stdout, select.POLLIN)
        ready = dict(self._wait(both, deadline))
        if not ready or (self._stdout in ready and not self._read()):
            raise Ended(self._taken())
        if len(self._buffer) > self._answer_bytes:
            raise TooLong(self._taken())

    def _wait(self, pipes: select.poll, deadline: float) -> list[tuple[int, int]]:
        """What is ready, and nothing once the process has ended; raises ``Silence`` at the deadline.

        The pipe alone does not tell the end: something that the process started may hold it open.
        """
        while not (ready := pipes.poll(min(GLANCE, _milliseconds(deadline)))):
            if self._process.poll() is not None:
                return pipes.poll(0)  # written between the last look and the end
            if time.monotonic() >= deadline:
                raise Silence(self._taken())
        return ready

    def _read(self) -> bool:
        """Read what is there; false at the end of the output."""
        try:
            chunk = os.read(self._stdout, CHUNK)
        except BlockingIOError:
            return True
        self._buffer += chunk
        return bool(chunk)

    def _taken(self) -> bytes:
        taken = bytes(self._buffer)
        self._buffer.clear()
        return taken

    # ------------------------------------------------------------ ending

    def close_input(self) -> None:
        """Tell the child that nothing more will come."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def exit_status(self, *, seconds: float | None = None) -> int | None:
        """The exit status, negative for a signal; null when the process still runs after ``seconds``."""
        if self._lingers:  # the grace is given once
            return self._process.poll()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(EXIT_GRACE if seconds is None else seconds)
        self._lingers = seconds is None
        return None

    def kill(self, *, gently: bool = False) -> None:
        """End the process and everything in its group. ``gently`` lets it say where it was first."""
        if self._killed:  # the number of the group may be somebody else's by now
            return
        self._killed = True
        if gently and self._process.poll() is None:
            self._signal(signal.SIGTERM)
            self.exit_status(seconds=TERM_GRACE)
        self._signal(signal.SIGKILL)
        self._lingers = False
        # A process in an uninterruptible system call outlives even SIGKILL for a while: it is left behind.
        self.exit_status()
        self._drain.join(TERM_GRACE)
        self.close_input()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def stderr(self) -> str:
        """The last lines the process wrote to stderr; complete after :meth:`kill`."""
        lines = bytes(self._tail).decode("utf-8", "replace").splitlines()
        return readable("\n".join(lines[-STDERR_LINES:]), longest=STDERR_BYTES)

    def _signal(self, number: signal.Signals) -> None:
        # The group outlives its leader as long as anything is in it, and then its number is not reused.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _drain_stderr(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as pipe, contextlib.suppress(OSError, ValueError):
            while chunk := os.read(pipe.fileno(), CHUNK):
                self._tail += chunk
                del self._tail[:-STDERR_BYTES]


def _milliseconds(deadline: float) -> float:
    """What poll is told; at least 0, because less means for ever."""
    return max(0.0, (deadline - time.monotonic()) * 1000)
