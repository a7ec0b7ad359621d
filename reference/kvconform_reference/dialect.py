"""Dialects as data: where legitimate designs of dynamic KV quantization differ.

Each parameter is an enumeration; each named design is one frozen :class:`Dialect`. The reference
asks the dialect, never for a name. Source: specification section 0.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args, get_type_hints

Threshold = Literal["at-least", "above", "none"]
Scope = Literal["any-then-all", "first-then-all", "per-layer"]
Nested = Literal["opaque", "recurse"]
Resolver = Literal["nearest", "largest-below", "ordered-64-32-128", "exact"]
Incompatible = Literal["keep", "error"]
EmptyLayer = Literal["keep", "convert", "wait"]
Rotating = Literal["keep", "error", "convert"]
Chunked = Literal["as-plain", "keep"]
Latch = Literal["first-trigger", "when-settled", "first-layer", "none"]
Owner = Literal["container", "caller-list", "new-list"]
Prefill = Literal["window", "balanced", "reserve-one"]
PassPosition = Literal["before-processors", "after-processors"]
LogitsPrefill = Literal["bare", "full", "none"]
BadOptions = Literal["per-call", "refuse"]
NegativeMaxTokens = Literal["none", "unlimited"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """The decisions of one design. Every field is a column of the table in section 0.1."""

    threshold: Threshold = "at-least"
    scope: Scope = "any-then-all"
    nested: Nested = "opaque"
    resolver: Resolver = "nearest"
    incompatible: Incompatible = "keep"
    empty_layer: EmptyLayer = "keep"
    rotating: Rotating = "keep"
    chunked: Chunked = "as-plain"
    latch: Latch = "first-trigger"
    owner: Owner = "container"
    prefill: Prefill = "window"
    quantize_between_chunks: bool = False
    pass_position: PassPosition = "before-processors"
    logits_prefill: LogitsPrefill = "bare"
    bad_options: BadOptions = "per-call"
    negative_max_tokens: NegativeMaxTokens = "none"

    def __post_init__(self) -> None:
        for name, allowed in PARAMETERS.items():
            value = getattr(self, name)
            if value not in allowed or isinstance(value, bool) != isinstance(allowed[0], bool):
                choices = ", ".join(map(repr, allowed))
                raise ValueError(f"dialect parameter {name}: {value!r} is not one of {choices}")

    def as_dict(self) -> dict[str, Any]:
        """The parameters as JSON-ready data."""
        return asdict(self)


def _parameters() -> dict[str, tuple[Any, ...]]:
    hints = get_type_hints(Dialect)
    return {
        f.name: (False, True) if hints[f.name] is bool else get_args(hints[f.name]) for f in fields(Dialect)
    }


PARAMETERS: Mapping[str, tuple[Any, ...]] = _parameters()
"""Every dialect parameter with its allowed values, the proposal's column order."""

PROPOSAL = Dialect()

MLX_LM = Dialect(
    scope="per-layer",
    resolver="exact",
    incompatible="error",
    empty_layer="convert",
    rotating="error",
    chunked="keep",
    latch="none",
    owner="caller-list",
    prefill="reserve-one",
    quantize_between_chunks=True,
    pass_position="after-processors",
    logits_prefill="none",
    negative_max_tokens="unlimited",
)

MLX_LM_0_29 = replace(MLX_LM, chunked="as-plain")

MLX_LM_0_28 = replace(
    MLX_LM,
    threshold="above",
    scope="first-then-all",
    rotating="keep",
    chunked="as-plain",
    latch="first-layer",
)

MLX_LM_0_26 = replace(MLX_LM_0_28, prefill="window")

MLX_SWIFT_LM = Dialect(
    threshold="above",
    scope="per-layer",
    nested="recurse",
    empty_layer="wait",
    latch="when-settled",
    prefill="balanced",
    logits_prefill="full",
    bad_options="refuse",
)

MLX_SWIFT_LM_3_31_4 = Dialect(
    threshold="above",
    nested="recurse",
    latch="none",
    owner="caller-list",
)

DIALECTS: Mapping[str, Dialect] = {
    "proposal": PROPOSAL,
    "mlx-lm": MLX_LM,
    "mlx-lm-0.29": MLX_LM_0_29,
    "mlx-lm-0.28": MLX_LM_0_28,
    "mlx-lm-0.26": MLX_LM_0_26,
    "mlx-swift-lm": MLX_SWIFT_LM,
    "mlx-swift-lm-3.31.4": MLX_SWIFT_LM_3_31_4,
}
"""The named dialects, in the order of the table."""


def named(name: str) -> Dialect:
    """The dialect called ``name``; ``ValueError`` lists the known names otherwise."""
    try:
        return DIALECTS[name]
    except KeyError:
        raise ValueError(f"dialect {name!r} is not known; the names are {', '.join(DIALECTS)}") from None


def dialect_from(data: str | Mapping[str, Any]) -> Dialect:
    """A dialect by name, or spelled out (missing parameters are the proposal's)."""
    if isinstance(data, str):
        return named(data)
    unknown = sorted(set(data) - set(PARAMETERS))
    if unknown:
        raise ValueError(f"dialect parameter {unknown[0]!r} is not known; they are {', '.join(PARAMETERS)}")
    return Dialect(**data)


def name_of(dialect: Dialect) -> str | None:
    """The name of a dialect, or ``None`` when it has none."""
    return next((name for name, known in DIALECTS.items() if known == dialect), None)
