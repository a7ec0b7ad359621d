"""Reads container observations: what a step found, what it left, and which layer became which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ..observation import ContainerObservation, ObjectView, StepRecord
from ..scenario import ContainerScenario, PassStep, Step


class Place(NamedTuple):
    """One slot of a holder's list, or of a composite in it, before and after a step."""

    path: str
    before: int
    after: int


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One step: what was done, what was seen before it and after it."""

    number: int
    step: Step
    before: StepRecord
    after: StepRecord

    @property
    def where(self) -> str:
        """The step in words, for messages."""
        step = self.step
        if isinstance(step, PassStep):
            options = f"bits={step.bits}, group_size={step.group_size}, start={step.start}"
            return f"step {self.number}, pass({options})"
        return f"step {self.number}, {step.do}"

    def old(self, place: Place) -> ObjectView:
        """The object in a place before the step, as seen then."""
        return self.before.objects[place.before]

    def new(self, place: Place) -> ObjectView:
        """The object in a place after the step."""
        return self.after.objects[place.after]

    def source(self, place: Place) -> ObjectView:
        """The object that was in a place before the step, as seen after it."""
        return self.after.objects[place.before]

    def places(self, holder: str = "container") -> Iterator[Place]:
        """The slots of a holder's list."""
        pairs = zip(self.before.holders.get(holder, ()), self.after.holders.get(holder, ()), strict=False)
        return (Place(str(index), before, after) for index, (before, after) in enumerate(pairs))

    def all_places(self, holder: str = "container") -> Iterator[Place]:
        """The slots of a holder's list, each with those of the composites in it behind it."""
        for place in self.places(holder):
            yield from self._inner(place)

    def _inner(self, place: Place) -> Iterator[Place]:
        yield place
        old, new = self.old(place).children or (), self.new(place).children or ()
        for index, (before, after) in enumerate(zip(old, new, strict=False)):
            yield from self._inner(Place(f"{place.path}.{index}", before, after))

    def conversions(self) -> Iterator[Place]:
        """The places whose object was replaced."""
        return (place for place in self.all_places() if place.before != place.after)

    @property
    def unchanged(self) -> bool:
        """Whether every holder lists the same objects, and each looks as before."""
        return self.before.holders == self.after.holders and self.before.objects == self.after.objects


def moments(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Moment]:
    """Every step."""
    records = observation.steps
    for number, step in enumerate(scenario.steps, 1):
        yield Moment(number=number, step=step, before=records[number - 1], after=records[number])


def passes(
    scenario: ContainerScenario, observation: ContainerObservation
) -> Iterator[tuple[Moment, PassStep]]:
    """Every pass that raised nothing."""
    for moment in moments(scenario, observation):
        if isinstance(moment.step, PassStep) and moment.after.error is None:
            yield moment, moment.step


def described(view: ObjectView) -> str:
    """``plain at offset 5, dims 64/64``."""
    offset = "" if view.offset is None else f" at offset {view.offset}"
    dims = "" if view.key_dim is None else f", dims {view.key_dim}/{view.value_dim}"
    return f"{view.kind}{offset}{dims}"


def differing(before: ObjectView, after: ObjectView) -> dict[str, tuple[object, object]]:
    """The fields in which two looks differ."""
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    return {name: (old[name], new[name]) for name in old if old[name] != new[name]}
