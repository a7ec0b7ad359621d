"""Prepare and prefill (section 8)."""

from __future__ import annotations

from .words import E, S, Source, iterate, turn, vector

PREPARING = "proposal mlx-swift-lm mlx-swift-lm-3.31.4"
WINDOW = "proposal mlx-lm-0.26 mlx-swift-lm-3.31.4"
RESERVING = "mlx-lm mlx-lm-0.29 mlx-lm-0.28"
BALANCED = "mlx-swift-lm"
LOGITS = {"prepare": "logits", "state": "always"}


def _lengths(prefix: str, dialects: str, pairs: tuple[tuple[int, int], ...]) -> tuple[Source, ...]:
    return tuple(
        vector(
            f"pr-{prefix}-{prompt}-by-{window}",
            "PR-6 PR-3",
            "the prompt is cut at other places than declared, or not at all",
            iterate(E, turns=[turn(prompt, 1, prefill_step=window)]),
            dialects=dialects,
            reports="mlx-swift-lm#336" if prompt < 100 else "",
        )
        for prompt, window in pairs
    )


CUTS = (
    *_lengths("window", WINDOW, ((512, 512), (513, 512), (1024, 512), (1025, 512), (9, 4), (8, 4), (1, 4))),
    *_lengths("reserve-one", RESERVING, ((23, 8), (9, 4), (8, 4), (4, 4), (1, 4))),
    *_lengths("balanced", BALANCED, ((512, 512), (513, 512), (600, 512), (1024, 512), (9, 4), (10, 4))),
    *(
        vector(
            f"pr-window-below-one-{name}",
            "PR-6",
            "a prefill step below 1 never ends, or is corrected in silence",
            iterate(E, turns=[turn(10, 1, prefill_step=window)]),
        )
        for name, window in (("0", 0), ("minus-8", -8))
    ),
)

PROCESSORS = (
    vector(
        "pr-prompt-whole",
        "PR-1 PS-1",
        "the processor sees only the last chunk of the prompt, or every chunk as a prompt",
        iterate(E, turns=[turn(9, 2, processor="boost", prefill_step=4)]),
        reports="mlx-lm#1773",
    ),
    vector(
        "pr-prompt-warm",
        "PR-1 IT-7",
        "on warm caches the prompt is not shown to the processor",
        iterate(S(6), turns=[turn(3, 1, processor="boost")]),
    ),
    vector(
        "pr-prompt-penalty-history",
        "PR-1 PS-3",
        "what was prefilled is missing from the history of the penalty",
        iterate(
            E,
            turns=[turn(12, 4, prefill_step=3, repetition_penalty=8.0, repetition_context_size=12)],
            model={"vocab": 7},
        ),
        reports="mlx-lm#1773",
    ),
    vector(
        "pr-window-passed",
        "PR-2",
        "prepare is called with another window, or with the iterator's state",
        iterate(E, turns=[turn(10, 1, prefill_step=3)], model={"state": "always"}),
        dialects=PREPARING,
    ),
    vector(
        "pr-second-turn-without-state",
        "PR-2 RF-1",
        "the state of the turn before is handed to prepare",
        iterate(E, turns=[turn(5, 2), turn(4, 2)], model={"state": "always"}),
    ),
    vector(
        "pr-remainder-one-step",
        "PR-3 ST-5",
        "the remaining tokens go through one by one, or the last one twice",
        iterate(E, turns=[turn(7, 2, prefill_step=4)], model={"seed": 3}),
    ),
    vector(
        "pr-first-token-of-a-later-turn",
        "PR-3 RF-1",
        "a later turn first returns the token that the turn before had looked ahead to",
        iterate(E, turns=[turn(4, 2), turn(3, 2, seed=1)], model={"seed": 3}),
    ),
)

ANSWERS = (
    vector(
        "pr-logits",
        "PR-4 PS-1",
        "logits from prepare are followed by one more call, or are sampled twice",
        iterate(E, turns=[turn(5, 2, processor="boost")], model=LOGITS),
        dialects=PREPARING,
    ),
    vector(
        "pr-logits-pass",
        "PR-4 PR-1",
        "whether a pass runs right after logits from prepare differs from what is declared",
        iterate(E, turns=[turn(5, 2, bits=4, start=3)], model=LOGITS),
        dialects=PREPARING,
    ),
    vector(
        "pr-logits-no-tokens",
        "PR-4 NX-1",
        "with a limit of 0 the pass runs although no token is ever asked for",
        iterate(E, turns=[turn(5, 1, bits=4, max_tokens=0)], model=LOGITS),
        dialects=PREPARING,
    ),
    vector(
        "pr-logits-chunks",
        "PR-4 PR-6",
        "the chunks before the last are dropped, or their state is",
        iterate(E, turns=[turn(9, 1, prefill_step=4)], model=LOGITS),
        dialects=PREPARING,
    ),
    vector(
        "pr-empty-prompt",
        "PR-5",
        "an empty prompt reaches the model, or a token is sampled from nothing",
        iterate(E, turns=[turn(0, 1, processor="boost"), turn(3, 1)]),
    ),
    vector(
        "pr-prepare-takes-all",
        "PR-5",
        "a prepare that leaves nothing and answers no logits gives a token all the same",
        iterate(E, turns=[turn(5, 1, processor="boost")], model={"prepare": "all"}),
        dialects=PREPARING,
    ),
)

PASSES = (
    vector(
        "pr-pass-after-prefill-1300",
        "PR-7 PR-6",
        "the pass runs between the chunks of a prefill, or not at all before decoding",
        iterate(E, turns=[turn(1300, 1, bits=4, start=600)]),
        dialects="proposal mlx-swift-lm-3.31.4",
        reports="mlx-engine#82",
    ),
    vector(
        "pr-pass-and-chunks",
        "PR-7 ST-1",
        "the first chunk on quantized caches is another one than declared",
        iterate(E, turns=[turn(20, 1, bits=4, start=8, prefill_step=4)]),
        reports="mlx-engine#82",
    ),
    vector(
        "pr-pass-start-zero",
        "PR-7 ST-2",
        "with start 0 the last token of the prompt reads other caches than declared",
        iterate(E, turns=[turn(6, 2, bits=4, prefill_step=4)]),
    ),
)

VECTORS = (*CUTS, *PROCESSORS, *ANSWERS, *PASSES)
