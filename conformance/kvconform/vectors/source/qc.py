"""The quantized cache (section 13)."""

from __future__ import annotations

from .words import C, E, Q, S, Source, Z, append, cache, container, free, mq, op, vector

SMALL = Q(3, 32, 4, key_dim=32)
"""Little enough for its bytes to be looked at."""

READING = (
    vector(
        "qc-empty",
        "QC-1 QC-10",
        "a look at an empty quantized cache raises, or shows rows",
        cache(Q(0), content=True, accounting=True),
        reports="lmstudio-bug-tracker#1849 O3",
    ),
    vector(
        "qc-rows-not-padding",
        "QC-1 QC-6",
        "a reader gets the spare rows behind the offset too",
        cache(Q(2, 32, 8, key_dim=32), op("append", rows=1), content=True),
    ),
    vector(
        "qc-first-write",
        "QC-1 QC-2",
        "rows written to an empty quantized cache are coded otherwise than converted ones",
        cache(Q(0, 32, 4, key_dim=32), op("append", rows=2), content=True),
    ),
    *(
        vector(
            f"qc-width-{bits}-bits",
            "QC-6",
            "the packed width is computed from whole codes in a word",
            cache(S(1, 96, 64), op("convert", bits=bits, group_size=32), content=True),
            reports="vllm#38479",
        )
        for bits in (2, 3, 5, 6, 8)
    ),
)

CONVERTING = (
    vector(
        "qc-convert-then-append",
        "QC-2 MQ-5",
        "rows appended after a conversion are coded otherwise than those converted",
        cache(S(3, 32), op("convert", bits=4, group_size=32), op("append", rows=2, salt=1), content=True),
    ),
    vector(
        "qc-append-then-convert",
        "QC-2 MQ-5",
        "the rows appended last are not converted, or with the scales of the others",
        cache(S(3, 32), op("append", rows=2, salt=1), op("convert", bits=4, group_size=32), content=True),
    ),
    vector(
        "qc-no-residual",
        "QC-2",
        "the newest rows stay in full precision, as in designs with a residual",
        cache(S(4, 32), op("convert", bits=4, group_size=32), *[op("append", rows=1)] * 2, content=True),
        reports="transformers#34189",
    ),
    vector(
        "qc-convert-resolves",
        "QC-2 GS-3 MQ-5",
        "the direct conversion hands on the requested size where the pass resolves it",
        cache(S(5, 96), op("convert", bits=4)),
        reports="Rapid-MLX#1294 mlx-vlm#2061",
    ),
    vector(
        "qc-convert-incompatible",
        "QC-2 MQ-14",
        "a direct conversion without a usable group size ends the process or leaves half a cache",
        cache(S(5, 80), op("convert", bits=8), op("append", rows=1)),
        reports="mlx-swift-lm#451",
    ),
    vector(
        "qc-plain-append-after-conversion",
        "QC-2 RF-1",
        "the first write after a conversion traps, because it takes the way of a plain cache",
        container(S(5), steps=[mq(start=5), append(1), append(3)]),
        reports="mlx-swift-examples#378",
    ),
)


def _growing() -> tuple[Source, ...]:
    cases = ((3, 256, 32), (5, 96, 32), (6, 128, 64), (6, 96, 32), (2, 64, 64), (8, 128, 128))
    fresh = tuple(
        vector(
            f"qc-grow-empty-{bits}-bits-{dim}",
            "QC-3 QC-6",
            "the buffer of an empty cache is too narrow for codes that straddle words",
            cache(Q(0, group, bits, key_dim=dim), op("append", rows=255), *[op("append", rows=1)] * 2),
            reports="vllm#38479 O2",
        )
        for bits, dim, group in cases
    )
    converted = tuple(
        vector(
            f"qc-grow-converted-{bits}-bits-{dim}",
            "QC-3",
            "the first growth after a conversion loses rows or has another width",
            cache(
                S(255, dim),
                op("convert", bits=bits, group_size=group),
                op("append", rows=1),
                op("append", rows=258),
            ),
        )
        for bits, dim, group in ((4, 64, 64), (5, 96, 32), (3, 256, 64))
    )
    return (*fresh, *converted)


def _growing_content() -> tuple[Source, ...]:
    lost = "a row beside the boundary is lost when the buffer grows, or what makes it grow is not written"
    cases = (
        ("dims-32-64", "where the dims differ", Q(1, 32, 2, key_dim=32, value_dim=64), 260),
        ("float16", "in float16", Q(1, 32, 2, key_dim=32, dtype="float16"), 260),
        ("bfloat16", "in bfloat16", Q(1, 32, 2, key_dim=32, dtype="bfloat16"), 260),
        ("unaligned-5-bits", "from 250 rows of 5 bits", Q(250, 32, 5, key_dim=32), 10),
        ("8-bits", "at 8 bits", Q(1, 32, 8, key_dim=32), 260),
        ("full", "that is exactly full", Q(256, 32, 2, key_dim=32), 1),
        ("second", "a second time", Q(512, 32, 2, key_dim=32), 1),
    )
    fresh = tuple(
        vector(
            f"qc-grow-content-{name}",
            "QC-3",
            f"{where}: {lost}",
            cache(layer, op("append", rows=rows, salt=1), content=True),
        )
        for name, where, layer, rows in cases
    )
    converted = vector(
        "qc-grow-content-converted",
        "QC-3 QC-2",
        f"after a conversion: {lost}",
        cache(S(1, 32), op("convert", bits=2, group_size=32), op("append", rows=260, salt=1), content=True),
    )
    return (*fresh, converted)


GROWING = (
    *_growing(),
    vector(
        "qc-grow-content",
        "QC-3",
        "the last row before the boundary, or the first one behind it, is lost when the buffer grows",
        cache(Q(255, 32, 2, key_dim=32), op("append", rows=2, salt=1), content=True),
    ),
    *_growing_content(),
    vector(
        "qc-grow-empty-layer-in-pass",
        "QC-3 MQ-8",
        "an empty layer converted in a pass cannot be written at odd widths",
        free(S(12, 128), S(0, 128), steps=[mq(6, 64, 0), append(3)]),
        dialects="mlx-lm mlx-lm-0.29 mlx-lm-0.28 mlx-lm-0.26",
        reports="O2",
    ),
)

TRIMMING = (
    vector(
        "qc-trim-then-append",
        "QC-4",
        "the trimmed rows come back with the next write",
        cache(Q(6, 32, 8, key_dim=32), op("trim", rows=2), op("append", rows=1, salt=7), content=True),
        reports="mlx-lm#1494 transformers#45510",
    ),
    vector(
        "qc-trim-too-much",
        "QC-4",
        "a trim of more than there is makes the offset negative, or says that it took it all",
        cache(Q(4), op("trim", rows=99), op("append", rows=2), op("trim", rows=0)),
    ),
    vector(
        "qc-trim-negative",
        "QC-4",
        "a negative trim is accepted and moves the offset up",
        cache(Q(8), op("trim", rows=-2), op("append", rows=1)),
        reports="claude-code-local#47 O4",
    ),
    vector(
        "qc-trim-over-growth",
        "QC-4 QC-3",
        "the amount of a trim is computed from the buffer instead of the offset",
        cache(Q(300), op("trim", rows=10), op("append", rows=1)),
        reports="claude-code-local#47",
    ),
    vector(
        "qc-trim-converted",
        "QC-4 RF-3",
        "a trim after a conversion acts on part of what is stored",
        cache(
            S(5, 32),
            op("convert", bits=8, group_size=32),
            op("append", rows=2, salt=1),
            op("trim", rows=3),
            op("append", rows=1, salt=2),
            content=True,
        ),
        reports="transformers#45510",
    ),
)

KEEPING = (
    *(
        vector(
            f"qc-{name}-quantized",
            "QC-5 KC-6",
            "offset, bits or group size do not come back, and the next write crashes or overwrites",
            cache(Q(5, 32, 8, key_dim=32), op(way), op("append", rows=1, salt=3), content=True),
            reports="maclocal-api#46 vllm-mlx#443",
        )
        for name, way in (("saved", "save-load"), ("state", "state"))
    ),
    vector(
        "qc-state-empty",
        "QC-5 QC-1",
        "an empty quantized cache has no state to take out",
        cache(Q(0, 32, 8), op("state"), op("append", rows=2)),
        reports="vllm-mlx#443",
    ),
    vector(
        "qc-saved-odd-bits",
        "QC-5 QC-6",
        "a saved cache of 3 bits comes back with another width",
        cache(Q(2, 32, 3, key_dim=32), op("save-load"), op("append", rows=1), content=True),
    ),
    vector(
        "qc-state-trimmed",
        "QC-5 QC-4",
        "rows that were trimmed come back from a saved state",
        cache(SMALL, op("trim", rows=2), op("state"), op("append", rows=1, salt=5), content=True),
    ),
    vector(
        "qc-copy-quantized",
        "QC-9",
        "a copy shares its buffer: what is written to one shows in the other",
        cache(
            SMALL,
            op("copy"),
            op("append", rows=1, salt=1),
            op("select", cache=0),
            op("append", rows=1, salt=2),
            content=True,
        ),
    ),
    vector(
        "qc-copy-plain",
        "QC-9 KC-1",
        "a copy of a plain cache shares its buffer",
        cache(
            S(2, 32),
            op("copy"),
            op("append", rows=1, salt=1),
            op("select", cache=0),
            op("append", rows=1, salt=2),
            content=True,
        ),
    ),
)

SHAPES = (
    vector(
        "qc-dims-128-64",
        "QC-7",
        "the values are stored in buffers of the key dim",
        cache(Q(3, 64, 4, key_dim=128, value_dim=64), op("append", rows=2)),
        reports="sglang#26734",
    ),
    vector(
        "qc-dims-32-64-two-heads",
        "QC-7 QC-6",
        "with more than one head and different dims rows are laid out wrongly",
        cache(Q(2, 32, 4, key_dim=32, value_dim=64, heads=2), op("append", rows=1), content=True),
        reports="sglang#26734",
    ),
    vector(
        "qc-dims-192-128-converted",
        "QC-7 GS-3",
        "a layer whose dims differ is converted with one dim for both",
        cache(S(3, 192, 128), op("convert", bits=4, group_size=64), op("append", rows=1)),
        reports="sglang#26734",
    ),
)

ACCOUNTS = tuple(
    vector(
        f"qc-accounts-{name}",
        "QC-10",
        "size, emptiness or the byte count is wrong or raises",
        cache(layer, *operations, accounting=True),
        reports=reports,
    )
    for name, layer, operations, reports in (
        ("empty", Q(0), [op("append", rows=1)], "lmstudio-bug-tracker#1849 O3"),
        ("filled", Q(5), [], "kvpress#27 rMLX#37"),
        ("trimmed", Q(5), [op("trim", rows=2), op("trim", rows=3)], ""),
        ("converted", S(5), [op("convert", bits=4)], "rMLX#37"),
        ("plain", E, [op("append", rows=5), op("trim", rows=5)], ""),
        ("plain-trimmed", Z, [], ""),
        ("chunked", C(20, 8, drop_front=True), [], "lmstudio-bug-tracker#1849"),
    )
)

VECTORS = (
    *READING,
    *CONVERTING,
    *GROWING,
    *TRIMMING,
    *KEEPING,
    *SHAPES,
    *ACCOUNTS,
)
