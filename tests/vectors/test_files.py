"""Export, schema, folders, reports: what the outside sees of the vectors."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from kvconform.cli import main
from kvconform.errors import UserError
from kvconform.requirements import catalogue
from kvconform.suite import all_checks
from kvconform.vectors import library, reports_page, schema
from kvconform.vectors.coverage import INEXPRESSIBLE
from kvconform.vectors.document import VECTOR, Vector
from kvconform.vectors.export import exported
from kvconform.vectors.formatting import json_text
from kvconform.vectors.reports import REPORTS
from kvconform.vectors.source import all_sources

pytestmark = pytest.mark.goldens

VECTORS = library.all_vectors()


# ---------------------------------------------------------------- export


def test_both_formats_hold_the_whole_vectors() -> None:
    chosen = [VECTORS["mq-rotating"], VECTORS["aq-zeros"]]
    as_lines = [VECTOR.validate_json(line) for line in exported(chosen, format="jsonl").splitlines()]
    as_array = [VECTOR.validate_json(json.dumps(one)) for one in json.loads(exported(chosen, format="json"))]
    assert as_lines == as_array == chosen
    assert (exported([], format="json"), exported([], format="jsonl")) == ("[]\n", "")


def test_the_command_selects_by_dialect(tmp_path: Path) -> None:
    path = tmp_path / "vectors.jsonl"
    arguments = [
        "vectors",
        "export",
        "--format",
        "jsonl",
        "--dialect",
        "mlx-swift-lm",
        "--requirement",
        "MQ-7",
    ]
    assert main([*arguments, "-o", str(path)]) == 0
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert {"mq-scope-first-over-mlx-lm"} <= {one["id"] for one in found}
    assert all("mlx-swift-lm" in one["dialects"] and "MQ-7" in one["requirements"] for one in found)


def test_without_a_file_it_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", "export", "--vector", "aq-zeros"]) == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out)] == ["aq-zeros"]


def test_a_dialect_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", "export", "--dialect", "mlx-swift"]) == 2
    assert "dialect 'mlx-swift' does not exist; near are mlx-swift-lm" in capsys.readouterr().err


# ---------------------------------------------------------------- formatting


def test_what_fits_stands_on_one_line_and_numbers_fill_lines() -> None:
    text = json_text({"short": [1, 2], "long": list(range(100)), "none": {}, "deep": [{"a": "x" * 130}]})
    assert text.splitlines()[1] == '  "short": [1, 2],'
    assert "    0, 1, 2, 3, 4," in text
    assert max(map(len, text.splitlines()[:6])) <= 125
    assert json.loads(text)["long"] == list(range(100))


# ---------------------------------------------------------------- schema, folders


def test_the_schema_is_up_to_date() -> None:
    committed = (library.goldens_folder() / "SCHEMA.json").read_text(encoding="utf-8")
    assert committed == schema.schema_text(), "stale: run python -m kvconform.vectors.schema"


def test_the_schema_is_whole_and_describes_every_document() -> None:
    made = schema.schema()
    references = {text.rpartition("/")[2] for text in referenced(made)}
    assert references <= set(made["$defs"])
    assert {"Scenario", "Observation", "Vector", "Replay"} <= set(made["$defs"])
    assert all("description" in made["$defs"][name] for name in ("Vector", "Replay", "PlainLayer"))


def referenced(data: Any) -> list[str]:
    if isinstance(data, list):
        return [found for item in data for found in referenced(item)]
    if not isinstance(data, dict):
        return []
    here = [data["$ref"]] if "$ref" in data else []
    return here + [found for value in data.values() for found in referenced(value)]


def test_goldens_are_found_in_a_wheel_first_and_in_a_checkout(tmp_path: Path) -> None:
    package = tmp_path / "site" / "kvconform"
    (tmp_path / "goldens" / "vectors").mkdir(parents=True)
    assert library.goldens_folder(package) == tmp_path / "goldens"
    (package / "goldens" / "vectors").mkdir(parents=True)
    assert library.goldens_folder(package) == package / "goldens"
    with pytest.raises(UserError, match="there are none beside"):
        library.goldens_folder(tmp_path / "elsewhere" / "deeper" / "kvconform")


def test_a_bad_file_is_named_with_its_field(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"version": 2}', encoding="utf-8")
    with pytest.raises(UserError, match="version: Input should be 1, not 2"):
        library.read_vector(path)
    with pytest.raises(UserError, match="cannot be read"):
        library.read_vector(tmp_path / "none.json")


# ---------------------------------------------------------------- reports


def test_every_public_report_is_on_the_page_and_covered_or_says_why_not() -> None:
    page = reports_page.reports_page()
    public = [report for report in REPORTS.values() if report.url]
    assert len(public) == len({report.url for report in public}) == 55
    for key, report in REPORTS.items():
        assert f"**{report.label}**" in page
        assert report.url in page
        covered = reports_page.covering_vectors(key) or report.requirements
        assert covered or report.not_covered, key


def test_what_is_said_to_cover_a_report_exists() -> None:
    checked = {check.requirement for check in all_checks()}
    for report in REPORTS.values():
        assert set(report.requirements) <= set(catalogue())
        assert set(report.requirements) <= checked, report.label
    assert {key for source in all_sources() for key in source.reports} <= set(REPORTS)


def test_vectors_cite_public_reports_by_their_address() -> None:
    cited = {url for vector in VECTORS.values() for url in vector.reports or ()}
    assert cited <= {report.url for report in REPORTS.values()}
    assert len(cited) > 30


# ---------------------------------------------------------------- the page

PAGE = (Path(__file__).parents[2] / "docs" / "vectors.md").read_text(encoding="utf-8")


def test_the_page_names_every_field_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)
    assert rows == list(Vector.model_fields)


def test_ids_and_links_on_the_page_exist() -> None:
    named = set(re.findall(r"`([a-z]{2}-[a-z0-9-]+)`", PAGE)) | set(re.findall(r"--vector ([\w-]+)", PAGE))
    assert len(named) > 3
    assert named <= set(VECTORS)
    assert set(re.findall(r"\(((?:[A-Z]{2})-\d+)\)", PAGE)) == set(INEXPRESSIBLE)
    folder = Path(__file__).parents[2] / "docs"
    links = set(re.findall(r"\]\(([\w/.-]+\.md)\)", PAGE)) - {"faults.md"}
    assert {link for link in links if not (folder / link).is_file()} == set()


def test_commands_on_the_page_are_understood(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [
        shlex.split(line) for line in re.findall(r"^kvconform (vectors .+)$", PAGE, flags=re.MULTILINE)
    ]
    assert len(commands) > 4
    for command in commands:
        known = [word for word in command if word.startswith("-")]
        assert main([*command[:2], "--help"]) == 0, command
        if command[1] == "export":
            assert main(command) == 0, command
        assert set(known) <= {"--requirement", "--vector", "--dialect", "--format", "-o"}
