"""`container` scenarios: mlx-lm has no container, so one list plays the container and the caller's list.

The pass is ``maybe_quantize_kv_cache`` on that list, in place; ``built`` has nothing to act on.
"""

from __future__ import annotations

from typing import Any

from ...implementation import Unsupported
from ...observation import ContainerObservation, StepError, StepRecord
from ...scenario import AppendStep, ContainerScenario, DropFrontStep, PassStep, Step, TrimStep
from ..refusals import step_error
from . import layers, looks, package


def run(scenario: ContainerScenario) -> ContainerObservation:
    """One record after building, then one per step."""
    bench = _Bench(scenario)
    records = [bench.record()]
    for step in scenario.steps:
        try:
            outcome: dict[str, Any] = bench.apply(step)
        except Unsupported:
            raise
        except Exception as error:
            outcome = {"error": step_error(error)}
        records.append(bench.record(**outcome))
    return ContainerObservation(list_requests=bench.list_requests, steps=tuple(records))


class _CacheMaker:
    """The part of a model that ``make_prompt_cache`` asks for a list."""

    def __init__(self, caches: list[Any]) -> None:
        self._caches = caches
        self.requests = 0

    def make_cache(self) -> list[Any]:
        self.requests += 1
        return self._caches


class _Bench:
    def __init__(self, scenario: ContainerScenario) -> None:
        self._slots = layers.number(scenario.layers)
        self._builder = layers.Builder(content=scenario.observe.content)
        self._registry = looks.Registry(scenario.observe)
        built = [self._builder.build(slot) for slot in self._slots]
        self._registry.meet_all(built)
        maker = _CacheMaker(built)
        asked = scenario.given == "model" and scenario.form != "free"  # a free pass asks no model
        self._list: list[Any] = package.make_prompt_cache(maker) if asked else built
        self.list_requests = maker.requests
        self._holders: dict[str, list[Any]] = {"container": self._list, "alias": self._list}
        if not asked:
            self._holders["caller"] = self._list
        if scenario.twin:
            self._holders["twin"] = list(built)

    def record(
        self,
        *,
        returned: bool | None = None,
        trimmed: tuple[int, ...] | None = None,
        error: StepError | None = None,
    ) -> StepRecord:
        """What the step gave, what every holder lists, and a look at every object."""
        holders = {name: self._registry.meet_all(caches) for name, caches in self._holders.items()}
        return StepRecord(
            error=error, returned=returned, trimmed=trimmed, holders=holders, objects=self._registry.views()
        )

    def apply(self, step: Step) -> dict[str, Any]:
        """Does one step; answers with the fields of its record."""
        match step:
            case PassStep(bits=bits, group_size=group_size, start=start):
                return {"returned": one_pass(self._list, bits=bits, group_size=group_size, start=start)}
            case AppendStep():
                self._append(step)
            case TrimStep(rows=rows):
                places = self._places(step.layers)
                return {"trimmed": tuple(package.trim_prompt_cache([self._list[at]], rows) for at in places)}
            case DropFrontStep():
                for cache in self._list:
                    if layers.kind_of(cache) == "chunked":
                        cache.maybe_trim_front()
        return {}

    def _append(self, step: AppendStep) -> None:
        if step.through not in self._holders:
            raise Unsupported("the model was asked for the list: there is no caller's list to append through")
        caches = self._holders[step.through]
        for at in self._places(step.layers):
            self._builder.write(self._slots[at], caches[at], step.rows, salt=step.salt)

    def _places(self, named: tuple[int, ...] | None) -> tuple[int, ...]:
        known = range(len(self._slots))
        for place in named or ():
            if place not in known:
                raise ValueError(f"a step names layer {place}, there are {len(known)}; name one from 0 on")
        return tuple(known) if named is None else named


def one_pass(caches: list[Any], *, bits: int | None, group_size: int, start: int) -> bool | None:
    """One call of the package's pass; its answer, None when it gives none."""
    answer = package.maybe_quantize_kv_cache(
        caches, quantized_kv_start=start, kv_group_size=group_size, kv_bits=bits
    )
    return answer if isinstance(answer, bool) else None
