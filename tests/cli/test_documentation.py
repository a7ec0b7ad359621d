"""``docs/cli.md`` says what the program does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from documented import option_tables, plugin_rows
from kvconform import errors, known
from kvconform.outcomes import ERRORS, WORST_FIRST
from kvconform.report.json_report import json_report
from kvconform.report.log import Broken, Log
from kvconform.report.verdict import verdict_of
from kvconform.session import BUDGETS, DEFAULT_SEED

TEXT = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()


def _section(title: str, *, level: int = 2) -> str:
    pattern = rf"^{'#' * level} {re.escape(title)}\n(.*?)(?=^#{{1,{level}}} |\Z)"
    found = re.search(pattern, TEXT, flags=re.MULTILINE | re.DOTALL)
    assert found, f"docs/cli.md has no section {title!r}"
    return found.group(1)


def _rows(section: str, *, table: int = 0) -> list[str]:
    """The rows of a table of a section, without its head."""
    tables = re.findall(r"(?:^\|.*\n)+", section, flags=re.MULTILINE)
    return tables[table].splitlines()[2:] if tables else []


def _names(rows: list[str]) -> list[str]:
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


@pytest.mark.parametrize("command", list(option_tables()))
def test_every_option_of_a_command_is_documented_in_its_own_words(command: str) -> None:
    rows = _rows(_section(f"`kvconform {command}`"))
    wanted = option_tables()[command]
    assert rows[: len(wanted)] == wanted, "docs/cli.md must have:\n" + "\n".join(wanted)


def test_no_command_is_documented_that_does_not_exist() -> None:
    documented = re.findall(r"^## `kvconform (.+)`$", TEXT, flags=re.MULTILINE)
    assert sorted(documented) == sorted(option_tables())


def test_every_option_of_the_plugin_is_documented_in_its_own_words() -> None:
    assert _rows(_section("Under pytest")) == plugin_rows()


def test_the_exit_codes_are_those_of_the_program() -> None:
    documented = [int(row.split("|")[1]) for row in _rows(_section("Exit codes"))]
    names = ("CONFORMING", "FAILED", "USAGE", "BROKEN", "STALE", "NOTHING", "INTERRUPTED")
    assert documented == [getattr(errors, name) for name in names]
    order = ", ".join(map(str, errors.PRECEDENCE))
    assert f"the first of {order} is taken" in TEXT


def test_the_outcomes_are_those_of_the_program_worst_first() -> None:
    rows = _rows(_section("Outcomes"))
    assert _names(rows) == list(WORST_FIRST)
    counts_as = {row.split("`")[1]: row.split(" | ")[2] for row in rows}
    assert {name for name, counted in counts_as.items() if counted.startswith("error")} == ERRORS
    assert {name for name, counted in counts_as.items() if counted.startswith("failed")} == {"fail"}


def test_the_fields_of_the_json_report_are_those_of_the_program() -> None:
    report = json_report([verdict_of(Log.of([Broken(spec="x", message="y")]))])
    assert sorted(_names(_rows(_section("JSON report", level=3)))) == sorted(report)


def test_the_fields_of_a_known_failures_file_are_those_of_the_program() -> None:
    section = _section("Known failures", level=3)
    assert set(_names(_rows(section))) == known.FIELDS
    example = re.search(r"```toml\n(.*?)```", section, flags=re.DOTALL)
    assert example
    text = example.group(1).replace('\'{"version": 1, "kind": "container", ...}\'', "'{}'")
    assert tomllib.loads(text)["version"] == known.VERSION
    without_scenario = "\n".join(line for line in text.splitlines() if not line.startswith("scenario"))
    entries = known.parse_known_failures(without_scenario, source="docs/cli.md").entries
    assert [entry.outcome for entry in entries] == ["fail", "crash"]


def test_defaults_are_those_of_the_program() -> None:
    assert f"The seed is {DEFAULT_SEED} unless" in TEXT
    assert f"{', '.join(BUDGETS[:-1])} or {BUDGETS[-1]}" in _section("`kvconform run`")
