"""Group-size resolution: the table of section 1, and what lies next to its rows."""

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
    free,
    mq,
    resolve,
    resolve_layer,
    vector,
)

TABLE = (
    ("64-64-64", 64, 64, 64, "GS-3 GS-8", "a request that fits is replaced by another size"),
    ("64-96-96", 64, 96, 96, "GS-1 GS-3", "the default of 64 is handed on although only 32 divides 96"),
    ("128-96-96", 128, 96, 96, "GS-3", "128 is handed on although only 32 divides 96"),
    ("128-64-64", 128, 64, 64, "GS-3", "a request above every size that fits finds nothing"),
    ("48-128-128", 48, 128, 128, "GS-4 GS-7", "the tie between 32 and 64 goes to the larger size"),
    ("96-128-128", 96, 128, 128, "GS-4 GS-7", "the tie between 64 and 128 goes to the larger size"),
    ("97-128-128", 97, 128, 128, "GS-3 GS-7", "one above the tie is rounded down with it"),
    ("96-64-64", 96, 64, 64, "GS-3", "128 counts in a tie though it does not fit"),
    ("47-64-64", 47, 64, 64, "GS-3 GS-7", "one below the tie is rounded up with it"),
    ("49-64-64", 49, 64, 64, "GS-3 GS-7", "one above the tie is rounded down with it"),
    ("0-128-128", 0, 128, 128, "GS-9 GS-11", "a request of 0 divides by zero, or is taken for no request"),
    ("minus-5-128-128", -5, 128, 128, "GS-9", "the distance to a negative request is taken the wrong way"),
    ("minus-128-128-128", -128, 128, 128, "GS-9", "a negative request counts by its magnitude"),
    ("1-128-128", 1, 128, 128, "GS-9", "a request of 1 is taken as a size"),
    ("million-256-256", 10**6, 256, 256, "GS-9", "a huge request overflows or is refused"),
    ("64-80-80", 64, 80, 80, "GS-2", "16 or 80 is found where only supported sizes count"),
    ("64-48-48", 64, 48, 48, "GS-2", "16 or 48 is found where only supported sizes count"),
    ("64-112-112", 64, 112, 112, "GS-2", "a size is found that leaves a remainder"),
    ("32-80-80", 32, 80, 80, "GS-2", "the smallest size is a fallback though it does not fit"),
    ("64-64-96", 64, 64, 96, "GS-3 GS-6", "only the key dim is looked at"),
    ("128-128-64", 128, 128, 64, "GS-3 GS-6", "only the key dim is looked at"),
    ("128-192-128", 128, 192, 128, "GS-3", "only the value dim is looked at"),
    ("128-576-512", 128, 576, 512, "GS-3", "only the value dim is looked at, of a latent-attention model"),
    ("128-128-80", 128, 128, 80, "GS-2 GS-6", "a value dim without a size is overlooked"),
)
BESIDE = (
    ("64-96-64", 64, 96, 64, "GS-6", "swapped dims give another size"),
    ("128-64-128", 128, 64, 128, "GS-6", "swapped dims give another size"),
    ("128-80-128", 128, 80, 128, "GS-2 GS-6", "a key dim without a size is overlooked"),
    ("64-192-80", 64, 192, 80, "GS-2", "dims are summed or compared instead of each being divided"),
    ("32-128-128", 32, 128, 128, "GS-8", "a small request that fits is raised to the default"),
    ("128-128-128", 128, 128, 128, "GS-8", "a large request that fits is lowered to the default"),
    ("48-192-192", 48, 192, 192, "GS-4", "the tie goes to the larger size when 128 does not fit"),
    ("96-640-128", 96, 640, 128, "GS-4", "the tie goes to the larger size when the dims differ"),
    ("minus-9-million-96-96", -9_000_000, 96, 96, "GS-9", "a large negative request overflows"),
    ("2-to-the-40-128-64", 2**40, 128, 64, "GS-9", "a request beyond 32 bits wraps around"),
    ("2-to-the-31-128-128", 2**31, 128, 128, "GS-9", "a request that 32 bits with a sign hold as -2^31"),
    ("2-to-the-32-128-128", 2**32, 128, 128, "GS-9", "a request that 32 bits hold as 0"),
    ("2-to-the-53-128-128", 2**53, 128, 128, "GS-9", "the largest request that a scenario holds"),
    ("2-to-the-16-and-32-128-128", 2**16 + 32, 128, 128, "GS-9", "a request that 16 bits hold as 32"),
    ("below-minus-2-to-the-31-128-128", -(2**31) - 1, 128, 128, "GS-9", "32 bits hold it as a huge one"),
)
REPORTED = {
    "64-96-96": "mlx-vlm#2061 Rapid-MLX#1294",
    "64-80-80": "llama.cpp#13121",
    "64-64-96": "sglang#26734",
    "64-192-80": "sglang#26734",
    "128-576-512": "sglang#26734",
    "128-192-128": "sglang#26734",
}


def _asked(prefix: str, rows: tuple[tuple[str, int, int, int, str, str], ...]) -> tuple[Source, ...]:
    return tuple(
        vector(
            f"gs-{prefix}-{name}",
            ids,
            comment,
            resolve(requested, key, value),
            dialects=NEAREST,
            reports=REPORTED.get(name, ""),
        )
        for name, requested, key, value, ids, comment in rows
    )


EXACTLY = (
    vector(
        "gs-exact-64-96-96",
        "GS-5",
        "a design without a resolver hands on a size that does not divide, instead of refusing",
        resolve(64, 96, 96),
        dialects=EXACT,
        reports="mlx-vlm#2061",
    ),
    vector(
        "gs-exact-48-192-192",
        "GS-5",
        "a size that divides but is not supported is used",
        resolve(48, 192, 192),
        dialects=EXACT,
    ),
    vector(
        "gs-exact-32-96-96",
        "GS-5 GS-8",
        "a request that fits is not taken as it is",
        resolve(32, 96, 96),
        dialects=EXACT,
    ),
)

BAD_DIMS = tuple(
    vector(
        f"gs-dims-{name}",
        "GS-12",
        "a head dim that no array has is divided by instead of refused",
        resolve(64, key, value),
    )
    for name, key, value in (("0-64", 0, 64), ("64-0", 64, 0), ("minus-64-64", -64, 64))
)

WITHOUT_DIMS = tuple(
    vector(
        f"gs-layer-{name}",
        "GS-10 HD-1",
        comment,
        resolve_layer(32, layer),
        dialects=NEAREST,
    )
    for name, layer, comment in (
        ("empty", E, "head dims are made up for a layer that was never written"),
        ("quantized", Q(5), "the width of packed words is taken for a head dim"),
        ("recurrent-3-slots", M.model_copy(update={"slots": 3}), "state arrays are taken for keys"),
        ("composite", L(S(5)), "the dims of a child are taken for those of the composite"),
    )
)

IN_A_PASS = (
    vector(
        "gs-pass-96",
        "GS-5 MQ-5",
        "the pass hands the requested size to the conversion, and nobody resolves it",
        free(S(5, 96), steps=[mq()]),
        dialects=NEAREST,
        reports="mlx-vlm#2061 Rapid-MLX#1294 mlx-swift-lm#451",
    ),
    vector(
        "gs-pass-96-exact",
        "GS-5",
        "an unusable size reaches the quantizer instead of a clear error that changes nothing",
        free(S(5, 96), steps=[mq()]),
        dialects=EXACT,
        reports="mlx-vlm#2061",
    ),
    vector(
        "gs-pass-zero",
        "GS-11",
        "a group size of 0 divides by zero in native code and takes the process down",
        free(S(1), steps=[mq(group_size=0)]),
    ),
    vector(
        "gs-pass-mixed-dims",
        "GS-5 MQ-5",
        "one group size for the whole list instead of one for each layer",
        free(S(5, 128), S(5, 96), S(5, 64, 128), steps=[mq(group_size=128)]),
        dialects=NEAREST,
    ),
    vector(
        "gs-pass-compatible",
        "GS-8 MQ-5",
        "a request that fits is not used as it is",
        free(S(5, 128), C(5, key_dim=64, value_dim=128), R(0), steps=[mq(group_size=32, start=1)]),
        dialects=CURRENT,
    ),
    vector(
        "gs-pass-trimmed-to-zero",
        "GS-5 MQ-16",
        "a layer that was trimmed to nothing has no dims any more, and gets the requested size",
        free(Z.model_copy(update={"key_dim": 96, "value_dim": 96}), steps=[mq(group_size=128)]),
        dialects=NEAREST,
    ),
)

VECTORS = (
    *_asked("table", TABLE),
    *_asked("beside", BESIDE),
    *EXACTLY,
    *BAD_DIMS,
    *WITHOUT_DIMS,
    *IN_A_PASS,
)
