"""Makes judges of invariants, projections and relations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import places, projections
from .checks import Context, Expect, Finding, Judge
from .invariants.affine import accepts_exactly
from .invariants.ledger import RowJudge
from .jsondata import is_list, is_object
from .observation import Observation, Refusal
from .projections import Projection
from .scenario import Scenario

EXACT_BACKENDS = ("cpu", "pure")
"""Words in the name of a backend on which quantization is bit for bit the CPU's (AQ-1)."""


def invariant(statement: Callable[[Any, Any], Iterable[Finding]]) -> Judge:
    """Judges by a statement that knows scenario and observation alone."""

    def judge(
        _context: Context, scenario: Scenario, observation: Observation, _expect: Expect
    ) -> Iterable[Finding]:
        return statement(scenario, observation)

    return judge


def declared(statement: Callable[[Any, Any, Context], Iterable[Finding]]) -> Judge:
    """Judges by a statement that also asks what the implementation declares."""

    def judge(
        context: Context, scenario: Scenario, observation: Observation, _expect: Expect
    ) -> Iterable[Finding]:
        return statement(scenario, observation, context)

    return judge


def content(statement: Callable[[Any, Any, RowJudge], Iterable[Finding]]) -> Judge:
    """Judges by a statement about quantized content: exact on CPUs, by accepted branches elsewhere."""

    def judge(
        context: Context, scenario: Scenario, observation: Observation, _expect: Expect
    ) -> Iterable[Finding]:
        return statement(scenario, observation, row_judge(context))

    return judge


def relation(statement: Callable[[Any, Any, Any], Iterable[Finding]]) -> Judge:
    """Judges by a statement about the answers to a scenario and to its companion."""

    def judge(
        _context: Context, scenario: Scenario, observation: Observation, expect: Expect
    ) -> Iterable[Finding]:
        return statement(scenario, observation, expect())

    return judge


def or_refused(judge: Judge) -> Judge:
    """Judges by ``judge``, but for refusals of the whole scenario: those are what is asked for."""

    def judge_answers(
        context: Context, scenario: Scenario, observation: Observation, expect: Expect
    ) -> Iterable[Finding]:
        return () if isinstance(observation, Refusal) else judge(context, scenario, observation, expect)

    return judge_answers


def all_of(*judges: Judge) -> Judge:
    """Judges by several judges, one after the other."""

    def judge(
        context: Context, scenario: Scenario, observation: Observation, expect: Expect
    ) -> Iterator[Finding]:
        for one in judges:
            yield from one(context, scenario, observation, expect)

    return judge


def same(projection: Projection, about: str) -> Judge:
    """Judges by comparison: the projection must be that of the answer it is compared with.

    That is the reference's in the declared dialect, or the implementation's own to the companion.
    """

    def judge(
        context: Context, scenario: Scenario, observation: Observation, expect: Expect
    ) -> Iterator[Finding]:
        expected = projections.projected(projection, context, expect())
        observed = projections.projected(projection, context, observation)
        if expected != observed:
            units = places.units_of(projection)
            difference = places.difference(expected, observed, scenario=scenario, units=units)
            yield Finding(message=f"{about}: {difference}", expected=expected, observed=observed)

    return judge


def first_difference(expected: Any, observed: Any, path: str = "") -> tuple[str, Any, Any]:
    """Where two JSON-ready values differ first, and the two parts there."""
    if is_object(expected) and is_object(observed):
        for key in (*expected, *(key for key in observed if key not in expected)):
            if expected.get(key) != observed.get(key):
                return first_difference(expected.get(key), observed.get(key), f"{path}.{key}".lstrip("."))
    if is_list(expected) and is_list(observed):
        return _first_difference_of_lists(expected, observed, path)
    return path, expected, observed


def _first_difference_of_lists(expected: list[Any], observed: list[Any], path: str) -> tuple[str, Any, Any]:
    if len(expected) != len(observed):
        return f"the length of {path or 'the answer'}", len(expected), len(observed)
    for index, (one, other) in enumerate(zip(expected, observed, strict=True)):
        if one != other:
            return first_difference(one, other, f"{path}[{index}]")
    return path, expected, observed


def short(value: Any, *, limit: int = 120) -> str:
    """A value in a message."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}..."


def row_judge(context: Context) -> RowJudge:
    """How quantized rows are compared on the declared backend (AQ-1)."""
    backend = context.info.backend.lower()
    return accepts_exactly if any(word in backend for word in EXACT_BACKENDS) else accepts_branch


def accepts_branch(
    values: tuple[float, ...], row: Any, *, bits: int, group_size: int, dtype: str
) -> str | None:
    """Why a row is none of the accepted branches as a whole; ``None`` when it is one."""
    from kvconform_reference import acceptance, affine

    quantized = affine.QuantizedRow(packed=row.packed, scales=row.scales, biases=row.biases)
    return acceptance.why_rejected(quantized, values, bits=bits, group_size=group_size, dtype=dtype)
