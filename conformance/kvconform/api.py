"""One call that judges an implementation inside somebody's own test."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from .errors import CONFORMING
from .implementation import Implementation
from .known import KnownFailures, load_known_failures
from .recorder import Recorder, header_of
from .report.failure import render_failure
from .report.table import closing_lines
from .report.verdict import Verdict
from .selection import known_ids, listed_requirements, selected_checks
from .session import DEFAULT_SEED, Session, check_budget, start_implementation
from .suite import all_checks

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
    Mistakes in these raise :class:`~kvconform.errors.UserError`, an implementation that does not start
    :class:`~kvconform.implementation.StartFailed`.
    """
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
        if made is not implementation:  # what the caller made is the caller's to close
            session.close()
        recorder.finish(seconds=time.monotonic() - started)
    return _conforming(recorder.verdict())


def _started(implementation: Given) -> tuple[str, Implementation]:
    """How it is named in reports, and the implementation itself."""
    if isinstance(implementation, str):
        return implementation, start_implementation(implementation)
    if isinstance(implementation, Implementation) and not isinstance(implementation, type):
        return _importable(type(implementation)), implementation
    return _importable(implementation), implementation()


def _importable(made_by: Callable[..., object]) -> str:
    """``module:factory``, which ``kvconform replay`` can import again where it is at the top of a module."""
    return f"{made_by.__module__}:{getattr(made_by, '__qualname__', type(made_by).__qualname__)}"


def _conforming(verdict: Verdict) -> Verdict:
    if verdict.exit_code == CONFORMING:
        return verdict
    failures = [
        render_failure(result, requirement.listed)
        for requirement, result in verdict.failed_checks
        if requirement.failed
    ]
    raise NonConforming("\n\n".join(["does not conform", *failures, *closing_lines(verdict)]), verdict)
