"""One pass: order, scope, empty layers, kinds that stay, all or nothing (section 5)."""

from __future__ import annotations

from .words import (
    CURRENT,
    EXACT,
    NEAREST,
    C,
    E,
    L,
    M,
    Q,
    R,
    S,
    Source,
    Z,
    append,
    cache,
    container,
    free,
    iterate,
    mq,
    op,
    turn,
    vector,
)

KEEPS_ROTATING = "proposal mlx-lm-0.28 mlx-lm-0.26 mlx-swift-lm mlx-swift-lm-3.31.4"
REFUSES_ROTATING = "mlx-lm mlx-lm-0.29"
ANSWERS = "proposal mlx-swift-lm-3.31.4"
"""Dialects in which the free pass says whether it triggered."""

ORDER = (
    vector(
        "mq-bad-bits-below-line",
        "MQ-0 MQ-2",
        "bits are validated although no layer qualifies, or the other way round where options are refused",
        free(S(3), steps=[mq(7, start=10)]),
    ),
    vector(
        "mq-bad-bits-after-disarming",
        "MQ-0 CT-4",
        "a disarmed container still validates what it is handed",
        container(S(12), steps=[mq(start=10), mq(7)]),
        dialects="proposal",
    ),
    vector(
        "mq-bad-bits-iterator",
        "MQ-0 MQ-14",
        "bits that nobody can quantize to are noticed only in mid-stream, after tokens came out",
        iterate(E, turns=[turn(10, 4, bits=7, start=12)]),
        reports="O10",
    ),
    vector(
        "mq-bad-bits-iterator-far-start",
        "MQ-0",
        "bad bits are never noticed when the line is never reached",
        iterate(E, turns=[turn(10, 2, bits=16, start=1000), turn(3, 1)]),
        reports="O10",
    ),
    vector(
        "mq-no-bits-one-row",
        "MQ-1",
        "a pass without bits answers that a layer is over the line",
        free(S(1), steps=[mq(None)]),
        dialects=ANSWERS,
    ),
    vector(
        "mq-no-bits",
        "MQ-1 MQ-2",
        "without bits some default width is used",
        free(S(12), S(3), steps=[mq(None), mq(None, 32, -1)]),
        dialects="proposal mlx-lm mlx-lm-0.29 mlx-lm-0.28 mlx-lm-0.26 mlx-swift-lm-3.31.4",
    ),
    vector(
        "mq-empty-list",
        "MQ-1",
        "layer 0 of an empty list is looked at",
        free(steps=[mq(), mq(8, 32, 5)]),
    ),
    vector(
        "mq-nothing-qualifies",
        "MQ-2 MQ-4",
        "layers are replaced by copies though nothing is to be done",
        free(S(9), M, S(3), L(S(20)), steps=[mq(start=10)]),
        dialects="proposal mlx-lm mlx-lm-0.29 mlx-lm-0.28 mlx-lm-0.26",
    ),
)

SCOPE = (
    vector(
        "mq-scope-first-over",
        "MQ-7 MQ-4 MQ-5",
        "only the layer over the line is converted, or all of them where each decides for itself",
        free(S(12), S(3), steps=[mq(start=10)]),
        reports="mlx-swift-examples#334",
    ),
    vector(
        "mq-scope-second-over",
        "MQ-7",
        "only layer 0 is ever looked at for the trigger",
        free(S(3), S(12), steps=[mq(start=10)]),
        reports="mlx-swift-examples#334",
    ),
    vector(
        "mq-scope-container",
        "MQ-7 MQ-4",
        "the container's pass has another scope than the free one",
        container(S(3), S(12), S(11), steps=[mq(start=12)]),
        dialects=CURRENT,
    ),
    vector(
        "mq-empty-layer",
        "MQ-8",
        "an empty layer is converted, kept or waited for other than declared",
        free(S(12), E, steps=[mq(start=10), append(1)]),
    ),
    vector(
        "mq-empty-layer-resolves-later",
        "MQ-8 MQ-5",
        "an empty quantized layer of the requested size cannot take rows of other dims",
        free(S(12, 128), S(0, 128), steps=[mq(group_size=128, start=10), append(2)]),
        dialects="mlx-lm-0.28 mlx-lm-0.26",
    ),
    vector(
        "mq-trimmed-to-zero",
        "MQ-16 MQ-8",
        "a layer that was written and trimmed to nothing is taken for one that was never written",
        free(Z, steps=[mq(), append(3)]),
        dialects="proposal mlx-lm mlx-lm-0.29",
    ),
    vector(
        "mq-trimmed-to-zero-beside",
        "MQ-16",
        "a layer with no rows left stops the conversion of the others, or cannot be written afterwards",
        free(S(5), Z, steps=[mq(8, 32), append(2)], observe={"content": False}),
        dialects="proposal",
    ),
)

KINDS = (
    vector(
        "mq-incompatible-80",
        "MQ-9 MQ-3 MQ-17",
        "a head dim of 80 stops the pass instead of staying as it is",
        free(S(12, 80), S(3), steps=[mq(start=10)]),
        dialects=NEAREST,
        reports="llama.cpp#13121 mlx-swift-lm#451",
    ),
    vector(
        "mq-incompatible-mixed",
        "MQ-9 MQ-3 MQ-4",
        "the incompatible layer in the middle moves, or is dropped",
        free(S(12), S(12, 64, 80), S(12, 96), steps=[mq(group_size=128, start=5), append(1)]),
        dialects=NEAREST,
    ),
    vector(
        "mq-request-of-2-to-the-31",
        "MQ-5 GS-9",
        "a pass holds the requested size in 32 bits with a sign and finds the smallest one",
        free(S(2, 128), steps=[mq(group_size=2**31)]),
        dialects=NEAREST,
    ),
    vector(
        "mq-incompatible-error",
        "MQ-9 MQ-13",
        "an error in the middle of the list leaves the layers before it converted",
        free(S(12), S(12, 80), S(12), steps=[mq()]),
        dialects=EXACT,
        reports="mlx-swift-lm#451 O5",
    ),
    vector(
        "mq-composite",
        "MQ-10",
        "the children of a composite are missed, or the composite itself is replaced",
        free(L(M, S(50)), steps=[mq()]),
        reports="mlx-lm#1584",
    ),
    vector(
        "mq-composite-beside-plain",
        "MQ-10 MQ-3 MQ-4",
        "a hybrid model's list: the wrapped attention caches stay full precision, or the wrapper goes",
        free(L(M, S(6)), S(6), L(S(6), L(S(6), M)), steps=[mq(8, start=5), append(1)]),
        dialects=CURRENT,
        reports="mlx-lm#1584",
    ),
    vector(
        "mq-composite-child-triggers",
        "MQ-10 TH-5",
        "whether a child over the line counts for the trigger differs from what is declared",
        free(S(3), L(S(12), M), steps=[mq(start=10)]),
    ),
    vector(
        "mq-rotating",
        "MQ-11 MQ-3 MQ-17",
        "a sliding-window layer is converted, or stops the pass",
        free(R(50), S(50), steps=[mq()]),
        dialects=KEEPS_ROTATING,
        reports="mlx-lm#1573 maclocal-api#96 mlx-engine#78",
    ),
    vector(
        "mq-rotating-content-stays",
        "MQ-3 MQ-11 KC-2",
        "a sliding window that is kept is put in another order, or cut",
        free(
            R(11, 8, key_dim=32, value_dim=32, singly=True),
            S(11, 32),
            steps=[mq(4, 32)],
            observe={"content": True},
        ),
        dialects=KEEPS_ROTATING,
    ),
    vector(
        "mq-rotating-many",
        "MQ-11 MQ-3 MQ-4 MQ-17",
        "five sliding-window layers before each full one: the full ones are not reached",
        free(R(8, 16), R(8, 16), S(8), R(8, 16), R(8, 16), S(8), steps=[mq(start=5), append(1)]),
        dialects=KEEPS_ROTATING,
        reports="maclocal-api#96",
    ),
    vector(
        "mq-rotating-error",
        "MQ-11 MQ-13",
        "the refusal of a sliding-window layer leaves the layers before it converted",
        free(S(12), R(50), S(12), steps=[mq()]),
        dialects=REFUSES_ROTATING,
        reports="mlx-lm#1573 O5",
    ),
    vector(
        "mq-rotating-in-mid-stream",
        "MQ-11 MQ-17",
        "generation starts healthy and dies at the step that reaches the line",
        iterate(E, R(0), turns=[turn(3, 6, bits=4, start=7)]),
        dialects="proposal mlx-swift-lm mlx-swift-lm-3.31.4",
        reports="mlx-lm#1573",
    ),
    vector(
        "mq-rotating-error-in-mid-stream",
        "MQ-11 MQ-13",
        "the step that is refused because of a sliding window leaves the list half converted",
        iterate(E, R(0), turns=[turn(3, 6, bits=4, start=7)]),
        dialects=REFUSES_ROTATING,
        reports="mlx-lm#1573 O5",
    ),
    vector(
        "mq-rotating-below-line",
        "MQ-11 MQ-2",
        "a sliding-window layer that is not over the line is refused already",
        free(R(5), S(5), steps=[mq(start=10)]),
    ),
    vector(
        "mq-hybrid",
        "MQ-3 MQ-4 MQ-17",
        "the kind of a recurrent layer is tested after its offset was read",
        free(M, S(5), M, steps=[mq()]),
        reports="mlx-lm#477",
    ),
)


def _contents() -> tuple[Source, ...]:
    cases = (
        ("4-bits", S(3, 32), 4, 32, "MQ-5 AQ-1", "codes, scales or biases of converted rows are wrong"),
        ("3-bits", S(2, 64), 3, 64, "MQ-5 QC-6", "codes that straddle words are packed otherwise"),
        ("dims", S(2, 64, 32, heads=2), 8, 32, "MQ-5 QC-7", "heads or sides are mixed up"),
        ("float16", S(2, 32, dtype="float16"), 4, 32, "MQ-5 AQ-1", "scales are stored in another dtype"),
        ("bfloat16", S(2, 32, dtype="bfloat16"), 6, 32, "MQ-5 AQ-1", "scales are stored in another dtype"),
        ("trimmed", S(5, 32, trim=2), 4, 32, "MQ-5", "rows that were trimmed are converted as well"),
    )
    return tuple(
        vector(
            f"mq-content-{name}",
            ids,
            comment,
            free(layer, steps=[mq(bits, group)], observe={"content": True}),
            dialects="proposal mlx-lm mlx-lm-0.29 mlx-lm-0.28 mlx-lm-0.26",
        )
        for name, layer, bits, group, ids, comment in cases
    )


AFTERWARDS = (
    vector(
        "mq-source-frozen",
        "MQ-6 CT-3",
        "the conversion empties or moves the old object that somebody still holds",
        container(
            S(3, 32), steps=[mq(4, 32), append(2, salt=1)], observe={"content": True}, built={"bits": 4}
        ),
        dialects="proposal",
    ),
    vector(
        "mq-source-frozen-caller-list",
        "MQ-6",
        "the old object is mutated where the list is updated in place",
        free(S(2, 32), S(3, 32), steps=[mq(4, 32)], observe={"content": True}),
        dialects=EXACT,
    ),
    vector(
        "mq-twice",
        "MQ-12 CT-4",
        "a second pass quantizes again what is quantized already",
        container(S(12), steps=[mq(start=10), append(2), mq(8, 32)]),
        dialects=CURRENT,
        reports="Rapid-MLX#198 O8",
    ),
    vector(
        "mq-twice-free",
        "MQ-12",
        "the pass without memory quantizes again what is quantized already",
        free(S(12), Q(3), steps=[mq(4), mq(8, 32), mq(2)]),
        reports="Rapid-MLX#198 O8",
    ),
    vector(
        "mq-twice-content",
        "MQ-12",
        "later calls with other bits change the codes of a converted layer",
        free(S(2, 32), steps=[mq(8, 32), mq(4, 32)], observe={"content": True}),
        dialects="proposal mlx-lm mlx-lm-0.29 mlx-lm-0.28 mlx-lm-0.26",
        reports="Rapid-MLX#198 O8",
    ),
    *(
        vector(
            f"mq-bad-bits-{name}",
            "MQ-14 MQ-13",
            "bits that cannot be quantized to are noticed after the first layer was converted",
            free(S(5), S(5), steps=[mq(bits)]),
            reports="vllm#38479",
        )
        for name, bits in (("0", 0), ("7", 7), ("16", 16), ("minus-4", -4))
    ),
    vector(
        "mq-bad-bits-empty-layer",
        "MQ-14",
        "bad bits are taken when the layer to be converted is still empty",
        free(S(5), E, steps=[mq(7), append(1)]),
        dialects="proposal mlx-lm mlx-lm-0.29 mlx-lm-0.28 mlx-lm-0.26",
    ),
    vector(
        "mq-bad-bits-all-empty",
        "MQ-14 MQ-8",
        "an empty list of layers triggers, and bits that cannot be packed are taken for their first write",
        free(E, steps=[mq(7), append(1)]),
        dialects="proposal mlx-lm mlx-lm-0.29",
        reports="O10",
    ),
    vector(
        "mq-bad-bits-convert",
        "MQ-14",
        "a direct conversion takes bits that cannot be packed",
        cache(S(5), op("convert", bits=7), op("append", rows=1)),
    ),
    vector(
        "mq-bad-bits-then-good",
        "MQ-13 MQ-14",
        "a refused call has changed the latch, and the next one does nothing",
        container(S(12), steps=[mq(7), mq(4)]),
        dialects="proposal mlx-lm mlx-lm-0.29 mlx-lm-0.28 mlx-lm-0.26 mlx-swift-lm-3.31.4",
    ),
)

ANSWERED = tuple(
    vector(
        f"mq-answer-{name}",
        "MQ-15",
        "the free pass answers whether something changed instead of whether it triggered",
        free(*layers, steps=steps),
        dialects=ANSWERS,
    )
    for name, layers, steps in (
        ("incompatible", (S(12, 80),), [mq(start=10), mq(start=10)]),
        ("all-empty", (E, E), [mq()]),
        ("rotating", (R(50),), [mq()]),
        ("all-quantized", (Q(12), Q(12, 32, 8)), [mq()]),
        ("second-call", (S(12),), [mq(start=10), mq(start=10)]),
        ("chunked-dropped", (C(20, 8, drop_front=True),), [mq(start=5)]),
    )
)

VECTORS = (*ORDER, *SCOPE, *KINDS, *_contents(), *AFTERWARDS, *ANSWERED)
