"""One call that judges an implementation inside somebody's own test."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from .errors import CONFORMING, UserError
from .implementation import Implementation, StartFailed
from .implementations.registry import checked_implementation
from .known import KnownFailures, load_known_failures
from .naming import check_spec
from .recorder import Recorder, header_of
from .report.failure import render_failure
from .report.log import Noted
from .report.table import closing_lines
from .report.verdict import Verdict
from .selection import known_ids, listed_requirements, selected_checks
from .session import DEFAULT_SEED, Session, check_budget, start_implementation
from .suite import all_checks

__all__ = ["Given", "NonConforming", "StartFailed", "UserError", "run_conformance"]

Given = str | Callable[[], Implementation] | Implementation
"""A spec as on the command line, a factory, or the implementation itself."""


class NonConforming(AssertionError):  # noqa: N818 - reads as what it says
    """The implementation does not conform; the message holds every failure."""

    def __init__(self, message: str, verdict: Verdict) -> None:
        super().__init__(message)
        self.verdict = verdict


def run_conformance(
    implementation: Given,
    *,
    requirements: Sequence[str] = (),
    budget: str = "quick",
    seed: int = DEFAULT_SEED,
    known_failures: str | Path | None = None,
    log: str | Path | None = None,
) -> Verdict:
    """Judge an implementation, in this process, and raise :class:`NonConforming` unless it conforms.

    ``implementation`` is a factory, an object with ``info`` and ``run(scenario)``, or what one would give on
    the command line. ``requirements`` are ids or areas (all without any), ``known_failures`` a file.

    Raises, each with a message that says what is wrong and what to do:

    - :class:`NonConforming` where the exit code of ``kvconform run`` would not be 0: a requirement failed, a
      known failure is stale, or nothing was judged. ``verdict`` holds everything.
    - :class:`kvconform.UserError` for a mistake in the arguments: a name, requirement, budget or file that
      does not exist, or cannot be read or written.
    - :class:`kvconform.StartFailed` where what is named exists but cannot be imported or started, or what a
      factory gives is no implementation. An exception that a factory of your own raises is left as it is.
    """
    __tracebackhide__ = True
    check_budget(budget)
    checks = all_checks()
    known = KnownFailures()
    if known_failures is not None:
        known = load_known_failures(Path(known_failures), ids=known_ids(checks))
    listed = listed_requirements(checks, requirements)
    spec, made = _started(implementation)
    session = Session(spec=spec, implementation=made, seed=seed, budget=budget, known=known)
    recorder = Recorder(Path(log) if log else None, spec=spec)
    started = time.monotonic()
    recorder.write(header_of(session, listed=listed, selected=tuple(requirements)))
    try:
        for check in selected_checks(checks, requirements):
            recorder.write(session.examine(check))
    finally:
        # What the caller made is the caller's to close.
        if isinstance(implementation, type) or not isinstance(implementation, Implementation):
            session.close()
        if notes := session.new_notes():
            recorder.write(Noted(notes=notes))
        recorder.finish(seconds=time.monotonic() - started)
    return _conforming(recorder.verdict())


def _started(implementation: Given) -> tuple[str, Implementation]:
    """How it is named in reports, and the implementation itself."""
    if isinstance(implementation, str):
        check_spec(implementation)
        return implementation, start_implementation(implementation)
    if isinstance(implementation, Implementation) and not isinstance(implementation, type):
        spec = _importable(type(implementation))
        return spec, checked_implementation(spec, implementation)
    spec = _importable(implementation)
    return spec, checked_implementation(spec, implementation())


def _importable(made_by: Callable[..., object]) -> str:
    """``module:factory``, which ``kvconform replay`` can import again where it is at the top of a module."""
    return f"{made_by.__module__}:{getattr(made_by, '__qualname__', type(made_by).__qualname__)}"


def _conforming(verdict: Verdict) -> Verdict:
    __tracebackhide__ = True
    if verdict.exit_code == CONFORMING:
        return verdict
    failures = [
        render_failure(result, requirement.listed)
        for requirement, result in verdict.failed_checks
        if requirement.failed
    ]
    raise NonConforming("\n\n".join(["does not conform", *failures, *closing_lines(verdict)]), verdict)
