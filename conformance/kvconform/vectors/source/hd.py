"""Head dims and compatibility: what can be asked of one layer (section 2)."""

from __future__ import annotations

from .words import NEAREST, C, E, L, M, Q, R, S, Source, Z, free, mq, resolve_layer, vector

REQUESTS = (("32", 32), ("64", 64), ("128", 128), ("7", 7), ("0", 0), ("minus-1", -1))


def _requests() -> tuple[Source, ...]:
    return tuple(
        vector(
            f"hd-96-96-request-{name}",
            "HD-2",
            "whether a layer can be quantized at all depends on the size that was asked for",
            resolve_layer(requested, S(5, 96)),
            dialects=NEAREST,
        )
        for name, requested in REQUESTS
    )


LAYERS = (
    ("80-80", S(5, 80), "a head dim without a size counts as one that can be quantized"),
    ("64-80", S(5, 64, 80), "only the key dim is looked at"),
    ("80-64", S(5, 80, 64), "only the value dim is looked at"),
    ("96-64", S(5, 96, 64), "different key and value dims count as incompatible"),
    ("empty", E, "a layer that was never written counts as compatible"),
    ("trimmed-to-zero", Z, "a layer that was trimmed to nothing counts as never written"),
    ("composite", L(S(5), M), "a composite counts as quantizable because a child is"),
    ("quantized", Q(5), "a quantized layer counts as quantizable"),
    ("rotating", R(5), "a rotating layer counts as quantizable"),
    ("chunked", C(5), "a subclass of the plain cache counts, or does not, other than declared"),
)


def _layers() -> tuple[Source, ...]:
    return tuple(
        vector(
            f"hd-layer-{name}",
            "HD-1 HD-2 QP-1" if name != "chunked" else "HD-1 QP-2",
            comment,
            resolve_layer(64, layer),
            dialects=NEAREST,
        )
        for name, layer, comment in LAYERS
    )


VECTORS = (
    *_requests(),
    *_layers(),
    vector(
        "hd-layer-recurrent-2-slots",
        "HD-1 HD-3",
        "two state arrays look like keys and values, and the compatibility question traps",
        resolve_layer(64, M),
        dialects=NEAREST,
    ),
    vector(
        "hd-pass-recurrent-2-slots",
        "HD-3 MQ-3 TH-5",
        "a hybrid model's recurrent layer is asked for an offset or head dims that it does not have",
        free(S(5), M, S(5), steps=[mq()]),
        reports="mlx-lm#477",
    ),
    vector(
        "hd-cache-different-dims",
        "HD-1 QC-7",
        "the value dim is taken from the keys",
        free(S(5, 128, 64, heads=2), S(5, 64, 128), steps=[mq()]),
    ),
)
