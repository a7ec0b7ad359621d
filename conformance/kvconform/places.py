"""Says where two answers differ in words: ``after step 2 (pass), layer 1 is "S@9", expected "Q:64,4@9"``.

Layers, objects and what they hold are counted from 0, as everywhere; what happens in time (steps, turns,
calls, events) from 1, as a failure numbers them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .jsondata import is_list, is_object
from .scenario import CacheScenario, ContainerScenario, Scenario

Key = str | int
Path = tuple[Key, ...]
F = TypeVar("F", bound=Callable[..., Any])

ERROR = "error"
"""What a projection puts in place of a record that raised."""

_FROM_ZERO = ("layer", "quantized layer", "object", "child", "entry")

_INSIDE: dict[str, tuple[str, ...]] = {
    "answers": ("record",),
    "caches": ("layer",),
    "caller": ("layer",),
    "calls": ("call", "layer"),
    "children": ("composite", "child"),
    "container": ("layer",),
    "container offsets": ("layer",),
    "caller offsets": ("layer",),
    "alias": ("layer",),
    "twin": ("layer",),
    "events": ("record", "event"),
    "kinds": ("record", "call", "layer"),
    "layers": ("record", "layer"),
    "objects": ("object",),
    "offsets": ("layer",),
    "states": ("record", "call"),
    "steps": ("record",),
    "tokens": ("token",),
    "trace": ("event",),
}
"""What the elements of a named list are, level by level."""

_SAID_ALREADY = {
    "steps",
    "trace",
    "holders",
    "objects",
    "answers",
    "layers",
    "calls",
    "events",
    "states",
    "kinds",
}
"""Names that add nothing to what their elements are called."""

_SPOKEN = {"returned": "its answer", "error after": "the first step that raises"}

_HOLDERS = {"container", "caller", "alias", "twin"}

_MADE_OF: dict[Callable[..., Any], tuple[str, ...]] = {}


def made_of(*units: str) -> Callable[[F], F]:
    """Declares what the elements of a projection's lists are; ``record`` is a step or turn."""

    def declare(projection: F) -> F:
        _MADE_OF[projection] = units
        return projection

    return declare


def units_of(projection: Callable[..., Any]) -> tuple[str, ...]:
    """What a projection declared; nothing for one that gives no list."""
    return _MADE_OF.get(projection, ())


# ---------------------------------------------------------------- where


def first_path(expected: Any, observed: Any) -> tuple[Path, Any, Any]:
    """The way to the first place where two JSON-ready values differ, and the two parts there.

    Lists of other lengths are compared as far as both go only where they tell a sequence of events;
    elsewhere their lengths are what differs.
    """
    path: list[Key] = []
    while True:
        step = _step(expected, observed)
        if step is None:
            return tuple(path), expected, observed
        path.append(step)
        expected, observed = _at(expected, step), _at(observed, step)


def _step(expected: Any, observed: Any) -> Key | None:
    if is_object(expected) and is_object(observed):
        keys = (*expected, *(key for key in observed if key not in expected))
        return next((key for key in keys if expected.get(key) != observed.get(key)), None)
    if is_list(expected) and is_list(observed):
        if len(expected) != len(observed) and not _tells_events(expected, observed):
            return None
        places = range(max(len(expected), len(observed)))
        return next((place for place in places if _at(expected, place) != _at(observed, place)), None)
    return None


def _tells_events(*sides: list[Any]) -> bool:
    return any(is_object(side[0]) and "event" in side[0] for side in sides if side)


def _at(value: Any, key: Key) -> Any:
    if isinstance(key, int):
        return value[key] if key < len(value) else None
    return value.get(key)


# ---------------------------------------------------------------- in words


def difference(expected: Any, observed: Any, *, scenario: Scenario, units: Sequence[str] = ()) -> str:
    """Where two projections of answers to ``scenario`` differ first, and how, as the end of a sentence."""
    path, one, other = first_path(expected, observed)
    where = _Words(scenario, expected, observed).of(path, units)
    if path and path[-1] == ERROR:
        return f"{where} {'raised, where nothing is wrong' if other else 'raised nothing, expected an error'}"
    if other == ERROR and one != "refused":
        return f"{where} raised, expected {value_text(one)}"
    if one == ERROR and other != "refused":
        return f"{where} raised nothing, expected an error"
    if is_list(one) and is_list(other):
        list_of = path[:-1] if path and path[-1] in _SAID_ALREADY else path
        place = f"{_Words(scenario, expected, observed).of(list_of, units)}, " if list_of else ""
        return f"{place}the number of {_elements(path, units, scenario)} is {len(other)}, expected {len(one)}"
    listed = len(path) > 1 and path[-2] in _HOLDERS and isinstance(one, int) and isinstance(other, int)
    before = "object " if listed else ""
    return f"{where} is {before}{value_text(other)}, expected {before}{value_text(one)}"


def value_text(value: Any, *, limit: int = 120) -> str:
    """A JSON-ready value in a message: cut where it is long, an event by its name."""
    if value is None:
        return "nothing"
    if is_object(value) and "event" in value:
        return str(value["event"])
    text = json.dumps(value)
    return text if len(text) <= limit else f"{text[:limit]}..."


class _Words:
    """Reads a path beside the two values that it leads through."""

    def __init__(self, scenario: Scenario, expected: Any, observed: Any) -> None:
        self._scenario = scenario
        self._sides = (expected, observed)

    def of(self, path: Path, units: Sequence[str]) -> str:
        """The path in words; ``units`` name the elements of the outermost lists."""
        sides, words, rest = self._sides, list[str](), list(units)
        for number, key in enumerate(path):
            last = number == len(path) - 1
            if isinstance(key, int):
                unit = rest.pop(0) if rest else "entry"
                words.append(self._element(unit, key, sides, last=last))
            else:
                rest = list(_INSIDE.get(key, ("entry",)))
                words += self._field(key, last=last)
            sides = (_into(sides[0], key), _into(sides[1], key))
        return ", ".join(words) or "the answer"

    def _element(self, unit: str, index: int, sides: tuple[Any, Any], *, last: bool) -> str:
        if unit == "record":
            return self._record(index, last=last)
        if unit == "event":
            return _event(index, *sides)
        return f"{unit} {index if unit in _FROM_ZERO else index + 1}"

    def _record(self, index: int, *, last: bool) -> str:
        if isinstance(self._scenario, ContainerScenario):
            doing, unit, fresh = [step.do for step in self._scenario.steps], "step", "before step 1"
        elif isinstance(self._scenario, CacheScenario):
            doing, unit, fresh = (
                [each.op for each in self._scenario.operations],
                "operation",
                "the fresh cache",
            )
        else:
            return f"turn {index + 1}"
        if not 0 < index <= len(doing):
            return fresh
        return f"{'' if last else 'after '}{unit} {index} ({doing[index - 1]})"

    def _field(self, key: str, *, last: bool) -> list[str]:
        if key == ERROR or (key == "event" and last) or (key in _SAID_ALREADY and not last):
            return []
        return [_SPOKEN.get(key, key.replace("_", " "))]


def _into(value: Any, key: Key) -> Any:
    fits = is_list(value) if isinstance(key, int) else is_object(value)
    return _at(value, key) if fits else None


def _event(index: int, expected: Any, observed: Any) -> str:
    """``call 3`` where both sides have the same event there, else ``event 7``."""
    names = [_event_name(_into(side, index)) for side in (expected, observed)]
    if names[0] != names[1] or names[0] is None:
        return f"event {index + 1}"
    return f"{names[0]} {sum(_event_name(each) == names[0] for each in expected[: index + 1])}"


def _event_name(event: Any) -> str | None:
    return event["event"] if is_object(event) and "event" in event else None


def _elements(path: Path, units: Sequence[str], scenario: Scenario) -> str:
    """What the elements of the list at the end of a path are called, in the plural."""
    rest = list(units)
    for key in path:
        rest = rest[1:] if isinstance(key, int) else list(_INSIDE.get(key, ("entry",)))
    name = rest[0] if rest else "entry"
    records = {"container": "steps", "cache": "operations"}.get(scenario.kind, "turns")
    plurals = {"entry": "entries", "child": "children", "record": records}
    return plurals.get(name, f"{name}s")
