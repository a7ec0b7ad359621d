"""The JavaScript driver: judged by the suite, compared with the reference, its types checked."""

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

pytestmark = [pytest.mark.toolchain, pytest.mark.timeout(900)]

HERE = Path(__file__).with_name("javascript")
READERS = ("all_vectors", "group_size_vectors")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the driver."""
    support.require_tools("JavaScript", "node")
    copied = tmp_path_factory.mktemp("driver") / "javascript"
    return Path(shutil.copytree(support.DRIVERS / "javascript", copied, ignore=support.LEFT_OUT))


@pytest.fixture
def command(folder: Path) -> list[str]:
    return ["node", str(folder / "main.mjs")]


@pytest.fixture
def implementation(command: list[str]) -> Iterator[ProcessImplementation]:
    with ProcessImplementation(command) as started:
        yield started


@pytest.mark.parametrize("kind", random_scenarios.MAKERS)
def test_the_example_answers_as_the_reference_does(implementation: ProcessImplementation, kind: str) -> None:
    assert support.differences(implementation, random_scenarios.scenarios(22, 300, kind)) == []


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


def test_what_the_driver_prints_goes_to_stderr(folder: Path, tmp_path: Path) -> None:
    talkative = tmp_path / "talkative.mjs"
    talkative.write_text(
        f"import {{ Driver }} from '{folder}/driver.mjs';\n"
        f"import {{ serve }} from '{folder}/kit/index.mjs';\n"
        "class Talkative extends Driver {\n"
        "  groupSize(...sizes) { console.log('asked for', ...sizes); return super.groupSize(...sizes); }\n"
        "}\n"
        "await serve(new Talkative());\n"
    )
    _, answer = judged.answers(["node", str(talkative)], judged.INITIALIZE, judged.run_line(judged.RESOLVE))
    assert answer["result"]["group_size"] == 32


def test_an_iterator_that_prefills_at_the_first_next_has_the_same_traces(
    folder: Path, tmp_path: Path
) -> None:
    """The kit logs the first `next` behind the prefill of a lazy design."""
    lazy = tmp_path / "lazy.mjs"
    lazy.write_text((HERE / "lazy.mjs").read_text().replace("DRIVER", str(folder)))
    with ProcessImplementation(["node", str(lazy)]) as implementation:
        found = support.differences(implementation, random_scenarios.scenarios(23, 200, "iterate"))
    assert [text for text in found if "unsupported: construction runs no prefill" not in text] == []
    assert found


def test_the_types_in_comments_and_the_declarations_agree(folder: Path, tmp_path: Path) -> None:
    if shutil.which("tsc") is None:
        pytest.skip("the types of the JavaScript driver cannot be checked here: tsc not found")
    checked = shutil.copytree(folder, tmp_path / "driver", ignore=shutil.ignore_patterns("tests"))
    for name in ("tsconfig.json", "node.d.ts"):  # node's own types are a package
        shutil.copy(HERE / name, checked)
    support.run_tool(["tsc", "--project", "."], cwd=checked)


@pytest.mark.parametrize("reader", READERS)
def test_vectors_are_read_from_nodes_own_test_runner(folder: Path, reader: str) -> None:
    command = ["node", "--test", f"tests/{reader}.test.mjs"]
    vectors = {"KVCONFORM_VECTORS": str(support.VECTORS)}
    support.run_tool(command, cwd=folder, **vectors)
    planted = support.environment() | vectors | {"KVCONFORM_PLANT": "tie-high"}
    failing = subprocess.run(command, cwd=folder, env=planted, capture_output=True)
    assert failing.returncode != 0
    assert b"not ok" in failing.stdout
    assert b"gs-table-48-128-128" in failing.stdout


def test_the_kit_compares_as_the_page_of_the_vectors_says(folder: Path, tmp_path: Path) -> None:
    def reads(vectors: Path) -> bool:
        environment = support.environment() | {"KVCONFORM_VECTORS": str(vectors)}
        command = ["node", "--test", "tests/all_vectors.test.mjs"]
        return not subprocess.run(command, cwd=folder, env=environment, capture_output=True).returncode

    vector_readers.check_reader(reads, tmp_path)


@pytest.mark.parametrize("reader", READERS)
def test_the_page_shows_the_vector_readers_in_twenty_lines(reader: str) -> None:
    source = (support.DRIVERS / "javascript" / "tests" / f"{reader}.test.mjs").read_text()
    assert len(support.lines_of_code(source, "//")) <= 20
    assert source in support.page("javascript")


LIBRARY = "export const resolveGroupSize = () => 32;\n"


def test_the_first_function_of_the_page_makes_a_driver(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "kit", tmp_path / "kit")
    shutil.copy(folder / "main.mjs", tmp_path)
    (tmp_path / "driver.mjs").write_text(support.code_block(support.page("javascript"), "js"))
    library = tmp_path / "node_modules" / "my-library" / "index.mjs"
    library.parent.mkdir(parents=True)
    library.write_text(LIBRARY)
    (library.parent / "package.json").write_text('{"name": "my-library", "exports": "./index.mjs"}')
    judged.check_first_driver(["node", str(tmp_path / "main.mjs")])
