"""Short words for layers, steps and turns, as the specification writes them."""

from __future__ import annotations

from typing import Any

Data = dict[str, Any]


def S(length: int, key_dim: int = 64, value_dim: int = 64, **more: Any) -> Data:  # noqa: N802
    return {"kind": "plain", "length": length, "key_dim": key_dim, "value_dim": value_dim, **more}


E = S(0)
Z = S(5, trim=5)
M: Data = {"kind": "recurrent"}


def C(length: int, **more: Any) -> Data:  # noqa: N802
    return {"kind": "chunked", "length": length, **more}


def R(length: int, **more: Any) -> Data:  # noqa: N802
    return {"kind": "rotating", "length": length, **more}


def Q(length: int, **more: Any) -> Data:  # noqa: N802
    return {"kind": "quantized", "length": length, **more}


def L(*children: Data) -> Data:  # noqa: N802
    return {"kind": "composite", "children": list(children)}


def mq(bits: int | None = 4, group_size: int = 64, start: int = 0) -> Data:
    """One pass."""
    return {"do": "pass", "bits": bits, "group_size": group_size, "start": start}


def append(rows: int, **more: Any) -> Data:
    return {"do": "append", "rows": rows, **more}


def op(name: str, **more: Any) -> Data:
    """One operation on a cache."""
    return {"op": name, **more}


def turn(prompt: int = 10, nexts: int = 1, *, more: Data | None = None, **parameters: Any) -> Data:
    return {"prompt": {"length": prompt}, "nexts": nexts, "parameters": parameters, **(more or {})}


def kinds(record: Any, holder: str = "container") -> list[str]:
    """Signatures of what a holder lists: ``S12``, ``Q12:64,4``, ``L`` ..."""
    return [_word(record.objects[number]) for number in record.holders[holder]]


def _word(view: Any) -> str:
    letter = {"plain": "S", "chunked": "C", "rotating": "R", "recurrent": "M", "composite": "L"}
    if view.kind == "quantized":
        return f"Q{view.offset}:{view.group_size},{view.bits}"
    return letter[view.kind] + ("" if view.offset is None else str(view.offset))


def calls(turn_record: Any) -> list[tuple[int, str]]:
    """(tokens, caches) of every model call of a turn."""
    return [(len(e.tokens), " ".join(e.caches)) for e in turn_record.trace if e.event == "call"]


def words(turn_record: Any) -> str:
    """The names of a turn's events."""
    return " ".join(event.event for event in turn_record.trace)
