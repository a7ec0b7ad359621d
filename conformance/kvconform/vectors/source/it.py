"""Building an iterator (section 7)."""

from __future__ import annotations

from .words import CURRENT, E, M, R, S, iterate, turn, vector

PREPARING = "proposal mlx-swift-lm mlx-swift-lm-3.31.4"
"""Dialects in which the model's prepare does the prefill."""

VECTORS = (
    vector(
        "it-fresh",
        "IT-0 IT-1 NX-5",
        "construction hands out a token already, counts one, or leaves the prefill to the first next",
        iterate(E, turns=[turn(5, 0)], model={"state": "always"}),
    ),
    vector(
        "it-prepare-raises",
        "IT-1",
        "an error of the model is swallowed or comes only with the first token",
        iterate(E, turns=[turn(5, 2), turn(4, 1)], model={"prepare": "raise"}),
        dialects=PREPARING,
    ),
    vector(
        "it-prepare-raises-processor",
        "IT-1 PR-1",
        "the prompt is shown to the processor only after the prefill went well",
        iterate(E, turns=[turn(5, 2, processor="boost")], model={"prepare": "raise"}),
        dialects=PREPARING,
    ),
    vector(
        "it-container-used",
        "IT-2 CT-2",
        "a container that was handed in is copied, or its list is asked from the model again",
        iterate(E, E, turns=[turn(6, 2, bits=4, start=6)], given="container", built={"bits": 4}),
        dialects=CURRENT,
    ),
    vector(
        "it-list-wrapped",
        "IT-2 CT-3",
        "a list that was handed in is ignored or mutated other than declared",
        iterate(S(3), E, turns=[turn(4, 2, bits=4, start=5)]),
        dialects=CURRENT,
    ),
    vector(
        "it-nothing-given",
        "IT-2 CT-9",
        "the model is not asked for a list, or more than once",
        iterate(E, turns=[turn(4, 2)], given="model"),
    ),
    vector(
        "it-both-given",
        "IT-2",
        "a list and a container at once: one of them is silently dropped",
        iterate(E, turns=[turn(4, 2), turn(3, 1)], given="both"),
    ),
    vector(
        "it-parameters-win",
        "IT-3 CT-0 CT-6",
        "bits and group size come from the container instead of the parameters",
        iterate(
            S(0, 128),
            turns=[turn(4, 3, bits=8, group_size=128, start=4)],
            given="container",
            built={"bits": 4, "group_size": 32},
        ),
        dialects=CURRENT,
    ),
    vector(
        "it-container-without-bits",
        "IT-3 CT-5",
        "bits of the parameters arm a container that was built without any",
        iterate(E, turns=[turn(4, 3, bits=8, start=0)], given="container"),
        dialects=CURRENT,
    ),
    vector(
        "it-processor-replaces",
        "IT-4 PS-3",
        "an explicit processor is chained to the penalty of the parameters",
        iterate(
            E,
            turns=[turn(6, 6, processor="boost", repetition_penalty=4.0, repetition_context_size=4)],
            model={"vocab": 5},
        ),
    ),
    vector(
        "it-sampler-replaces",
        "IT-4 PS-2",
        "an explicit sampler is ignored, or only used after the first token",
        iterate(E, turns=[turn(6, 4, sampler="argmin")], model={"ties": True}),
    ),
    vector(
        "it-sampler-first",
        "IT-5",
        "the form without parameters quantizes with somebody's defaults",
        iterate(
            E,
            turns=[turn(6, 4, form="sampler-first", max_tokens=3)],
            given="container",
            built={"bits": 4},
        ),
        dialects=CURRENT,
    ),
    vector(
        "it-sampler-first-processor",
        "IT-5 IT-4",
        "the form without parameters drops its processor or its sampler",
        iterate(
            E,
            turns=[turn(9, 3, form="sampler-first", sampler="argmin", processor="boost", prefill_step=4)],
        ),
    ),
    vector(
        "it-prompt-array",
        "IT-6",
        "the deprecated form does not warn, or differs from the general one",
        iterate(E, turns=[turn(6, 3, form="prompt-array", bits=4, start=6)]),
        dialects=CURRENT,
    ),
    vector(
        "it-prompt-array-sampler",
        "IT-6 IT-4",
        "the deprecated form drops an explicit sampler or processor",
        iterate(E, turns=[turn(6, 3, form="prompt-array", sampler="argmin", processor="boost")]),
    ),
    vector(
        "it-empty-list",
        "IT-2 CT-9 ST-3",
        "an explicitly empty list counts as none, and the model is asked for one",
        iterate(turns=[turn(4, 1)]),
        dialects="proposal mlx-swift-lm mlx-swift-lm-3.31.4",
    ),
    *(
        vector(
            f"it-later-turn-{cache}",
            "IT-0 ST-3",
            "the state or the count of an iterator reaches the next one",
            iterate(E, turns=[turn(3, 2), turn(2, 1, seed=1, cache=cache)], model={"state": "always"}),
        )
        for cache in ("same", "caller-list")
    ),
    vector(
        "it-warm-caches",
        "IT-7 IT-0 NX-3",
        "positions start at 0 although the caches hold rows already",
        iterate(S(7), S(3), turns=[turn(4, 3, bits=4, start=12)]),
        dialects=CURRENT,
    ),
    vector(
        "it-warm-over-line",
        "IT-7 ST-1",
        "caches that are over the line before the prompt are converted before the first call, or never",
        iterate(S(7), turns=[turn(4, 3, bits=4, start=5)]),
        dialects=CURRENT,
    ),
    vector(
        "it-hybrid-position",
        "IT-7 NX-3 TH-5",
        "the position is read off layer 0, which is recurrent and never moves",
        iterate(M, E, turns=[turn(5, 3, bits=4, start=6)]),
        dialects=CURRENT,
        reports="mlx-swift-lm#487",
    ),
    vector(
        "it-rotating-stays-bounded",
        "MQ-11 IT-7 KC-2",
        "a sliding-window layer is swapped for an unbounded one in order to quantize it",
        iterate(R(0), E, turns=[turn(40, 3, bits=8, prefill_step=8)]),
        dialects="proposal mlx-lm-0.28 mlx-lm-0.26 mlx-swift-lm mlx-swift-lm-3.31.4",
        reports="mlx-engine#78 mlx-lm#1573",
    ),
)
