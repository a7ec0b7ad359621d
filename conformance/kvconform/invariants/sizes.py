"""Group sizes by brute force over the definition: no arithmetic shared with any resolver."""

from __future__ import annotations

SIZES = (32, 64, 128)


def compatible(key_dim: int | None, value_dim: int | None) -> tuple[int, ...]:
    """The sizes that divide both head dims; none without dims."""
    if key_dim is None or value_dim is None:
        return ()
    return tuple(size for size in SIZES if key_dim % size == 0 and value_dim % size == 0)


def nearest(requested: int, key_dim: int, value_dim: int) -> tuple[int, ...]:
    """The compatible sizes that no other one is nearer than: two of them on a tie."""
    sizes, wanted = compatible(key_dim, value_dim), max(1, requested)
    return tuple(size for size in sizes if all(abs(size - wanted) <= abs(other - wanted) for other in sizes))


def usable(resolver: str, requested: int, key_dim: int | None, value_dim: int | None) -> bool:
    """Whether a design with this resolver finds a size at all."""
    sizes = compatible(key_dim, value_dim)
    if resolver == "exact":
        return requested in sizes
    if resolver == "largest-below":
        return any(size <= requested for size in sizes)
    return bool(sizes)
