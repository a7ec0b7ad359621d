"""The Swift driver: built with the package manager, judged by the suite, compared with the reference."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import judged
import pytest
import random_scenarios
import schema_requests
import support
import vector_readers
from kvconform.wire.process import ProcessImplementation

pytestmark = [pytest.mark.toolchain, pytest.mark.timeout(900)]  # the first test also builds


@pytest.fixture(scope="session")
def folder() -> Path:
    """The folder of the built driver."""
    support.require_tools("Swift", "swift")
    return support.build_once("swift", build)


def build(folder: Path) -> None:
    support.run_tool(["swift", "build", "-c", "release", "-Xswiftc", "-warnings-as-errors"], cwd=folder)


@pytest.fixture
def command(folder: Path) -> list[str]:
    return [str(folder / ".build" / "release" / "driver")]


@pytest.fixture
def implementation(command: list[str]) -> Iterator[ProcessImplementation]:
    with ProcessImplementation(command) as started:
        yield started


@pytest.mark.parametrize("kind", random_scenarios.MAKERS)
def test_the_example_answers_as_the_reference_does(implementation: ProcessImplementation, kind: str) -> None:
    assert support.differences(implementation, random_scenarios.scenarios(21, 300, kind)) == []


def test_the_example_conforms(command: list[str], tmp_path: Path) -> None:
    judged.check_conforms(judged.report_of(command, tmp_path))


@pytest.mark.parametrize("planted", judged.PLANTED, ids=lambda planted: planted.fault)
def test_a_planted_fault_is_caught_with_a_minimal_scenario(
    command: list[str], tmp_path: Path, planted: judged.Planted
) -> None:
    judged.check_planted(command, tmp_path, planted)


@pytest.mark.parametrize(("line", "code"), judged.BAD_REQUESTS.values(), ids=[*map(str, judged.BAD_REQUESTS)])
def test_what_is_no_request_gets_an_error_and_the_next_request_its_answer(
    command: list[str], line: str, code: int
) -> None:
    judged.check_bad_request(command, line, code)


def test_a_request_is_bad_exactly_where_the_schema_forbids_it(command: list[str]) -> None:
    schema_requests.check_kit(command)


def test_a_connection_begins_with_versions_and_ends_with_shutdown(command: list[str]) -> None:
    judged.check_connection(command)


def test_vectors_are_read_from_swift_testing(folder: Path) -> None:
    support.run_tool(["swift", "test"], cwd=folder, KVCONFORM_VECTORS=str(support.VECTORS))
    failing = subprocess.run(
        ["swift", "test", "--skip-build"],
        cwd=folder,
        env={
            **support.environment(),
            "KVCONFORM_VECTORS": str(support.VECTORS),
            "KVCONFORM_PLANT": "tie-high",
        },
        capture_output=True,
        text=True,
    )
    assert failing.returncode != 0
    for test in ("everyVectorIsAnsweredAsExpected", "groupSizesAreThoseOfTheVectors"):
        assert re.search(rf"Test {test}\(\) failed", failing.stdout + failing.stderr)


def test_the_kit_compares_as_the_page_of_the_vectors_says(folder: Path, tmp_path: Path) -> None:
    support.run_tool(["swift", "build", "--build-tests"], cwd=folder)

    def reads(vectors: Path) -> bool:
        environment = support.environment() | {"KVCONFORM_VECTORS": str(vectors)}
        command = ["swift", "test", "--skip-build", "--filter", "everyVectorIsAnsweredAsExpected"]
        return not subprocess.run(command, cwd=folder, env=environment, capture_output=True).returncode

    vector_readers.check_reader(reads, tmp_path)


@pytest.mark.parametrize("name", ["AllVectors", "GroupSizeVectors"])
def test_the_page_shows_the_vector_readers_in_twenty_lines(name: str) -> None:
    source = (support.DRIVERS / "swift" / "Tests" / "VectorTests" / f"{name}.swift").read_text()
    assert len(support.lines_of_code(source, "//")) <= 20
    assert source in support.page("swift")


LIBRARY = """
public func resolveGroupSize(_ requested: Int, keyDim: Int, valueDim: Int) throws -> Int? { 32 }
"""
PACKAGE = """
// swift-tools-version: 5.9
import PackageDescription

let package = Package(
    name: "First",
    targets: [
        .target(name: "KvConformKit"),
        .target(name: "MyLibrary"),
        .executableTarget(name: "driver", dependencies: ["KvConformKit", "MyLibrary"]),
    ]
)
"""
MAIN = """
import Foundation
import KvConformKit

exit(serve(Driver()))
"""


def test_the_first_function_of_the_page_makes_a_driver(folder: Path, tmp_path: Path) -> None:
    for name, text in {
        "Package.swift": PACKAGE.lstrip(),
        "Sources/MyLibrary/GroupSize.swift": LIBRARY,
        "Sources/driver/Driver.swift": support.code_block(support.page("swift"), "swift"),
        "Sources/driver/main.swift": MAIN,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "Sources" / "KvConformKit").symlink_to(folder / "Sources" / "KvConformKit")
    support.run_tool(["swift", "build"], cwd=tmp_path)
    judged.check_first_driver([str(tmp_path / ".build" / "debug" / "driver")])
