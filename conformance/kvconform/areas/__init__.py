"""The checks, one module an area: which scenarios could break a requirement, and who judges the answers."""

from __future__ import annotations
