"""Samples of what checks generate, and what those scenarios contain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import Phase, given, seed, settings
from kvconform.checks import Check, Context
from kvconform.examine import UNHELPFUL
from kvconform.scenario import Scenario


def sample(strategy: Any, count: int = 100) -> list[Any]:
    """``count`` generated values, the same ones every time."""
    values: list[Any] = []

    @seed(20261201)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.generate,),
        suppress_health_check=UNHELPFUL,
    )
    @given(strategy)
    def collect(value: Any) -> None:
        values.append(value)

    collect()
    return values


def generated(check: Check, context: Context, count: int = 100) -> list[Scenario]:
    """What a check generates."""
    return sample(check.scenarios(context), count) if check.scenarios is not None else []


def share(values: list[Any], holds: Callable[[Any], bool]) -> float:
    """The part of the values for which something holds."""
    return sum(map(holds, values)) / len(values)


def found(data: Any, name: str) -> Iterator[Any]:
    """Every value of a field, at any depth of a scenario's data."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key == name:
                yield value
            yield from found(value, name)
    if isinstance(data, list):
        for item in data:
            yield from found(item, name)


def layers_of(scenario: Any) -> list[Any]:
    """Every layer of a scenario, those inside composites too."""
    top = getattr(scenario, "layers", None) or [getattr(scenario, "layer", None)]
    pending, layers = [layer for layer in top if layer is not None], []
    while pending:
        layer = pending.pop()
        layers.append(layer)
        pending += getattr(layer, "children", ())
    return layers
