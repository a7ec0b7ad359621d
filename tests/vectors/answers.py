"""Short forms of recorded answers, to be compared with what the specification says in words."""

from __future__ import annotations

from typing import Any

from kvconform.vectors import library

LETTERS = {
    "plain": "S",
    "chunked": "C",
    "rotating": "R",
    "recurrent": "M",
    "composite": "L",
    "quantized": "Q",
}


def expected(name: str) -> Any:
    """The recorded answer of a vector."""
    return library.all_vectors()[name].expected


def layers(name: str, *, step: int = -1, holder: str = "container") -> str:
    """What a holder lists after a step, such as ``Q12:64,4 S3 L(M,S)``."""
    record = expected(name).steps[step]
    return " ".join(_word(record.objects, number) for number in record.holders[holder])


def _word(objects: Any, number: int) -> str:
    view = objects[number]
    inner = ",".join(_word(objects, child) for child in view.children or ())
    word = LETTERS[view.kind] + (f"({inner})" if inner else "")
    word += "" if view.offset is None else str(view.offset)
    return word + (f":{view.group_size},{view.bits}" if view.kind == "quantized" else "")


def numbers(name: str, *, step: int = -1, holder: str = "container") -> tuple[int, ...]:
    """The ids of what a holder lists after a step."""
    return expected(name).steps[step].holders[holder]


def returned(name: str) -> list[bool | None]:
    """What each step answered."""
    return [record.returned for record in expected(name).steps[1:]]


def failed(name: str) -> list[int]:
    """Numbers of the steps that raised, the first step being 1."""
    return [number for number, record in enumerate(expected(name).steps) if record.error]


def calls(name: str, *, turn: int = 0) -> str:
    """Lengths of the model calls with the kind of the first layer: ``10S 1Q 1Q``."""
    made = [event for event in expected(name).turns[turn].trace if event.event == "call"]
    return " ".join(f"{len(call.tokens)}{call.caches[0][0] if call.caches else '-'}" for call in made)


def events(name: str, *, turn: int = 0) -> str:
    """The events of a turn."""
    return " ".join(event.event for event in expected(name).turns[turn].trace)


def tokens(name: str, event: str = "token", *, turn: int = 0) -> list[int]:
    """The tokens of all events of a kind."""
    return [one.token for one in expected(name).turns[turn].trace if one.event == event]


def offsets(name: str, *, turn: int = 0) -> list[tuple[int | None, ...]]:
    """What each call found."""
    return [event.offsets for event in expected(name).turns[turn].trace if event.event == "call"]
