"""One pass: scope, empty layers, kinds that stay, all or nothing (section 5)."""

from __future__ import annotations

from .words import E, L, M, R, S, append, container, free, mq, vector

VECTORS = (
    vector(
        "mq-scope-first-over",
        "MQ-7 MQ-4 MQ-5",
        "a pass that converts only the layer over the line, or all where each decides for itself",
        free(S(12), S(3), steps=[mq(start=10)]),
    ),
    vector(
        "mq-scope-second-over",
        "MQ-7",
        "a trigger that only ever looks at layer 0",
        free(S(3), S(12), steps=[mq(start=10)]),
    ),
    vector(
        "mq-empty-layer",
        "MQ-8",
        "an empty layer that is converted, kept or waited for other than declared",
        free(S(12), E, steps=[mq(start=10), append(1)]),
    ),
    vector(
        "mq-incompatible-80",
        "MQ-9 MQ-3 MQ-17",
        "a head dim of 80 that stops the pass instead of staying as it is",
        free(S(12, 80), S(3), steps=[mq(start=10)]),
        dialects="proposal mlx-swift-lm mlx-swift-lm-3.31.4",
    ),
    vector(
        "mq-composite",
        "MQ-10",
        "composites whose children are missed, or that are replaced themselves",
        free(L(M, S(50)), steps=[mq()]),
    ),
    vector(
        "mq-rotating",
        "MQ-11 MQ-3 MQ-17",
        "a sliding-window layer that is converted, or that stops the pass",
        free(R(50), S(50), steps=[mq()]),
        dialects="proposal mlx-lm-0.28 mlx-lm-0.26 mlx-swift-lm mlx-swift-lm-3.31.4",
    ),
    vector(
        "mq-twice",
        "MQ-12 CT-4",
        "a second pass that quantizes what is quantized already",
        container(S(12), steps=[mq(start=10), append(2), mq(8, 32)]),
    ),
)
