"""Scenarios a second through the pipe: a compiled driver, ``serve`` with the reference, and in process.

Run it alone: ``python benchmarks/wire_round_trips.py``. Wants 5,000 a second through a compiled driver and
2,000 through ``serve`` for small scenarios; the numbers are for reading, no test asserts them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kvconform.implementation import Implementation
from kvconform.implementations import reference
from kvconform.scenario import (
    Append,
    CacheScenario,
    ContainerScenario,
    IterateScenario,
    Parameters,
    PassStep,
    PlainLayer,
    Prompt,
    ResolveScenario,
    Scenario,
    Turn,
)
from kvconform.wire.process import ProcessImplementation, PythonChild

SECONDS = 1.0
"""How long each number is measured; the best of three counts, because other work only slows it down."""

SMALL: dict[str, Scenario] = {
    "resolve": ResolveScenario(requested=64, key_dim=96, value_dim=128),
    "cache": CacheScenario(layer=PlainLayer(length=4), operations=(Append(rows=1),)),
    "container": ContainerScenario(layers=(PlainLayer(length=4), PlainLayer()), steps=(PassStep(bits=4),)),
    "iterate": IterateScenario(
        layers=(PlainLayer(),), turns=(Turn(prompt=Prompt(length=4), parameters=Parameters(bits=4), nexts=2),)
    ),
}


def rate(implementation: Implementation, scenario: Scenario) -> float:
    """Scenarios a second, the best of three."""
    return max(_rate_once(implementation, scenario) for _ in range(3))


def _rate_once(implementation: Implementation, scenario: Scenario) -> float:
    count, begin = 0, time.perf_counter()
    while (passed := time.perf_counter() - begin) < SECONDS:
        implementation.run(scenario)
        count += 1
    return count / passed


def compiled_driver(folder: str) -> str | None:
    """``echo_driver.c`` as a program; null without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    program = str(Path(folder) / "echo_driver")
    subprocess.run(
        [compiler, "-O2", "-o", program, str(Path(__file__).with_name("echo_driver.c"))], check=True
    )
    return program


def main() -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        program = compiled_driver(folder)
        if program is None:
            print("no C compiler: the compiled driver is not measured", file=sys.stderr)
        else:
            with ProcessImplementation([program]) as driver:
                print(f"compiled driver  resolve    {rate(driver, SMALL['resolve']):8,.0f} /s")
    with PythonChild("reference") as piped:
        for name, scenario in SMALL.items():
            print(f"serve reference  {name:<9}  {rate(piped, scenario):8,.0f} /s")
    for name, scenario in SMALL.items():
        print(f"in process       {name:<9}  {rate(reference.factory(), scenario):8,.0f} /s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
