"""What holders see over several turns (section 12)."""

from __future__ import annotations

from .words import CURRENT, E, S, append, container, iterate, mq, trim, turn, vector

VECTORS = (
    vector(
        "rf-second-turn",
        "RF-1 IT-7",
        "the second turn starts at the prompt's end of the first, and a position is lost",
        iterate(E, E, turns=[turn(4, 3), turn(3, 2)]),
        reports="kvpress#27",
    ),
    vector(
        "rf-second-turn-after-conversion",
        "RF-1 CT-2",
        "the second turn works on the layers as they were before the conversion",
        iterate(E, E, turns=[turn(4, 6, bits=8, start=6), turn(1, 2, bits=8, start=6)]),
        dialects=CURRENT,
        reports="mlx-swift-lm#312 mlx-swift-lm#81",
    ),
    vector(
        "rf-second-turn-converts",
        "RF-1 CT-8",
        "a latch that belongs to the iterator, or to the first turn, keeps the second from converting",
        iterate(
            E,
            turns=[turn(4, 1, bits=4, start=8), turn(3, 2, bits=4, start=8)],
            given="container",
            built={"bits": 4},
        ),
        dialects=CURRENT,
    ),
    vector(
        "rf-old-list-after-conversion",
        "RF-2 CT-3",
        "a turn over the caller's old list does not see what the design says that it sees",
        iterate(E, E, turns=[turn(4, 4, bits=8, start=5), turn(2, 2, bits=8, start=5, cache="caller-list")]),
        dialects=CURRENT,
        reports="mlx-swift-lm#312",
    ),
    vector(
        "rf-old-list-model-made",
        "RF-2 CT-9",
        "the first list that the model made is lost, or asked for again",
        iterate(E, turns=[turn(4, 3, bits=4, start=5), turn(2, 1, cache="caller-list")], given="model"),
        dialects=CURRENT,
    ),
    vector(
        "rf-start-zero-prefix",
        "RF-1 CT-2",
        "a conversion inside construction is not seen by the one who kept the container as a prefix",
        iterate(E, turns=[turn(4, 0, bits=8), turn(2, 1, bits=8)], given="container", built={"bits": 8}),
        dialects=CURRENT,
        reports="mlx-swift-lm#81",
    ),
    vector(
        "rf-trim-after-conversion",
        "RF-3 QC-4 MQ-6",
        "a trim reaches the old object, and the quantized one keeps its rows",
        container(S(6), steps=[mq(start=5), trim(2), append(1)]),
        dialects=CURRENT,
    ),
    vector(
        "rf-trim-all-layers",
        "RF-3 KC-1",
        "the list's trim reaches the first layer only",
        container(S(6), S(6), S(6), steps=[trim(2), mq(start=4), trim(1)]),
        dialects=CURRENT,
        reports="mlx-swift-lm#173",
    ),
)
