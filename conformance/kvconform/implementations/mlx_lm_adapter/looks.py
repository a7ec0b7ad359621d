"""Looks: what a cache object shows, and the numbers that stand for identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...observation import ObjectView, Packed
from ...scenario import Observe, Tensor
from . import content, layers
from .package import mx


class Registry:
    """Numbers every cache object that is met, and keeps it alive so that the number stays its own."""

    def __init__(self, observe: Observe) -> None:
        self.objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._observe = observe

    def meet(self, cache: Any) -> int:
        """The object's number; a new object gets the next one, then its new children get theirs."""
        found = self._numbers.get(id(cache))
        if found is None:
            found = self._numbers[id(cache)] = len(self.objects)
            self.objects.append(cache)
        for child in children(cache):
            self.meet(child)
        return found

    def meet_all(self, caches: Iterable[Any]) -> tuple[int, ...]:
        """The numbers of a list's layers."""
        return tuple(self.meet(cache) for cache in caches)

    def views(self) -> tuple[ObjectView, ...]:
        """A look at every object met so far, by number."""
        if (
            self._observe.content
        ):  # at once, because each evaluation on its own costs a wake-up of MLX's thread
            mx.eval([_buffers(cache) for cache in self.objects])
        return tuple(look(cache, self._observe, self.meet) for cache in self.objects)


def _buffers(cache: Any) -> tuple[Any, Any] | None:
    keys = getattr(cache, "keys", None)
    return None if keys is None else (keys, cache.values)


def children(cache: Any) -> tuple[Any, ...]:
    """The caches that a composite holds; none for every other kind."""
    return tuple(cache.caches) if layers.kind_of(cache) == "composite" else ()


def look(cache: Any, observe: Observe, meet: Callable[[Any], int]) -> ObjectView:
    """What ``cache`` shows now. A field whose look raises is null and named in ``errors``."""
    looker = _Looker(cache)
    kind = looker.kind
    fields: dict[str, Any] = {"kind": kind, "offset": looker.ask("offset", lambda: layers.offset(cache))}
    if kind == "recurrent":
        fields["state"] = looker.ask("state", lambda: _state(cache))
    elif kind == "composite":
        fields["children"] = tuple(meet(child) for child in cache.caches)
    else:
        fields |= _row_fields(looker, observe)
    if observe.accounting:
        fields |= _accounting(looker)
    return ObjectView(**fields, errors=looker.errors or None)


class _Looker:
    """One object under observation, and the looks at it that raised."""

    def __init__(self, cache: Any) -> None:
        self.cache = cache
        self.cache_class: type = type(cache)
        self.kind = layers.kind_of(cache)
        self.errors: dict[str, str] = {}

    def ask(self, field: str, question: Callable[[], Any]) -> Any:
        """The answer, or None with the error kept under ``field``."""
        try:
            return question()
        except Exception as error:
            self.errors[field] = f"{type(error).__name__}: {error}"
            return None


def _state(cache: Any) -> tuple[int, ...] | None:
    values = [layers.slot_value(array) for array in cache.cache]
    return None if None in values else tuple(value for value in values if value is not None)


# ---------------------------------------------------------------- rows


def _row_fields(looker: _Looker, observe: Observe) -> dict[str, Any]:
    cache = looker.cache
    rows = looker.ask("rows", lambda: rows_of(cache))
    fields: dict[str, Any] = {
        "rows": rows,
        "key_dim": looker.ask("key_dim", lambda: _dim(cache, cache.keys)),
        "value_dim": looker.ask("value_dim", lambda: _dim(cache, cache.values)),
    }
    if looker.kind == "quantized":
        fields |= {"group_size": cache.group_size, "bits": cache.bits}
    if looker.kind == "chunked":
        fields["start_position"] = cache.start_position
    if observe.content and rows:
        fields["keys"] = looker.ask("keys", lambda: _rows(cache.keys, rows))
        fields["values"] = looker.ask("values", lambda: _rows(cache.values, rows))
    return fields


def rows_of(cache: Any) -> int:
    """Rows a reader gets: what slicing the buffer at the offset (chunked: at the rows held) leaves."""
    if cache.keys is None:
        return 0
    held = cache.offset - getattr(cache, "start_position", 0)
    return len(range(layers.buffers(cache.keys)[0].shape[2])[:held])


def _dim(cache: Any, side: Any) -> int | None:
    """Head dim of a side; of a quantized one, as its scales say it."""
    if side is None:
        return None
    parts = layers.buffers(side)
    return parts[0].shape[-1] if len(parts) == 1 else parts[1].shape[-1] * cache.group_size


def _rows(side: Any, rows: int) -> Tensor | Packed:
    tensors = [content.rows_to_tensor(array, rows) for array in layers.buffers(side)]
    return (
        tensors[0] if len(tensors) == 1 else Packed(packed=tensors[0], scales=tensors[1], biases=tensors[2])
    )


# ---------------------------------------------------------------- accounting


def _accounting(looker: _Looker) -> dict[str, Any]:
    cache = looker.cache
    return {
        "nbytes": _reported(looker, "nbytes", lambda: int(cache.nbytes)),
        "size": _reported(looker, "size", lambda: int(cache.size())),
        "empty": _reported(looker, "empty", lambda: bool(cache.empty())),
        "trimmable": _reported(looker, "trimmable", lambda: bool(cache.is_trimmable()), name="is_trimmable"),
    }


def _reported(looker: _Looker, field: str, question: Callable[[], Any], *, name: str = "") -> Any:
    """None without an error when the class has no such quantity (older versions)."""
    return looker.ask(field, question) if hasattr(looker.cache_class, name or field) else None
