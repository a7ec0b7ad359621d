"""The settings that are compared: bits, group size and start, each of them against full precision."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import product

from ..errors import UserError


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One way to quantize: what a user asks for."""

    bits: int
    group_size: int = 64
    start: int = 0

    def __str__(self) -> str:
        begin = f", start {self.start}" if self.start else ""
        return f"{self.bits} bits, group size {self.group_size}{begin}"


def settings_of(
    bits: Collection[int], group_sizes: Collection[int], starts: Collection[int]
) -> tuple[Setting, ...]:
    """Every combination, in the order they are given, group sizes changing fastest but for starts."""
    return tuple(
        Setting(bits=each, group_size=size, start=start)
        for each, size, start in product(bits, group_sizes, starts)
    )


def numbers(
    text: str, *, option: str, minimum: int = 0, allowed: Collection[int] | None = None
) -> tuple[int, ...]:
    """The numbers of ``8,6,4``, each once. UserError, naming the option, for anything else."""
    found = dict.fromkeys(_number(word, text, option) for word in text.split(","))
    for number in found:
        if allowed is not None and number not in allowed:
            choices = ", ".join(map(str, sorted(allowed)))
            raise UserError(f"{option} {text}: {number} is not supported. Give some of {choices}.")
        if number < minimum:
            raise UserError(f"{option} {text}: {number} is below {minimum}. Give {minimum} or more.")
    return tuple(found)


def _number(word: str, text: str, option: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise UserError(
            f"{option} {text}: {word.strip()!r} is not a number. Give numbers with commas between."
        ) from None
