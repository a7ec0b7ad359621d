"""Public reports of bugs, and what of this project covers the kind of each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Report:
    """One public report."""

    url: str


REPORTS: dict[str, Report] = {}
