"""Why requirements are not simply passed: what is excused, and what was not judged, in a few short lines."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from .verdict import RequirementVerdict, Verdict

WIDTH = 100
"""Columns of these lines: a list that one skims."""


def known_lines(verdict: Verdict, *, width: int = WIDTH) -> list[str]:
    """The known failures: a requirement a line, with the reason that the file gives first."""
    known = [r for r in verdict.requirements if r.outcome == "known failure"]
    if not known:
        return []
    lines = [_known_line(requirement, _excuses(verdict, requirement), width) for requirement in known]
    return ["known failures (whole with --known-failures none):", *lines]


def unjudged_lines(verdict: Verdict, *, width: int = WIDTH) -> list[str]:
    """Why requirements were not judged: a line a sort of reason, such as what is not declared."""
    groups: dict[str, list[str]] = {}
    for reason, count in unjudged_reasons(verdict):
        sort, _, rest = reason.partition(": ")
        rest = rest.replace("feature ", "")  # of nearly all that is not declared
        groups.setdefault(sort, []).append(f"{rest} ({count})" if rest else f"({count})")
    return [_fitting(f"not judged, {sort}:", reasons, width) for sort, reasons in groups.items()]


def unjudged_reasons(verdict: Verdict) -> list[tuple[str, int]]:
    """Why something was not judged and how often that was the reason, the most frequent first."""
    unjudged = [r for r in verdict.requirements if r.outcome in ("unsupported", "not run")]
    return Counter(requirement.message or requirement.outcome for requirement in unjudged).most_common()


def _known_line(requirement: RequirementVerdict, reasons: Sequence[str], width: int) -> str:
    head = f"  {requirement.listed.id:<5} "
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    first = reasons[0] if reasons else requirement.message
    return head + textwrap.shorten(first, width - len(head) - len(more), placeholder=" ...") + more


def _excuses(verdict: Verdict, requirement: RequirementVerdict) -> list[str]:
    """The reasons of the entries that matched, in the order of the file."""
    known = verdict.log.header.known if verdict.log.header else ()
    numbers = {number for result in requirement.results for number in result.matched}
    return [known[number].reason for number in sorted(numbers)]


def _fitting(head: str, reasons: Sequence[str], width: int) -> str:
    """As many reasons as fit on the line, at least one, and how many others there are."""
    line = f"{head} {reasons[0]}"
    for at, reason in enumerate(reasons[1:], start=1):
        left = len(reasons) - at
        if len(f"{line}, {reason}") > width - len(f" and {left} more reasons"):
            return f"{line} and {left} more reason{'s' * (left > 1)}"
        line += f", {reason}"
    return line
