"""``kvconform run``, end to end: the real suite, a process each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from cli_commands import Command, environment

ONE = ("--requirement", "GS-4", "--budget", "quick", "-n", "1")


def test_a_conforming_run_gives_0_and_reports_whatever_is_in_the_callers_environment(
    process: Command, tmp_path: Path
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (tmp_path / "conftest.py").write_text("raise RuntimeError('not yours')\n")
    hostile = {"PYTEST_ADDOPTS": "--no-such-option", "PYTEST_PLUGINS": "no_such_plugin"}
    done = process("run", "reference", *ONE, "--json", "r.json", "--junit", "r.xml", **hostile)
    assert done.code == 0, done.out + done.err
    assert "1 / 0 / 0 / 0 / 0" in done.out
    assert "U (universal) requirements judged: 0 of 0" in done.out
    assert "seed 20261201" in done.out
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["implementation"]["dialect"] == "proposal"
    assert [r["outcome"] for r in report["requirements"]] == ["pass"]
    assert report["complete"] is True
    assert ET.parse(tmp_path / "r.xml").getroot().get("failures") == "0"
    assert done.err == ""  # no progress bar where there is no terminal


def test_a_failure_gives_1_the_smallest_scenario_and_a_command_that_runs_it_again(
    kvconform: Command, tmp_path: Path
) -> None:
    done = kvconform("run", "adapters:tie_goes_high", "--seed", "3", *ONE, "--json", "r.json")
    assert done.code == 1
    for part in (
        "GS-4",
        "group size 96 for key dim 128, value dim 128",
        "expected",
        "observed",
        "seed 3",
    ):
        assert part in done.out
    command = json.loads((tmp_path / "r.json").read_text())["requirements"][0]["replay"]
    assert command in done.out
    words = command.split()[1:]
    assert kvconform(*words).code == 1
    fixed = kvconform(*words, "--implementation", "reference")
    assert fixed.code == 0
    assert "passes now" in fixed.out


def test_several_implementations_stand_in_one_table_and_in_one_report(
    kvconform: Command, tmp_path: Path
) -> None:
    done = kvconform("run", "adapters:good", "adapters:tie_goes_high", *ONE, "--json", "r.json")
    assert done.code == 1
    row = next(line for line in done.out.splitlines() if line.startswith("GS "))
    assert row.count("/") == 8
    runs = json.loads((tmp_path / "r.json").read_text())["runs"]
    assert [run["exit_code"] for run in runs] == [0, 1]


def test_an_implementation_that_does_not_start_gives_3_and_a_report(
    kvconform: Command, tmp_path: Path
) -> None:
    done = kvconform("run", "adapter_with_import_error:factory", *ONE, "--json", "r.json")
    assert done.code == 3
    assert done.out == ""
    assert "a_module_that_nobody_has" in done.err
    assert "Traceback" not in done.out + done.err
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["complete"] is False
    assert "a_module_that_nobody_has" in report["error"]


def test_a_process_that_ends_at_once_is_told_what_was_asked_of_it(kvconform: Command) -> None:
    done = kvconform("run", f"exec:{sys.executable} -c pass", *ONE)
    assert (done.code, done.out) == (3, "")
    assert (
        "exited with status 0 while answering initialize; that is the first request on its stdin" in done.err
    )
    assert "run the command by hand to see why it ends" in done.err
    assert "Traceback" not in done.err


def test_a_process_that_breaks_the_protocol_gives_3(kvconform: Command, tmp_path: Path) -> None:
    (tmp_path / "driver.py").write_text("print('hello')\n")
    done = kvconform("run", f"exec:{sys.executable} driver.py", *ONE)
    assert done.code == 3
    assert done.out == ""
    assert "hello" in done.err


def test_a_stale_known_failure_gives_4_and_is_named(kvconform: Command, tmp_path: Path) -> None:
    entry = '[[known]]\nrequirement = "GS-4"\nreason = "ties"\nmessage = "x"\n'
    (tmp_path / "known.toml").write_text("version = 1\n" + entry)
    done = kvconform("run", "reference", *ONE, "--known-failures", "known.toml")
    assert done.code == 4
    assert "known failure is stale: GS-4: ties. Take it out of known.toml" in done.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("referense",), "implementation 'referense' is not known; near are reference"),
        (("",), "implementation '' is not known. Give mlx-lm, reference"),
        (("exec:",), "names no command"),
        (("exec: ",), "names no command"),
        (("fault:tie-goes-hihg",), "there is no such fault; near are tie-goes-high"),
        ((":factory",), "names no module before the colon"),
        (("adapters:",), "names no function after the colon"),
        (("no_such_module:factory",), "there is no module no_such_module. Install it, or put its folder on"),
        (("no_such.module:factory",), "there is no module no_such.module"),
        (("..:factory",), "there is no module .."),
        (("reference", "--requirement", "MQ-112"), "requirement 'MQ-112' does not exist; near are MQ-12"),
        (("reference", "--json", "missing/r.json"), "report missing/r.json: cannot be written: No such file"),
        (("reference", "--junit", "."), "report .: cannot be written: Is a directory"),
        (("reference", "--json", ""), "report .: cannot be written: Is a directory"),
        (("reference", "--json", "r", "--junit", "./r"), "/r: two reports would go there. Give each a file"),
        (("reference", "-n", "100000"), "-n 100000: too many processes for"),
        (("reference", "--known-failures", ""), "known-failures file .: cannot be read: Is a directory"),
        (("reference", "--known-failures", "none.toml"), "known-failures file none.toml: cannot be read"),
    ],
)
def test_a_mistake_is_one_line_and_2_before_anything_runs(
    kvconform: Command, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    done = kvconform("run", *arguments)
    assert done.code == 2
    assert told in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
    assert not (tmp_path / ".kvconform").exists()


@pytest.mark.parametrize(
    "arguments", [("--budget", "huge"), ("--seed", "x"), ("--seed", "-1"), ("-n", "0"), ("--no-such-option",)]
)
def test_a_bad_option_is_2_without_a_traceback(kvconform: Command, arguments: tuple[str, ...]) -> None:
    done = kvconform("run", "reference", *arguments)
    assert done.code == 2
    assert "Traceback" not in done.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here, which is always full")
def test_a_report_that_cannot_be_written_after_all_costs_nothing_but_itself(kvconform: Command) -> None:
    done = kvconform("run", "adapters:tie_goes_high", *ONE, "--json", "/dev/full", "--junit", "r.xml")
    assert done.code == 2
    assert done.err == (
        "kvconform: report /dev/full: cannot be written: No space left on device. "
        "Make room, or give another path.\n"
    )
    assert "0 requirements passed, 1 failed" in done.out


def test_a_report_that_is_there_survives_a_mistake(kvconform: Command, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text("yesterday's")
    assert kvconform("run", "nobody", "--json", "r.json").code == 2
    assert (tmp_path / "r.json").read_text() == "yesterday's"


def _wait_for_result(folder: Path, process: subprocess.Popen[str]) -> Path:
    for _ in range(600):
        for log in folder.glob(".kvconform/logs/*.jsonl"):
            if '"event":"begun"' in log.read_text():
                return log
        assert process.poll() is None
        time.sleep(0.1)
    raise AssertionError("nothing was judged")


def _running(marker: str) -> list[int]:
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if marker in (folder / "environ").read_bytes().decode(errors="replace"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def _hear_interrupts() -> None:
    """As at a terminal: what a shell runs in the background inherits an ignored SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_gives_130_one_line_a_partial_log_and_leaves_no_process(
    tmp_path: Path, stop: signal.Signals
) -> None:
    name, value = "KVCONFORM_TEST", f"{tmp_path}-{stop}"
    slow = f"exec:{sys.executable} -m kvconform serve adapters:slow"
    options = ["--requirement", "GS", "--json", "r.json", "--junit", "r.xml"]
    process = subprocess.Popen(
        [sys.executable, "-m", "kvconform", "run", slow, "reference", *options],
        cwd=tmp_path,
        env={**environment(), name: value},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_hear_interrupts,
    )
    log = _wait_for_result(tmp_path, process)
    process.send_signal(stop)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.count("\n") == 1
    assert "interrupted" in err
    assert log.name in err
    assert "Traceback" not in out + err
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["complete"] is False
    assert [run["complete"] for run in report["runs"]] == [False, False]
    assert '"event":"end"' not in log.read_text()
    assert int(ET.parse(tmp_path / "r.xml").getroot().get("errors", "0")) == 2
    if os.path.isdir("/proc/self"):
        for _ in range(50):
            if not _running(value):
                break
            time.sleep(0.1)
        assert _running(value) == []
