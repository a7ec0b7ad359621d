"""Layers that hold no rows of their own: recurrent state, and composites of other caches (KC-4, KC-5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from .. import protocol
from . import base

StateArray = tuple[float, ...]
"""A float32 array of shape `[1, 1, n]`."""

FLOAT32_BYTES = 4


class RecurrentCache(base.Cache):
    """Whole state arrays, replaced at every write; no offset, no rows, no trim (KC-4)."""

    kind = protocol.RECURRENT

    def __init__(self, *, slots: int) -> None:
        if slots < 1:
            raise ValueError(f"{slots} slots are too few; a recurrent cache has at least one")
        self.arrays: tuple[StateArray | None, ...] = (None,) * slots

    def replace(self, arrays: Sequence[StateArray | None]) -> None:
        """Put new arrays into all slots."""
        if len(arrays) != len(self.arrays):
            raise ValueError(f"{len(arrays)} arrays for {len(self.arrays)} slots; give one a slot")
        self.arrays = tuple(arrays)

    @property
    def empty(self) -> bool:
        return all(array is None for array in self.arrays)

    @property
    def nbytes(self) -> int:
        return sum(FLOAT32_BYTES * len(array) for array in self.arrays if array is not None)


class CompositeCache(base.Cache):
    """Caches in one list entry; reads and writes go to the children (KC-5)."""

    kind = protocol.COMPOSITE

    def __init__(self, children: Sequence[Any]) -> None:
        self._children: tuple[Any, ...] = tuple(children)

    @property
    def children(self) -> tuple[Any, ...]:
        return self._children

    def replace_child(self, index: int, child: Any) -> None:
        """Put another cache into one slot (MQ-10)."""
        children = list(self._children)
        children[index] = child
        self._children = tuple(children)

    def trim(self, rows: int) -> int:
        """Trims every child, if all can be; how many rows the last one gave up (they are in step)."""
        return [child.trim(rows) for child in self._children][-1] if self.trimmable else 0

    @property
    def trimmable(self) -> bool:
        return all(child.trimmable for child in self._children)

    @property
    def empty(self) -> bool:
        return all(child.empty for child in self._children)

    @property
    def nbytes(self) -> int:
        return sum(child.nbytes for child in self._children)

    def copy(self) -> Self:
        twin = super().copy()
        twin._children = tuple(child.copy() for child in self._children)
        return twin
