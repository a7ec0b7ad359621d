"""The C++ driver: built with CMake, judged by the suite, compared with the reference."""

from __future__ import annotations

import json
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
    support.require_tools("C++", "cmake", "g++", headers=["/usr/include/nlohmann/json.hpp"])
    return support.build_once("cpp", build)


def build(folder: Path) -> None:
    vectors = f"-DKVCONFORM_VECTORS={support.VECTORS}"
    support.run_tool(["cmake", "-S", ".", "-B", "build", "-DCMAKE_CXX_FLAGS=-Werror", vectors], cwd=folder)
    support.run_tool(["cmake", "--build", "build"], cwd=folder)


@pytest.fixture
def command(folder: Path) -> list[str]:
    return [str(folder / "build" / "driver")]


@pytest.fixture
def implementation(command: list[str]) -> Iterator[ProcessImplementation]:
    with ProcessImplementation(command) as started:
        yield started


@pytest.mark.parametrize("kind", random_scenarios.MAKERS)
def test_the_example_answers_as_the_reference_does(implementation: ProcessImplementation, kind: str) -> None:
    assert support.differences(implementation, random_scenarios.scenarios(20, 300, kind)) == []


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


@pytest.mark.parametrize("program", ["all_vectors", "group_size_vectors"])
def test_vectors_are_read_from_ctest(folder: Path, program: str) -> None:
    ctest = ["ctest", "--test-dir", "build", "--output-on-failure", "--no-tests=error", "-R", f"^{program}$"]
    support.run_tool(ctest, cwd=folder)
    failing = subprocess.run(
        ctest, cwd=folder, env={**support.environment(), "KVCONFORM_PLANT": "tie-high"}, capture_output=True
    )
    assert failing.returncode != 0
    assert b"gs-table-48-128-128" in failing.stdout


def test_the_kit_compares_as_the_page_of_the_vectors_says(folder: Path, tmp_path: Path) -> None:
    def reads(vectors: Path) -> bool:
        return not subprocess.run([folder / "build" / "all_vectors", vectors], check=False).returncode

    vector_readers.check_reader(reads, tmp_path)


def test_every_vector_of_the_dialect_is_asked(folder: Path) -> None:
    vectors = [json.loads(path.read_text()) for path in support.VECTORS.rglob("*.json")]
    mine = [vector for vector in vectors if "proposal" in vector["dialects"]]
    program = [str(folder / "build" / "all_vectors"), str(support.VECTORS)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert f"{len(mine)} vectors asked, 0 wrong" in done.stderr


@pytest.mark.parametrize("program", ["all_vectors", "group_size_vectors"])
def test_the_page_shows_the_vector_readers_in_twenty_lines(program: str) -> None:
    source = (support.DRIVERS / "cpp" / "tests" / f"{program}.cpp").read_text()
    assert len(support.lines_of_code(source, "//")) <= 20
    assert source in support.page("cpp")


LIBRARY = """
#pragma once
#include <cstdint>
#include <optional>

namespace my_library {
inline std::optional<std::int64_t> resolve_group_size(std::int64_t, std::int64_t, std::int64_t) { return 32; }
}  // namespace my_library
"""


def test_the_first_function_of_the_page_makes_a_driver(folder: Path, tmp_path: Path) -> None:
    page = support.page("cpp")
    assert "in `example/main.cpp`, and in `tests/all_vectors.cpp`" in page
    assert "rename `example::Driver` to `Driver`" in page
    for name, text in {
        "my_library/quantization.hpp": LIBRARY,
        "example/driver.hpp": support.code_block(page, "cpp"),
        "example/main.cpp": renamed(folder / "example" / "main.cpp"),
        "tests/all_vectors.cpp": renamed(folder / "tests" / "all_vectors.cpp"),
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "kvconform.hpp").symlink_to(folder / "kvconform.hpp")
    compiler = ["g++", "-std=c++17", "-Wall", "-I."]
    support.run_tool([*compiler, "example/main.cpp", "-o", "driver"], cwd=tmp_path)
    support.run_tool([*compiler, "-fsyntax-only", "tests/all_vectors.cpp"], cwd=tmp_path)
    judged.check_first_driver([str(tmp_path / "driver")])


def renamed(source: Path) -> str:
    """The file with the name that the page says."""
    text = source.read_text()
    assert "example::Driver" in text
    return text.replace("example::Driver", "Driver")
