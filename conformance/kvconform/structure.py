"""Whether an answer has the shape that its scenario asks for, before anything is judged by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, get_args

from .observation import (
    CacheObservation,
    ContainerObservation,
    IterateObservation,
    ObjectView,
    Observation,
    Refusal,
)
from .scenario import CacheScenario, ContainerScenario, IterateScenario, Scenario


def why_malformed(scenario: Scenario, observation: Any) -> str | None:
    """What is wrong with the shape of an answer, or ``None``.

    A wrong kind, a wrong number of records, or an id that names no object: the answer cannot be judged.
    """
    if not isinstance(observation, get_args(get_args(Observation)[0])):
        return f"the answer is a {type(observation).__name__}, not an observation"
    if isinstance(observation, Refusal):
        return None
    if observation.kind != scenario.kind:
        return f"the answer is of kind {observation.kind}, the scenario of kind {scenario.kind}"
    shape = _SHAPES.get(scenario.kind)
    return shape(scenario, observation) if shape else None


def _cache(scenario: CacheScenario, observation: CacheObservation) -> str | None:
    count = len(scenario.operations) + 1
    if len(observation.records) != count:
        return f"{len(observation.records)} records for {count - 1} operations; one more is right"
    for number, record in enumerate(observation.records):
        if (wrong := _wrong_id([record.current], record.objects)) is not None:
            return f"record {number}: {wrong}"
    return None


def _container(scenario: ContainerScenario, observation: ContainerObservation) -> str | None:
    count = len(scenario.steps) + 1
    if len(observation.steps) != count:
        return f"{len(observation.steps)} records for {count - 1} steps; one more is right"
    for number, record in enumerate(observation.steps):
        ids = [number for layers in record.holders.values() for number in layers]
        if "container" not in record.holders:
            return f"record {number}: no holder `container`"
        if (wrong := _wrong_id(ids, record.objects)) is not None:
            return f"record {number}: {wrong}"
    return None


def _iterate(scenario: IterateScenario, observation: IterateObservation) -> str | None:
    if len(observation.turns) != len(scenario.turns):
        return f"{len(observation.turns)} records for {len(scenario.turns)} turns; one each is right"
    for number, record in enumerate(observation.turns):
        ids = [number for layers in record.holders.values() for number in layers]
        if (wrong := _wrong_id(ids, record.objects)) is not None:
            return f"turn {number}: {wrong}"
    return None


_SHAPES: dict[str, Callable[[Any, Any], str | None]] = {
    "cache": _cache,
    "container": _container,
    "iterate": _iterate,
}


def _wrong_id(ids: Iterable[int], objects: tuple[ObjectView, ...]) -> str | None:
    children = [child for view in objects for child in view.children or ()]
    wrong = next((number for number in (*ids, *children) if number not in range(len(objects))), None)
    return None if wrong is None else f"id {wrong} names none of {len(objects)} objects"
