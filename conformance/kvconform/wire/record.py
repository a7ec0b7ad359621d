"""A file of requests: what the suite would say to a process, for running it alone, under a debugger."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kvconform.scenario import Scenario

from . import messages


def record_requests(scenarios: Iterable[Scenario], path: str | Path) -> int:
    """Write a whole connection to ``path``, so that ``./driver < path`` runs alone; the number of scenarios.

    Overwrites the file. The answers come on the driver's stdout, one line a request. ``OSError`` where the
    file cannot be written.
    """
    lines = list(messages.request_lines(scenarios))
    Path(path).write_bytes(b"".join(lines))
    return len(lines) - 2  # initialize and shutdown
