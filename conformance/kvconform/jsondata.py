"""Questions to decoded JSON whose answers a type checker understands."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether some JSON data is an object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether some JSON data, perhaps not yet written as JSON, is a list."""
    return isinstance(value, list | tuple)


def is_tensor(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether some JSON data is a tensor of the data model."""
    return is_object(value) and set(value) == {"dtype", "shape", "data"}
