"""How long and how much a process behind the pipe may take before the suite gives it up."""

from __future__ import annotations

from dataclasses import dataclass


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
    answer_bytes: int = 16 * 2**20
    """Longest line that is read; nothing more than this is ever kept."""
    restarts: int = 200
    """Restarts after trouble over the object's life. An exit with status 0 after an answer is not trouble."""

    def __post_init__(self) -> None:
        for name in ("start", "call", "shutdown", "answer_bytes"):
            _require(name, getattr(self, name), at_least="above 0", holds=getattr(self, name) > 0)
        _require("restarts", self.restarts, at_least="0 or more", holds=self.restarts >= 0)


def _require(name: str, value: float, *, at_least: str, holds: bool) -> None:
    if not holds:
        raise ValueError(f"limit {name} is {value}, which allows nothing; it must be {at_least}")
