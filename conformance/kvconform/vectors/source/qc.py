"""The quantized cache (section 13)."""

from __future__ import annotations

from .words import Q, S, cache, op, vector

VECTORS = (
    vector(
        "qc-convert-then-append",
        "QC-2 MQ-5",
        "rows appended after a conversion that are quantized otherwise than those converted",
        cache(S(3, 32), op("convert", bits=4, group_size=32), op("append", rows=2, salt=1), content=True),
    ),
    vector(
        "qc-trim-then-append",
        "QC-4",
        "a trim that leaves the old rows to be seen behind the next write",
        cache(
            Q(6, 32, 8, key_dim=32),
            op("trim", rows=2),
            op("append", rows=1, salt=7),
            op("trim", rows=99),
            content=True,
        ),
    ),
)
