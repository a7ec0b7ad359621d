"""Next: limits, lookahead, counts (section 10)."""

from __future__ import annotations

from .words import E, Q, S, iterate, turn, vector

VECTORS = (
    vector(
        "nx-limit-0",
        "NX-1",
        "with a limit of 0 a token comes out, or the prefill is left out",
        iterate(E, turns=[turn(4, 2, max_tokens=0)]),
        reports="mlx-lm#226",
    ),
    vector(
        "nx-limit-1",
        "NX-1 NX-2",
        "the limit is tested after the token: one too many comes out",
        iterate(E, turns=[turn(1, 3, max_tokens=1)]),
        reports="mistral.rs#1539",
    ),
    vector(
        "nx-limit-2-asked-on",
        "NX-1 NX-3",
        "asking on after the end calls the model, or starts again",
        iterate(E, turns=[turn(4, 5, max_tokens=2)]),
        reports="mistral.rs#1539",
    ),
    *(
        vector(
            f"nx-limit-{name}",
            "NX-1",
            "a limit in a narrow integer wraps: too few tokens come out, or none",
            iterate(E, turns=[turn(2, 3, max_tokens=limit)]),
        )
        for name, limit in (("2-to-the-31", 2**31), ("beyond-2-to-the-32", 2**32 + 1))
    ),
    vector(
        "nx-limit-none",
        "NX-1 NX-3",
        "without a limit some default ends the stream",
        iterate(E, turns=[turn(2, 40)]),
    ),
    *(
        vector(
            f"nx-limit-minus-{-limit}",
            "NX-1",
            "a negative limit means none, or unlimited, other than declared",
            iterate(E, turns=[turn(3, 4, max_tokens=limit)]),
        )
        for limit in (-1, -7)
    ),
    vector(
        "nx-lookahead",
        "NX-2 NX-3",
        "the token returned is the one just sampled, or the last one costs no call",
        iterate(E, turns=[turn(4, 1)]),
        reports="mlx-lm#226",
    ),
    vector(
        "nx-lookahead-limit",
        "NX-2 NX-3 NX-5",
        "the last token within the limit is returned without its lookahead call",
        iterate(E, turns=[turn(4, 7, max_tokens=7)], model={"seed": 5}),
    ),
    vector(
        "nx-offsets-warm",
        "NX-3",
        "offsets after k tokens do not add up to start, prompt and k",
        iterate(S(5), Q(5), turns=[turn(4, 3)]),
        reports="kvpress#27",
    ),
    vector(
        "nx-no-end-of-sequence",
        "NX-4",
        "a token such as 0, 1 or 2 ends the sequence inside the iterator",
        iterate(E, turns=[turn(3, 12)], model={"vocab": 4}),
    ),
    vector(
        "nx-count-after-end",
        "NX-5 NX-1",
        "the count rises when asked after the end",
        iterate(E, turns=[turn(3, 6, max_tokens=3)]),
    ),
)
