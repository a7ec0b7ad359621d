"""A pytest session that examines an implementation: options, selection, the event log, the verdict.

In a distributed run every worker has its own implementation, and results travel to the controller as an
attribute of pytest's reports; only the controller writes the log.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from . import suite
from .checks import Check
from .errors import CONFORMING, UserError
from .implementation import StartFailed
from .known import KnownFailures, known_failures_for
from .outcomes import FAILURES
from .recorder import Recorder, header_of
from .report.failure import render_failure
from .report.log import Judged, Listed, Noted
from .report.table import closing_lines
from .selection import known_ids, listed_requirements, selected_checks
from .session import DEFAULT_SEED, Session, check_budget, start_implementation
from .wire.limits import chosen_limits

RESULT, NOTES = "kvconform_result", "kvconform_notes"
"""The attributes of a pytest report that carry a result as JSON, and what was noticed at the end."""

_STASHED = pytest.StashKey[Judged]()


class Judging:
    """The hooks of one pytest process, worker or controller."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        options: Any = config.option
        self.spec: str = options.kvconform
        self.requested: Sequence[str] = options.kvconform_requirement
        self.budget: str = options.kvconform_budget
        seed: int | None = options.kvconform_seed
        self.seed = DEFAULT_SEED if seed is None else seed
        self.is_worker = hasattr(config, "workerinput")
        self.recorder: Recorder | None = None
        self.started = time.monotonic()
        self._session: Session | None = None
        self._notes: tuple[str, ...] = ()
        try:
            self._validate()
        except UserError as error:
            raise pytest.UsageError(str(error)) from None

    def _validate(self) -> None:
        check_budget(self.budget)
        chosen_limits()
        self.listed = {r.id: r for r in listed_requirements(self.checks, self.requested)}
        self.known: KnownFailures = known_failures_for(
            self.spec, self.config.getoption("--kvconform-known"), ids=known_ids(self.checks)
        )

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Every check of the suite."""
        return suite.all_checks()

    # ------------------------------------------------------------ every process

    def session(self) -> Iterator[Session]:
        """The session of this process; what was started is closed at the end."""
        try:
            session = self._session or self._start()
        except StartFailed as error:  # in a worker, though it started in the controller
            pytest.fail(str(error), pytrace=False)
        yield session
        self._session = None
        session.close()
        self._notes = session.new_notes()

    def _start(self) -> Session:
        return Session(
            spec=self.spec,
            implementation=start_implementation(self.spec),
            seed=self.seed,
            budget=self.budget,
            known=self.known,
            base=Path(self.config.invocation_params.dir),
        )

    def examine(self, session: Session, check: Check, item: pytest.Item) -> None:
        """Examine one check and end its test accordingly."""
        judged = session.examine(check)
        item.stash[_STASHED] = judged
        end_test(judged, self.listed[check.requirement])

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the selected checks; tests that are not the suite's are left alone."""
        wanted = {check.id for check in selected_checks(self.checks, self.requested)}
        dropped = [item for item in items if (check := _check_of(item)) and check.id not in wanted]
        if dropped:
            config.hook.pytest_deselected(items=dropped)
            items[:] = [item for item in items if item not in dropped]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the result to the report of the test's call."""
        report = yield
        judged = item.stash.get(_STASHED, None)
        if judged is not None and call.when == "call":
            setattr(report, RESULT, judged.model_dump_json())
        if self._notes and call.when == "teardown":  # of the last test, behind which the session was closed
            setattr(report, NOTES, self._notes)
            self._notes = ()
        return report

    # ------------------------------------------------------------ the one that writes the log

    def pytest_sessionstart(self) -> None:
        """Open the log before anything else is done."""
        if self.is_worker:
            return
        path: str | None = self.config.option.kvconform_log
        try:
            self.recorder = Recorder(Path(path) if path else None, spec=self.spec)
        except UserError as error:
            raise pytest.UsageError(str(error)) from None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Start the implementation to see that it starts, and write the log's header.

        Not earlier, because the workers of a distributed run start meanwhile.
        """
        if self.recorder is None:
            return
        try:
            session = self._start()
        except StartFailed as error:
            self._give_up(str(error))
            return
        self.recorder.write(
            header_of(session, listed=tuple(self.listed.values()), selected=tuple(self.requested))
        )
        if _distributed(self.config):
            session.close()
        else:
            self._session = session

    def _give_up(self, message: str) -> None:
        assert self.recorder is not None
        self.recorder.broken(message)
        pytest.exit(f"kvconform: {message}", returncode=self.recorder.verdict().exit_code)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note what is being judged, for a log that breaks off."""
        if self.recorder is not None and (check := self._check_at(nodeid)):
            self.recorder.begun(check)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the result out of a report, or make one of a test that died without."""
        if self.recorder is None:
            return
        if notes := getattr(report, NOTES, None):
            self.recorder.write(Noted(notes=tuple(notes)))
        text: str | None = getattr(report, RESULT, None)
        if text is not None:
            self.recorder.write(Judged.model_validate_json(text))
        elif report.failed and (check := self._check_at(report.nodeid)):
            self.recorder.died(check, report)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the footer if everything was judged; stale entries and a run of nothing fail."""
        if self._session is not None:
            self._session.close()
        if self.recorder is None:
            return
        self.recorder.finish(seconds=time.monotonic() - self.started)
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            code = self.recorder.verdict().exit_code
            session.exitstatus = exitstatus if code == CONFORMING else pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The closing lines of the verdict."""
        if self.recorder is not None:
            terminalreporter.section("kvconform")
            for line in closing_lines(self.recorder.verdict()):
                terminalreporter.write_line(line)

    def _check_at(self, nodeid: str) -> Check | None:
        name = nodeid.rpartition("[")[2].removesuffix("]")
        return next((check for check in self.checks if check.id == name), None)


def end_test(judged: Judged, listed: Listed) -> None:
    """End a test as its result says: a failure with its text, not with a traceback."""
    if judged.outcome in FAILURES:
        if listed.level == "should":
            pytest.xfail(f"{listed.id} is of level should: {judged.message}")
        pytest.fail(render_failure(judged, listed), pytrace=False)
    if judged.outcome == "known failure":
        pytest.xfail(f"known failure: {judged.message}")
    if judged.outcome in ("unsupported", "not run"):
        pytest.skip(f"{judged.outcome}: {judged.message}")


def _check_of(item: pytest.Item) -> Check | None:
    """The check that a test of the suite is parametrised with."""
    parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return next((value for value in parameters.values() if isinstance(value, Check)), None)


def _distributed(config: pytest.Config) -> bool:
    return bool(config.getoption("tx", None)) or config.getoption("dist", "no") != "no"
