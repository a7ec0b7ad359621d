"""Faults in the declaration: a design behaves as another dialect than it declares, one parameter each."""

from __future__ import annotations

from typing import Any, NamedTuple

from .fault import DialectSpec, Fault


class Declared(NamedTuple):
    """One parameter, the value that is followed, and what that breaks for who declares another one."""

    parameter: str
    follows: Any
    does: str
    breaks: tuple[str, ...]
    seen: str
    dialects: tuple[DialectSpec, ...] = ("proposal",)


TABLE = (
    Declared(
        "threshold",
        "above",
        "A layer at the start itself is not over the line.",
        ("TH-1", "TH-2", "ST-2"),
        "B12: strictly greater",
    ),
    Declared("threshold", "none", "There is no line: every layer is over it.", ("TH-1", "MQ-2"), "B10"),
    Declared(
        "threshold",
        "at-least",
        "A layer at the start itself is over the line.",
        ("TH-1",),
        "B12",
        ("mlx-lm-0.28",),
    ),
    Declared("scope", "first-then-all", "Layer 0 decides for all.", ("MQ-7", "TH-4", "TH-5"), "B12, B14"),
    Declared("scope", "per-layer", "Each layer decides for itself.", ("MQ-7", "TH-4", "MQ-8"), "B12"),
    Declared(
        "scope",
        "any-then-all",
        "One layer over the line converts all.",
        ("MQ-7",),
        "B12",
        ("mlx-lm", "mlx-lm-0.28", "mlx-swift-lm"),
    ),
    Declared("nested", "recurse", "Children of composites are converted.", ("MQ-10",), "B23"),
    Declared(
        "nested", "opaque", "Children of composites are left alone.", ("MQ-10",), "B23", ("mlx-swift-lm",)
    ),
    Declared("resolver", "exact", "Only the requested size itself is used.", ("GS-3", "MQ-5"), "B04"),
    Declared("resolver", "largest-below", "The largest size not above the request is used.", ("GS-3",), "GS"),
    Declared(
        "resolver",
        "ordered-64-32-128",
        "The request if it fits, else the first of 64, 32, 128 that does.",
        ("GS-3", "GS-9"),
        "GS",
    ),
    Declared(
        "resolver",
        "nearest",
        "The nearest size is used where only the request itself may be.",
        ("MQ-9", "MQ-5"),
        "B04",
        ("mlx-lm",),
    ),
    Declared(
        "incompatible",
        "error",
        "A layer without a usable group size is an error.",
        ("MQ-17", "MQ-9"),
        "B04, B06",
    ),
    Declared(
        "incompatible", "keep", "A layer without a usable group size is kept.", ("MQ-9",), "B06", ("mlx-lm",)
    ),
    Declared(
        "empty_layer", "convert", "An empty layer becomes an empty quantized one.", ("MQ-8", "CT-7"), "SR3"
    ),
    Declared("empty_layer", "wait", "An empty layer keeps the container armed.", ("CT-7", "MQ-8"), "SR5"),
    Declared("empty_layer", "keep", "An empty layer stays plain.", ("MQ-8",), "SR3", ("mlx-lm-0.28",)),
    Declared(
        "empty_layer",
        "keep",
        "An empty layer does not keep the container armed.",
        ("MQ-8", "CT-7"),
        "SR5",
        ({"empty_layer": "wait"},),
    ),
    Declared("rotating", "convert", "A rotating layer is converted.", ("MQ-11", "MQ-3", "QP-1"), "B52"),
    Declared("rotating", "error", "A rotating layer is an error.", ("MQ-17", "MQ-11"), "B16, B17"),
    Declared("rotating", "keep", "A rotating layer is kept.", ("MQ-11",), "B16", ("mlx-lm",)),
    Declared("chunked", "keep", "A chunked layer is never converted.", ("QP-2",), "law of chunked layers"),
    Declared(
        "chunked", "as-plain", "A chunked layer is converted.", ("QP-2",), "hazard of QP-2", ("mlx-lm",)
    ),
    Declared("latch", "none", "The container is never disarmed.", ("CT-4", "CT-7", "CT-11"), "SR5"),
    Declared(
        "latch",
        "first-layer",
        "A call is skipped while layer 0 is quantized.",
        ("CT-4", "CT-5", "CT-7"),
        "B12",
    ),
    Declared(
        "latch",
        "when-settled",
        "The container is disarmed when nothing is left to do.",
        ("CT-4", "CT-5", "CT-7"),
        "SR5",
    ),
    Declared(
        "latch",
        "first-trigger",
        "The first pass that triggers disarms the container.",
        ("CT-12",),
        "SR5",
        ("mlx-lm", "mlx-swift-lm"),
    ),
    Declared("owner", "caller-list", "The caller's list is changed in place.", ("CT-3", "RF-2"), "O1"),
    Declared("owner", "container", "The caller's list is left as it was.", ("CT-3",), "B01, O1", ("mlx-lm",)),
    Declared(
        "owner",
        "caller-list",
        "A new list is declared, the caller's is changed.",
        ("CT-3",),
        "O1",
        ({"owner": "new-list"},),
    ),
    Declared("prefill", "balanced", "The prompt is cut into chunks as equal as possible.", ("PR-6",), "B59"),
    Declared(
        "prefill", "reserve-one", "The iterator feeds all but one token itself.", ("PR-2", "PR-6"), "B09"
    ),
    Declared("prefill", "window", "Whole windows come first.", ("PR-6",), "B59", ("mlx-swift-lm", "mlx-lm")),
    Declared(
        "quantize_between_chunks",
        True,
        "The pass runs between the chunks of the prompt.",
        ("PR-7", "PR-2"),
        "B09: per model call",
    ),
    Declared(
        "quantize_between_chunks",
        False,
        "No pass runs between the chunks of the prompt.",
        ("PR-7",),
        "B09: conversion was only tried while decoding",
        ("mlx-lm",),
    ),
    Declared(
        "pass_position",
        "after-processors",
        "The pass runs after the processors.",
        ("ST-1",),
        "hazard of ST-1",
    ),
    Declared(
        "pass_position",
        "before-processors",
        "The pass runs before the processors.",
        ("ST-1",),
        "hazard of ST-1",
        ("mlx-lm",),
    ),
    Declared(
        "logits_prefill",
        "full",
        "The state of prepare's logits is kept and the pass runs.",
        ("PR-4",),
        "the state is not carried over",
    ),
    Declared("logits_prefill", "none", "Logits from prepare are refused.", ("PR-4",), "hazard of PR-4"),
    Declared(
        "logits_prefill",
        "bare",
        "The state of prepare's logits is dropped.",
        ("PR-4",),
        "hazard of PR-4",
        ("mlx-swift-lm",),
    ),
    Declared("bad_options", "refuse", "Bad options are refused when they are given.", ("TH-3",), "O10"),
    Declared("bad_options", "per-call", "Bad options are not refused.", ("TH-3",), "O10", ("mlx-swift-lm",)),
    Declared("negative_max_tokens", "unlimited", "A negative limit is none.", ("NX-1",), "hazard of NX-1"),
    Declared(
        "negative_max_tokens",
        "none",
        "A negative limit gives nothing.",
        ("NX-1",),
        "hazard of NX-1",
        ("mlx-lm",),
    ),
)


def _unlike(row: Declared) -> str:
    """For declarations that no named dialect makes: what is declared instead."""
    spelled_out = row.dialects[0]
    return "" if isinstance(spelled_out, str) else f"-not-{spelled_out[row.parameter]}"


def _fault(row: Declared) -> Fault:
    value = "yes" if row.follows is True else "no" if row.follows is False else row.follows
    return Fault(
        name=f"follows-{row.parameter.replace('_', '-')}-{value}{_unlike(row)}",
        does=row.does,
        breaks=row.breaks,
        seen=row.seen,
        behaves={row.parameter: row.follows},
        dialects=row.dialects,
    )


FAULTS = tuple(map(_fault, TABLE))
