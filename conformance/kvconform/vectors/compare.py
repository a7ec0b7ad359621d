"""Whether an answer is the expected one: the suite's own projections, and what only a vector can compare.

Never compared: messages, ``nbytes``, ``prefill_times``, and looks at layers except where none may be made.
Events, holders and quantities that one side has no concept of are taken out on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .. import judges, projections
from ..checks import Context, Expect, Finding, Judge
from ..invariants import contents, numeric
from ..observation import (
    CacheObservation,
    ContainerObservation,
    IterateObservation,
    ObjectView,
    Observation,
    OperationRecord,
    Packed,
    QuantizeObservation,
    Refusal,
    StepRecord,
    TurnRecord,
)
from ..scenario import CacheScenario, Scenario
from .document import Vector

QUANTITIES = ("size", "empty", "trimmable")
"""Fields of a look that a design may not report: null then, without an error."""


class Sides(NamedTuple):
    """How two observations are compared."""

    context: Context
    scenario: Scenario
    exact: bool
    """Whether quantized bytes are the CPU's, bit for bit, on the declared backend (AQ-1)."""


def differences(
    context: Context, scenario: Scenario, expected: Observation, observed: Observation
) -> Iterator[Finding]:
    """The first way in which ``observed`` is not ``expected``, if there is one."""
    exact = judges.row_judge(context) is judges.accepts_exactly
    sides = Sides(context, scenario, exact)
    one, two = comparable(sides, expected, observed), comparable(sides, observed, expected)
    if one != two:
        where, wanted, got = judges.first_difference(one, two)
        message = f"{where or 'the answer'} is {judges.short(got)}, expected {judges.short(wanted)}"
        yield Finding(message=message, expected=one, observed=two)
    elif not exact:
        yield from _unacceptable(context, scenario, observed)


def same(context: Context, scenario: Scenario, expected: Observation, observed: Observation) -> bool:
    """Whether there is no difference."""
    return not any(True for _ in differences(context, scenario, expected, observed))


def judge_of(vector: Vector) -> Judge:
    """The judge of a check that asks this vector."""

    def judge(
        context: Context, scenario: Scenario, observation: Observation, _expect: Expect
    ) -> Iterable[Finding]:
        return differences(context, scenario, vector.expected, observation)

    return judge


def comparable(sides: Sides, observation: Observation, other: Observation) -> Any:
    """What is compared of an observation, JSON-ready; ``other`` is what it is compared with."""
    if isinstance(observation, Refusal):
        return "refused"
    if isinstance(observation, QuantizeObservation):
        return _quantized(observation, exact=sides.exact)
    data = _PARTS[observation.kind](sides.context, observation)
    shown = data["steps"] if isinstance(observation, ContainerObservation) else data
    for number, (record, twin, part) in enumerate(
        zip(_records(observation), _records(other), shown, strict=False)
    ):
        _complete(sides, number, record, twin, part)
    return data


_PARTS: dict[str, Callable[[Context, Any], Any]] = {
    "resolve": projections.layer_answers,
    "cache": projections.everything_in_cache,
    "container": projections.everything_in_container,
    "iterate": projections.everything_in_turns,
}

Record = OperationRecord | StepRecord | TurnRecord


def _records(observation: Observation) -> tuple[Record, ...]:
    if isinstance(observation, CacheObservation):
        return observation.records
    if isinstance(observation, ContainerObservation):
        return observation.steps
    return observation.turns if isinstance(observation, IterateObservation) else ()


def _complete(sides: Sides, number: int, record: Record, twin: Record, part: dict[str, Any]) -> None:
    """Add to a record what the projection leaves out and a vector compares."""
    for view, opposite, shown in zip(record.objects, twin.objects, part["objects"], strict=False):
        _add_quantities(view, opposite, shown)
        shown["keys"] = _content(view.keys, exact=sides.exact)
        shown["values"] = _content(view.values, exact=sides.exact)
    if isinstance(record, OperationRecord) and _answers_rows(sides.scenario, number):
        part["result"] = record.result
    if isinstance(record, StepRecord) and isinstance(twin, StepRecord):
        part.update(_looks_made(record, twin))
    if isinstance(record, TurnRecord) and isinstance(twin, TurnRecord):
        for holder in set(record.holders) ^ set(twin.holders):
            part["holders"].pop(holder, None)


def _looks_made(record: StepRecord, twin: StepRecord) -> dict[str, int | None]:
    """Where one side made no look at all, one is one too many (CT-11); other numbers are a design's own."""
    return {"accesses": record.accesses} if 0 in (record.accesses, twin.accesses) else {}


def _answers_rows(scenario: Scenario, number: int) -> bool:
    """Whether a record's result is a number of rows; what an export holds is a design's own business."""
    if not isinstance(scenario, CacheScenario) or number == 0:
        return False
    return scenario.operations[number - 1].op in ("append", "trim")


def _add_quantities(view: ObjectView, opposite: ObjectView, shown: dict[str, Any]) -> None:
    for name in QUANTITIES:
        shown.pop(name, None)
        if _reported(view, name) and _reported(opposite, name):
            shown[name] = "raised" if name in (view.errors or ()) else getattr(view, name)
    if "nbytes" in (view.errors or ()) or "nbytes" in (opposite.errors or ()):  # QC-10: it never raises
        shown["nbytes"] = "raised" if "nbytes" in (view.errors or ()) else "reported"


def _reported(view: ObjectView, name: str) -> bool:
    return getattr(view, name) is not None or name in (view.errors or ())


def _content(content: Any, *, exact: bool) -> Any:
    if content is None:
        return None
    if isinstance(content, Packed) and not exact:
        return _shapes(content)
    return content.model_dump(mode="json")


def _quantized(observation: QuantizeObservation, *, exact: bool) -> Any:
    return observation.model_dump(mode="json") if exact else _shapes(observation)


def _shapes(content: Packed | QuantizeObservation) -> Any:
    parts = {name: getattr(content, name) for name in ("packed", "scales", "biases")}
    return {name: {"dtype": part.dtype, "shape": list(part.shape)} for name, part in parts.items()}


def _unacceptable(context: Context, scenario: Scenario, observed: Any) -> Iterator[Finding]:
    """Off the CPU quantized bytes are one of the accepted branches, computed from what was written."""
    judge: dict[str, Any] = {
        "quantize": numeric.exact,
        "cache": contents.cache_content,
        "container": contents.container_content,
    }
    observes = getattr(getattr(scenario, "observe", None), "content", True)
    if scenario.kind in judge and observes and not isinstance(observed, Refusal):
        yield from judge[scenario.kind](scenario, observed, judges.row_judge(context))
