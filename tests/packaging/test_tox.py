"""The commands of tox work on a fresh clone."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environments() -> dict[str, dict[str, str]]:
    parser = ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini", encoding="utf-8")
    return {name: dict(parser[name]) for name in parser.sections()}


def test_an_environment_that_writes_reports_makes_their_folder() -> None:
    writing = {n: e for n, e in environments().items() if "reports{/}" in e.get("commands", "")}
    assert "testenv:conformance" in writing
    assert [name for name, e in writing.items() if "'reports').mkdir" not in e.get("commands_pre", "")] == []
