"""What the tests of the wire share: small scenarios, limits, and the driver's ways."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Protocol

from kvconform.implementation import Implementation
from kvconform.observation import ResolveObservation
from kvconform.scenario import ResolveScenario
from kvconform.wire.limits import Limits
from kvconform.wire.process import ProcessImplementation

DRIVER = Path(__file__).with_name("wire_driver.py")
BAD, PID = 13, 1
"""The requested sizes that the driver misbehaves on, and answers with its process id."""

QUICK = Limits(start=20, call=20, shutdown=2)
"""Generous beside what a driver takes on a busy machine, small beside a test's time limit."""


class StartDriver(Protocol):
    """The fixture that starts ``wire_driver.py``."""

    def __call__(
        self, behaviour: str = "", *, limits: Limits = QUICK, spare: bool = False
    ) -> ProcessImplementation: ...


def resolve(requested: int) -> ResolveScenario:
    """The smallest scenario."""
    return ResolveScenario(requested=requested, key_dim=64, value_dim=64)


def size_for(implementation: Implementation, requested: int) -> int | None:
    """What the driver answers."""
    observation = implementation.run(resolve(requested))
    assert isinstance(observation, ResolveObservation)
    return observation.group_size


def is_gone(pid: int) -> bool:
    """Whether a process ends within two seconds; what nobody has collected yet is gone too."""
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        asked = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        if asked.stdout.strip()[:1] in ("", "Z"):
            return True
    return False
