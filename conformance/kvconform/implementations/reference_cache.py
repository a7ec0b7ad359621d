"""`cache` scenarios on the reference: operations on one cache, and what each cache object shows then."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kvconform_reference import policy, protocol, storage
from kvconform_reference.dialect import Dialect

from ..observation import CacheObservation, OperationRecord, StepError
from ..scenario import Append, CacheScenario, Convert, Operation, Select, Trim
from . import reference_layers as layers
from . import reference_looks as looks
from .refusals import step_error


def run_cache(scenario: CacheScenario, dialect: Dialect) -> CacheObservation:
    """One record for the fresh cache, then one per operation."""
    bench = _Bench(scenario, dialect)
    records = [bench.record()]
    records.extend([bench.attempt(operation) for operation in scenario.operations])
    return CacheObservation(records=tuple(records))


class _Bench:
    """The cache under test and everything that came out of it."""

    def __init__(self, scenario: CacheScenario, dialect: Dialect) -> None:
        (slot,) = layers.number_layers((scenario.layer,))
        self._dialect = dialect
        self._registry = looks.Registry(scenario.observe)
        self._slots: dict[int, layers.LayerSlot] = {}
        self._current: Any = None
        self._make_current(layers.build_layer(slot, dialect), slot)

    def record(self, *, result: int | None = None, error: StepError | None = None) -> OperationRecord:
        """What an operation gave, and a look at every object."""
        current = self._registry.meet(self._current)
        return OperationRecord(error=error, result=result, current=current, objects=self._registry.views())

    def attempt(self, operation: Operation) -> OperationRecord:
        """Does one operation and records it; an error is recorded too."""
        try:
            return self.record(result=OPERATIONS[operation.op](self, operation))
        except Exception as error:
            return self.record(error=step_error(error))

    def append(self, operation: Append) -> int | None:
        """The rows that the reader gets back from the write."""
        return layers.write_rows(self._slot(), self._current, operation.rows, salt=operation.salt)

    def trim(self, operation: Trim) -> int:
        """The rows trimmed."""
        return self._current.trim(operation.rows)

    def convert(self, operation: Convert) -> None:
        """Convert directly; refused for what is not quantizable in this dialect (QP-1)."""
        if not policy.is_quantizable(self._current, self._dialect):
            raise NotImplementedError(
                f"a {protocol.kind_of(self._current)} cache is not quantizable; convert a plain one. QP-1"
            )
        options = (operation.group_size, operation.bits)
        self._make_current(policy.convert_layer(self._current, *options, self._dialect), self._slot())

    def copy(self, _operation: Operation) -> None:
        """Copy the way Python copies an object."""
        self._make_current(copy.copy(self._current), self._slot())

    def save_and_load(self, _operation: Operation) -> int | None:
        """Through a file; the most rows in one saved array."""
        with tempfile.TemporaryDirectory(prefix="kvconform-") as folder:
            path = Path(folder) / "cache.json"
            storage.save(self._current, path)
            loaded = storage.load(path)
        return self._replace(loaded)

    def state_round_trip(self, _operation: Operation) -> int | None:
        """State out, state into a new cache; the most rows in one exported array."""
        return self._replace(storage.from_state(storage.state_of(self._current)))

    def drop_front(self, _operation: Operation) -> None:
        """Chunked caches only."""
        kind = protocol.kind_of(self._current)
        if kind != protocol.CHUNKED:
            raise NotImplementedError(f"a {kind} cache cannot drop its front; use a chunked one. KC-3")
        self._current.drop_front()

    def select(self, operation: Select) -> None:
        """Go back to an earlier cache."""
        if operation.cache not in self._slots:
            raise ValueError(f"there is no cache {operation.cache}; they are 0 to {len(self._slots) - 1}")
        self._current = self._registry.objects[operation.cache]

    def _slot(self) -> layers.LayerSlot:
        return self._slots[self._registry.meet(self._current)]

    def _replace(self, successor: Any) -> int | None:
        exported = exported_rows(self._current)
        self._make_current(successor, self._slot())
        return exported

    def _make_current(self, cache: Any, slot: layers.LayerSlot) -> None:
        self._current = cache
        self._keep_slot(cache, slot)

    def _keep_slot(self, cache: Any, slot: layers.LayerSlot) -> None:
        self._slots.setdefault(self._registry.meet(cache), slot)
        for child, child_slot in zip(protocol.children_of(cache), slot.children, strict=False):
            self._keep_slot(child, child_slot)


OPERATIONS: dict[str, Callable[[_Bench, Any], int | None]] = {
    "append": _Bench.append,
    "trim": _Bench.trim,
    "convert": _Bench.convert,
    "copy": _Bench.copy,
    "save-load": _Bench.save_and_load,
    "state": _Bench.state_round_trip,
    "drop-front": _Bench.drop_front,
    "select": _Bench.select,
}


def exported_rows(cache: Any) -> int | None:
    """Rows in each array of the exported state; none for a cache without rows of its own."""
    if protocol.kind_of(cache) in (protocol.RECURRENT, protocol.COMPOSITE):
        return None
    return storage.state_of(cache).rows.count
