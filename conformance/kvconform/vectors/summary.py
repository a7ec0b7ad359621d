"""What is said at the end of a check of vectors."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ..report.failure import render_failure
from ..report.reasons import unjudged_reasons
from ..report.table import COLUMNS, not_judged, tally_text
from ..report.verdict import Verdict

LEGEND = f"{COLUMNS}, counted in vectors"


def failures(verdict: Verdict) -> Iterator[str]:
    """Every failure as text, each with the command that shows it again."""
    command = f"kvconform vectors check {shlex.quote(verdict.implementation.spec)}"
    for vector in verdict.failures:
        if vector.deciding is not None:
            again = f"  again     {command} --vector {vector.listed.id}"
            yield f"{render_failure(vector.deciding, vector.listed)}\n{again}"


def closing_lines(verdict: Verdict) -> list[str]:
    """Counts, why vectors were not judged, stale known failures."""
    subject, header = verdict.implementation, verdict.log.header
    if header is None:
        message = verdict.log.broken.message if verdict.log.broken else "nothing was asked"
        return [not_judged(subject.name, message)]
    name = f"{subject.name} {subject.version or ''}".rstrip()
    dialect = subject.dialect if isinstance(subject.dialect, str) else "of its own"
    return [
        f"{name}, dialect {dialect}: {tally_text(verdict, 'vector')}",
        *(f"not judged: {reason} ({count})" for reason, count in unjudged_reasons(verdict)),
        *(f"note: {note}" for note in verdict.notes),
        *(
            f"known failure is stale: {entry.key}: {entry.reason}. Take it out of {header.known_source}."
            for entry in verdict.stale
        ),
    ]
