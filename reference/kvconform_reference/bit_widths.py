"""Which bit widths a quantized cache can have (MQ-14)."""

from __future__ import annotations

from . import group_size as group_sizes


def check_bits(bits: int) -> None:
    """ValueError for bits that no conversion supports; nothing that equals one counts (True is not 1)."""
    if type(bits) is not int or bits not in group_sizes.SUPPORTED_BITS:
        raise ValueError(
            f"bits {bits!r} are not supported for a quantized cache; "
            f"use one of {', '.join(map(str, group_sizes.SUPPORTED_BITS))}. MQ-14"
        )
