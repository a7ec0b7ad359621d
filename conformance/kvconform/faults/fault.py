"""What a catalogued fault is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kvconform_reference.dialect import Dialect, dialect_from

from .planting import Patch

DialectSpec = str | Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A wrong implementation, one decision away from the reference.

    It is caught when a requirement in ``breaks`` fails in a dialect it is wrong in. ``behaves`` names dialect
    parameters that it follows otherwise than it declares; ``patches`` are planted over the reference's seams.
    """

    name: str
    does: str
    """One sentence: what it does where it is wrong."""
    breaks: tuple[str, ...]
    """Requirement ids, the one that it hunts first."""
    seen: str
    """A public report (``B12``), a find of our own (``O2``), or the hazard of the specification."""
    patches: tuple[Patch, ...] = ()
    behaves: Mapping[str, Any] = field(default_factory=dict[str, Any])
    dialects: tuple[DialectSpec, ...] = ("proposal",)
    """The dialects in which it is put to the suite, each by name or spelled out; the first one by default."""

    def declared(self, dialect: DialectSpec | None = None) -> Dialect:
        """What it declares: the dialect asked for, else the first of its own."""
        return dialect_from(self.dialects[0] if dialect is None else dialect)
