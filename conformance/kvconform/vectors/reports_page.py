"""``docs/reports.md``: every public report with the vectors, properties and faults that cover its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..faults import catalogued
from .reports import REPORTS, Report
from .source import all_sources

INTRO = """# Public reports

Bugs that people have met in quantized KV caches and token iterators, of this and of other projects. What
matters is the *kind* of bug: next to each report stand the [vectors](vectors.md) taken from it, the
[requirements](requirements.md) whose generated checks cover the rest of its kind, and the [faults](faults.md)
that plant it. What no scenario can express yet says so.
"""


def reports_page() -> str:
    """The text of the page, kind by kind."""
    kinds = dict.fromkeys(report.kind for report in REPORTS.values())
    sections = [section for kind in kinds for section in _sections(kind)]
    return "\n".join([INTRO, _counts(), *sections])


def covering_vectors(key: str) -> list[str]:
    """Ids of the sources that name a report."""
    return [source.id for source in all_sources() if key in source.reports]


def covering_faults(report: Report) -> list[str]:
    """Names of the faults that were seen in a report."""
    label = re.compile(rf"\b{report.label}\b")
    return [name for name, fault in catalogued().items() if label.search(fault.seen)]


def _counts() -> str:
    public = [report for report in REPORTS.values() if report.url]
    open_ones = sum(bool(report.not_covered) for report in public)
    return (
        f"{len(public)} reports; of {open_ones} something is not covered yet. "
        "A vector stands here by the id it was written under, without its siblings for other dialects.\n"
    )


def _sections(kind: str) -> Iterator[str]:
    yield f"## {kind[0].upper()}{kind[1:]}\n"
    for key, report in REPORTS.items():
        if report.kind == kind:
            link = f" [{key}]({report.url})" if report.url else ""
            yield f"**{report.label}**{link}: {report.fault}\n"
            yield "\n".join(_coverage(key, report)) + "\n"


def _coverage(key: str, report: Report) -> Iterator[str]:
    lists = {
        "vectors": covering_vectors(key),
        "properties": list(report.requirements),
        "faults": covering_faults(report),
    }
    for name, found in lists.items():
        if found:
            yield f"- {name}: {', '.join(f'`{one}`' for one in found)}"
    if report.not_covered:
        yield f"- not covered yet: {report.not_covered}"
