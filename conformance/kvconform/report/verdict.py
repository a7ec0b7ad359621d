"""The verdict on one implementation, computed from its event log and from nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import BROKEN, FAILED, INTERRUPTED, NOTHING, STALE, worst_code
from ..outcomes import ANSWERED, FAILURES, JUDGED, WORST_FIRST, Outcome, worst
from .log import Excuse, Judged, Listed, Log, Subject

NO_CHECK = "no check of the suite asks an implementation about it"
CUT_SHORT = "the run was cut short before it was judged"


@dataclass(frozen=True, kw_only=True)
class RequirementVerdict:
    """The outcome of one requirement: the worst of its checks, and the result that decided it."""

    listed: Listed
    outcome: Outcome
    message: str = ""
    deciding: Judged | None = None
    results: tuple[Judged, ...] = ()

    @property
    def failures(self) -> tuple[Judged, ...]:
        """The results of its checks that failed: each may be another bug."""
        return tuple(result for result in self.results if result.outcome in FAILURES)

    @property
    def failed(self) -> bool:
        """Whether it is a failure that counts: a failed ``should`` is only reported."""
        return self.outcome in FAILURES and self.listed.level != "should"


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict:
    """What a log says of one implementation."""

    log: Log
    implementation: Subject
    requirements: tuple[RequirementVerdict, ...] = ()
    stale: tuple[Excuse, ...] = ()
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        """False when the run was cut short; then there is no verdict, only what was seen so far."""
        return self.log.complete and not self.interrupted

    @property
    def counts(self) -> dict[Outcome, int]:
        """Requirements with each outcome, all outcomes present."""
        seen = Counter(requirement.outcome for requirement in self.requirements)
        return {outcome: seen[outcome] for outcome in WORST_FIRST}

    @property
    def universal(self) -> tuple[int, int]:
        """Universal requirements that were judged, and all that were asked for; an error is no judgement."""
        asked = [r for r in self.requirements if r.listed.tier == "U"]
        return sum(r.outcome in ANSWERED for r in asked), len(asked)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noticed beside the results, each once."""
        while_asked = (note for result in self.log.results for note in result.notes)
        return tuple(dict.fromkeys((*while_asked, *self.log.notes)))

    @property
    def failures(self) -> tuple[RequirementVerdict, ...]:
        """Requirements with a failure, those of level ``should`` included."""
        return tuple(r for r in self.requirements if r.outcome in FAILURES)

    @property
    def failed_checks(self) -> tuple[tuple[RequirementVerdict, Judged], ...]:
        """Every check that failed, with its requirement; those that say best what is wrong come first.

        An invariant names the mistake; a difference from the reference may be another mistake's consequence;
        a catch-all says least.
        """
        failed = [(requirement, result) for requirement in self.failures for result in requirement.failures]
        return tuple(sorted(failed, key=lambda pair: (pair[1].catch_all, pair[1].oracle == "reference")))

    def __repr__(self) -> str:
        """One line: who, how many requirements with each outcome, and the exit code."""
        counts = ", ".join(f"{count} {outcome}" for outcome, count in self.counts.items() if count)
        complete = "" if self.complete else ", incomplete"
        said = f"{counts or 'nothing judged'}{complete}, exit code {self.exit_code}"
        return f"<Verdict on {self.implementation.name}: {said}>"

    @property
    def exit_code(self) -> int:
        """The code of ``docs/cli.md`` for this implementation."""
        if self.interrupted:
            return INTERRUPTED
        outcomes = [r.outcome for r in self.requirements]
        applies = {
            BROKEN: self.log.broken is not None or "protocol" in outcomes or not self.log.complete,
            FAILED: any(r.failed for r in self.requirements),
            STALE: bool(self.stale),
            NOTHING: not any(outcome in JUDGED for outcome in outcomes),
        }
        return worst_code([code for code, true in applies.items() if true])


def verdict_of(log: Log, *, spec: str = "", interrupted: bool = False) -> Verdict:
    """The verdict on a log. ``spec`` names the implementation where the log breaks off before its header."""
    header = log.header
    if header is None:
        name = log.broken.spec if log.broken else spec
        return Verdict(log=log, implementation=Subject(spec=name, name=name), interrupted=interrupted)
    stale = _stale(log) if log.complete else ()
    return Verdict(
        log=log,
        implementation=header.implementation,
        requirements=tuple(_requirement(listed, log, stale) for listed in header.requirements),
        stale=tuple(header.known[number] for number in stale),
        interrupted=interrupted,
    )


def _requirement(listed: Listed, log: Log, stale: Sequence[int]) -> RequirementVerdict:
    of_it = (result for result in log.results if result.requirement == listed.id)
    results = tuple(sorted(of_it, key=lambda result: result.catch_all))
    outcomes: list[Outcome] = [_outcome(result, stale) for result in results]
    outcome = worst(outcomes)
    unjudged = _unjudged(listed, results)
    if unjudged and outcome not in FAILURES:
        return RequirementVerdict(listed=listed, outcome="not run", message=unjudged, results=results)
    if not results:
        message = f"{NO_CHECK}: {listed.elsewhere}" if listed.elsewhere else NO_CHECK
        return RequirementVerdict(listed=listed, outcome="not run", message=message)
    deciding = results[outcomes.index(outcome)]
    message = _stale_message(deciding, log, stale) if outcome == "unexpected pass" else deciding.message
    return RequirementVerdict(
        listed=listed, outcome=outcome, message=message, deciding=deciding, results=results
    )


def _unjudged(listed: Listed, results: Sequence[Judged]) -> str:
    """Why some check has not been judged though it was to be, or an empty string."""
    left_out = next((result.message for result in results if result.outcome == "not run"), "")
    cut_short = set(listed.checks) - {result.check for result in results}
    return CUT_SHORT if cut_short else left_out


def _outcome(result: Judged, stale: Sequence[int]) -> Outcome:
    """A check that could have matched an entry, passed, and leaves the entry stale passed unexpectedly."""
    return (
        "unexpected pass"
        if result.outcome == "pass" and set(result.examined) & set(stale)
        else result.outcome
    )


def _stale_message(result: Judged, log: Log, stale: Sequence[int]) -> str:
    assert log.header is not None
    reasons = [log.header.known[number].reason for number in result.examined if number in stale]
    return f"it passes, but is listed as a known failure: {'; '.join(reasons)}. Take the entry out."


def _stale(log: Log) -> tuple[int, ...]:
    """Numbers of the entries that a check which came to an answer looked for, and that nothing matched."""
    matched = {number for result in log.results for number in result.matched}
    examined = {number for result in log.results for number in result.examined if result.outcome in JUDGED}
    return tuple(sorted(examined - matched))
