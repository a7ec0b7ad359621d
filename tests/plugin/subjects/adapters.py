"""Implementations with one fault each, over the reference; some are not even implementations."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from kvconform.implementation import Info
from kvconform.implementations import reference
from kvconform.observation import Observation, ResolveObservation
from kvconform.scenario import ResolveScenario, Scenario


class Wrong:
    """The reference with a fault in resolving group sizes."""

    def __init__(self, fault: Any, **info: Any) -> None:
        self._reference = reference.factory()
        self._fault = fault
        self.info: Info = self._reference.info.model_copy(update={"name": fault.__name__, **info})

    def run(self, scenario: Scenario) -> Observation:
        if isinstance(scenario, ResolveScenario):
            answer = self._fault(scenario)
            if answer is not None:
                return answer
        return self._reference.run(scenario)


def good() -> Any:
    return reference.factory()


def _tie_goes_high(scenario: ResolveScenario) -> ResolveObservation | None:
    if scenario.requested == 96 and scenario.key_dim == scenario.value_dim == 128:
        return ResolveObservation(group_size=128)
    return None


def tie_goes_high() -> Wrong:
    return Wrong(_tie_goes_high)


def _always_64(scenario: ResolveScenario) -> ResolveObservation:
    return ResolveObservation(group_size=64)


def always_64() -> Wrong:
    return Wrong(_always_64)


def _raises(scenario: ResolveScenario) -> ResolveObservation:
    raise RuntimeError(f"cannot resolve {scenario.requested}")


def raises() -> Wrong:
    return Wrong(_raises)


def _dies_at_zero(scenario: ResolveScenario) -> ResolveObservation | None:
    if scenario.requested == 0:
        os.kill(os.getpid(), signal.SIGFPE)
        time.sleep(10)
    return None


def dies_at_zero() -> Wrong:
    return Wrong(_dies_at_zero)


def _slow(scenario: ResolveScenario) -> ResolveObservation | None:
    time.sleep(0.2)
    return None


def slow() -> Wrong:
    return Wrong(_slow)


def declares_nothing() -> Wrong:
    nothing = reference.factory().info.capabilities.model_copy(update={"kinds": ()})
    return Wrong(_always_64, capabilities=nothing)


def unknown_dialect() -> Wrong:
    return Wrong(_always_64, dialect="nonsense")


def starts_once() -> Any:
    with open("started", "x"):  # raises when it is there
        return reference.factory()


def does_not_start() -> Wrong:
    raise OSError("the device is busy")


def no_implementation() -> Any:
    return object()
