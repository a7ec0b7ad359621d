"""The Rust driver: built with cargo, judged by the suite, compared with the reference."""

from __future__ import annotations

import shutil
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

pytestmark = [pytest.mark.toolchain, pytest.mark.timeout(1800)]  # the first test also builds

READERS = ("all_vectors", "group_size_vectors")
WITHOUT_WARNINGS = {"RUSTFLAGS": "-D warnings"}


@pytest.fixture(scope="session")
def folder() -> Path:
    """The folder of the built driver."""
    support.require_tools("Rust", "cargo")
    return support.build_once("rust", build)


def build(folder: Path) -> None:
    support.run_tool(["./build.sh"], cwd=folder, **WITHOUT_WARNINGS)


@pytest.fixture
def command(folder: Path) -> list[str]:
    return [str(folder / "target" / "release" / "driver")]


@pytest.fixture
def implementation(command: list[str]) -> Iterator[ProcessImplementation]:
    with ProcessImplementation(command) as started:
        yield started


@pytest.mark.parametrize("kind", random_scenarios.MAKERS)
def test_the_example_answers_as_the_reference_does(implementation: ProcessImplementation, kind: str) -> None:
    assert support.differences(implementation, random_scenarios.scenarios(24, 300, kind)) == []


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


@pytest.mark.parametrize("reader", READERS)
def test_vectors_are_read_from_cargo_test(folder: Path, reader: str) -> None:
    command = ["./build.sh", "test", "--release", "--test", reader]
    settings = WITHOUT_WARNINGS | {"KVCONFORM_VECTORS": str(support.VECTORS)}
    assert "1 passed" in support.run_tool(command, cwd=folder, **settings)
    planted = support.environment() | settings | {"KVCONFORM_PLANT": "tie-high"}
    failing = subprocess.run(command, cwd=folder, env=planted, capture_output=True)
    assert failing.returncode != 0
    assert b"gs-" in failing.stdout
    assert b"64" in failing.stdout


def test_the_kit_compares_as_the_page_of_the_vectors_says(folder: Path, tmp_path: Path) -> None:
    def reads(vectors: Path) -> bool:
        environment = support.environment() | WITHOUT_WARNINGS | {"KVCONFORM_VECTORS": str(vectors)}
        command = ["./build.sh", "test", "--release", "--test", "all_vectors"]
        return not subprocess.run(command, cwd=folder, env=environment, capture_output=True).returncode

    vector_readers.check_reader(reads, tmp_path)


@pytest.mark.parametrize("reader", READERS)
def test_the_page_shows_the_vector_readers_in_twenty_lines(reader: str) -> None:
    source = (support.DRIVERS / "rust" / "tests" / f"{reader}.rs").read_text()
    assert len(support.lines_of_code(source, "//")) <= 20
    assert source in support.page("rust")


LIBRARY = """
mod my_library {
    pub fn resolve_group_size(_: i64, _: i64, _: i64) -> Result<Option<i64>, String> {
        Ok(Some(32))
    }
}
"""


def test_the_first_function_of_the_page_makes_a_driver(folder: Path, tmp_path: Path) -> None:
    for name in ("Cargo.toml", "build.sh"):
        shutil.copy(folder / name, tmp_path)
    shutil.copytree(folder / "src" / "kit", tmp_path / "src" / "kit")
    shutil.copy(folder / "src" / "main.rs", tmp_path / "src")
    (tmp_path / "src" / "lib.rs").write_text("pub mod driver;\npub mod kit;\n")
    driver = support.code_block(support.page("rust"), "rust")
    (tmp_path / "src" / "driver.rs").write_text(driver + LIBRARY)
    support.run_tool(
        ["./build.sh", "build", "--release"], cwd=tmp_path, CARGO_TARGET_DIR=str(folder / "target" / "first")
    )
    judged.check_first_driver([str(folder / "target" / "first" / "release" / "driver")])
