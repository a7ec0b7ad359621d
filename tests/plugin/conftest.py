"""Runs pytest in a process of its own over a small suite, as somebody who has the plugin would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from kvconform.report.log import Log, read_log

SUBJECTS = Path(__file__).parent / "subjects"

CONFTEST = """
import kvconform.suite, small_suite
kvconform.suite.all_checks = lambda: small_suite.CHECKS
"""

TESTS = """
import pytest, small_suite

@pytest.mark.parametrize("check", small_suite.CHECKS, ids=lambda check: check.id)
def test_check(check, examine_check):
    examine_check(check)
"""


@dataclass(frozen=True)
class Ran:
    code: int
    output: str
    log: Path

    def read(self) -> Log:
        return read_log(self.log)


Run = Callable[..., Ran]


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


def environment(*, autoload: bool = False) -> dict[str, str]:
    """Without other plugins, unless their being there is the point: they double the time of a session."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    alone = {} if autoload else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return {**kept, **alone, "PYTHONPATH": str(SUBJECTS), "COLUMNS": "150"}
