"""What takes several processes: wall time with one and two workers, round trips through the pipe; faults."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from kvconform.implementations import reference
from kvconform.power.run import PowerOptions, run_power
from kvconform.session import DEFAULT_SEED
from kvconform.wire.process import ProcessImplementation, PythonChild

from .measuring import Row
from .wire_round_trips import SMALL, compiled_driver, rate


def workers() -> Iterator[Row]:
    """Wall time of a whole run with one and with two workers."""
    walls: dict[int, float] = {}
    for count in (1, 2):
        started = time.perf_counter()
        command = [
            sys.executable,
            "-m",
            "kvconform",
            "run",
            "reference",
            "--budget",
            "quick",
            "-n",
            str(count),
        ]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(command, check=True, capture_output=True, cwd=folder)
        walls[count] = time.perf_counter() - started
        yield Row(
            section="workers, quick budget",
            what=f"{count} worker{'s' * (count > 1)}",
            value=walls[count],
            unit="s",
            beside=f"{walls[1] / walls[count]:.2f} times as fast as one",
        )


def wire() -> Iterator[Row]:
    """Scenarios a second through a compiled driver, through ``serve``, and in process."""
    inside = {kind: rate(reference.factory(), scenario) for kind, scenario in SMALL.items()}
    with tempfile.TemporaryDirectory() as folder:
        if shutil.which("cc") or shutil.which("gcc") or shutil.which("clang"):
            program = compiled_driver(folder)
            assert program is not None
            with ProcessImplementation([program]) as driver:
                yield _round_trip(
                    "compiled driver: resolve", rate(driver, SMALL["resolve"]), inside["resolve"]
                )
    with PythonChild("reference") as piped:
        for kind, scenario in SMALL.items():
            yield _round_trip(f"serve: {kind}", rate(piped, scenario), inside[kind])


def _round_trip(what: str, piped: float, inside: float) -> Row:
    beside = f"{piped / inside:.3f} of in process"
    return Row(section="round trips a second", what=what, value=piped, unit="1/s", beside=beside)


def faults(budget: str) -> Iterator[Row]:
    """How long it takes to kill each fault, by the requirements that it names."""
    options = PowerOptions(budget=budget, seed=DEFAULT_SEED, matrix=False, processes=1)
    found = run_power(options)
    seconds = found.seconds_to_kill
    section = f"time to kill, {budget} budget"
    killed = f"{len(seconds)} of {len(found.trials)} killed"
    yield Row(section=section, what="median", value=statistics.median(seconds), unit="s", beside=killed)
    yield Row(section=section, what="nine of ten", value=seconds[int(0.9 * len(seconds))], unit="s")
    yield Row(section=section, what="slowest", value=seconds[-1], unit="s")
    slowest = sorted(found.of_verdict("killed"), key=lambda trial: -trial.seconds)[:10]
    for trial in slowest:
        beside = f"{trial.examples} scenarios"
        yield Row(section=section, what=trial.label, value=trial.seconds, unit="s", beside=beside)
