"""Questions to decoded JSON whose answers a type checker understands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from pydantic import ValidationError


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether some JSON data is an object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether some JSON data, perhaps not yet written as JSON, is a list."""
    return isinstance(value, list | tuple)


def is_tensor(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether some JSON data is a tensor of the data model."""
    return is_object(value) and set(value) == {"dtype", "shape", "data"}


def first_fault(error: ValidationError) -> str:
    """The first thing that is wrong with a document, in one line: which field, what, and its value."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    known = _FAULTS.get(first["type"])
    said = known.format(**first.get("ctx", {})) if known else first["msg"]
    shown = isinstance(first["input"], str | int | float) and not known
    value = f", not {first['input']!r}" if shown else ""
    return f"{place}: {said}{value}" if place else f"{said}{value}"


_FAULTS = {
    "extra_forbidden": "there is no such field",
    "json_invalid": "not JSON",
    "union_tag_not_found": "no field {discriminator}, which says what this is",
    "union_tag_invalid": "{discriminator} is '{tag}', must be one of {expected_tags}",
}
"""What pydantic says less clearly, or with a value that is the whole document."""
