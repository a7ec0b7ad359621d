"""``kvconform.run_conformance``: the one call inside somebody's own test."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import kvconform
import pytest
from kvconform.errors import UserError
from kvconform.implementation import Implementation, Info, StartFailed
from kvconform.implementations import reference
from kvconform.observation import Observation, ResolveObservation
from kvconform.report.log import read_log
from kvconform.scenario import ResolveScenario, Scenario


class _HighTie:
    def __init__(self) -> None:
        self._reference = reference.factory()
        self.closed = False

    @property
    def info(self) -> Info:
        return self._reference.info

    def run(self, scenario: Scenario) -> Observation:
        if isinstance(scenario, ResolveScenario) and scenario.requested == 96:
            return ResolveObservation(group_size=128)
        return self._reference.run(scenario)

    def close(self) -> None:
        self.closed = True


class _Misspelt(_HighTie):
    @property
    def info(self) -> Info:
        capabilities = self._reference.info.capabilities.model_copy(update={"features": ("convrt",)})
        return self._reference.info.model_copy(update={"capabilities": capabilities})


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("given", [reference.factory, "reference", reference.factory()])
def test_a_conforming_implementation_gives_its_verdict(given: Any) -> None:
    verdict = kvconform.run_conformance(given, requirements=["GS-4"])
    assert verdict.exit_code == 0
    assert [r.outcome for r in verdict.requirements] == ["pass"]


@pytest.mark.parametrize("given", [_HighTie, _HighTie()])
def test_a_failure_raises_with_all_that_one_needs(given: type[Implementation] | Implementation) -> None:
    with pytest.raises(kvconform.NonConforming) as raised:
        kvconform.run_conformance(given, requirements=["GS-4"])
    assert "resolve group size 96" in str(raised.value)
    assert "kvconform replay" in str(raised.value)
    assert raised.value.verdict.exit_code == 1


def test_what_the_caller_made_is_left_open() -> None:
    mine = _HighTie()
    with pytest.raises(kvconform.NonConforming):
        kvconform.run_conformance(mine, requirements=["GS-4"])
    assert not mine.closed


def test_nothing_judged_is_no_success() -> None:
    class Nothing(_HighTie):
        @property
        def info(self) -> Info:
            nothing = super().info.capabilities.model_copy(update={"kinds": ()})
            return super().info.model_copy(update={"capabilities": nothing})

    with pytest.raises(kvconform.NonConforming):
        kvconform.run_conformance(Nothing, requirements=["GS"])


ENTRY = 'version = 1\n[[known]]\nrequirement = "GS-4"\nreason = "ties"\nmessage = "{}"\n'


def test_a_known_failure_is_excused_and_a_differing_or_stale_one_is_not(tmp_path: Path) -> None:
    with pytest.raises(kvconform.NonConforming) as raised:
        kvconform.run_conformance(_HighTie, requirements=["GS-4"])
    message = raised.value.verdict.failures[0].message
    known = tmp_path / "known.toml"

    known.write_text(ENTRY.format(message[:20]))
    excused = kvconform.run_conformance(_HighTie, requirements=["GS-4"], known_failures=known)
    assert [r.outcome for r in excused.requirements] == ["known failure"]

    known.write_text(ENTRY.format("something else"))
    with pytest.raises(kvconform.NonConforming) as differs:
        kvconform.run_conformance(_HighTie, requirements=["GS-4"], known_failures=known)
    assert differs.value.verdict.exit_code == 1

    with pytest.raises(kvconform.NonConforming, match="stale") as stale:
        kvconform.run_conformance("reference", requirements=["GS-4"], known_failures=known)
    assert stale.value.verdict.exit_code == 4


def test_a_folder_that_cannot_be_written_costs_the_replay_file_only(tmp_path: Path) -> None:
    (tmp_path / ".kvconform").write_text("a file where a folder would go")
    with pytest.raises(kvconform.NonConforming) as raised:
        kvconform.run_conformance(_HighTie, requirements=["GS-4"])
    assert "group size 96" in str(raised.value)
    assert "kvconform replay" not in str(raised.value)


def test_a_log_can_be_written(tmp_path: Path) -> None:
    kvconform.run_conformance("reference", requirements=["GS-4"], log="log.jsonl")
    assert read_log(tmp_path / "log.jsonl").complete


@pytest.mark.parametrize(
    "options", [{"budget": "huge"}, {"requirements": ["XX-1"]}, {"known_failures": "none.toml"}]
)
def test_a_mistake_is_a_user_error(options: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        kvconform.run_conformance("reference", **options)


@pytest.mark.parametrize(
    ("spec", "told"), [("nobody", "'nobody' is not known"), ("no_such_module:make", "there is no module")]
)
def test_a_name_that_names_nothing_is_a_user_error(spec: str, told: str) -> None:
    with pytest.raises(kvconform.UserError, match=told):
        kvconform.run_conformance(spec, requirements=["GS-4"])


def test_an_implementation_that_does_not_start_says_why() -> None:
    with pytest.raises(kvconform.StartFailed, match=r"command '\./nothing-here' was not found"):
        kvconform.run_conformance("exec:./nothing-here", requirements=["GS-4"])


def test_a_concept_that_nobody_knows_is_an_error_of_the_start() -> None:
    with pytest.raises(StartFailed, match=r"unknown features 'convrt' \(known: container, .* in its info"):
        kvconform.run_conformance(_Misspelt, requirements=["GS-4"])


def test_a_factory_that_gives_something_else_is_told_what_to_return() -> None:
    not_one: Any = dict
    with pytest.raises(kvconform.StartFailed, match="returned a dict, which has no `info`"):
        kvconform.run_conformance(not_one, requirements=["GS-4"])


def test_the_package_itself_stays_light() -> None:
    import subprocess

    script = "import sys, kvconform; print('pydantic' in sys.modules, 'kvconform.api' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
