"""Real processes for the tests of the wire: a misbehaving driver, closed again after each test."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from kvconform.wire.limits import Limits
from kvconform.wire.process import ProcessImplementation
from wire_helpers import DRIVER, QUICK, StartDriver


@pytest.fixture
def start_driver() -> Iterator[StartDriver]:
    """Starts ``wire_driver.py`` with a behaviour."""
    started: list[ProcessImplementation] = []

    def start(behaviour: str = "", *, limits: Limits = QUICK, spare: bool = False) -> ProcessImplementation:
        command = [sys.executable, "-IS", str(DRIVER), behaviour]
        started.append(ProcessImplementation(command, limits=limits, spare=spare, name="the driver"))
        return started[-1]

    yield start
    for implementation in started:
        implementation.close()
