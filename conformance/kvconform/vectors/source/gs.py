"""Group-size resolution: the table of section 1, and what lies next to its rows."""

from __future__ import annotations

from .words import Source, resolve, vector

NEAREST = "proposal mlx-swift-lm mlx-swift-lm-3.31.4"


def _table() -> tuple[Source, ...]:
    rows = (
        ("64-64-64", 64, 64, 64, "GS-3 GS-8", "a compatible request is taken as it is"),
        ("64-96-96", 64, 96, 96, "GS-3", "the default of 64 handed to the quantizer although 96 needs 32"),
        ("128-96-96", 128, 96, 96, "GS-3", "128 handed on although only 32 divides 96"),
        ("48-128-128", 48, 128, 128, "GS-4", "a tie between 32 and 64 that goes to the larger size"),
        ("96-128-128", 96, 128, 128, "GS-4", "a tie between 64 and 128 that goes to the larger size"),
        ("any-80-80", 64, 80, 80, "GS-2", "a head dim without a size that still gets one, or a crash"),
    )
    return tuple(
        vector(f"gs-table-{name}", ids, comment, resolve(requested, key, value), dialects=NEAREST)
        for name, requested, key, value, ids, comment in rows
    )


VECTORS = _table()
