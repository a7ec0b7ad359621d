"""Runs the suite on implementations: each in a pytest process of its own, whose event log is followed.

An implementation that takes its process down thus costs its own run and nothing else, and whatever is in
the caller's environment (configuration, plugins, options) stays out of the judging.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import BROKEN, USAGE, UserError
from .processes import children, descendants, kill_all
from .report.log import Broken, Event, Log, LogFollower, read_log
from .report.verdict import Verdict, verdict_of

POLL_SECONDS = 0.1
"""How often the log is looked at: as smooth as a progress bar needs."""

INTERRUPT_SECONDS = 1.0
"""What a run has to end by itself after Ctrl-C, before it is killed: about what one waits for a prompt.
The log is written event by event, so nothing is lost either way."""

MOST_PER_CORE = 8
"""Workers for each core: more than that would not be quicker even where an implementation mostly waits."""

KEPT_LOGS = 20
"""Logs of earlier runs that are kept: enough to look back at yesterday's."""

SUITE = Path(__file__).parent / "suite"

LOGS = Path(".kvconform") / "logs"

OnEvent = Callable[[Event], None]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What ``kvconform run`` was asked for, for all its implementations."""

    requirements: tuple[str, ...] = ()
    budget: str = "default"
    seed: int
    known: str | None = None
    workers: int = 1


@dataclass(frozen=True, kw_only=True)
class Finished:
    """The end of one implementation's run."""

    verdict: Verdict
    log: Path


def run_suite(spec: str, options: RunOptions, *, on_event: OnEvent) -> Finished:
    """Judge one implementation. Ctrl-C ends the run and gives an interrupted verdict of what was seen."""
    log = _new_log(spec)
    with tempfile.TemporaryDirectory(prefix="kvconform-") as scratch:
        empty = Path(scratch) / "pytest.ini"
        empty.write_text("[pytest]\n", encoding="utf-8")
        output = Path(scratch) / "output.txt"
        with output.open("wb") as stream:
            process = subprocess.Popen(
                pytest_command(spec, options, ini=empty, log=log),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=isolated_environment(),
                start_new_session=True,  # so that Ctrl-C reaches this process alone, which then ends that one
            )
        interrupted = _follow(process, LogFollower(log), on_event)
        said = output.read_text(encoding="utf-8", errors="replace")
    return Finished(verdict=_verdict(spec, log, process.returncode, said, interrupted=interrupted), log=log)


def pytest_command(spec: str, options: RunOptions, *, ini: Path, log: Path) -> list[str]:
    """The command that judges one implementation under pytest."""
    # By path: told a package, pytest also loads the conftest of the folder that it is started in.
    command = [sys.executable, "-m", "pytest", str(SUITE), "-q", "--tb=short"]
    command += ["-c", str(ini), "--rootdir", str(SUITE), "--confcutdir", str(SUITE), "-p", "no:cacheprovider"]
    command += [
        "-p",
        "kvconform.plugin",
        "-p",
        "xdist",
        "-n",
        str(options.workers),
        "--max-worker-restart=16",
    ]
    command += ["--kvconform", spec, "--kvconform-log", str(log), "--kvconform-budget", options.budget]
    command += ["--kvconform-seed", str(options.seed)]
    command += ["--kvconform-known", options.known] if options.known is not None else []
    for name in options.requirements:
        command += ["--kvconform-requirement", name]
    return command


def isolated_environment() -> dict[str, str]:
    """The environment without what would change how pytest works."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "MLX_DISABLE_COMPILE": "1"}


def _follow(process: subprocess.Popen[bytes], log: LogFollower, on_event: OnEvent) -> bool:
    """Pass events on until the process has ended; whether it was interrupted."""
    try:
        while process.poll() is None:
            _pass_on(log, on_event)
            time.sleep(POLL_SECONDS)
        _pass_on(log, on_event)
    except KeyboardInterrupt:
        _end(process)
        return True
    except BaseException:
        _end(process)
        raise
    return False


def _pass_on(log: LogFollower, on_event: OnEvent) -> None:
    for event in log.new_events():
        on_event(event)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask pytest and its workers to stop, then kill what is left of them and of everything they started.

    Told alone, pytest would wait for workers that go on with the check they are at.
    """
    family = descendants(process.pid)
    with suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
        process.send_signal(signal.SIGINT)
        for pid in children(process.pid):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGINT)
        process.wait(INTERRUPT_SECONDS)
    kill_all([process.pid, *family])
    process.wait()


def _verdict(spec: str, path: Path, status: int, said: str, *, interrupted: bool) -> Verdict:
    log = read_log(path) if path.exists() else Log()
    if log.header is None and log.broken is None and not interrupted:
        if status == 4:  # pytest's own code for a mistake in its options: ours have said what it is
            raise UserError(_usage_error(said), code=USAGE)
        log = Log(broken=Broken(spec=spec, message=_last_words(status, said)))
    elif not log.complete and log.broken is None and not interrupted:
        log = Log(
            header=log.header,
            results=log.results,
            busy=log.busy,
            broken=Broken(spec=spec, message=_last_words(status, said)),
        )
    return verdict_of(log, spec=spec, interrupted=interrupted)


def _usage_error(said: str) -> str:
    found = re.search(r"^ERROR: (.+)$", said, flags=re.MULTILINE)
    return found.group(1) if found else said.strip()[-500:]


def _last_words(status: int, said: str) -> str:
    ended = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
    tail = "\n".join(said.rstrip().splitlines()[-15:])
    return f"the process that ran the suite ended with {ended} before it was done. Its last words:\n{tail}"


def _new_log(spec: str) -> Path:
    """A fresh log file; in the temporary folder where the working directory cannot be written."""
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", spec).strip("-")[:40]
    name = f"{slug}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.jsonl"
    try:
        LOGS.mkdir(parents=True, exist_ok=True)
        _prune(LOGS)
        path = (LOGS / name).absolute()
        path.touch()
    except OSError:
        path = Path(tempfile.gettempdir()) / f"kvconform-{name}"
    return path


def _prune(folder: Path) -> None:
    logs = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    for path in logs[: max(0, len(logs) - KEPT_LOGS + 1)]:
        path.unlink(missing_ok=True)


def usable_workers(asked: int | None) -> int:
    """How many workers a run gets: by default two, where there are two cores: each start costs."""
    cores = os.cpu_count() or 1
    if asked is None:
        return min(2, cores)
    if asked > MOST_PER_CORE * cores:
        raise UserError(
            f"-n {asked}: too many processes for {cores} cores, each loads everything anew. "
            f"Give {MOST_PER_CORE * cores} or less."
        )
    return asked


def exit_code_of(verdicts: Sequence[Verdict]) -> int:
    """The exit code of a run of several implementations."""
    from .errors import worst_code

    return worst_code([verdict.exit_code for verdict in verdicts]) if verdicts else BROKEN
