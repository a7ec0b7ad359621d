"""Fresh processes, one thread and two: the same streams."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from kvconform.generate import cases

pytestmark = [pytest.mark.mlx, pytest.mark.goldens, pytest.mark.slow]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def verdicts(name: str, *, threads: int) -> dict[str, str]:
    """What a fresh process says of each stream, with this many threads and processors to run them on."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(threads), name],
        env={**os.environ, **dict.fromkeys(THREADS, str(threads)), "MLX_DISABLE_COMPILE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


PROGRAM = """
import os, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[1])])
from kvconform.generate import check
sys.exit(check.main(sys.argv[2:]))
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_the_tiny_models_stream_the_same_in_a_fresh_process(mlx: None, threads: int) -> None:
    said = verdicts("tiny", threads=threads)
    assert said == {case.key: "equal" for case in cases.tiny_cases()}


@pytest.mark.smollm2
@pytest.mark.parametrize("threads", [1, 2])
def test_smollm2_streams_the_same_in_a_fresh_process(smollm2: None, goldens_full: None, threads: int) -> None:
    said = verdicts("smollm2", threads=threads)
    assert said == {case.key: "equal" for case in cases.smollm2_cases(full=False)}
