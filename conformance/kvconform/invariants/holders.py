"""What holders of a container must see, in any design (CT, QP-3, RF-3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..checks import Context, Finding
from ..observation import ContainerObservation, ObjectView, StepRecord
from ..scenario import (
    ChunkedLayer,
    CompositeLayer,
    ContainerScenario,
    Layer,
    PlainLayer,
    RecurrentLayer,
    RotatingLayer,
    TrimStep,
)
from . import reading, sizes
from .reading import Moment


def _finding(what: str, moment: Moment | None, expected: Any, observed: Any) -> Finding:
    return Finding(
        message=f"{what}: {moment.where if moment else 'after building'}",
        expected=expected,
        observed=observed,
    )


def given_ids(layers: tuple[Layer, ...]) -> tuple[int, ...]:
    """The ids of the top-level layers: objects are numbered depth first."""
    ids: list[int] = []
    number = 0
    for layer in layers:
        ids.append(number)
        number += count_objects(layer)
    return tuple(ids)


def count_objects(layer: Layer) -> int:
    """How many cache objects a layer is: a composite and everything in it."""
    if isinstance(layer, CompositeLayer):
        return 1 + sum(count_objects(child) for child in layer.children)
    return 1


def holds_what_it_was_given(
    scenario: ContainerScenario, observation: ContainerObservation
) -> Iterator[Finding]:
    """CT-1: the very objects, in order, until one is converted; a converted place holds a quantized one."""
    given = given_ids(scenario.layers)
    held = observation.steps[0].holders["container"]
    if held != given:
        yield _finding("the container does not hold the objects it was given", None, given, held)
        return
    for moment in reading.moments(scenario, observation):
        for place, original in zip(moment.places(), given, strict=False):
            if place.before == original != place.after and moment.new(place).kind != "quantized":
                what = f"layer {place.path} was replaced without being converted"
                yield _finding(what, moment, original, place.after)


def same_fill_as_given(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """QP-3: building a container (which asks what is quantizable) left every layer as it was filled."""
    objects = observation.steps[0].objects
    for path, number, layer in _numbered(scenario.layers):
        expected, view = expected_fill(layer), objects[number]
        expected["key_dim"], expected["value_dim"] = stored_dims(layer)
        if isinstance(layer, RecurrentLayer) and not layer.filled:
            expected["state"] = None
        observed = {name: getattr(view, name) for name in expected}
        if expected != observed:
            yield _finding(f"asking changed layer {path}", None, expected, observed)


def _numbered(layers: tuple[Layer, ...], first: int = 0, path: str = "") -> Iterator[tuple[str, int, Layer]]:
    number = first
    for index, layer in enumerate(layers):
        yield f"{path}{index}", number, layer
        if isinstance(layer, CompositeLayer):
            yield from _numbered(layer.children, number + 1, f"{path}{index}.")
        number += count_objects(layer)


def stored_dims(layer: Layer, *, written: bool = False) -> tuple[int | None, int | None]:
    """Head dims that a look shows: of the stored rows, so that before the first write there are none."""
    if isinstance(layer, RecurrentLayer | CompositeLayer):
        return None, None
    return (layer.key_dim, layer.value_dim) if written or layer.length else (None, None)


def expected_fill(layer: Layer) -> dict[str, Any]:
    """Kind, offset and rows of a layer as its scenario says, by arithmetic."""
    if isinstance(layer, RecurrentLayer | CompositeLayer):
        return {"kind": layer.kind, "offset": None, "rows": None}
    offset = rows = layer.length
    if isinstance(layer, PlainLayer):
        offset = rows = layer.length - layer.trim
    if isinstance(layer, ChunkedLayer) and layer.drop_front:
        rows = min(layer.length, layer.chunk_size)
    if isinstance(layer, RotatingLayer) and layer.singly:
        rows = min(layer.length, layer.max_size)
    return {"kind": layer.kind, "offset": offset, "rows": rows}


def holders_agree(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """CT-2: a second variable bound to the container sees what the first one sees, after every step."""
    for number, record in enumerate(observation.steps):
        container, alias = record.holders["container"], record.holders.get("alias")
        if container != alias:
            moment = _moment_at(scenario, observation, number)
            yield _finding("who holds the container does not see its layers", moment, container, alias)


def _moment_at(scenario: ContainerScenario, observation: ContainerObservation, number: int) -> Moment | None:
    return list(reading.moments(scenario, observation))[number - 1] if number else None


def asked_once(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """CT-9: the model is asked exactly once without a list, never with one; an empty list stays empty."""
    expected = int(scenario.given == "model")
    if observation.list_requests != expected:
        what = "the model was asked for a list another number of times"
        yield _finding(what, None, expected, observation.list_requests)
    if not scenario.layers and any(record.holders["container"] for record in observation.steps):
        yield _finding(
            "an explicitly empty list did not stay empty", None, [], observation.steps[0].holders["container"]
        )


def twins_independent(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """CT-10: the second container goes on listing the objects it was given, frozen when replaced."""
    given = given_ids(scenario.layers)
    for number, record in enumerate(observation.steps):
        if record.holders.get("twin") != given:
            moment = _moment_at(scenario, observation, number)
            what = "a conversion in one container reached the other"
            yield _finding(what, moment, given, record.holders.get("twin"))
        kinds = [record.objects[number].kind for number in given]
        if kinds != [layer.kind for layer in scenario.layers]:
            moment = _moment_at(scenario, observation, number)
            what = "a conversion in one container changed the other's objects"
            yield _finding(what, moment, [layer.kind for layer in scenario.layers], kinds)


def converts_when_reached(
    scenario: ContainerScenario, observation: ContainerObservation
) -> Iterator[Finding]:
    """CT-8: a single plain layer is plain below the line and quantized after a pass over it."""
    for moment, step in reading.passes(scenario, observation):
        for place in moment.places():
            old, new = moment.old(place), moment.new(place)
            if old.kind != "plain" or old.offset is None or old.offset == step.start:
                continue
            expected = "quantized" if old.offset > step.start else "plain"
            if new.kind != expected:
                yield _finding(f"a layer at offset {old.offset} is {new.kind}", moment, expected, new.kind)


def no_looks_when_disarmed(
    scenario: ContainerScenario, observation: ContainerObservation, context: Context
) -> Iterator[Finding]:
    """CT-11: after the pass that disarmed it none looks.

    That is the first pass that triggers, or the one after which every plain layer is converted or cannot be.
    """
    disarmed = False
    for moment, step in reading.passes(scenario, observation):
        if disarmed and moment.after.accesses:
            yield _finding("a disarmed pass looked at layers", moment, 0, moment.after.accesses)
        over = [_over(moment.old(place), step.start) for place in moment.places()]
        stuck = [_stuck(moment.new(place), step.start) for place in moment.places()]
        first = context.dialect.latch == "first-trigger"
        disarmed = disarmed or (any(over) if first else bool(stuck) and all(stuck))


def _over(view: ObjectView, start: int) -> bool:
    """Over the line by any threshold."""
    return view.kind == "plain" and view.offset is not None and view.offset > start


def _stuck(view: ObjectView, start: int) -> bool:
    """Quantized, or over the line without a compatible size."""
    odd = view.key_dim is not None and not sizes.compatible(view.key_dim, view.value_dim)
    return view.kind == "quantized" or (odd and _over(view, start))


def trims_the_converted(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """RF-3: a trim moves the quantized layer that the container lists, and nothing else."""
    for moment in reading.moments(scenario, observation):
        step = moment.step
        if not isinstance(step, TrimStep) or moment.after.error is not None:
            continue
        for index, place in enumerate(moment.places()):
            old, new = moment.old(place), moment.new(place)
            if old.kind != "quantized" or old.offset is None:
                continue
            taken = min(old.offset, step.rows)
            expected, observed = (old.offset - taken, taken), (new.offset, _trimmed(moment.after, index))
            if expected != observed:
                yield _finding(
                    f"a trim did not trim quantized layer {place.path}", moment, expected, observed
                )
        yield from _frozen_sources(moment)


def _trimmed(record: StepRecord, index: int) -> int | None:
    return record.trimmed[index] if record.trimmed and index < len(record.trimmed) else None


def _frozen_sources(moment: Moment) -> Iterator[Finding]:
    current = set(moment.before.holders["container"])
    for number, (before, after) in enumerate(zip(moment.before.objects, moment.after.objects, strict=False)):
        if number not in current and before.kind == "plain" and before != after:
            what = f"a trim reached object {number}, the source of a conversion"
            yield _finding(what, moment, {}, reading.differing(before, after))


def looks_show_stored_dims(
    scenario: ContainerScenario, observation: ContainerObservation
) -> Iterator[Finding]:
    """HD-1: head dims are the stored arrays'; absent before the first write. Appends reach every layer."""
    for number, record in enumerate(observation.steps):
        for path, place, layer in _numbered(scenario.layers):
            expected = stored_dims(layer, written=number > 0)
            view = record.objects[place]
            if (view.key_dim, view.value_dim) != expected:
                moment = _moment_at(scenario, observation, number)
                what = f"wrong head dims of layer {path}, {layer.kind}"
                yield _finding(what, moment, expected, (view.key_dim, view.value_dim))
