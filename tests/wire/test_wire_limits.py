"""Every limit can be set where the suite is started, and holds in the process that judges."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kvconform.cli import main
from kvconform.errors import UserError
from kvconform.guard import Guarded
from kvconform.wire.limits import UNITS, VARIABLE, Limits, chosen_limits, extra_seconds, limits_of
from kvconform.wire.process import ProcessImplementation
from wire_helpers import DRIVER

SLOW = Path(__file__).with_name("wire_slow.py")

TIGHT = {
    "start": ("0.3", "no answer within 0.3 s while answering initialize"),
    "call": ("0.3", "no answer within 0.3 s while answering a resolve scenario"),
    "shutdown": ("0.2", "the process had not exited 0.2 s after shutdown was sent and was killed"),
    "answer": ("0.01", "an answer of more than 10486 bytes while"),
    "restarts": ("1", "was started again 1 times after trouble; put its crashes and timeouts right"),
}
"""For each limit a value that the driver of this name breaks, and what is said then."""


def command_of(way: str) -> str:
    """The driver as it is named on the command line."""
    return "exec:" + shlex.join([sys.executable, "-IS", str(SLOW), way])


def kvconform(folder: Path, *words: str, **env: str) -> tuple[int, str]:
    """Exit code and everything that is printed, unwrapped: where lines break depends on the paths in them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    command = [sys.executable, "-m", "kvconform", *words]
    done = subprocess.run(
        command, cwd=folder, env={**kept, **env}, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def judged(folder: Path, way: str, *words: str, **env: str) -> tuple[int, str, dict[str, Any]]:
    """The same of a run of one requirement, and its report."""
    options = ("--requirement", "GS-4", "--budget", "quick", "-n", "1", "--json", "report.json")
    code, said = kvconform(folder, "run", command_of(way), *options, *words, **env)
    return code, said, json.loads((folder / "report.json").read_text())


def test_every_limit_is_tried() -> None:
    assert set(TIGHT) == set(UNITS)


@pytest.mark.parametrize("limit", TIGHT)
def test_a_run_keeps_to_the_limits_that_it_is_given(tmp_path: Path, limit: str) -> None:
    value, message = TIGHT[limit]
    code, said, report = judged(tmp_path, limit, "--limit", f"{limit}={value}")
    assert message in said
    if limit == "shutdown":  # harms no answer
        assert (code, [message in note for note in report["notes"]]) == (0, [True])
        assert "note: after a complete answer: the process had not exited" in said
    else:
        assert code in (1, 3), said


@pytest.mark.parametrize("limit", ["start", "call"])
def test_what_breaks_a_tight_limit_is_fine_within_a_wider_one(tmp_path: Path, limit: str) -> None:
    vector = ("vectors", "check", command_of(limit), "--vector", "gs-table-64-64-64")
    assert kvconform(tmp_path, *vector, "--limit", f"{limit}=0.3")[0] in (1, 3)
    assert kvconform(tmp_path, *vector, "--limit", f"{limit}=0.3", "--limit", f"{limit}=20")[0] == 0


def test_the_environment_sets_limits_too(tmp_path: Path) -> None:
    vector = ("vectors", "check", command_of("answer"), "--vector", "gs-table-64-64-64")
    code, said = kvconform(tmp_path, *vector, **{VARIABLE: "start=20 answer=0.01"})
    assert (code, "an answer of more than 10486 bytes" in said) == (3, True)
    assert kvconform(tmp_path, *vector, "--limit", "answer=1", **{VARIABLE: "answer=0.01"})[0] == 0


def test_trouble_at_the_end_is_a_note_of_a_check_of_vectors(tmp_path: Path) -> None:
    vector = ("vectors", "check", command_of("shutdown"), "--vector", "gs-table-64-64-64")
    code, said = kvconform(tmp_path, *vector, "--limit", "shutdown=0.2", "--json", "report.json")
    assert code == 0
    assert "note: after a complete answer: the process had not exited 0.2 s after shutdown" in said
    assert len(json.loads((tmp_path / "report.json").read_text())["notes"]) == 1


MISTAKES = {
    "cal=3": "--limit 'cal=3': there is no limit 'cal'; near are call. Give one of start=60, call=30,",
    "call": "--limit 'call': '' is no value of call. Give seconds, above 0, as in call=30",
    "call=0": "'0' is no value of call",
    "call=inf": "'inf' is no value of call",
    "start=nan": "'nan' is no value of start",
    "answer=-1": "'-1' is no value of answer. Give MiB, above 0, as in answer=16",
    "restarts=1.5": "'1.5' is no value of restarts. Give a whole number, 0 or more, as in restarts=200",
    "restarts=-1": "'-1' is no value of restarts",
}


@pytest.mark.parametrize("setting", MISTAKES)
def test_a_mistake_in_a_limit_is_told_before_anything_is_started(
    capsys: pytest.CaptureFixture[str], setting: str
) -> None:
    assert main(["run", "exec:./nothing", "--limit", setting]) == 2
    said = capsys.readouterr().err
    assert said.startswith("kvconform: ")
    assert MISTAKES[setting] in said
    assert said.count("\n") == 1


def test_a_mistake_in_the_environment_is_told_as_clearly(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "anser=3")
    assert main(["run", "exec:./nothing"]) == 2
    assert f"{VARIABLE} 'anser=3': there is no limit 'anser'; near are answer" in capsys.readouterr().err


def test_a_limit_ends_with_the_command_that_was_given_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    command = "exec:" + shlex.join([sys.executable, str(SLOW), "call"])
    assert main(["vectors", "check", command, "--vector", "gs-table-64-64-64", "--limit", "call=20"]) == 0
    assert VARIABLE not in os.environ
    assert chosen_limits() == Limits()


def test_settings_change_what_they_name_and_nothing_else() -> None:
    settings = ["start=1", "call=2.5", "answer=0.5", "restarts=0", "call=7"]
    assert limits_of(settings, source="here") == Limits(start=1, call=7, answer_bytes=2**19, restarts=0)
    with pytest.raises(UserError, match="here 'x'"):
        limits_of(["x"], source="here")


def test_the_guard_around_a_scenario_waits_as_long_as_the_process_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert extra_seconds(Limits(start=100, call=20)) == 40
    with ProcessImplementation([sys.executable, "-IS", str(DRIVER), ""], limits=Limits(start=20)) as driver:
        default = Guarded(driver)._seconds  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setenv(VARIABLE, "call=630")
        assert Guarded(driver)._seconds == default + 600  # pyright: ignore[reportPrivateUsage]
