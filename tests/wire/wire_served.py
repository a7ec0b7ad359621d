"""A Python implementation for ``serve`` that misbehaves on command; what it is asked for says how."""

from __future__ import annotations

import os
import subprocess
import sys

from kvconform.implementation import Info, Unsupported
from kvconform.observation import Observation, QuantizeObservation, Refusal, ResolveObservation
from kvconform.scenario import QuantizeScenario, Scenario

PRINT, CHILD_PRINTS, READ_STDIN, NATIVE_PRINT = 1, 2, 3, 4
VALUE, TYPE, NOT_IMPLEMENTED, EMPTY, UNSUPPORTED, KEY, EXIT, MALFORMED, NOTHING, REFUSAL, SURROGATE = range(
    10, 21
)
ABORT, ENVIRONMENT = 30, 31
JSON_FORM, NO_FIELD = 40, 41


class Served:
    """Answers with the requested size."""

    info = Info(name="served", version="1")

    def run(self, scenario: Scenario) -> Observation:
        if isinstance(scenario, QuantizeScenario):
            tensor = scenario.tensor
            return QuantizeObservation(packed=tensor, scales=tensor, biases=tensor)
        requested = getattr(scenario, "requested", 64)
        _speak(requested)
        return _misbehave(requested) or ResolveObservation(group_size=requested)


def _speak(requested: int) -> None:
    if requested == PRINT:
        print("printed by the implementation")
    elif requested == CHILD_PRINTS:
        subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
    elif requested == NATIVE_PRINT:
        os.write(1, b"printed past Python\n")
    elif requested == READ_STDIN:
        assert sys.stdin.read() == ""


def _misbehave(requested: int) -> Observation | None:
    raised: dict[int, BaseException] = {
        VALUE: ValueError("bits 7 is not one of 2, 3, 4"),
        TYPE: TypeError("what is this"),
        NOT_IMPLEMENTED: NotImplementedError("not yet"),
        EMPTY: ValueError(),
        UNSUPPORTED: Unsupported("no such concept"),
        KEY: KeyError("missing"),
        EXIT: SystemExit(0),
        SURROGATE: ValueError("half a pair: \ud800"),
    }
    if requested in raised:
        raise raised[requested]
    if requested == MALFORMED:
        return ResolveObservation(group_size="sixty-four")  # pyright: ignore[reportArgumentType]
    if requested == NOTHING:
        return 3  # pyright: ignore[reportReturnType]
    if requested == JSON_FORM:
        return {"kind": "resolve", "group_size": 64}  # pyright: ignore[reportReturnType]
    if requested == NO_FIELD:
        return {"kind": "resolve"}  # pyright: ignore[reportReturnType]
    if requested == REFUSAL:
        return Refusal(message="refused as an observation")
    if requested == ABORT:
        os.abort()
    if requested == ENVIRONMENT:
        return ResolveObservation(group_size=int(os.environ["MLX_DISABLE_COMPILE"]))
    return None


def make() -> Served:
    """The factory."""
    print("printed while it is made")
    return Served()


def broken() -> Served:
    """A factory that fails."""
    raise OSError("no such device")


not_callable = 7
