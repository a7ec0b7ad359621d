"""Whether an answer is the expected one, in everything that can be compared.

Never compared: messages, ``nbytes``, ``prefill_times``, and looks at layers except where none may be made.
Events, holders and quantities that one side has no concept of are taken out on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .. import judges, projections
from ..checks import Context, Expect, Finding, Judge
from ..invariants import contents, numeric
from ..observation import (
    CacheObservation,
    ContainerObservation,
    GenerateObservation,
    IterateObservation,
    ObjectView,
    Observation,
    OperationRecord,
    Packed,
    QuantizeObservation,
    Refusal,
    ResolveObservation,
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
        return observation.model_dump(mode="json") if sides.exact else _shapes(observation)
    if isinstance(observation, ResolveObservation | GenerateObservation):
        return observation.model_dump(mode="json")
    twins = _records(other)
    records = [
        _record(sides, number, record, twins[number] if number < len(twins) else record)
        for number, record in enumerate(_records(observation))
    ]
    data: dict[str, Any] = {RECORDS[observation.kind]: records}
    if isinstance(observation, ContainerObservation) and _has(sides, "model-list"):
        data["list_requests"] = observation.list_requests
    return data


RECORDS = {"cache": "records", "container": "steps", "iterate": "turns"}
"""The field of an observation that holds its records."""

Record = OperationRecord | StepRecord | TurnRecord


def _records(observation: Observation) -> tuple[Record, ...]:
    if isinstance(observation, CacheObservation):
        return observation.records
    if isinstance(observation, ContainerObservation):
        return observation.steps
    return observation.turns if isinstance(observation, IterateObservation) else ()


def _record(sides: Sides, number: int, record: Record, twin: Record) -> dict[str, Any]:
    """One record; what was done first, then what is seen, so that the first difference says most."""
    data: dict[str, Any] = {"error": _error(record)}
    if isinstance(record, OperationRecord):
        data |= {"current": record.current, **_rows_answered(sides.scenario, number, record)}
    elif isinstance(record, StepRecord) and isinstance(twin, StepRecord):
        if sides.context.dialect.scope == "any-then-all":  # MQ-15
            data["returned"] = record.returned
        data["trimmed"] = None if record.trimmed is None else list(record.trimmed)
        data |= {"holders": _lists(record.holders), **_looks_made(record, twin)}
    elif isinstance(record, TurnRecord) and isinstance(twin, TurnRecord):
        events = projections.known_events(record.trace, sides.context.info.capabilities)
        data["trace"] = [event.model_dump(mode="json") for event in events]
        if _has(sides, "count"):
            data["count"] = record.count
        # Holders that only one side has are not compared (contract, section 6).
        common = {name: ids for name, ids in record.holders.items() if name in twin.holders}
        data["holders"] = _lists(common)
    data["objects"] = [
        _look(sides, view, twin.objects[place] if place < len(twin.objects) else view)
        for place, view in enumerate(record.objects)
    ]
    return data


def _lists(holders: dict[str, tuple[int, ...]]) -> dict[str, list[int]]:
    return {name: list(ids) for name, ids in holders.items()}


def _has(sides: Sides, feature: str) -> bool:
    return feature in sides.context.info.capabilities.features


def _error(record: Record) -> str | None:
    """Whether it raised; the scripted model's own error is another thing than one about it."""
    if record.error is None:
        return None
    return "model" if record.error.kind == "model" else "error"


def _look(sides: Sides, view: ObjectView, opposite: ObjectView) -> dict[str, Any]:
    shown = view.model_dump(mode="json", exclude={*projections.UNCOMPARED, "trimmable"})
    shown |= {name: _content(getattr(view, name), exact=sides.exact) for name in ("keys", "values")}
    for name in QUANTITIES:
        if _reported(view, name) and _reported(opposite, name):
            shown[name] = "raised" if name in (view.errors or ()) else getattr(view, name)
    if any("nbytes" in (side.errors or ()) for side in (view, opposite)):  # QC-10: it never raises
        shown["nbytes"] = "raised" if "nbytes" in (view.errors or ()) else "reported"
    return shown


def _looks_made(record: StepRecord, twin: StepRecord) -> dict[str, int | None]:
    """Where one side made no look at all, one is one too many (CT-11); other numbers are a design's own."""
    return {"accesses": record.accesses} if 0 in (record.accesses, twin.accesses) else {}


def _rows_answered(scenario: Scenario, number: int, record: OperationRecord) -> dict[str, Any]:
    """The rows that an append or a trim answers; what an export holds is a design's own business (QC-11)."""
    if not isinstance(scenario, CacheScenario) or number == 0:
        return {}
    operation = scenario.operations[number - 1]
    if operation.op == "trim" and operation.rows < 0:  # refused, or trims nothing: both are right (QC-4)
        return {"error": None}
    return {"result": record.result} if operation.op in ("append", "trim") else {}


def _reported(view: ObjectView, name: str) -> bool:
    return getattr(view, name) is not None or name in (view.errors or ())


def _content(content: Any, *, exact: bool) -> Any:
    if content is None:
        return None
    if isinstance(content, Packed) and not exact:
        return _shapes(content)
    return content.model_dump(mode="json")


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
