"""What a failure to answer means: the outcome, said in three parts, with the process's last words.

A message begins with what happened, not with the command: known failures are recognised by its beginning.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass

from kvconform.implementation import Crash, ProtocolBroken, StartFailed, TimedOut, Trouble

from . import messages
from .child import Child, Ended, Silence, TooLong
from .limits import Limits

ALONE = "to see it alone, 'kvconform record -o FILE' and run the process on FILE under a debugger"
BY_HAND = (
    "that is the first request on its stdin, and it has to answer until shutdown (docs/wire.md): "
    "run the command by hand to see why it ends"
)
RAISE = "raise the limit with --limit"
STDOUT = "only answers belong on stdout, one a line; print everything else to stderr"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where something went wrong: doing what, under which limits."""

    doing: str
    """``answering a container scenario``."""
    limits: Limits
    seconds: float
    """The time limit that held."""
    starts: bool = False
    """Whether that is the limit of a start."""


def trouble_of(child: Child, failure: Silence | messages.BadLine, place: Place) -> Trouble:
    """The trouble that ``failure`` is. Ends the process: its exit status and last words are part of it."""
    if isinstance(failure, messages.BadLine):
        trouble = bad_line(failure, place)
    elif isinstance(failure, TooLong):
        trouble = _too_long(failure, place)
    elif isinstance(failure, Ended):
        trouble = ended(child.exit_status(), failure.partial, place)
    else:
        trouble = _silent(child, failure, place)
    child.kill(gently=isinstance(trouble, TimedOut))
    trouble.detail = child.stderr()
    return trouble


def bad_line(failure: messages.BadLine, place: Place) -> ProtocolBroken:
    """A line that is no valid answer."""
    advice = STDOUT if failure.code == messages.NOT_JSON else "docs/wire.md shows what an answer looks like"
    return ProtocolBroken(f"{failure} while {place.doing}; {advice}")


def ended(status: int | None, partial: bytes, place: Place) -> Trouble:
    """The output ended without an answer. ``status`` is null when the process still runs."""
    so_far = f", after part of a line: {messages.quote(partial)}" if partial else ""
    if status is None:
        what = f"the process closed its stdout but goes on running, while {place.doing}{so_far}"
        return ProtocolBroken(f"{what}; keep stdout open until shutdown")
    if status == 0 and partial:
        what = f"the process exited in the middle of a line while {place.doing}: {messages.quote(partial)}"
        return ProtocolBroken(f"{what}; end every answer with a newline and flush it")
    name, how = exit_words(status)
    advice = BY_HAND if place.starts else ALONE
    return Crash(f"the process {how} while {place.doing}{so_far}; {advice}", signal=name)


def lingers(place: Place) -> TimedOut:
    """A process that has answered ``shutdown`` and does not exit."""
    what = f"the process had not exited {place.seconds:g} s after shutdown was sent and was killed"
    return TimedOut(f"{what}; exit with status 0 after the answer")


def exit_words(status: int) -> tuple[str, str]:
    """The signal's name, or nothing, and how the end is told: ``died with SIGSEGV``."""
    name = _signal_name(-status)
    if name:
        return name, f"died with {name}"
    name = _signal_name(status - 128)  # what a shell in between makes of a signal
    return name, f"exited with status {status}" + (f" (a shell's word for {name})" if name else "")


def start_failed(trouble: Trouble, name: str) -> StartFailed:
    """The same as an error of the start, with what the process wrote to stderr: the best hint there is."""
    words = f"\nIt wrote to stderr:\n{trouble.detail}" if trouble.detail else "\nIt wrote nothing to stderr."
    return StartFailed(f"{name} could not be started: {trouble}{words}")


def not_started(error: OSError, command: tuple[str, ...], name: str) -> StartFailed:
    """The operating system would not start the command."""
    program = command[0]
    if isinstance(error, FileNotFoundError):
        what = f"command {program!r} was not found"
        advice = "give a path such as ./driver, or put its folder on PATH (a script: check its first line)"
    elif isinstance(error, PermissionError):
        what, advice = f"{program!r} may not be executed", f"try chmod +x {program}"
    else:
        what = f"{program!r} could not be executed ({error.strerror})"
        advice = "a script needs a first line such as #!/usr/bin/env python3"
    return StartFailed(f"{name}: {what}; {advice}")


def _too_long(failure: TooLong, place: Place) -> ProtocolBroken:
    what = f"an answer of more than {place.limits.answer_bytes} bytes while {place.doing}"
    begin = messages.quote(failure.partial[: messages.QUOTED])
    return ProtocolBroken(f"{what}, beginning {begin}; answer with what was asked for, or {RAISE} answer=MIB")


def _silent(child: Child, failure: Silence, place: Place) -> TimedOut:
    limit = "start" if place.starts else "call"
    seen, advice = _seen(child, failure)
    what = f"no answer within {place.seconds:g} s while {place.doing}{seen}"
    return TimedOut(f"{what}; {advice}{RAISE} {limit}=SECONDS, or {ALONE}")


def _seen(child: Child, failure: Silence) -> tuple[str, str]:
    """What there was instead of an answer, and the likeliest way to put it right."""
    if failure.partial:
        said = messages.quote(failure.partial)
        if messages.is_json(failure.partial):
            return f" (a whole answer came, but not the end of its line: {said})", "end it with a newline, "
        return f" (only part of a line came: {said})", ""
    if child.deaf:
        return " (its stdin is closed)", "read stdin until shutdown, "
    if child.unheard:
        return " (it has not read the request)", ""
    return "", "flush stdout after every answer, "


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name if number > 0 else ""
    except ValueError:
        return ""
