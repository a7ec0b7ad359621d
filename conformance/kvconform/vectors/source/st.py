"""Steps: when a call sees what (section 9)."""

from __future__ import annotations

from .words import CURRENT, E, L, M, Q, S, iterate, turn, vector

VECTORS = (
    *(
        vector(
            f"st-start-{start}-prompt-10",
            "ST-1 ST-2 ST-6",
            "the first call on quantized caches comes one step too early or too late",
            iterate(E, turns=[turn(10, 3, bits=4, start=start)]),
            reports="mlx-swift-examples#334" if start == 10 else "",
        )
        for start in (9, 10, 11)
    ),
    vector(
        "st-pass-and-processors",
        "ST-1",
        "the pass stands on the other side of the processors than declared",
        iterate(E, turns=[turn(4, 2, bits=4, start=5, processor="boost")]),
        dialects=CURRENT,
    ),
    vector(
        "st-empty-list",
        "ST-3",
        "an empty list of caches reaches the model as a list",
        iterate(turns=[turn(6, 2, bits=4, prefill_step=4)]),
    ),
    vector(
        "st-current-list",
        "ST-3 CT-2",
        "the model is called with the list as it was before the conversion",
        iterate(E, E, turns=[turn(3, 3, bits=8, group_size=32, start=4)]),
        dialects=CURRENT,
    ),
    vector(
        "st-state-always",
        "ST-3 ST-4",
        "the state of a call does not reach the next one",
        iterate(E, turns=[turn(4, 3)], model={"state": "always"}),
    ),
    vector(
        "st-state-alternate",
        "ST-4",
        "a state of none keeps the one before alive",
        iterate(E, turns=[turn(4, 5)], model={"state": "alternate"}),
    ),
    vector(
        "st-last-position",
        "ST-5",
        "logits of another position than the last are sampled",
        iterate(E, turns=[turn(5, 1)], model={"seed": 7, "vocab": 1009}),
    ),
    vector(
        "st-last-position-quantizing",
        "ST-5 ST-1",
        "with bits another position's logits than the last are sampled",
        iterate(E, turns=[turn(6, 2, bits=4, start=100)], model={"seed": 9, "vocab": 1009}),
        dialects=CURRENT,
    ),
    vector(
        "st-offset-through-conversion",
        "ST-6 NX-3",
        "the conversion moves the offset to a full buffer, or back",
        iterate(S(5), E, turns=[turn(3, 4, bits=4, start=9)]),
        dialects=CURRENT,
    ),
    vector(
        "st-hybrid",
        "ST-1 ST-3 MQ-3",
        "recurrent and composite layers are not written, or written twice, when others convert",
        iterate(M, S(2), L(M, E), Q(2), turns=[turn(3, 3, bits=4, start=6)]),
        dialects=CURRENT,
        reports="mlx-lm#477 mlx-lm#1584",
    ),
)
