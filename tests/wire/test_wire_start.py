"""A process that cannot be started says why, and slow or changing ones are not waited for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from kvconform.implementation import Crash, Implementation, StartFailed
from kvconform.wire.limits import Limits
from kvconform.wire.process import ProcessImplementation
from wire_helpers import BAD, DRIVER, QUICK, StartDriver, resolve, size_for

FAILURES = {
    "start-exits": r"^the driver could not be started: the process exited with status 4 while answering init"
    r"(.|\n)*stderr:\ncannot open the model file$",
    "start-crashes": r"died with SIGABRT while answering initialize[^\n]*\nIt wrote nothing to stderr",
    "start-banner": r"not JSON: 'Welcome to the driver' while answering initialize; only answers belong",
    "start-talks": r"more than one answer: 'ready\\n'",
    "start-answers-ahead": r"more than one answer: '\{\"jsonrpc",
    "start-twice-a-field": r"has the field 'dialect' twice in one object",
    "start-byte-order-mark": r"begins with a byte order mark, so it is not JSON",
    "start-colours": r"result\.implementation\.name holds a control character: ",
    "start-nameless": r"result\.implementation\.name has 0 characters, 1 to 80 are due",
    "start-long-name": r"result\.implementation\.version has 100 characters, 1 to 80 are due",
    "start-unknown-bits": r"unknown bits 7 \(known: 1, 2, 3, 4, 5, 6, 8\)",
    "start-unknown-size": r"unknown group_sizes 0 \(known: 32, 64, 128\)",
    "start-old": r"protocol 0 where 1 to 1 was asked for",
    "start-error": r"initialize was answered with an error: .*only protocol 7 is spoken here",
    "start-unknown-feature": r"unknown features 'eagre' \(known: container, ",
    "start-unknown-field": r"protocols: unknown field",
    "start-nan": r"holds NaN, which is not JSON",
}


@pytest.mark.parametrize(("behaviour", "message"), FAILURES.items(), ids=FAILURES.keys())
def test_a_failed_start_says_why(start_driver: StartDriver, behaviour: str, message: str) -> None:
    with pytest.raises(StartFailed, match=message):
        start_driver(behaviour)


def test_a_slow_start_ends_at_the_start_limit(start_driver: StartDriver) -> None:
    with pytest.raises(StartFailed, match=r"no answer within 0\.3 s while answering initialize"):
        start_driver("start-slow", limits=Limits(start=0.3))


def test_a_start_that_is_not_flushed_is_told_so(start_driver: StartDriver) -> None:
    advice = r"; flush stdout after every answer, raise the limit with --limit start=SECONDS, or to see it"
    with pytest.raises(StartFailed, match=advice):
        start_driver("start-without-flush", limits=Limits(start=0.5))


def test_a_process_that_changes_its_declaration_is_not_started_again(start_driver: StartDriver) -> None:
    driver = start_driver("start-changes")
    _kill(driver)
    with pytest.raises(StartFailed, match="declares something else than at its first start"):
        driver.run(resolve(64))


def test_a_process_that_cannot_be_started_again_says_so_for_each_scenario(tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER.read_text())
    driver = ProcessImplementation([sys.executable, "-IS", str(script), "segv"], limits=QUICK)
    script.unlink()
    with pytest.raises(Crash):
        driver.run(resolve(BAD))
    for _ in range(2):
        with pytest.raises(StartFailed, match="exited with status 2 while answering initialize"):
            driver.run(resolve(64))


def test_a_restart_that_fails_by_chance_is_tried_once_more(tmp_path: Path) -> None:
    flag = tmp_path / "flaky"
    script = tmp_path / "driver.py"
    flaky = (
        f"import os, sys\nif os.path.exists({str(flag)!r}):\n    os.unlink({str(flag)!r})\n    sys.exit(5)\n"
    )
    script.write_text(flaky + DRIVER.read_text())
    with ProcessImplementation([sys.executable, "-IS", str(script), "segv"], limits=QUICK) as driver:
        with pytest.raises(Crash):
            driver.run(resolve(BAD))
        flag.touch()
        assert size_for(driver, 64) == 64
        assert not flag.exists()


def test_a_script_without_a_first_line_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "driver"
    script.write_text("print('hello')\n")
    script.chmod(0o755)
    with pytest.raises(StartFailed, match=r"could not be executed.*a script needs a first line such as #!"):
        ProcessImplementation([str(script)])


def test_a_file_that_is_not_executable_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "driver"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(StartFailed, match=r"may not be executed; try chmod \+x"):
        ProcessImplementation([str(script)])


MISTAKES: dict[str, tuple[str | Sequence[str], str]] = {
    "unknown": ("no-such-command --flag", "command 'no-such-command' was not found; give a path such as"),
    "empty": ("  ", "the command is empty"),
    "no words": ([], "the command is empty"),
    "quote": ("driver 'half", "cannot be split into words .*check its quotes"),
    "null byte": (["driver\0"], "could not be executed"),
}


@pytest.mark.parametrize(("command", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_in_the_command_is_named(command: str | Sequence[str], message: str) -> None:
    with pytest.raises(StartFailed, match=message):
        ProcessImplementation(command)


def test_a_command_is_split_like_in_a_shell_and_the_environment_is_added(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    script = folder / "driver.py"
    script.write_text(
        "import os\nassert os.environ['MODE'] == 'a b' and os.environ['PATH']\n" + DRIVER.read_text()
    )
    command = f"'{sys.executable}' -IS '{script}' ''"
    with ProcessImplementation(command, limits=QUICK, env={"MODE": "a b"}) as driver:
        assert size_for(driver, 64) == 64
        assert driver.name == f"{sys.executable} -IS '{script}' ''"


def test_a_process_is_an_implementation_with_the_info_it_declared(start_driver: StartDriver) -> None:
    driver = start_driver()
    assert isinstance(driver, Implementation)
    assert (driver.info.name, driver.info.version, driver.info.backend) == ("test driver", "1.0", "none")
    assert driver.info.capabilities.kinds == ("resolve", "quantize")
    assert driver.info.capabilities.bits == (2, 3, 4, 5, 6, 8)


@pytest.mark.parametrize("limit", ["start", "call", "shutdown", "answer_bytes"])
def test_a_limit_that_allows_nothing_is_refused(limit: str) -> None:
    with pytest.raises(ValueError, match=f"limit {limit} is 0, which allows nothing"):
        Limits(**{limit: 0})


def _kill(driver: ProcessImplementation) -> None:
    child = driver._child  # pyright: ignore[reportPrivateUsage]
    assert child is not None
    driver._drop(child)  # pyright: ignore[reportPrivateUsage]
