"""The threshold (section 4)."""

from __future__ import annotations

from .words import CURRENT, E, M, Q, R, S, append, container, free, mq, vector

VECTORS = (
    *(
        vector(
            f"th-offset-10-start-{start}",
            "TH-1",
            "off by one at the line: greater where at least is declared, or the other way round",
            free(S(10), steps=[mq(start=start)]),
            reports="mlx-swift-examples#334",
        )
        for start in (9, 10, 11)
    ),
    *(
        vector(
            f"th-growth-boundary-{rows}",
            "TH-1",
            "the line is missed where it falls on a boundary of the buffer",
            free(S(rows), steps=[mq(start=256)]),
        )
        for rows in (255, 256, 257)
    ),
    *(
        vector(
            f"th-start-{name}",
            "TH-1",
            "a start in a narrow integer wraps to one below the rows",
            free(S(5), steps=[mq(start=start)]),
        )
        for name, start in (("2-to-the-31", 2**31), ("beyond-2-to-the-32", 2**32 + 1))
    ),
    vector(
        "th-empty-at-zero",
        "TH-2 MQ-8",
        "whether an empty layer is over a line at 0 differs from what is declared",
        container(E, steps=[mq(), append(1), mq()]),
    ),
    vector(
        "th-negative-start",
        "TH-3",
        "a negative start is taken for none, or refused where it is declared to mean everything",
        free(S(1), steps=[mq(start=-1)]),
    ),
    vector(
        "th-negative-start-empty",
        "TH-3",
        "an empty layer does not count as over a negative line",
        free(E, S(3), steps=[mq(start=-5), append(1)]),
    ),
    vector(
        "th-negative-start-all-empty",
        "TH-3 MQ-8 MQ-15",
        "an empty layer does not qualify at a negative start",
        free(E, steps=[mq(start=-1)]),
    ),
    vector(
        "th-incompatible-triggers",
        "TH-4 MQ-9",
        "only compatible layers are asked for the trigger",
        free(S(3), S(12, 80), steps=[mq(start=10)]),
        dialects="proposal mlx-swift-lm mlx-swift-lm-3.31.4",
    ),
    vector(
        "th-rotating-first",
        "TH-4 TH-5",
        "a rotating layer over the line triggers, or does not where layer 0 of any kind decides",
        free(R(12), S(3), steps=[mq(start=10)]),
        dialects="proposal mlx-lm-0.28 mlx-lm-0.26 mlx-swift-lm mlx-swift-lm-3.31.4",
    ),
    vector(
        "th-quantized-never-triggers",
        "TH-5 MQ-2",
        "the offset of a layer that is quantized already starts a conversion of the others",
        free(S(3), Q(50), M, steps=[mq(start=10)]),
    ),
    vector(
        "th-crossed-by-append",
        "TH-1 CT-8",
        "the offset is read once, before the rows that cross the line are written",
        container(
            S(0), S(0), steps=[append(9), mq(start=10), append(1), mq(start=10), append(1), mq(start=10)]
        ),
        dialects=CURRENT,
        reports="mlx-vlm#1582",
    ),
    vector(
        "th-far-start",
        "TH-1 MQ-2",
        "the line is ignored and everything is quantized from the first token on",
        free(S(10), S(10), steps=[mq(3, start=5000), append(20), mq(3, start=5000)]),
        dialects=CURRENT,
        reports="mlx-vlm#1582",
    ),
)
