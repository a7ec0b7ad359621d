"""The outcomes of a check and of a requirement: the strings of every report, and how they add up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Outcome = Literal[
    "pass",
    "fail",
    "error",
    "crash",
    "timeout",
    "protocol",
    "unsupported",
    "known failure",
    "unexpected pass",
    "not run",
]

WORST_FIRST: tuple[Outcome, ...] = (
    "crash",
    "timeout",
    "protocol",
    "error",
    "fail",
    "unexpected pass",
    "known failure",
    "pass",
    "unsupported",
    "not run",
)
"""A requirement has the worst outcome of its checks. ``pass`` beats ``unsupported``: it was judged."""

ERRORS: frozenset[Outcome] = frozenset({"crash", "timeout", "protocol", "error"})
"""Outcomes that say: there is no answer to judge."""

FAILURES: frozenset[Outcome] = frozenset({*ERRORS, "fail"})
"""Outcomes that say: the implementation did not do what the requirement asks."""

_NO_FAILURES: frozenset[Outcome] = frozenset({"pass", "known failure", "unexpected pass"})

JUDGED: frozenset[Outcome] = FAILURES | _NO_FAILURES
"""Outcomes that say: the requirement was put to the test."""

ANSWERED: frozenset[Outcome] = JUDGED - ERRORS
"""Outcomes that say: there were answers, and they were judged."""


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The worst of some outcomes; ``not run`` when there is none."""
    ordered = sorted(outcomes, key=WORST_FIRST.index)
    return ordered[0] if ordered else "not run"
