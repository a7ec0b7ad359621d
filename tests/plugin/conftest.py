"""Runs pytest in a process of its own over a small suite, as somebody who has the plugin would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from plugin_runs import CONFTEST, TESTS, Ran, Run, environment


@pytest.fixture
def small_run(tmp_path: Path) -> Run:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_small.py").write_text(TESTS)

    def run(*arguments: str, autoload: bool = False) -> Ran:
        log = tmp_path / "log.jsonl"
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--kvconform-log", str(log)]
        command += [] if autoload else ["-p", "kvconform.plugin"] + ["-p", "xdist"] * ("-n" in arguments)
        done = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            env=environment(autoload=autoload),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Ran(code=done.returncode, output=done.stdout + done.stderr, log=log)

    return run
