"""`cache` scenarios: operations on one cache object, with what users call for each of them."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any, cast

from ...observation import CacheObservation, OperationRecord, StepError
from ...scenario import (
    Append,
    CacheScenario,
    Convert,
    Copy,
    DropFront,
    Operation,
    SaveLoad,
    Select,
    StateRoundTrip,
    Trim,
)
from ..refusals import step_error
from . import layers, looks, package


def run(scenario: CacheScenario) -> CacheObservation:
    """One record for the fresh cache, then one per operation."""
    bench = _Bench(scenario)
    records = [bench.record()]
    for operation in scenario.operations:
        result, problem = None, None
        try:
            result = bench.apply(operation)
        except Exception as error:
            problem = step_error(error)
        records.append(bench.record(result=result, error=problem))
    return CacheObservation(records=tuple(records))


class _Bench:
    """The cache under test and everything that came out of it."""

    def __init__(self, scenario: CacheScenario) -> None:
        (slot,) = layers.number([scenario.layer])
        self._builder = layers.Builder(content=scenario.observe.content)
        self._registry = looks.Registry(scenario.observe)
        self._slots: dict[int, layers.Slot] = {}
        self._current: Any = None
        self._make_current(self._builder.build(slot), slot)

    def _make_current(self, cache: Any, slot: layers.Slot) -> None:
        self._current = cache
        self._slots[self._registry.meet(cache)] = slot
        for child, inner in zip(looks.children(cache), slot.children, strict=False):
            self._slots.setdefault(self._registry.meet(child), inner)

    def _slot(self) -> layers.Slot:
        return self._slots[self._registry.meet(self._current)]

    def record(self, *, result: int | None = None, error: StepError | None = None) -> OperationRecord:
        """What the operation gave, and a look at every object."""
        current = self._registry.meet(self._current)
        return OperationRecord(error=error, result=result, current=current, objects=self._registry.views())

    def apply(self, operation: Operation) -> int | None:
        """Does one operation and answers with its result."""
        cache = self._current
        match operation:
            case Append(rows=rows, salt=salt):
                return self._builder.write(self._slot(), cache, rows, salt=salt)
            case Trim(rows=rows):
                return package.trim_prompt_cache([cache], rows)
            case DropFront():
                _method(cache, "maybe_trim_front")()
                return None
            case Select(cache=number):
                return self._select(number)
            case SaveLoad():
                return self._replace(cache, saved_and_loaded(cache))
            case StateRoundTrip():
                return self._replace(cache, restored(cache))
            case Convert(bits=bits, group_size=group_size):
                converted = _method(cache, "to_quantized")(group_size=group_size, bits=bits)
                self._make_current(converted, self._slot())
            case Copy():
                self._make_current(copy.copy(cache), self._slot())
        return None

    def _replace(self, cache: Any, successor: Any) -> int | None:
        self._make_current(successor, self._slot())
        return None if layers.kind_of(cache) in ("recurrent", "composite") else exported_rows(cache)

    def _select(self, number: int) -> None:
        if number not in self._slots:
            raise ValueError(f"select: there is no cache {number}; they are 0 to {len(self._slots) - 1}")
        self._current = self._registry.objects[number]


def _method(cache: Any, name: str) -> Any:
    """A method that not every class has; a class without it does not take the operation."""
    method = getattr(cache, name, None)
    if method is None:
        raise NotImplementedError(f"{type(cache).__name__} has no {name}")
    return method


def saved_and_loaded(cache: Any) -> Any:
    """The cache as it comes back from a prompt-cache file."""
    with tempfile.TemporaryDirectory(prefix="kvconform-") as folder:
        path = str(Path(folder) / "cache.safetensors")
        package.save_prompt_cache(path, [cache])
        (loaded,) = package.load_prompt_cache(path)
        package.mx.eval(loaded.state)  # reading is lazy, and the file is about to go
    return loaded


def restored(cache: Any) -> Any:
    """A new cache from the state (and, up to 0.31, the metadata) of another."""
    cache_class = cast("Any", type(cache))  # pyright: ignore[reportUnknownArgumentType]
    if not hasattr(cache_class, "meta_state"):
        return cache_class.from_state(cache.state)
    if hasattr(cache_class, "from_state"):
        return cache_class.from_state(cache.state, cache.meta_state)
    new: Any = object.__new__(cache_class)  # constructors differ in their arguments
    new.state, new.meta_state = cache.state, cache.meta_state
    return new


def exported_rows(cache: Any) -> int:
    """The largest number of rows among the arrays that the cache's state exports."""
    return max((array.shape[2] for array in _arrays(cache.state) if array.ndim == 4), default=0)


def _arrays(tree: Any) -> list[Any]:
    if isinstance(tree, (tuple, list)):
        return [array for part in tree for array in _arrays(part)]  # pyright: ignore[reportUnknownVariableType]
    return [tree] if isinstance(tree, package.mx.array) else []
