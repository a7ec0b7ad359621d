"""Which layers are quantizable (section 3)."""

from __future__ import annotations

from ...scenario import RecurrentLayer
from .words import C, E, L, M, Q, S, append, cache, container, free, mq, op, trim, vector

VECTORS = (
    vector(
        "qp-plain-any-fill",
        "QP-1 MQ-5",
        "a plain layer is overlooked because of its fill: one row, a full buffer, one row more",
        free(S(1), S(255), S(256), S(257), steps=[mq(start=1)]),
        dialects="proposal mlx-lm mlx-lm-0.29",
    ),
    vector(
        "qp-others-stay",
        "QP-1 MQ-3 MQ-4",
        "a quantized, recurrent or composite layer is converted, replaced or moved",
        free(Q(5, 32, 8), M, S(5), L(M, S(5)), steps=[mq()]),
    ),
    vector(
        "qp-convert-quantized",
        "QP-1 MQ-12",
        "a cache that is quantized already is quantized once more",
        cache(Q(5), op("convert", bits=8, group_size=32)),
    ),
    vector(
        "qp-asking-changes-nothing",
        "QP-3 MQ-2 CT-1",
        "the question whether a layer is quantizable returns a copy, or converts",
        container(S(5), E, C(20, 8), M, L(S(5)), steps=[mq(start=100), mq(start=100)], twin=True),
    ),
    vector(
        "qp-asking-fills-nothing",
        "QP-3",
        "a container that asks what it may quantize gives a recurrent layer that holds nothing arrays",
        container(RecurrentLayer(filled=False), S(1)),
    ),
    vector(
        "qp-chunked-at-start",
        "QP-2 TH-1 MQ-7",
        "a chunked layer that counts as plain does not trigger, or one that does not count is converted",
        free(C(10), S(3), steps=[mq(start=10)]),
    ),
    vector(
        "qp-chunked-beside-plain",
        "QP-2 TH-1",
        "a chunked layer over the line is treated other than declared beside a plain one",
        free(C(10), S(10), steps=[mq(start=10)]),
    ),
    vector(
        "qp-chunked-dropped",
        "QP-2 MQ-5",
        "a chunked layer that dropped rows becomes a quantized one whose rows are not its offset",
        free(C(20, 8, drop_front=True), S(3), steps=[mq(start=5)]),
        dialects="proposal mlx-lm mlx-lm-0.29 mlx-lm-0.28 mlx-lm-0.26",
    ),
    vector(
        "qp-chunked-dropped-trimmed",
        "QP-2 MQ-5",
        "a chunked layer that dropped rows and was trimmed to none passes for an empty one",
        free(C(20, 8, drop_front=True), steps=[trim(8), mq()]),
        dialects="proposal mlx-lm mlx-lm-0.29 mlx-lm-0.28 mlx-lm-0.26",
    ),
    vector(
        "qp-chunked-dropped-disarms",
        "QP-2 CT-4",
        "a chunked layer that has to stay keeps the latch open",
        container(
            C(20, 8, drop_front=True), E, steps=[mq(start=10), append(20), mq(start=10)], built={"bits": 4}
        ),
        dialects="proposal",
    ),
)
