"""How long and how much a process behind the pipe may take before the suite gives it up.

Everybody who starts a process without naming limits gets those of the environment variable
:data:`VARIABLE`: ``--limit`` of the command line sets it, so that the processes which judge have it too.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType

from kvconform.errors import UserError, near_matches

VARIABLE = "KVCONFORM_LIMITS"
"""``call=120 answer=64``: as many as one likes, names and units as in ``docs/wire.md``."""

MIB = 2**20
LONGEST = 86400.0
"""A day: what is larger is a slip, and poll does not take it."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one process implementation; times are in seconds.

    Every default has headroom of an order of magnitude over what was seen: the slowest start is a Python
    child that imports MLX (about 3 s), a small scenario takes well under 10 ms, and the largest
    observation of the suite is below 1 MiB.
    """

    start: float = 60.0
    """From the start of the process to its answer to ``initialize``."""
    call: float = 30.0
    """From a scenario's first byte written to the last byte of its answer."""
    shutdown: float = 2.0
    """From ``shutdown`` to the end of the process; then it is killed."""
    answer_bytes: int = 16 * MIB
    """Longest line that is read; nothing more than this is ever kept."""
    restarts: int = 200
    """Restarts after trouble over the object's life. An exit with status 0 after an answer is not trouble."""

    def __post_init__(self) -> None:
        for name in ("start", "call", "shutdown", "answer_bytes"):
            _require(name, getattr(self, name), at_least="above 0", holds=getattr(self, name) > 0)
        _require("restarts", self.restarts, at_least="0 or more", holds=self.restarts >= 0)


UNITS = MappingProxyType(
    {"start": "seconds", "call": "seconds", "shutdown": "seconds", "answer": "MiB", "restarts": "restarts"}
)
"""What a user can set, and in what."""


def chosen_limits() -> Limits:
    """The defaults, but for what the environment says; :class:`UserError` where that is wrong."""
    return limits_of(os.environ.get(VARIABLE, "").split(), source=VARIABLE)


def limits_of(settings: Iterable[str], *, source: str) -> Limits:
    """The defaults, but for settings such as ``call=120``; the last one of a name holds."""
    limits = Limits()
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in UNITS:
            near = near_matches(name, list(UNITS))
            raise UserError(f"{source} {setting!r}: there is no limit {name!r}{near}. Give {_forms()}.")
        limits = _with(limits, name, _number(setting, name, text, source))
    return limits


def extra_seconds(limits: Limits) -> float:
    """How much longer than by default one scenario may take, its start included."""
    default = Limits()
    return max(0.0, limits.start - default.start) + max(0.0, limits.call - default.call)


def _with(limits: Limits, name: str, value: float) -> Limits:
    if name == "answer":
        return replace(limits, answer_bytes=max(1, round(value * MIB)))
    return replace(limits, restarts=int(value)) if name == "restarts" else replace(limits, **{name: value})


def _number(setting: str, name: str, text: str, source: str) -> float:
    try:
        value = int(text) if name == "restarts" else float(text)
    except ValueError:
        value = math.nan
    allowed = value >= 0 if name == "restarts" else 0 < value <= LONGEST
    if not allowed:
        what = "a whole number, 0 or more" if name == "restarts" else f"{UNITS[name]}, above 0"
        raise UserError(
            f"{source} {setting!r}: {text!r} is no value of {name}. Give {what}, as in {_form(name)}."
        )
    return value


def _form(name: str) -> str:
    limits = Limits()
    return f"{name}={limits.answer_bytes / MIB if name == 'answer' else getattr(limits, name):g}"


def _forms() -> str:
    return f"one of {', '.join(_form(name) for name in UNITS)}"


def _require(name: str, value: float, *, at_least: str, holds: bool) -> None:
    if not holds:
        raise ValueError(f"limit {name} is {value}, which allows nothing; it must be {at_least}")
