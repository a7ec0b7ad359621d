"""Processors and samplers (section 11)."""

from __future__ import annotations

from .words import E, iterate, turn, vector

VECTORS = (
    vector(
        "ps-boost",
        "PS-1",
        "the sampler sees the logits before the processor, or the token is told twice or not at all",
        iterate(E, turns=[turn(4, 4, processor="boost")]),
    ),
    vector(
        "ps-boost-lookahead",
        "PS-1 NX-3",
        "the lookahead token is not told to the processor",
        iterate(E, turns=[turn(4, 2, processor="boost", max_tokens=2)]),
    ),
    vector(
        "ps-ties",
        "PS-2",
        "argmax takes the last of equal logits",
        iterate(E, turns=[turn(4, 5)], model={"ties": True}),
    ),
    vector(
        "ps-ties-around-the-end",
        "PS-2",
        "a tie between the last token and the first goes to the last",
        iterate(E, turns=[turn(3, 8)], model={"ties": True, "vocab": 3}),
    ),
    vector(
        "ps-ties-argmin",
        "PS-2 IT-4",
        "the lowest logit is sought from the end",
        iterate(E, turns=[turn(4, 4, sampler="argmin")], model={"ties": True, "vocab": 8}),
    ),
    vector(
        "ps-penalty",
        "PS-3",
        "positive logits are multiplied, or negative ones divided",
        iterate(
            E,
            turns=[turn(6, 6, repetition_penalty=2.0, repetition_context_size=4)],
            model={"vocab": 5},
        ),
    ),
    vector(
        "ps-penalty-negative-logits",
        "PS-3 IT-4",
        "negative logits are divided too, which makes their tokens more likely",
        iterate(
            E,
            turns=[turn(6, 6, repetition_penalty=2.0, repetition_context_size=3, sampler="argmin")],
            model={"vocab": 7},
        ),
    ),
    vector(
        "ps-penalty-below-one",
        "PS-3",
        "a penalty below 1 is refused, or taken for none",
        iterate(
            E, turns=[turn(6, 6, repetition_penalty=0.25, repetition_context_size=4)], model={"vocab": 6}
        ),
    ),
    vector(
        "ps-penalty-context-one",
        "PS-3",
        "the context holds one token too many, or drops the newest",
        iterate(E, turns=[turn(5, 8, repetition_penalty=8.0, repetition_context_size=1)], model={"vocab": 4}),
    ),
    vector(
        "ps-penalty-once-a-token",
        "PS-3",
        "a token that stands twice in the context is punished twice",
        iterate(
            E, turns=[turn(9, 6, repetition_penalty=1.25, repetition_context_size=9)], model={"vocab": 3}
        ),
    ),
    vector(
        "ps-penalty-default-context",
        "PS-3",
        "the default context is the whole history, or another number",
        iterate(E, turns=[turn(30, 6, repetition_penalty=4.0)], model={"vocab": 23}),
    ),
    vector(
        "ps-penalty-in-a-later-turn",
        "PS-3",
        "the processor of a later turn still knows the tokens of the turn before",
        iterate(
            E,
            turns=[turn(1, 4, seed=seed, repetition_penalty=4.0) for seed in (0, 1)],
            model={"vocab": 7, "seed": 1},
        ),
    ),
    vector(
        "ps-no-penalty",
        "PS-3",
        "a processor exists although no penalty was asked for",
        iterate(E, turns=[turn(4, 3)], model={"vocab": 3}),
    ),
)
