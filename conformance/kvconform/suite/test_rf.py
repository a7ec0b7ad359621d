"""Area RF, put to the implementation that ``--kvconform`` names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvconform.checks import Check
from kvconform.suite import checks_for


@pytest.mark.parametrize("check", checks_for("RF"), ids=lambda check: check.id)
def test_requirement(check: Check, examine_check: Callable[[Check], None]) -> None:
    examine_check(check)
