"""Another platform, simulated: one unit in the last place more or less in the activations.

Two platforms that compute the same model differ by rounding: another order of summation, another exponential.
Inside ``with perturbed(model):`` the outputs of its linear layers carry such differences: an element goes to
the next larger magnitude or stays, by a rule that looks at its own bits alone, so that a run repeats exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import mlx.core as mx
from mlx import nn

_INTEGERS = {mx.float32: mx.uint32, mx.float16: mx.uint16, mx.bfloat16: mx.uint16}


def is_linear(path: str, module: Any) -> bool:
    """The modules that are perturbed unless told otherwise: linear layers, quantized or not."""
    del path
    return isinstance(module, nn.Linear | nn.QuantizedLinear)


@contextmanager
def perturbed(model: Any, *, where: Callable[[str, Any], bool] = is_linear, units: int = 1) -> Generator[Any]:
    """The model with the outputs of the modules selected by ``where(path, module)`` moved by some units.

    0 to ``units`` of them, in the last place of each value.
    The model itself is changed while the context lasts and is as before afterwards. Raises ValueError when no
    module is selected: the comparison would be of a model with itself.
    """
    chosen = {id(module): module for path, module in model.named_modules() if where(path, module)}
    if not chosen:
        raise ValueError("no module to perturb in this model: pass where=, a predicate of path and module")
    originals: list[tuple[Any, type[Any]]] = [(module, type(module)) for module in chosen.values()]
    try:
        for module, original in originals:
            module.__class__ = _nudging(original, units)
        yield model
    finally:
        for module, original in originals:
            module.__class__ = original


def _nudging(original: type[Any], units: int) -> type[Any]:
    """A subclass whose call nudges the result; a subclass, because models look at attributes and types."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return nudge(original.__call__(self, *args, **kwargs), units=units)

    return type(f"Nudged{original.__name__}", (original,), {"__call__": call})


def nudge(values: mx.array, *, units: int = 1) -> mx.array:
    """Every finite, non-zero value 0 to ``units`` ulps larger in magnitude, the others as they are.

    How many is a hash of the value's own bits. float32, float16 and bfloat16.
    """
    integers = _INTEGERS[values.dtype]
    bits = values.view(integers)
    # Fibonacci hashing: the upper half of bits * 2^32/phi is as good as a die.
    die = ((bits.astype(mx.uint32) * 2654435769) >> 16) * (units + 1) >> 16
    moved = (bits + die.astype(integers)).view(values.dtype)
    keep = (values == 0) | ~mx.isfinite(values) | ~mx.isfinite(moved)
    return mx.where(keep, values, moved)
