"""Cache states: out of a cache, into a new one, and to a file and back.

A state holds the rows a reader gets and nothing beyond the offset (QC-11), with the parameters that restore
the cache (QC-5, KC-6). The file is one JSON object with base64 arrays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from . import caches, protocol, stored_arrays, tensor
from .caches import base

FORMAT = "kvconform-reference-cache"
VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheState:
    """What restores a cache: its kind, parameters, and rows, state arrays or children."""

    kind: str
    parameters: Mapping[str, Any]
    shape: tensor.RowShape | None = None
    """Of the rows; none when the cache was never written."""
    rows: tensor.Rows = tensor.NO_ROWS
    arrays: tuple[tuple[float, ...] | None, ...] = ()
    children: tuple[CacheState, ...] = ()


PARAMETERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        protocol.PLAIN: ("offset",),
        protocol.CHUNKED: ("offset", "chunk_size", "start_position"),
        protocol.ROTATING: ("offset", "max_size", "keep", "oldest"),
        protocol.QUANTIZED: ("offset", "group_size", "bits", "resolver"),
        protocol.RECURRENT: (),
        protocol.COMPOSITE: (),
    }
)
"""The attributes that a state keeps, by kind."""

_MAKERS: Mapping[str, Callable[[CacheState], base.Cache]] = MappingProxyType(
    {
        protocol.PLAIN: lambda _state: caches.PlainCache(),
        protocol.CHUNKED: lambda state: caches.ChunkedCache(chunk_size=state.parameters["chunk_size"]),
        protocol.ROTATING: lambda state: caches.RotatingCache(
            max_size=state.parameters["max_size"], keep=state.parameters["keep"]
        ),
        protocol.QUANTIZED: lambda state: caches.QuantizedCache(
            **{name: state.parameters[name] for name in ("group_size", "bits", "resolver")}
        ),
        protocol.RECURRENT: lambda state: caches.RecurrentCache(slots=len(state.arrays)),
        protocol.COMPOSITE: lambda state: caches.CompositeCache([from_state(s) for s in state.children]),
    }
)


def state_of(cache: Any) -> CacheState:
    """The state of a cache of the reference; a snapshot that later writes do not change."""
    kind = protocol.kind_of(cache)
    if kind not in PARAMETERS:
        raise NotImplementedError(f"a {type(cache).__name__} cannot be saved; save caches of the reference")
    return CacheState(
        kind=kind,
        parameters={name: getattr(cache, name) for name in PARAMETERS[kind]},
        shape=getattr(cache, "shape", None),
        rows=visible_rows(cache),
        arrays=getattr(cache, "arrays", ()),
        children=tuple(state_of(child) for child in protocol.children_of(cache)),
    )


def visible_rows(cache: base.Cache) -> tensor.Rows:
    """The rows that a reader gets; no spare capacity and nothing that was trimmed (QC-11)."""
    return cache.fetch() or tensor.NO_ROWS


def from_state(state: CacheState) -> Any:
    """A new cache in this state; ValueError when the state is not one that a cache can be in."""
    check_parameters(state)
    cache = _MAKERS[state.kind](state)
    for name, value in state.parameters.items():
        setattr(cache, name, value)
    if isinstance(cache, base.RowCache):
        cache.shape, cache.stored = state.shape, state.rows
        check_rows(cache)
        cache.allocate()
    if isinstance(cache, caches.RecurrentCache):
        cache.replace(state.arrays)
    return cache


def check_parameters(state: CacheState) -> None:
    """ValueError unless the state has exactly the parameters of its kind, integers all but the resolver."""
    if state.kind not in PARAMETERS:
        raise ValueError(f"kind {state.kind!r} is not known; it is one of {', '.join(PARAMETERS)}")
    if set(state.parameters) != set(PARAMETERS[state.kind]):
        raise ValueError(
            f"a {state.kind} cache has the parameters {', '.join(PARAMETERS[state.kind]) or 'none'}, "
            f"not {', '.join(state.parameters) or 'none'}; the state is damaged, save the cache again"
        )
    for name, value in state.parameters.items():
        if name != "resolver" and type(value) is not int:
            raise ValueError(
                f"{name} {value!r} of a {state.kind} cache is not an integer; save the cache again"
            )


def check_rows(cache: base.RowCache) -> None:
    """ValueError when rows and offset do not agree; only a rotating cache may hold fewer rows."""
    held, needed = cache.stored.count, cache.offset - cache.start_position
    fewer_allowed = isinstance(cache, caches.RotatingCache)
    if held > needed or (held < needed and not fewer_allowed):
        raise ValueError(
            f"a saved {cache.kind} cache has {held} rows, its offset {cache.offset} needs {needed}; "
            f"the state is damaged, save the cache again"
        )


def save(cache: Any, path: Path) -> None:
    """Write the cache to a file, replacing what is there."""
    document = {"format": FORMAT, "version": VERSION, "cache": to_data(state_of(cache))}
    path.write_text(json.dumps(document), encoding="utf-8")


def load(path: Path) -> Any:
    """The cache that a file holds; ValueError, naming the file, when it is no such file or damaged."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        check_header(document)
        return from_state(from_data(document["cache"]))
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"cannot load a cache from {path}: {reason}") from error


def check_header(document: Any) -> None:
    """ValueError unless this is a file of this format and version."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType]
        raise ValueError(f"it is no {FORMAT} file; give a file that `save` wrote")
    if document.get("version") != VERSION:  # pyright: ignore[reportUnknownMemberType]
        raise ValueError(f"version {document.get('version')!r} is not {VERSION}; save the cache again")  # pyright: ignore[reportUnknownMemberType]


def to_data(state: CacheState) -> dict[str, Any]:
    """The state as JSON-ready data."""
    return {
        "kind": state.kind,
        "parameters": dict(state.parameters),
        "rows": stored_arrays.rows_to_data(state.rows, state.shape, packed=state.kind == protocol.QUANTIZED),
        "arrays": state.arrays,
        "children": [to_data(child) for child in state.children],
    }


def from_data(data: Any) -> CacheState:
    """The state that `to_data` made this of."""
    shape, rows = stored_arrays.rows_from_data(data["rows"], data["parameters"])
    return CacheState(
        kind=data["kind"],
        parameters=data["parameters"],
        shape=shape,
        rows=rows,
        arrays=tuple(None if array is None else tuple(array) for array in data["arrays"]),
        children=tuple(from_data(child) for child in data["children"]),
    )
