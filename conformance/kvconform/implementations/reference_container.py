"""`container` scenarios on the reference: holders of the same layers, steps, and what each holder sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kvconform_reference import container, policy
from kvconform_reference.dialect import Dialect

from ..implementation import Unsupported
from ..observation import ContainerObservation, StepRecord
from ..scenario import AppendStep, Built, ContainerScenario, DropFrontStep, PassStep, Step, TrimStep
from . import reference_layers as layers
from . import reference_looks as looks
from .access_counter import AccessCounter
from .refusals import step_error


def run_container(scenario: ContainerScenario, dialect: Dialect) -> ContainerObservation:
    """One record after building, then one per step."""
    bench = _Bench(scenario, dialect)
    records = [bench.record({})]
    records.extend([bench.record(bench.attempt(step)) for step in scenario.steps])
    return ContainerObservation(list_requests=bench.holding.list_requests, steps=tuple(records))


class _Bench:
    """The layers of one scenario, and whoever holds them."""

    def __init__(self, scenario: ContainerScenario, dialect: Dialect) -> None:
        self._slots = layers.number_layers(scenario.layers)
        self._counter = AccessCounter() if scenario.observe.accesses else None
        on_new = self._counter.watch if self._counter else None
        self._registry = looks.Registry(scenario.observe, on_new=on_new)
        built = layers.build_layers(self._slots, dialect)
        self._registry.meet_all(built)
        hold = hold_free if scenario.form == "free" else hold_container
        self.holding = hold(built, scenario, dialect)

    def record(self, outcome: dict[str, Any]) -> StepRecord:
        """What a step gave, what every holder lists, and a look at every object."""
        holders = looks.meet_holders(self._registry, self.holding.lists())
        return StepRecord(**outcome, holders=holders, objects=self._registry.views())

    def attempt(self, step: Step) -> dict[str, Any]:
        """Does one step; the fields of its record. An error is one of them."""
        try:
            return STEPS[step.do](self, step)
        except Unsupported:
            raise
        except Exception as error:
            return {"error": step_error(error)}

    def append(self, step: AppendStep) -> dict[str, Any]:
        """Write to the layers of the list that a holder has."""
        held = self._list_of(step.through)
        for place in self._places(step.layers):
            layers.write_rows(self._slots[place], held[place], step.rows, salt=step.salt)
        return {}

    def trim(self, step: TrimStep) -> dict[str, Any]:
        """Trim layers of the container's list."""
        held = self._list_of("container")
        return {"trimmed": tuple([held[place].trim(step.rows) for place in self._places(step.layers)])}

    def drop_front(self, _step: DropFrontStep) -> dict[str, Any]:
        """Every chunked layer of the container's list drops its front."""
        for layer in self._list_of("container"):
            if layer.kind == "chunked":
                layer.drop_front()
        return {}

    def run_pass(self, step: PassStep) -> dict[str, Any]:
        """One call of the pass, with the looks at layers that it made where they are observed."""
        before = self._counter.count if self._counter else 0
        try:
            fields: dict[str, Any] = {"returned": self.holding.run_pass(step)}
        except Exception as error:
            fields = {"error": step_error(error)}
        if self._counter:
            fields["accesses"] = self._counter.count - before
        return fields

    def _list_of(self, holder: str) -> Sequence[Any]:
        lists = self.holding.lists()
        if holder not in lists:
            raise Unsupported(f"there is no {holder} with a list here: the model was asked for one")
        return lists[holder]

    def _places(self, named: tuple[int, ...] | None) -> Sequence[int]:
        known = range(len(self._slots))
        for place in named or ():
            if place not in known:
                raise ValueError(f"a step names layer {place}, there are {len(known)}; name one from 0 on")
        return known if named is None else named


STEPS: dict[str, Callable[[_Bench, Any], dict[str, Any]]] = {
    "append": _Bench.append,
    "trim": _Bench.trim,
    "drop-front": _Bench.drop_front,
    "pass": _Bench.run_pass,
}


# ---------------------------------------------------------------- who holds the layers


@dataclass(kw_only=True)
class _ContainerHolding:
    """A container, the caller's list, and maybe a second container."""

    container: container.CacheContainer
    alias: container.CacheContainer
    caller: list[Any] | None
    twin: container.CacheContainer | None
    list_requests: int

    def lists(self) -> dict[str, Sequence[Any]]:
        """Each holder's current list, in the order in which new objects are numbered."""
        lists: dict[str, Sequence[Any]] = {"container": self.container.layers, "alias": self.alias.layers}
        if self.caller is not None:
            lists["caller"] = self.caller
        if self.twin is not None:
            lists["twin"] = self.twin.layers
        return lists

    def run_pass(self, step: PassStep) -> None:
        """The container's pass, which answers nothing."""
        self.container.maybe_quantize(step.bits, step.group_size, step.start)


class _Model:
    """The part of a model that makes cache lists; counts how often it is asked (CT-9)."""

    def __init__(self, built: list[Any]) -> None:
        self._built = built
        self.requests = 0

    def new_cache(self, parameters: Any) -> list[Any]:
        """The scenario's layers."""
        self.requests += 1
        return self._built


def hold_container(built: list[Any], scenario: ContainerScenario, dialect: Dialect) -> _ContainerHolding:
    """A container over the caller's list, or over one that the model made."""
    options, second = scenario.built, list(built)
    model = _Model(built)
    if scenario.given == "model":
        first = container.CacheContainer(model=model, parameters=options, dialect=dialect)
    else:
        first = _over_list(built, options, dialect)
    return _ContainerHolding(
        container=first,
        alias=first,
        caller=None if scenario.given == "model" else built,
        twin=_over_list(second, options, dialect) if scenario.twin else None,
        list_requests=model.requests,
    )


def _over_list(built: list[Any], options: Built, dialect: Dialect) -> container.CacheContainer:
    return container.CacheContainer(built, bits=options.bits, group_size=options.group_size, dialect=dialect)


@dataclass(kw_only=True)
class _FreeHolding:
    """Lists and no container: the pass without memory."""

    working: list[Any]
    """The list that the pass works on, or returned last."""
    caller: list[Any]
    twin: list[Any] | None
    dialect: Dialect
    list_requests: int = 0

    def lists(self) -> dict[str, Sequence[Any]]:
        """Each holder's current list."""
        lists: dict[str, Sequence[Any]] = {
            "container": self.working,
            "alias": self.working,
            "caller": self.caller,
        }
        if self.twin is not None:
            lists["twin"] = self.twin
        return lists

    def run_pass(self, step: PassStep) -> bool | None:
        """The free pass; its answer, none where it returns the new list instead (MQ-15, CT-3)."""
        options = (step.bits, step.group_size, step.start)
        if self.dialect.owner == "new-list":
            self.working = policy.quantized_list(self.working, *options, dialect=self.dialect)
            return None
        return policy.maybe_quantize(self.working, *options, dialect=self.dialect)


def hold_free(built: list[Any], scenario: ContainerScenario, dialect: Dialect) -> _FreeHolding:
    """The pass works on the caller's list; without a container nobody asks a model for one."""
    return _FreeHolding(
        working=built, caller=built, twin=list(built) if scenario.twin else None, dialect=dialect
    )
