"""What the user did wrong, as one exception: a clear line and an exit code instead of a traceback."""

from __future__ import annotations

CONFORMING, FAILED, USAGE, BROKEN, STALE, NOTHING, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
"""The exit codes of ``docs/cli.md``."""

PRECEDENCE = (USAGE, BROKEN, FAILED, STALE, NOTHING)
"""When several apply, the first of these wins."""


class UserError(Exception):
    """Something only the user can put right.

    The message has three parts: what is wrong with which value, where, and what to do next.
    """

    def __init__(self, message: str, *, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code


def worst_code(codes: list[int]) -> int:
    """The exit code of several things that went together."""
    if INTERRUPTED in codes:
        return INTERRUPTED
    return next((code for code in PRECEDENCE if code in codes), CONFORMING)


def near_matches(wrong: str, known: list[str], *, limit: int = 3) -> str:
    """``; near are A, B`` or an empty string, for the end of a message about an unknown name."""
    import difflib

    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(wrong.casefold(), list(folded), n=limit, cutoff=0.5)
    return f"; near are {', '.join(folded[name] for name in close)}" if close else ""
