"""What an implementation declares, as generation asks for it."""

from __future__ import annotations

from ..checks import Context
from ..requirements import missing

SUPPORTED_BITS = (4, 8, 2, 3, 5, 6)  # MQ-14; the most usual ones first
SUPPORTED_GROUP_SIZES = (64, 32, 128)  # GS-1
DTYPES = ("float32", "float16", "bfloat16")


def has(context: Context, *needs: str) -> bool:
    """Whether all of ``feature:...``, ``layer:...`` and ``kind:...`` are declared."""
    return missing(needs, context.info.capabilities) is None


def bits(context: Context) -> tuple[int, ...]:
    """The bit widths of the specification that are declared."""
    return tuple(width for width in SUPPORTED_BITS if width in context.info.capabilities.bits)


def group_sizes(context: Context) -> tuple[int, ...]:
    """The group sizes of the specification that are declared."""
    return tuple(size for size in SUPPORTED_GROUP_SIZES if size in context.info.capabilities.group_sizes)


def dtypes(context: Context) -> tuple[str, ...]:
    """The number formats that are declared."""
    return tuple(dtype for dtype in DTYPES if dtype in context.info.capabilities.dtypes)


def forms(context: Context) -> tuple[str, ...]:
    """The forms of a pass: in a container, free, or both. One that declares neither is asked freely."""
    with_container = ("container",) if has(context, "feature:container") else ()
    free = ("free",) if has(context, "feature:free-pass") or not with_container else ()
    return with_container + free


def layer_kinds(context: Context, *kinds: str) -> tuple[str, ...]:
    """Those of ``kinds`` that are declared."""
    return tuple(kind for kind in kinds if has(context, f"layer:{kind}"))


def quiet_kinds(context: Context) -> tuple[str, ...]:
    """Layer kinds that a pass leaves alone in this dialect: bystanders of every conversion."""
    kinds = layer_kinds(context, "quantized", "recurrent", "rotating")
    return tuple(kind for kind in kinds if kind != "rotating" or context.dialect.rotating == "keep")


def feeds_itself(context: Context) -> bool:
    """Whether the iterator cuts the prompt itself, instead of asking the model's prepare (PR-6, PR-7)."""
    return context.dialect.prefill == "reserve-one" or context.dialect.quantize_between_chunks
