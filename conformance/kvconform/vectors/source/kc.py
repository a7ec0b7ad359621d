"""The other caches, as the reference builds them (section 15)."""

from __future__ import annotations

from .words import C, E, L, M, R, S, Source, append, cache, container, op, trim, vector

PLAIN = (
    vector(
        "kc-plain-trim-append",
        "KC-1",
        "trimmed rows come back with the next write",
        cache(S(6, 32), op("trim", rows=2), op("append", rows=1, salt=4), content=True),
        reports="mlx-lm#1494",
    ),
    vector(
        "kc-plain-growth",
        "KC-1",
        "rows are lost where the buffer grows",
        cache(E, op("append", rows=255), op("append", rows=1), op("append", rows=1), op("append", rows=300)),
    ),
    vector(
        "kc-plain-growth-content",
        "KC-1",
        "the last row before the boundary, or the first one behind it, is lost when the buffer grows",
        cache(S(255, 2), op("append", rows=2, salt=1), content=True),
    ),
    *(
        vector(
            f"kc-plain-growth-content-{name}",
            "KC-1",
            f"{where} a row beside the boundary is lost",
            cache(layer, op("append", rows=rows, salt=1), content=True),
        )
        for name, where, layer, rows in (
            ("full", "when a full buffer grows", S(256, 2), 1),
            ("second", "when the buffer grows a second time", S(512, 2), 1),
            ("float16", "when a buffer in float16 grows", S(250, 2, dtype="float16"), 10),
        )
    ),
    vector(
        "kc-plain-trim-negative",
        "KC-1 QC-4",
        "a negative trim is accepted and moves the offset up",
        cache(S(8), op("trim", rows=-2), op("append", rows=1)),
        reports="claude-code-local#47 O4",
    ),
    vector(
        "kc-plain-trim-too-much",
        "KC-1",
        "a trim of more than there is makes the offset negative",
        cache(S(3), op("trim", rows=5), op("append", rows=2)),
    ),
    vector(
        "kc-plain-trim-long-prefix",
        "KC-1",
        "the amount of a trim is computed from the buffer instead of the offset, and never made",
        cache(S(300), op("trim", rows=10), op("append", rows=5)),
        reports="claude-code-local#47",
    ),
    vector(
        "kc-plain-half-precision",
        "KC-1",
        "rows are stored in another dtype than they came in",
        cache(S(2, 32, dtype="bfloat16"), op("append", rows=1), content=True),
    ),
)

ROTATING = (
    vector(
        "kc-rotating-singly",
        "KC-2",
        "row by row the ring wraps at the wrong place",
        cache(R(6, 8, key_dim=32, value_dim=32, singly=True), *[op("append", rows=1)] * 3, content=True),
    ),
    vector(
        "kc-rotating-keep",
        "KC-2",
        "the rows to be kept are overwritten when the ring wraps",
        cache(
            R(8, 8, keep=2, key_dim=32, value_dim=32),
            op("append", rows=1),
            op("append", rows=1),
            content=True,
        ),
    ),
    vector(
        "kc-rotating-keep-wraps-again",
        "KC-2",
        "the second time round the ring wraps to its front instead of behind the kept rows",
        cache(
            R(13, 8, keep=2, key_dim=32, value_dim=32, singly=True),
            *[op("append", rows=1, salt=1)] * 3,
            op("append", rows=3, salt=2),
            content=True,
        ),
    ),
    vector(
        "kc-rotating-append-many",
        "KC-2",
        "several rows at once let a sliding window grow without end",
        cache(R(8, 8), *[op("append", rows=3)] * 4),
        reports="mlx-lm#1914",
    ),
    vector(
        "kc-rotating-order",
        "KC-2",
        "the stored rows are not put in time order before several new ones",
        cache(
            R(11, 8, key_dim=32, value_dim=32, singly=True),
            op("append", rows=3, salt=1),
            op("append", rows=1, salt=2),
            content=True,
        ),
        reports="mlx-lm#1914",
    ),
    vector(
        "kc-rotating-more-than-window",
        "KC-2",
        "one write of more rows than the window holds is cut, or breaks the offset",
        cache(R(0, 8), op("append", rows=20), op("append", rows=1)),
    ),
    vector(
        "kc-rotating-trim",
        "KC-2",
        "a window that has wrapped is trimmed, or one that has not is not",
        cache(R(6, 8), op("trim", rows=2), op("append", rows=4), op("trim", rows=1), accounting=True),
        reports="mlx-swift-lm#424",
    ),
)

CHUNKED = (
    vector(
        "kc-chunked-drop-front",
        "KC-3",
        "dropping the front lowers the offset, or keeps the wrong rows",
        cache(C(12, 8, key_dim=32, value_dim=32), op("drop-front"), op("append", rows=2), content=True),
    ),
    vector(
        "kc-chunked-drop-nothing",
        "KC-3",
        "the front is dropped although not more than a chunk is held",
        cache(C(8, 8), op("drop-front"), op("append", rows=1), op("drop-front")),
    ),
    vector(
        "kc-chunked-trim",
        "KC-3",
        "a trim goes below the rows that are held",
        cache(C(6, 4, drop_front=True), op("trim", rows=5), op("append", rows=1)),
        reports="mlx-lm#1494",
    ),
    vector(
        "kc-list-trim",
        "KC-1 KC-3",
        "the trim of a list reports the rows of layer 0 for all",
        container(S(6), C(6, 4, drop_front=True), steps=[trim(5), append(1)]),
        reports="mlx-lm#1494 mlx-swift-lm#173",
    ),
)

OTHERS = (
    vector(
        "kc-recurrent",
        "KC-4",
        "state arrays are appended to instead of replaced, or get an offset",
        cache(M, op("append", rows=3, salt=1), op("trim", rows=1), op("append", rows=1), accounting=True),
    ),
    vector(
        "kc-recurrent-unfilled",
        "KC-4",
        "a recurrent cache that was never written traps a look or a write",
        cache(M.model_copy(update={"slots": 3, "filled": False}), op("append", rows=2)),
    ),
    vector(
        "kc-recurrent-copy",
        "KC-4 QC-9",
        "a copy of a recurrent cache is written together with the original",
        cache(M, op("copy"), op("append", rows=1)),
    ),
    vector(
        "kc-composite",
        "KC-5",
        "a write reaches the first child only",
        cache(L(M, S(2), R(3, 8)), op("append", rows=2), op("trim", rows=1), accounting=True),
    ),
    vector(
        "kc-composite-trim",
        "KC-5",
        "a trim reaches the first child only",
        cache(L(S(4), S(4, 32), R(3, 8)), op("trim", rows=2), op("append", rows=1), accounting=True),
    ),
    vector(
        "kc-composite-not-trimmable",
        "KC-5 KC-2",
        "a composite is trimmed although a child cannot be, and its children are out of step",
        cache(L(S(8), R(8, 8)), op("trim", rows=2), op("append", rows=1), accounting=True),
    ),
)


def _saved() -> tuple[Source, ...]:
    cases = (
        ("plain", S(3, 32)),
        ("plain-empty", E),
        ("plain-trimmed", S(5, 32, trim=2)),
        ("rotating", R(6, 8, keep=1, key_dim=32, value_dim=32)),
        ("rotating-wrapped", R(11, 8, key_dim=32, value_dim=32, singly=True)),
        ("chunked", C(12, 8, drop_front=True, key_dim=32, value_dim=32)),
        ("recurrent", M),
        ("recurrent-unfilled", M.model_copy(update={"filled": False})),
        ("composite", L(M, S(3, 32))),
    )
    return tuple(
        vector(
            f"kc-saved-{name}",
            "KC-6 QC-5" if name.startswith("plain") else "KC-6",
            "this kind is not saved, not known when loading, or comes back without offset or parameters",
            cache(layer, op("save-load"), op("append", rows=1, salt=2), content=True),
            reports="vllm-mlx#443 mlx-lm#80" if name == "chunked" else "vllm-mlx#443",
        )
        for name, layer in cases
    )


SAVED_RINGS = tuple(
    vector(
        f"kc-saved-rotating-{singles}-after-many",
        "KC-6",
        "the place of the oldest row is computed from the offset, which several rows at once upset",
        cache(
            R(10, 5, keep=1, key_dim=32, value_dim=32),
            *[op("append", rows=1, salt=1)] * singles,
            op("save-load"),
            op("append", rows=1, salt=2),
            content=True,
        ),
    )
    for singles in (1, 2)
)

VECTORS = (*PLAIN, *ROTATING, *CHUNKED, *OTHERS, *_saved(), *SAVED_RINGS)
