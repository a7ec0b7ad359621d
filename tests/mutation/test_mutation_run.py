"""The verdict of ``mutation/run.py``, without running mutants, and what it has on record."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutation_run", ROOT / "mutation" / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up there
    spec.loader.exec_module(module)
    return module


def mutant(run: ModuleType, after: str, *, survived: bool, definition: str = "own") -> Any:
    return run.Mutant(
        module="policy", definition=definition, before="a == b", after=after, line=7, survived=survived
    )


def test_a_module_passes_when_each_survivor_is_known(
    run: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    mutants = [mutant(run, "a != b", survived=False), mutant(run, "a <= b", survived=True)]
    assert run.report("policy", mutants, {mutants[1].key}) is False
    assert capsys.readouterr().out == "policy: 2 mutants, 1 killed, 1 equivalent, 0 survived\n"


def test_a_survivor_that_is_not_known_fails_the_module_with_its_place_and_both_texts(
    run: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    survivor = mutant(run, "a <= b", survived=True)
    elsewhere = mutant(run, "a <= b", survived=True, definition="disarms")
    assert run.report("policy", [survivor], {elsewhere.key, mutant(run, "a >= b", survived=True).key}) is True
    printed = capsys.readouterr().out
    assert "line 7, in own\n    - a == b\n    + a <= b" in printed


def test_an_entry_that_no_longer_survives_fails_the_module_and_one_of_another_module_does_not(
    run: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    killed = mutant(run, "a <= b", survived=False)
    assert run.report("policy", [killed], {killed.key}) is True
    assert "stale in equivalent.toml, in own:\n    - a == b\n    + a <= b" in capsys.readouterr().out
    assert run.report("policy", [killed], {("affine", "own", "a == b", "a <= b")}) is False


def session(outcome: str | None, output: str, *, line: int) -> str:
    """One line of cosmic-ray's dump: a mutant of a line, and how its tests went."""
    mutation = {"start_pos": [line, 4], "definition_name": "own"}
    diff = "--- mutation diff ---\n--- a/policy.py\n+++ b/policy.py\n@@ -1 +1 @@\n-    a == b\n+    a <= b"
    return json.dumps([{"mutations": [mutation]}, {"test_outcome": outcome, "output": output, "diff": diff}])


def test_mutants_that_were_filtered_out_or_are_not_python_are_not_counted(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = [
        session("killed", "1 failed", line=1),
        session("killed", "E   SyntaxError: invalid syntax", line=2),
        session(None, "Filtered operator", line=3),
        session("survived", "9 passed", line=4),
    ]
    monkeypatch.setattr(run, "run", lambda folder, *command: "\n".join(lines))
    found = list(run.mutate("policy", tmp_path))
    assert [(one.line, one.survived) for one in found] == [(1, False), (4, True)]
    assert found[1].key == ("policy", "own", "a == b", "a <= b")


def test_every_module_is_on_record_and_what_was_not_killed_is_listed_with_a_reason(run: ModuleType) -> None:
    results = json.loads((ROOT / "mutation" / "results.json").read_text(encoding="utf-8"))
    assert tuple(results) == run.MODULES
    for module, counts in results.items():
        entries = [entry for entry in run.equivalents() if entry["module"] == module]
        assert all(entry["reason"] for entry in entries)
        survivors = counts["mutants"] - counts["killed"]
        # one entry may stand for two mutants of the same text in the same function
        assert (survivors > 0) == bool(entries)
        assert len(entries) <= survivors


def test_every_listed_mutant_is_one_of_a_line_that_is_still_there(run: ModuleType) -> None:
    def words(text: str) -> str:
        return re.sub(r"\s+", " ", text)

    for entry in run.equivalents():
        path = ROOT / "reference" / "kvconform_reference" / f"{entry['module']}.py"
        source = words(path.read_text(encoding="utf-8"))
        assert words(entry["before"]) in source, f"stale in mutation/equivalent.toml: {entry}"
        assert not entry["definition"] or re.search(rf"\b(def|class) {entry['definition']}\b", source)
