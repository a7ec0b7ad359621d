"""Looks at the reference's caches: what an object shows, and the numbers that stand for identity.

Meaning: ``docs/scenarios.md`` section 3. Equal looks are one frozen view, which keeps looking cheap.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from kvconform_reference import caches, protocol, stored_arrays, tensor

from ..observation import ObjectView, Packed
from ..scenario import Observe, Tensor

Question = Callable[[Any], Any]
KNOWN_VIEWS = 16384
"""Views kept, about 1 kB each."""


class Registry:
    """Numbers every cache object that is met, and keeps it alive so that the number stays its own."""

    def __init__(self, observe: Observe, *, on_new: Callable[[Any], None] | None = None) -> None:
        self.objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._observe = observe
        self._on_new = on_new
        self._any_composite = False

    def meet(self, cache: Any) -> int:
        """The object's number; a new object gets the next one, then its new children get theirs."""
        number = self._numbers.get(id(cache))
        if number is None:
            number = self._add(cache)
        if self._any_composite:
            for child in protocol.children_of(cache):
                self.meet(child)
        return number

    def meet_all(self, layers: Iterable[Any]) -> tuple[int, ...]:
        """The numbers of a list's layers."""
        return tuple([self.meet(layer) for layer in layers])

    def views(self) -> tuple[ObjectView, ...]:
        """A look at every object met so far, by number."""
        return tuple([look(cache, self._observe, self.meet) for cache in self.objects])

    def _add(self, cache: Any) -> int:
        number = self._numbers[id(cache)] = len(self.objects)
        self.objects.append(cache)
        if protocol.kind_of(cache) == protocol.COMPOSITE:
            self._any_composite = True
        if self._on_new is not None:
            self._on_new(cache)
        return number


def meet_holders(registry: Registry, holders: Mapping[str, Sequence[Any]]) -> dict[str, tuple[int, ...]]:
    """Every holder's layers by number; new objects are numbered in the order of the holders."""
    return {name: registry.meet_all(layers) for name, layers in holders.items()}


def look(cache: Any, observe: Observe, meet: Callable[[Any], int]) -> ObjectView:
    """What the cache shows now. A field whose look raises is null and named in ``errors``."""
    kind = protocol.kind_of(cache)
    view = plain_look(cache, kind, observe)
    if kind == protocol.COMPOSITE:
        children = tuple([meet(child) for child in protocol.children_of(cache)])
        return view.model_copy(update={"children": children})
    return view


def plain_look(cache: Any, kind: str, observe: Observe) -> ObjectView:
    """The look at one object by itself."""
    questions = questions_for(kind, observe.accounting)
    try:
        view = view_of(kind, observe.accounting, tuple([ask(cache) for ask in questions.values()]))
        return view.model_copy(update=content_of(cache)) if observe.content and view.rows else view
    except Exception:
        return careful_look(cache, kind, questions, observe)


@lru_cache(maxsize=KNOWN_VIEWS)
def view_of(kind: str, accounting: bool, answers: tuple[Any, ...]) -> ObjectView:
    """The view with these answers to the questions that are asked of the kind."""
    return ObjectView(kind=kind, **dict(zip(questions_for(kind, accounting), answers, strict=True)))


def careful_look(cache: Any, kind: str, questions: Mapping[str, Question], observe: Observe) -> ObjectView:
    """One question after the other, errors kept by field: for a cache that does not answer all."""
    fields: dict[str, Any] = {}
    errors: dict[str, str] = {}
    if observe.content and kind in ROW_KINDS:
        questions = {**questions, "keys": _keys, "values": _values}
    for name, ask in questions.items():
        try:
            fields[name] = ask(cache)
            ObjectView(kind=kind, **{name: fields[name]})
        except Exception as error:
            fields[name] = None
            errors[name] = f"{type(error).__name__}: {error}"
    return ObjectView(kind=kind, **fields, errors=errors or None)


# ---------------------------------------------------------------- what is asked of each kind


def _state(cache: caches.RecurrentCache) -> tuple[int, ...] | None:
    return None if cache.empty else tuple([int(array[0]) for array in cache.arrays if array is not None])


ROW_KINDS = (protocol.PLAIN, protocol.CHUNKED, protocol.ROTATING, protocol.QUANTIZED)
_OF_ROWS = ("offset", "rows", "key_dim", "value_dim")
_SHOWN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        protocol.PLAIN: _OF_ROWS,
        protocol.ROTATING: _OF_ROWS,
        protocol.CHUNKED: (*_OF_ROWS, "start_position"),
        protocol.QUANTIZED: (*_OF_ROWS, "group_size", "bits"),
        protocol.RECURRENT: ("offset", "state"),
        protocol.COMPOSITE: ("offset",),
    }
)
_ACCOUNTED = ("nbytes", "size", "empty", "trimmable")
_ASK: Mapping[str, Question] = MappingProxyType({"state": _state, "size": attrgetter("rows")})


@lru_cache(maxsize=32)
def questions_for(kind: str, accounting: bool) -> Mapping[str, Question]:
    """The fields that a look at this kind fills, each with the question that answers it."""
    names = _SHOWN.get(kind, ()) + (_ACCOUNTED if accounting and kind in _SHOWN else ())
    return MappingProxyType({name: _ASK.get(name) or attrgetter(name) for name in names})


# ---------------------------------------------------------------- content


def content_of(cache: Any) -> dict[str, Tensor | Packed]:
    """Keys and values, exactly the rows that a reader gets, in the reader's order."""
    return {"keys": _keys(cache), "values": _values(cache)}


def _keys(cache: Any) -> Any:
    return _side(cache, tensor.KEYS)


def _values(cache: Any) -> Any:
    return _side(cache, tensor.VALUES)


def _side(cache: Any, role: int) -> Tensor | Packed | None:
    rows, shape = cache.fetch(), cache.shape
    if rows is None or not rows.count:
        return None
    leading = (1, shape.heads, rows.count)
    if protocol.kind_of(cache) != protocol.QUANTIZED:
        return encoded(shape.dtype, (*leading, shape.dim(role)), tensor.row_bytes(rows, role, shape.heads))
    arrays = stored_arrays.packed_bytes(rows, role, shape.heads)
    words, groups = shape.dim(role) * cache.bits // 32, shape.dim(role) // cache.group_size
    return Packed(
        packed=encoded("uint32", (*leading, words), arrays.packed),
        scales=encoded(shape.dtype, (*leading, groups), arrays.scales),
        biases=encoded(shape.dtype, (*leading, groups), arrays.biases),
    )


def encoded(dtype: Any, shape: tuple[int, ...], data: bytes) -> Tensor:
    """A tensor of the wire from little-endian bytes."""
    return Tensor(dtype=dtype, shape=shape, data=base64.b64encode(data).decode("ascii"))
