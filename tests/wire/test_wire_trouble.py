"""Protocol torture with real processes: every way of not answering has an outcome of its own."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from kvconform.implementation import Crash, ProtocolBroken, StartFailed, TimedOut, Trouble, Unsupported
from kvconform.observation import Refusal
from kvconform.wire.limits import Limits
from kvconform.wire.process import ProcessImplementation
from wire_helpers import BAD, DRIVER, PID, QUICK, StartDriver, is_gone, resolve, size_for

HURRIED = Limits(start=10, call=0.5, shutdown=1)
"""For drivers that hang: half a second is a hundred times what an answer takes."""

BROKEN_ANSWERS = {
    "noise": r"not JSON: 'loading weights 12 %'.*print everything else to stderr",
    "noise-behind": r"more than one answer: 'done in 3 ms\\n'",
    "blank-line": r"not JSON: ''",
    "twice": r"more than one answer: '\{\"jsonrpc",
    "half-then-exit": r"in the middle of a line while answering a resolve scenario: .*2\.0\", \"'; end every",
    "no-newline": r"middle of a line.*end every answer with a newline",
    "wrong-id": r"answers request 4 where request 3 was asked",
    "text-id": r"id: Input should be a valid integer: '\{",
    "no-id": r"id: Field required",
    "unknown-field": r"result\.resolve\.groupsize: unknown field",
    "two-in-a-line": r"not JSON: '\{.*\}\}\{.*one a line",
    "answer-before": r"answers request 2 where request 3 was asked",
    "byte-order-mark": r"begins with a byte order mark, so it is not JSON: ",
    "twice-a-field": r"has the field 'group_size' twice in one object: ",
    "twice-an-id": r"has the field 'id' twice in one object: ",
    "endless-integer": r"holds a number of thousands of digits: '",
    "nan": r"holds NaN, which is not JSON",
    "infinity": r"holds Infinity, which is not JSON",
    "huge-integer": r"group_size: Input should be less than or equal to 9007199254740992",
    "fraction": r"group_size: Input should be a valid integer",
    "not-utf8": r"not UTF-8 \(byte 25\)",
    "array": r"not a JSON object: '\[1, 2\]'",
    "wrong-kind": r"a result of kind cache to a resolve scenario",
    "refusal-as-result": r"a refusal as a result \(on the wire it is an error of kind refused\)",
    "result-and-error": r"either a result or an error|Unable to extract tag",
    "neither": r"either a result or an error",
    "old-jsonrpc": r"jsonrpc: Input should be '2.0'",
    "unknown-code": r"unknown code 7; known are",
    "code-against-kind": r"code -32001 means refused, but data.kind is internal",
    "50-megabytes": r"an answer of more than 16777216 bytes.*raise the limit with --limit answer=MIB",
    "endless-line": r"an answer of more than 16777216 bytes .*beginning 'xxxx",
    "close-stdout": r"closed its stdout but goes on running.*keep stdout open",
    "not-understood": r"^params.scenario: what is this",
    "not-readable": r"^what is this",
}


@pytest.mark.parametrize(("behaviour", "message"), BROKEN_ANSWERS.items(), ids=BROKEN_ANSWERS.keys())
def test_a_broken_answer_is_a_protocol_error_that_says_what_is_wrong(
    start_driver: StartDriver, behaviour: str, message: str
) -> None:
    driver = start_driver(behaviour)
    assert size_for(driver, 32) == 32
    with pytest.raises(ProtocolBroken) as trouble:
        driver.run(resolve(BAD))
    assert trouble.value.outcome == "protocol"
    assert re.search(message, str(trouble.value)), str(trouble.value)
    assert size_for(driver, 64) == 64


@pytest.mark.parametrize("behaviour", ["50-megabytes", "endless-line"])
def test_the_message_about_a_huge_answer_is_short(start_driver: StartDriver, behaviour: str) -> None:
    driver = start_driver(behaviour)
    with pytest.raises(ProtocolBroken) as trouble:
        driver.run(resolve(BAD))
    assert len(str(trouble.value)) < 2000


CRASHES = {
    "segv": (
        "SIGSEGV",
        "^the process died with SIGSEGV while answering a resolve scenario; .*kvconform record",
    ),
    "abort": ("SIGABRT", "died with SIGABRT"),
    "killed": ("SIGKILL", "died with SIGKILL"),
    "half-then-crash": ("SIGSEGV", "died with SIGSEGV .*after part of a line: '"),
    "shell-segv": ("SIGSEGV", r"exited with status 139 \(a shell's word for SIGSEGV\)"),
    "exit-3": ("", "exited with status 3 while answering"),
    "exit-0": ("", "exited with status 0 while answering"),
}


@pytest.mark.parametrize(("behaviour", "expected"), CRASHES.items(), ids=CRASHES.keys())
def test_a_crash_names_its_signal_or_its_status(
    start_driver: StartDriver, behaviour: str, expected: tuple[str, str]
) -> None:
    name, message = expected
    driver = start_driver(behaviour)
    assert size_for(driver, 32) == 32
    with pytest.raises(Crash) as trouble:
        driver.run(resolve(BAD))
    assert (trouble.value.outcome, trouble.value.signal) == ("crash", name)
    assert re.search(message, str(trouble.value)), str(trouble.value)
    assert size_for(driver, 64) == 64
    assert driver.late == ()


@pytest.mark.parametrize("behaviour", ["hang", "hang-stubbornly", "half-then-hang"])
def test_a_hang_is_a_timeout_whatever_the_process_does_about_it(
    start_driver: StartDriver, behaviour: str
) -> None:
    driver = start_driver(behaviour, limits=HURRIED)
    with pytest.raises(TimedOut, match=r"^no answer within 0\.5 s while answering a resolve") as trouble:
        driver.run(resolve(BAD))
    assert trouble.value.outcome == "timeout"
    assert ("only part of a line came" in str(trouble.value)) == (behaviour == "half-then-hang")
    assert size_for(driver, 64) == 64


SILENCES = {
    "hang": "a resolve scenario; flush stdout after every answer, raise the limit with --limit call=SECONDS",
    "half-then-hang": "(only part of a line came: ",
    "carriage-return-only": "(a whole answer came, but not the end of its line: ",
    "stopped": "raise the limit",
}


@pytest.mark.parametrize("behaviour", SILENCES)
def test_a_timeout_says_what_there_was_instead_of_an_answer(
    start_driver: StartDriver, behaviour: str
) -> None:
    driver = start_driver(behaviour, limits=HURRIED)
    with pytest.raises(TimedOut) as trouble:
        driver.run(resolve(BAD))
    assert SILENCES[behaviour] in str(trouble.value)
    assert size_for(driver, 64) == 64


def test_a_process_that_does_not_listen_any_more_is_told_so(start_driver: StartDriver) -> None:
    driver = start_driver("closed-stdin", limits=HURRIED)
    assert size_for(driver, BAD) == BAD
    time.sleep(0.2)
    with pytest.raises(TimedOut, match=r"\(its stdin is closed\); read stdin until shutdown"):
        driver.run(resolve(64))
    assert size_for(driver, 64) == 64


def test_a_carriage_return_before_the_end_of_a_line_is_white_space(start_driver: StartDriver) -> None:
    driver = start_driver("carriage-return")
    assert size_for(driver, BAD) == BAD
    assert size_for(driver, 64) == 64
    assert driver.late == ()


def test_an_answer_that_comes_before_its_request_is_none(start_driver: StartDriver) -> None:
    driver = start_driver("start-answers-ahead-later")
    time.sleep(0.5)
    with pytest.raises(ProtocolBroken, match=r"an answer before the request: .*while answering a resolve"):
        driver.run(resolve(64))


def test_a_hundred_megabytes_of_stderr_cost_nothing_but_time(start_driver: StartDriver) -> None:
    driver = start_driver("100-megabytes-of-stderr")
    assert size_for(driver, BAD) == BAD
    assert size_for(driver, 64) == 64


def test_a_flood_that_ignores_being_ended_is_ended(start_driver: StartDriver) -> None:
    driver = start_driver("flood-without-end", limits=HURRIED)
    pid = size_for(driver, PID)
    with pytest.raises(TimedOut) as trouble:
        driver.run(resolve(BAD))
    assert pid is not None
    assert is_gone(pid)
    assert 0 < len(trouble.value.detail) <= 17_000
    assert size_for(driver, 64) == 64


def test_what_a_process_says_cannot_reach_the_terminal(start_driver: StartDriver) -> None:
    driver = start_driver("colours")
    with pytest.raises(Trouble) as trouble:
        driver.run(resolve(BAD))
    assert (str(trouble.value), trouble.value.detail) == (r"red\x07 ä", "line\t7\n\\x00")


def test_a_message_of_a_megabyte_is_cut(start_driver: StartDriver) -> None:
    with pytest.raises(Trouble) as trouble:
        start_driver("long-story").run(resolve(BAD))
    assert str(trouble.value) == "m" * 4000 + "… (1000000 characters)"


def test_the_last_lines_of_stderr_are_attached(start_driver: StartDriver) -> None:
    driver = start_driver("exit-3")
    with pytest.raises(Crash) as trouble:
        driver.run(resolve(BAD))
    assert trouble.value.detail == "last words\nreally the last"


def test_a_flood_of_stderr_blocks_nothing_and_is_cut_to_its_end(start_driver: StartDriver) -> None:
    driver = start_driver("stderr-flood")
    with pytest.raises(Crash) as trouble:
        driver.run(resolve(BAD))
    assert trouble.value.detail.endswith("spam\nlast words\nreally the last")
    assert len(trouble.value.detail.splitlines()) == 40


def test_what_a_hanging_process_says_when_it_is_ended_is_attached(start_driver: StartDriver) -> None:
    driver = start_driver("hang", limits=HURRIED)
    with pytest.raises(TimedOut) as trouble:
        driver.run(resolve(BAD))
    assert trouble.value.detail == "entering the endless loop"


def test_what_the_process_started_goes_with_it(start_driver: StartDriver) -> None:
    driver = start_driver("heirs")
    with pytest.raises(Crash) as trouble:
        driver.run(resolve(BAD))
    heir = int(trouble.value.detail.removeprefix("heir "))
    assert is_gone(heir)
    assert size_for(driver, 64) == 64


@pytest.mark.parametrize("behaviour", ["refused", "refused-bare"])
def test_only_an_error_of_kind_refused_is_a_refusal(start_driver: StartDriver, behaviour: str) -> None:
    driver = start_driver(behaviour)
    assert driver.run(resolve(BAD)) == Refusal(message="13 is unlucky")


def test_unsupported_is_an_answer_and_the_process_stays(start_driver: StartDriver) -> None:
    driver = start_driver("unsupported")
    pid = size_for(driver, PID)
    with pytest.raises(Unsupported, match="no such concept"):
        driver.run(resolve(BAD))
    assert size_for(driver, PID) == pid


def test_an_internal_error_is_trouble_with_its_detail_and_the_process_stays(
    start_driver: StartDriver,
) -> None:
    driver = start_driver("internal")
    pid = size_for(driver, PID)
    with pytest.raises(Trouble, match=r"^it broke$") as trouble:
        driver.run(resolve(BAD))
    assert (trouble.value.outcome, trouble.value.detail) == ("error", "in line 7")
    assert size_for(driver, PID) == pid


def test_output_that_comes_after_the_answer_harms_no_other_scenario(start_driver: StartDriver) -> None:
    driver = start_driver("late-noise")
    assert size_for(driver, BAD) == BAD
    time.sleep(0.5)
    assert size_for(driver, 64) == 64
    (late,) = driver.late
    assert isinstance(late, ProtocolBroken)
    assert "output: 'flushed too late" in str(late)


@pytest.mark.parametrize(("behaviour", "name"), [("late-crash", "SIGSEGV"), ("late-exit-3", "")])
@pytest.mark.parametrize("pause", [0.0, 0.5], ids=["at once", "later"])
def test_a_crash_after_the_answer_harms_no_other_scenario(
    start_driver: StartDriver, behaviour: str, name: str, pause: float
) -> None:
    driver = start_driver(behaviour)
    assert size_for(driver, BAD) == BAD
    time.sleep(pause)
    assert size_for(driver, 64) == 64
    (late,) = driver.late
    assert isinstance(late, Crash)
    assert late.signal == name


def test_a_process_that_exits_after_each_answer_works_and_is_noted(start_driver: StartDriver) -> None:
    driver = start_driver("exits-after-each-answer", limits=Limits(restarts=0, shutdown=1))
    assert [size_for(driver, size) for size in (32, 64, 96, 128)] == [32, 64, 96, 128]
    driver.close()
    assert driver.late == ()
    (note,) = driver.notes
    assert re.search("exited with status 0 after an answer [34] times and was started again", note)


def test_the_restart_budget_ends_a_run_of_crashes(start_driver: StartDriver) -> None:
    driver = start_driver("segv", limits=Limits(restarts=2, shutdown=1))
    for _ in range(3):
        with pytest.raises(Crash):
            driver.run(resolve(BAD))
    for _ in range(2):
        with pytest.raises(
            StartFailed,
            match=r"started again 2 times after trouble; .* raise the budget with --limit restarts=N",
        ):
            driver.run(resolve(64))


def test_a_spare_process_takes_over_after_a_crash(start_driver: StartDriver) -> None:
    driver = start_driver("segv", spare=True)
    first = size_for(driver, PID)
    spare = driver._starter._spare  # pyright: ignore[reportPrivateUsage]
    assert spare is not None
    with pytest.raises(Crash):
        driver.run(resolve(BAD))
    assert size_for(driver, PID) == spare.pid != first


def test_a_spare_process_that_died_meanwhile_is_replaced(start_driver: StartDriver) -> None:
    driver = start_driver("segv", spare=True)
    spare = driver._starter._spare  # pyright: ignore[reportPrivateUsage]
    assert spare is not None
    os.kill(spare.pid, signal.SIGKILL)
    assert is_gone(spare.pid)
    with pytest.raises(Crash):
        driver.run(resolve(BAD))
    assert size_for(driver, 64) == 64


def test_an_interrupted_scenario_does_not_answer_the_next_one(
    start_driver: StartDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = start_driver()
    child = driver._child  # pyright: ignore[reportPrivateUsage]
    assert child is not None

    def interrupted(**_: float) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(child, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        driver.run(resolve(32))
    assert size_for(driver, 64) == 64


CLOSINGS = {"": "", "ends-silently": "", "ends-badly": "died with SIGSEGV", "never-ends": "had not exited"}


@pytest.mark.parametrize(("behaviour", "message"), CLOSINGS.items(), ids=CLOSINGS.keys())
def test_closing_ends_every_process_and_tells_what_went_wrong(
    start_driver: StartDriver, behaviour: str, message: str
) -> None:
    driver = start_driver(behaviour, spare=True, limits=HURRIED if behaviour == "never-ends" else QUICK)
    pid = size_for(driver, PID)
    spare = driver._starter._spare  # pyright: ignore[reportPrivateUsage]
    assert spare is not None
    driver.close()
    driver.close()
    assert is_gone(pid or 0)
    assert is_gone(spare.pid)
    assert [message in str(trouble) for trouble in driver.late] == ([True] if message else [])
    with pytest.raises(RuntimeError, match="closed"):
        driver.run(resolve(64))


def test_a_forgotten_process_is_killed() -> None:
    driver = ProcessImplementation([sys.executable, "-IS", str(DRIVER), ""], limits=QUICK, spare=True)
    pid = size_for(driver, PID)
    del driver
    gc.collect()
    assert is_gone(pid or 0)


def test_processes_end_when_the_suite_is_killed() -> None:
    script = (
        "import os, signal, sys\n"
        "from kvconform.wire.process import ProcessImplementation\n"
        "driver = ProcessImplementation(sys.argv[1:])\n"
        "print(driver._child.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-c", script, sys.executable, "-IS", str(DRIVER), ""]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert is_gone(int(done.stdout))
