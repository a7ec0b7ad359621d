"""How the benchmarks measure: CPU time where only this process works, the best of several goes."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

GOES = 3
"""The best of so many counts: other work on the machine only slows things down."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One number of one section."""

    section: str
    what: str
    value: float
    unit: str
    beside: str = ""
    """A ratio to another number of the same run, or what is wanted of it."""


def best(action: Callable[[], Any], *, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of the fastest go."""
    seconds = float("inf")
    for _ in range(GOES):
        started = clock()
        action()
        seconds = min(seconds, clock() - started)
    return seconds


def per_second(action: Callable[[Any], Any], items: Sequence[Any], *, least: float = 0.3) -> float:
    """Items a second; the items are gone through again until ``least`` seconds have passed."""
    started = time.process_time()
    for item in items:
        action(item)
    rounds = max(1, round(least / max(time.process_time() - started, 1e-6)))
    seconds = best(lambda: [action(item) for _ in range(rounds) for item in items])
    return rounds * len(items) / max(seconds, 1e-9)


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cpus": os.cpu_count(),
        "load": load,
    }


def as_data(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """JSON-ready rows."""
    return [asdict(row) for row in rows]
