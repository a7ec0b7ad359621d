"""A small suite and what a run of pytest over it leaves."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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


def environment(*, autoload: bool = False) -> dict[str, str]:
    """Without other plugins, unless their being there is the point: they double the time of a session."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    alone = {} if autoload else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return {**kept, **alone, "PYTHONPATH": str(SUBJECTS), "COLUMNS": "150"}
