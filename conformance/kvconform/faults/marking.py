"""Caches that remember how they came to be."""

from __future__ import annotations

from typing import Any

from kvconform_reference.caches import quantized

from .planting import wrapped


def _marks_converted(original: Any, source: Any, **options: Any) -> Any:
    result = original(source, **options)
    result.converted = True
    return result


def is_converted(cache: Any) -> bool:
    """Whether a quantized cache was made by a conversion, where :data:`MARKS_CONVERTED` is planted."""
    return vars(cache).get("converted", False)


MARKS_CONVERTED = wrapped(quantized, "quantized_cache", _marks_converted)
