"""The Swift driver: built with the package manager, then compared with the reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import random_scenarios
import support
from kvconform.wire.process import ProcessImplementation

pytestmark = [pytest.mark.toolchain, pytest.mark.timeout(900)]  # the first test also builds


@pytest.fixture(scope="session")
def driver() -> Path:
    """The built driver."""
    support.require_tools("Swift", "swift")
    return support.build_once("swift", build) / ".build" / "release" / "driver"


def build(folder: Path) -> None:
    support.run_tool(["swift", "build", "-c", "release", "-Xswiftc", "-warnings-as-errors"], cwd=folder)


@pytest.fixture
def implementation(driver: Path) -> Iterator[ProcessImplementation]:
    with ProcessImplementation([str(driver)]) as started:
        yield started


@pytest.mark.parametrize("kind", random_scenarios.MAKERS)
def test_the_example_answers_as_the_reference_does(implementation: ProcessImplementation, kind: str) -> None:
    assert support.differences(implementation, random_scenarios.scenarios(21, 300, kind)) == []
