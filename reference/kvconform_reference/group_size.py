"""Which group size a layer is quantized with, given what was requested and the layer's head dims.

Source: specification section 1 (GS) and the dialect parameter `resolver` of section 0.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

SUPPORTED_GROUP_SIZES = (32, 64, 128)  # GS-1, ascending
SUPPORTED_BITS = (2, 3, 4, 5, 6, 8)  # MQ-14
PREFERRED_ORDER = (64, 32, 128)  # dialect `ordered-64-32-128`

Resolver = Callable[[int, int, int], int | None]
"""(requested, key dim, value dim) -> group size, or none when the resolver finds nothing usable."""


def compatible_group_sizes(key_dim: int, value_dim: int) -> tuple[int, ...]:
    """The supported sizes that divide both head dims, ascending; empty when there is none (GS-1, GS-2).

    Raises TypeError for a head dim that is no integer, ValueError for one below 1 (GS-12).
    """
    check_head_dim("key", key_dim)
    check_head_dim("value", value_dim)
    return tuple(size for size in SUPPORTED_GROUP_SIZES if key_dim % size == 0 and value_dim % size == 0)


def nearest_group_size(requested: int, key_dim: int, value_dim: int) -> int | None:
    """The compatible size nearest to the request; the smaller one of a tie (GS-3, GS-4, GS-9)."""
    compatible = compatible_group_sizes(key_dim, value_dim)
    wanted = at_least_one(requested)
    return min(compatible, key=lambda size: (abs(size - wanted), size), default=None)


def largest_below_group_size(requested: int, key_dim: int, value_dim: int) -> int | None:
    """The largest compatible size that is not above the request (dialect `largest-below`)."""
    check_request(requested)
    compatible = compatible_group_sizes(key_dim, value_dim)
    return max((size for size in compatible if size <= requested), default=None)


def ordered_group_size(requested: int, key_dim: int, value_dim: int) -> int | None:
    """The request if compatible, else the first compatible of 64, 32, 128 (dialect `ordered-64-32-128`)."""
    check_request(requested)
    compatible = compatible_group_sizes(key_dim, value_dim)
    return next((size for size in (requested, *PREFERRED_ORDER) if size in compatible), None)


def exact_group_size(requested: int, key_dim: int, value_dim: int) -> int | None:
    """The request itself, or none when it is not compatible (dialect `exact`; GS-5)."""
    check_request(requested)
    return requested if requested in compatible_group_sizes(key_dim, value_dim) else None


# Each entry looks its function up in this module when it is called, so replacing the module's
# attribute replaces the decision everywhere.
RESOLVERS: Mapping[str, Resolver] = MappingProxyType(
    {
        "nearest": lambda requested, key_dim, value_dim: nearest_group_size(requested, key_dim, value_dim),
        "largest-below": lambda requested, key_dim, value_dim: largest_below_group_size(
            requested, key_dim, value_dim
        ),
        "ordered-64-32-128": lambda requested, key_dim, value_dim: ordered_group_size(
            requested, key_dim, value_dim
        ),
        "exact": lambda requested, key_dim, value_dim: exact_group_size(requested, key_dim, value_dim),
    }
)


def resolve_group_size(
    requested: int, key_dim: int, value_dim: int, *, resolver: str = "nearest"
) -> int | None:
    """The group size that a layer with these head dims gets for this request, or none (GS-1..GS-9).

    Whatever the resolver, a result is supported and divides both head dims (GS-5).
    Raises ValueError for an unknown resolver or a head dim below 1, TypeError for a non-integer.
    """
    chosen = RESOLVERS.get(resolver)
    if chosen is None:
        raise ValueError(
            f"unknown resolver {resolver!r}, asked to resolve group size {requested!r}; "
            f"use one of {', '.join(RESOLVERS)}"
        )
    return chosen(requested, key_dim, value_dim)


def at_least_one(requested: int) -> int:
    """The request as the nearest resolver sees it: 0 and below behave as 1 (GS-9)."""
    check_request(requested)
    return max(1, requested)


def check_request(requested: int) -> None:
    """Any integer may be requested (GS-9); anything else is a TypeError."""
    if not isinstance(requested, int) or isinstance(requested, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"requested group size {requested!r} is not an integer; give one, e.g. 64")


def check_head_dim(side: str, dim: int) -> None:
    """Reject a head dim that no array can have (GS-12); `side` is "key" or "value"."""
    if not isinstance(dim, int) or isinstance(dim, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"{side} head dim {dim!r} is not an integer; give the last dimension of the stored {side} array"
        )
    if dim <= 0:
        raise ValueError(
            f"{side} head dim {dim} is not positive; give the last dimension of the stored {side} array"
        )
