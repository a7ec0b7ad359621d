"""From a source to its vectors: the reference answers in every dialect, equal answers share a file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

from kvconform_reference import affine, floats
from kvconform_reference.dialect import DIALECTS

from ..checks import Context
from ..implementation import Implementation, Unsupported
from ..implementations import reference
from ..invariants.tensors import row_bytes
from ..observation import ContainerObservation, IterateObservation, ObjectView, Observation
from ..scenario import QuantizeScenario, Scenario
from ..session import context_of
from .compare import same
from .document import Group, Vector
from .needs import needs_of, unmet
from .reports import REPORTS
from .source.words import Source


@cache
def recorded(source: Source) -> tuple[Vector, ...]:
    """The vectors of a source, one for each group of dialects that answer alike."""
    groups: list[tuple[Observation, list[str]]] = []
    # Who has most concepts comes first: what others lack is taken out when they are compared with it.
    answers = sorted(_answers(source), key=lambda pair: -len(_features(pair[0])))
    for name, answer in answers:
        context = reference_context(name)
        for expected, names in groups:
            if same(context, source.scenario, expected, answer):
                names.append(name)
                break
        else:
            groups.append((answer, [name]))
    vectors = [_vector(source, expected, sorted(names, key=_place)) for expected, names in groups]
    return tuple(sorted(vectors, key=lambda vector: _place(vector.dialects[0])))


def _features(dialect: str) -> tuple[str, ...]:
    return reference_context(dialect).info.capabilities.features


def _place(dialect: str) -> int:
    return list(DIALECTS).index(dialect)


@cache
def reference_context(dialect: str) -> Context:
    """What the comparison knows of the reference in a dialect."""
    implementation: Implementation = reference.factory(dialect)  # pyright: ignore[reportAssignmentType]
    return context_of(implementation, budget="default")


def _answers(source: Source) -> Iterator[tuple[str, Observation]]:
    """Named dialects with the reference's answer; those that cannot be asked are left out."""
    needs = needs_of(source.scenario)
    for name in source.dialects or DIALECTS:
        implementation = reference.factory(name)
        if unmet(needs, implementation.info.capabilities) is None:
            try:
                yield name, stripped(implementation.run(source.scenario))
            except Unsupported:
                continue


def _vector(source: Source, expected: Observation, names: list[str]) -> Vector:
    first = (source.dialects or tuple(DIALECTS))[0]
    suffix = "" if first in names else f"-{names[0].replace('.', '-')}"
    return Vector(
        id=source.id + suffix,
        requirements=source.requirements,
        comment=source.comment,
        reports=tuple(REPORTS[key].url for key in source.reports if REPORTS[key].url) or None,
        dialects=tuple(names),
        needs=needs_of(source.scenario),
        scenario=source.scenario,
        expected=expected,
        intermediate=intermediate(source.scenario),
    )


# ---------------------------------------------------------------- what is not recorded


def stripped(observation: Observation) -> Observation:
    """Without what is never compared: byte counts, clocks, and how many looks a pass made above none."""
    if isinstance(observation, IterateObservation):
        turns = [
            turn.model_copy(update={"prefill_times": None, "objects": _views(turn.objects)})
            for turn in observation.turns
        ]
        return observation.model_copy(update={"turns": tuple(turns)})
    if isinstance(observation, ContainerObservation):
        steps = [
            step.model_copy(
                update={
                    "accesses": 0 if step.accesses == 0 else None,
                    "objects": _views(step.objects),
                }
            )
            for step in observation.steps
        ]
        return observation.model_copy(update={"steps": tuple(steps)})
    if observation.kind == "cache":
        records = [r.model_copy(update={"objects": _views(r.objects)}) for r in observation.records]
        return observation.model_copy(update={"records": tuple(records)})
    return observation


def _views(objects: tuple[ObjectView, ...]) -> tuple[ObjectView, ...]:
    return tuple(view.model_copy(update={"nbytes": None}) for view in objects)


# ---------------------------------------------------------------- numbers on the way


def intermediate(scenario: Scenario) -> tuple[Group, ...] | None:
    """Every group of a tensor, explained; nothing where it is refused or a number is not finite."""
    if not isinstance(scenario, QuantizeScenario):
        return None
    tensor, size = scenario.tensor, scenario.group_size
    rows = [floats.decode(row, tensor.dtype) for row in row_bytes(tensor)]
    try:
        traces = [
            trace
            for row in rows
            for trace in affine.explain_row(row, bits=scenario.bits, group_size=size, dtype=tensor.dtype)
        ]
    except ValueError:
        return None
    numbers = [number for trace in traces for number in (trace.edge_code, trace.scale, trace.bias)]
    return tuple(_group(trace) for trace in traces) if all(map(math.isfinite, numbers)) else None


def _group(trace: affine.GroupTrace) -> Group:
    return Group(
        min=trace.low,
        max=trace.high,
        edge=trace.edge,
        edge_code=int(trace.edge_code),
        scale=trace.scale,
        bias=trace.bias,
        codes=tuple(int(code) for code in trace.codes),
        stored_scale=trace.stored_scale,
        stored_bias=trace.stored_bias,
    )
