"""Ending a process together with everything it started, process groups of their own included."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def descendants(pid: int) -> list[int]:
    """Process ids below ``pid``, deepest last; empty where the system does not say."""
    family = _families()
    found: list[int] = []
    todo = [pid]
    while todo:
        below = family.get(todo.pop(0), [])
        found += below
        todo += below
    return found


def children(pid: int) -> list[int]:
    """Ids of the processes that ``pid`` started itself; empty where the system does not say."""
    return _families().get(pid, [])


def _families() -> dict[int, list[int]]:
    """Every process's children."""
    family: dict[int, list[int]] = {}
    for child, parent in _from_proc() if (PROC / "self" / "stat").exists() else _from_ps():
        family.setdefault(parent, []).append(child)
    return family


def kill_all(pids: Iterable[int]) -> None:
    """Kill the processes that still exist."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


Pair = tuple[int, int]


def _from_proc() -> Iterator[Pair]:
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError, ValueError):
                # The name in parentheses may hold anything; the parent is the second field behind it.
                yield int(folder.name), int((folder / "stat").read_text().rpartition(")")[2].split()[1])


def _from_ps() -> Iterator[Pair]:
    command = ["ps", "-A", "-o", "pid=,ppid="]
    with suppress(OSError, subprocess.SubprocessError):
        table = subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout
        for line in table.splitlines():
            child, parent = map(int, line.split())
            yield child, parent
