"""The page for implementations in Python: its example runs, and says what the page says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kvconform
import pytest
import support
from kvconform import observation
from kvconform.scenario import as_data

PAGE = support.page("python")
EXAMPLE, TEST = (block.split("```", 1)[0] for block in PAGE.split("```python\n")[1:])
TIE = "(abs(size - max(1, requested)), size)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(EXAMPLE)
    return tmp_path


def run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )


def report_of(folder: Path, spec: str = "mine:factory", *options: str) -> dict[str, Any]:
    done = run(["kvconform", "run", spec, "--budget", "quick", "--json", "report.json", *options], folder)
    data: dict[str, Any] = json.loads((folder / "report.json").read_text())
    assert data["exit_code"] == done.returncode
    return data


@pytest.mark.parametrize("spec", ["mine:factory", f"exec:{sys.executable} -m kvconform serve mine:factory"])
def test_the_example_conforms_in_what_it_declares_and_is_asked_nothing_else(folder: Path, spec: str) -> None:
    report = report_of(folder, spec)
    judged = {entry["id"]: entry["outcome"] for entry in report["requirements"] if entry["checks"]}
    passed = {name for name, outcome in judged.items() if outcome == "pass"}
    assert report["exit_code"] == 0
    assert {"GS-3", "GS-4", "GS-12", "KC-1"} <= passed
    assert set(judged.values()) == {"pass", "unsupported"}


def test_the_change_that_the_page_proposes_fails_the_requirement_of_ties(folder: Path) -> None:
    assert EXAMPLE.count(TIE) == 1
    (folder / "mine.py").write_text(EXAMPLE.replace(TIE, TIE.replace(" size)", " -size)")))
    outcomes = {
        entry["id"]: entry["outcome"]
        for entry in report_of(folder, "mine:factory", "--requirement", "GS-4")["requirements"]
    }
    assert outcomes["GS-4"] == "fail"


def test_the_test_of_the_page_passes_and_fails_with_the_implementation(folder: Path) -> None:
    (folder / "test_mine.py").write_text(TEST)
    assert run(["pytest", "-q", "test_mine.py"], folder).returncode == 0
    (folder / "mine.py").write_text(EXAMPLE.replace(TIE, TIE.replace(" size)", " -size)")))
    failed = run(["pytest", "-q", "test_mine.py"], folder)
    assert failed.returncode == 1
    assert "NonConforming" in failed.stdout


def test_the_classes_that_the_page_names_are_where_it_says() -> None:
    for kind in ("Resolve", "Quantize", "Cache", "Container", "Iterate"):
        assert f"`{kind}Observation`" in PAGE
        assert hasattr(kvconform, f"{kind}Observation")
    for name in ("ObjectView", "OperationRecord", "StepRecord", "TurnRecord", "StepError"):
        assert f"`{name}`" in PAGE
        assert hasattr(observation, name)
    answer = PAGE.split("`return ", 1)[1].split("`", 1)[0]
    assert json.loads(answer).items() <= as_data(kvconform.ResolveObservation(group_size=32)).items()
