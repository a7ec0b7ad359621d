"""Asks an implementation every vector that holds for its dialect; the verdict is one as of a run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from kvconform_reference.dialect import Dialect, name_of

from ..checks import Check, Context
from ..errors import UserError
from ..examine import Result, judge_scenario
from ..guard import Guarded
from ..implementation import Implementation
from ..implementations import reference
from ..known import KnownFailures
from ..outcomes import FAILURES
from ..recorder import versions
from ..report.log import Footer, Header, Judged, Listed, Log
from ..report.verdict import Verdict, verdict_of
from ..requirements import catalogue
from ..scenario import as_data
from ..session import context_of, subject_of
from . import recording
from .compare import differences, judge_of, same
from .document import Vector
from .needs import unmet


def holds_in(vector: Vector, dialect: Dialect) -> bool:
    """Whether the vector's answer is right in a dialect; where that has no name the reference is asked."""
    name = name_of(dialect)
    if name is not None:
        return name in vector.dialects
    implementation: Implementation = reference.factory(dialect)  # pyright: ignore[reportAssignmentType]
    context = context_of(implementation, budget="default")
    if unmet(vector.needs, implementation.info.capabilities):
        return False
    return same(context, vector.scenario, vector.expected, implementation.run(vector.scenario))


def check_vectors(
    spec: str,
    implementation: Implementation,
    vectors: Iterable[Vector],
    *,
    known: KnownFailures | None = None,
) -> Verdict:
    """The verdict of an implementation on those of the vectors that hold for its dialect."""
    context = context_of(implementation, budget="default")
    chosen = [vector for vector in vectors if holds_in(vector, context.dialect)]
    for vector in chosen:
        check_recorded(vector, context.dialect)
    excuses = known or KnownFailures()
    header = Header(
        implementation=subject_of(spec, implementation),
        seed=0,
        budget="vectors",
        versions=versions(),
        requirements=tuple(_listed(vector) for vector in chosen),
        known=excuses.entries,
        known_source=excuses.source,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    started = time.monotonic()
    results = tuple(_results(chosen, implementation, context, excuses))
    footer = Footer(results=len(results), seconds=round(time.monotonic() - started, 3))
    return verdict_of(Log(header=header, results=results, footer=footer))


def check_recorded(vector: Vector, dialect: Dialect) -> None:
    """:class:`UserError` where a vector does not expect what the reference answers in one of its dialects.

    Such a file was edited, and whoever is checked against it would get the blame.
    """
    name = name_of(dialect)
    if name is None:  # holds_in has asked already
        return
    context = recording.reference_context(name)
    answer = reference.factory(name).run(vector.scenario)
    for found in differences(context, vector.scenario, answer, vector.expected):
        raise UserError(
            f"vector file {vector.area}/{vector.id}.json: contradicts the reference in dialect {name}: "
            f"{found.message}. Bring back the recorded file; where the specification has changed, record it "
            "(docs/vectors.md)."
        )


def _listed(vector: Vector) -> Listed:
    """A vector in the place of a requirement."""
    universal = all(catalogue()[about].tier == "universal" for about in vector.requirements)
    should = all(catalogue()[about].level == "should" for about in vector.requirements)
    return Listed(
        id=vector.id,
        area=vector.area.upper(),
        tier="U" if universal else "D",
        level="should" if should else "must",
        statement=f"{', '.join(vector.requirements)}. Hunts: {vector.comment}",
        checks=(_check(vector).id,),
    )


def _check(vector: Vector) -> Check:
    return Check(
        requirement=vector.id,
        name="vector",
        scenarios=None,
        judge=judge_of(vector),
        oracle="reference",
        judges_refusals=True,
    )


def _results(
    vectors: Sequence[Vector], implementation: Implementation, context: Context, known: KnownFailures
) -> Iterator[Judged]:
    guarded = Guarded(implementation)
    for vector in vectors:
        check = _check(vector)
        reason = unmet(vector.needs, context.info.capabilities)
        if reason is not None or guarded.lost:
            yield Judged(
                requirement=vector.id,
                check=check.id,
                outcome="not run" if reason is None else "unsupported",
                message=reason or f"the implementation is lost: {guarded.lost}",
            )
        else:
            yield _judged(vector, judge_scenario(check, guarded, context, vector.scenario), known)


def _judged(vector: Vector, result: Result, known: KnownFailures) -> Judged:
    key = f"vector:{vector.id}"
    number = None
    if result.outcome in FAILURES:
        number = known.matching(key, outcome=result.outcome, message=result.message, signal=result.signal)
    excuse = None if number is None else known.entries[number]
    where = f" ({excuse.url})" if excuse and excuse.url else ""
    return Judged(
        requirement=vector.id,
        check=result.check,
        oracle="reference",
        outcome=result.outcome if excuse is None else "known failure",
        message=result.message if excuse is None else f"{excuse.reason}{where}: {result.message}",
        scenario=as_data(vector.scenario),
        expected=result.expected,
        observed=result.observed,
        detail=result.detail,
        signal=result.signal,
        matched=() if number is None else (number,),
        examined=known.covering(key),
        examples=result.examples,
        seconds=result.seconds,
    )
