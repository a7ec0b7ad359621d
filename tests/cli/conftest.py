"""Runs the command in an empty folder."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_commands import SUBJECTS, Command, Done, environment
from kvconform.cli import main


@pytest.fixture
def kvconform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command in this process, in an empty folder: starting Python anew takes a second each time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(SUBJECTS)
    monkeypatch.setenv("PYTHONPATH", str(SUBJECTS))
    before = signal.getsignal(signal.SIGTERM)

    def command(*arguments: str) -> Done:
        capsys.readouterr()
        code = main(list(arguments))
        signal.signal(signal.SIGTERM, before)
        said = capsys.readouterr()
        return Done(code=code, out=said.out, err=said.err)

    return command


@pytest.fixture
def process(tmp_path: Path) -> Command:
    """The command in a process of its own."""

    def command(*arguments: str, **more: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "kvconform", *arguments],
            cwd=tmp_path,
            env={**environment(), **more},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Done(code=done.returncode, out=done.stdout, err=done.stderr)

    return command
