"""What a process says, made fit for a terminal and a report: it may hold anything."""

from __future__ import annotations

import re

LONGEST = 4000
"""Characters of a message: a stack trace fits, a dump of a tensor does not."""

_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def readable(text: str, *, longest: int = LONGEST) -> str:
    """The text without colours, with other control characters spelled out, cut where it is too long."""
    shown = "".join(map(_shown, _COLOURS.sub("", text[: 2 * longest])))
    return shown if len(text) <= longest else f"{shown[:longest]}… ({len(text)} characters)"


def is_readable(text: str) -> bool:
    """Whether all of it can be printed on one line."""
    return text.isprintable()


def _shown(character: str) -> str:
    keeps = character in "\n\t" or ord(character) >= 160 or character.isprintable()
    return character if keeps else repr(character)[1:-1]
