"""One implementation and what is asked of it: turns checks into results, known failures included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kvconform_reference.dialect import dialect_from

from .checks import Check, Context
from .errors import BROKEN, UserError
from .examine import Result, examine, examples_for, judge_scenario, why_not
from .guard import Guarded, nothing_excused
from .implementation import Implementation, StartFailed, unknown_capability
from .implementations import registry
from .known import KnownFailures
from .matching import Matcher
from .observation import Observation
from .oracle import ReferenceOracle
from .outcomes import FAILURES, Outcome
from .replay import FOLDER, Replay, write_replay
from .report.log import Judged, Subject
from .requirements import catalogue
from .scenario import SCENARIO, Scenario, as_data

DEFAULT_SEED = 20_261_201
"""The seed when none is given: fixed, so that two runs of the same things agree; any other is as good."""

BUDGETS = ("quick", "default", "thorough")


def check_budget(budget: str) -> None:
    """Refuse a budget that does not exist."""
    if budget not in BUDGETS:
        raise UserError(f"budget {budget!r} is not one of {', '.join(BUDGETS)}. Give one of these.")


def context_of(implementation: Implementation, *, budget: str) -> Context:
    """What checks may know of an implementation; a dialect that does not exist is a failed start."""
    info = implementation.info
    try:
        dialect = dialect_from(info.dialect)
    except ValueError as error:
        raise StartFailed(f"{info.name}: {error}. Correct the dialect in its info.") from None
    if unknown := unknown_capability(info.capabilities):
        raise StartFailed(f"{info.name}: {unknown}. Correct the capabilities in its info.")
    return Context(info=info, dialect=dialect, budget=budget)


def subject_of(spec: str, implementation: Implementation) -> Subject:
    """Who is judged, as the log says it."""
    info = implementation.info
    return Subject(
        spec=spec,
        name=info.name,
        version=info.version,
        dialect=info.dialect,
        language=info.language,
        backend=info.backend,
    )


@dataclass(kw_only=True)
class Session:
    """Judges one implementation, check by check."""

    spec: str
    implementation: Implementation
    seed: int = DEFAULT_SEED
    budget: str = "default"
    known: KnownFailures = field(default_factory=KnownFailures)
    base: Path = Path()
    """The directory that replay files go below, and that their paths are relative to."""
    lost: str = ""
    """Why the implementation can no longer be asked."""

    def __post_init__(self) -> None:
        self.context = context_of(self.implementation, budget=self.budget)
        self._noted: set[str] = set()

    def examine(self, check: Check) -> Judged:
        """The result of one check, with a replay file where it failed."""
        judged = self._result(check)
        notes = self.new_notes()
        return judged.model_copy(update={"notes": notes}) if notes else judged

    def _result(self, check: Check) -> Judged:
        reason = why_not(check, self.context)
        if reason is not None:
            return _unasked(check, "unsupported", reason)
        if self.lost:
            return _unasked(check, "not run", f"the implementation is lost: {self.lost}")
        if self.known.covering(check.id):
            return self._examine_covered(check)
        return self._recorded(check, self._examine(check))

    def judge(self, check: Check, scenario: Scenario) -> Judged:
        """The result of one check on one scenario; nothing is written."""
        return _judged(check, judge_scenario(check, Guarded(self.implementation), self.context, scenario))

    def asked(self, checks: Sequence[Check], *, examples: int) -> tuple[Scenario, ...]:
        """What the checks would ask the implementation, which is not asked: the reference answers instead."""
        listener = _Listener(self.context)
        for check in checks:
            examine(
                check, listener, self.context, seed=self.seed, max_examples=max(1, examples), shrink=False
            )
        return tuple(listener.heard)

    def close(self) -> None:
        """Release the implementation, where it holds something."""
        close = getattr(self.implementation, "close", None)
        if callable(close):
            close()

    def new_notes(self) -> tuple[str, ...]:
        """What an implementation behind the pipe did beside its answers, since this was asked last."""
        new = tuple(note for note in notes_of(self.implementation) if note not in self._noted)
        self._noted.update(new)
        return new

    def _examine(self, check: Check, matcher: Matcher | None = None, *, shrink: bool = True) -> Result:
        excused = matcher.excused if matcher else nothing_excused
        guarded = Guarded(self.implementation, excused=excused)
        result = examine(
            matcher.filtering(check) if matcher else check,
            guarded,
            self.context,
            seed=self.seed,
            max_examples=examples_for(check, self.budget),
            shrink=shrink,
        )
        self.lost = guarded.lost
        return result

    def _examine_covered(self, check: Check) -> Judged:
        """A check that is known to fail: do its entries still hold, and does it fail in any other way?"""
        matcher = Matcher(check=check, known=self.known)
        others = [result for result in self._pinned(check, matcher) if not matcher.note_if_known(result)]
        result = self._examine(check, matcher, shrink=False)
        # What no filter sees, such as "every scenario was refused", may be the known failure all the same.
        if result.outcome in FAILURES and not matcher.note_if_known(result):
            others.insert(0, self._examine(check, matcher))
        entries = {"matched": tuple(sorted(matcher.seen)), "examined": self.known.covering(check.id)}
        failures = [other for other in others if other.outcome in FAILURES]
        if failures:
            judged = self._recorded(check, failures[0])
        elif matcher.seen:
            judged = self._known(check, matcher, result)
        else:
            judged = self._recorded(check, result)
        return judged.model_copy(update=entries)

    def _pinned(self, check: Check, matcher: Matcher) -> Iterator[Result]:
        """Results of the scenarios that entries carry, judged without a filter."""
        for number in matcher.known.covering(check.id):
            data = matcher.known.entries[number].scenario
            if data is not None:
                scenario = SCENARIO.validate_python(data, strict=False)
                yield judge_scenario(check, Guarded(self.implementation), self.context, scenario)

    def _known(self, check: Check, matcher: Matcher, result: Result) -> Judged:
        number, evidence = min(matcher.seen.items())
        entry = self.known.entries[number]
        where = f" ({entry.url})" if entry.url else ""
        told = replace(
            evidence,
            message=f"{entry.reason}{where}: {evidence.message}",
            examples=result.examples,
            seconds=result.seconds,
        )
        return self._recorded(check, told, outcome="known failure", reason=entry.reason)

    def _recorded(
        self, check: Check, result: Result, *, outcome: Outcome | None = None, reason: str = ""
    ) -> Judged:
        outcome = outcome or result.outcome
        failed = outcome in FAILURES or outcome == "known failure"
        replay = self._write_replay(check, result, outcome, reason) if failed else None
        update = {"outcome": outcome, "replay": str(replay) if replay else None}
        return _judged(check, result).model_copy(update=update)

    def _write_replay(self, check: Check, result: Result, outcome: str, reason: str) -> Path | None:
        if result.scenario is None:
            return None
        replay = Replay(
            implementation=self.spec,
            requirement=check.requirement,
            check=check.id,
            statement=catalogue()[check.requirement].statement,
            outcome=outcome,
            message=result.message,
            scenario=result.scenario,
            expected=result.expected,
            observed=result.observed,
            known=reason,
        )
        written = write_replay(replay, folder=self.base / FOLDER)
        return FOLDER / written.name if written else None


def _unasked(check: Check, outcome: Outcome, reason: str) -> Judged:
    return Judged(
        requirement=check.requirement,
        check=check.id,
        oracle=check.oracle,
        catch_all=check.broad,
        outcome=outcome,
        message=reason,
    )


def _judged(check: Check, result: Result) -> Judged:
    return Judged(
        requirement=check.requirement,
        check=check.id,
        oracle=check.oracle,
        catch_all=check.broad,
        outcome=result.outcome,
        message=result.message,
        scenario=as_data(result.scenario) if result.scenario else None,
        expected=result.expected,
        observed=result.observed,
        detail=result.detail,
        signal=result.signal,
        examples=result.examples,
        seconds=result.seconds,
    )


class _Listener:
    """Answers like the reference, and remembers what it was asked."""

    def __init__(self, context: Context) -> None:
        self.info = context.info
        self.heard: list[Scenario] = []
        self._oracle = ReferenceOracle(context.dialect)

    def run(self, scenario: Scenario) -> Observation:
        self.heard.append(scenario)
        return self._oracle(scenario)


def notes_of(implementation: Implementation) -> tuple[str, ...]:
    """What an implementation behind the pipe did beside its answers: no scenario is to blame for it."""
    late = (f"after a complete answer: {trouble}" for trouble in getattr(implementation, "late", ()))
    return tuple(dict.fromkeys((*late, *getattr(implementation, "notes", ()))))


def start_implementation(spec: str) -> Implementation:
    """The implementation that ``spec`` names, started; ``StartFailed`` says why it cannot be."""
    return registry.resolve_implementation(spec)()


def start_session(spec: str, *, seed: int = DEFAULT_SEED, budget: str = "default") -> Session:
    """A session with the implementation that ``spec`` names, without known failures, for a command."""
    try:
        return Session(spec=spec, implementation=start_implementation(spec), seed=seed, budget=budget)
    except StartFailed as error:
        raise UserError(str(error), code=BROKEN) from None
