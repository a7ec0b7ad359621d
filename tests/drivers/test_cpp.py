"""The C++ driver: built with CMake, then compared with the reference."""

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
    support.require_tools("C++", "cmake", "g++", headers=["/usr/include/nlohmann/json.hpp"])
    return support.build_once("cpp", build) / "build" / "driver"


def build(folder: Path) -> None:
    support.run_tool(["cmake", "-S", ".", "-B", "build", "-DCMAKE_CXX_FLAGS=-Werror"], cwd=folder)
    support.run_tool(["cmake", "--build", "build"], cwd=folder)


@pytest.fixture
def implementation(driver: Path) -> Iterator[ProcessImplementation]:
    with ProcessImplementation([str(driver)]) as started:
        yield started


@pytest.mark.parametrize("kind", random_scenarios.MAKERS)
def test_the_example_answers_as_the_reference_does(implementation: ProcessImplementation, kind: str) -> None:
    assert support.differences(implementation, random_scenarios.scenarios(20, 300, kind)) == []
