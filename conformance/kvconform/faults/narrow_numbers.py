"""Faults that show in one place only, in numbers (GS, AQ); see :mod:`.narrow_layers`."""

from __future__ import annotations

from typing import Any

from kvconform_reference import affine, floats, group_size, policy

from .fault import Fault
from .planting import Patch, planted, wrapped

# ---------------------------------------------------------------- requests


def _cut_to(bits: int, *, signed: bool = True) -> Any:
    """A request as an integer of so many bits holds it."""

    def cut(original: Any, requested: int) -> int:
        wrapped_around = requested % 2**bits
        negative = signed and wrapped_around >= 2 ** (bits - 1)
        return original(wrapped_around - 2**bits * negative)

    return cut


def _cut_in_a_pass(original: Any, layer: Any, requested: int, *options: Any) -> Any:
    return original(layer, _cut_to(32)(int, requested), *options)


REQUESTS = (
    *(
        Fault(
            name=f"request-wraps-at-{bits}-bits",
            does=f"The request is held in a signed integer of {bits} bits.",
            breaks=("GS-9",),
            seen="wrong implementations from the specification: a request of 2^31",
            patches=(wrapped(group_size, "at_least_one", _cut_to(bits)),),
        )
        for bits in (32, 16)
    ),
    Fault(
        name="request-is-cut-to-an-unsigned",
        does="The request is held in an unsigned integer of 32 bits.",
        breaks=("GS-9",),
        seen="hazard of GS-9: a negative request becomes a huge one",
        patches=(wrapped(group_size, "at_least_one", _cut_to(32, signed=False)),),
    ),
    Fault(
        name="request-of-a-pass-wraps-at-32-bits",
        does="A pass hands the request on in a signed integer of 32 bits.",
        breaks=("MQ-5",),
        seen="wrong implementations from the specification: a request of 2^31",
        patches=(wrapped(policy, "convert_layer", _cut_in_a_pass),),
    ),
)

# ---------------------------------------------------------------- precision


def _rounding(seam: str, change: Any, *dtypes: str) -> Patch:
    """A step of :func:`affine.explain_group` that rounds to the row's dtype, for these dtypes.

    ``change`` gets the rounding, the step as it is, and what the step is called with.
    """

    def explaining(original: Any, values: Any, *, bits: int, dtype: str = "float32") -> Any:
        if dtype not in dtypes:
            return original(values, bits=bits, dtype=dtype)

        def rounded(number: float) -> float:
            return floats.round_value(number, dtype)

        with planted([wrapped(affine, seam, lambda step, *given: change(rounded, step, *given))]):
            return original(values, bits=bits, dtype=dtype)

    return wrapped(affine, "explain_group", explaining)


def _range(rounded: Any, _step: Any, low: float, high: float, bits: int) -> float:
    size = floats.round_float32(rounded(high - low) / affine.highest_code(bits))
    return max(affine.SMALLEST_SCALE, size)


def _result(rounded: Any, step: Any, *given: Any) -> float:
    return rounded(step(*given))


def _differences(rounded: Any, step: Any, values: Any, scale: float, bias: float) -> Any:
    return step([rounded(value - bias) for value in values], scale, 0.0)


def _quotients(rounded: Any, step: Any, *given: Any) -> Any:
    return [rounded(quotient) for quotient in step(*given)]


HALF = ("float16", "bfloat16")

PRECISION = (
    *(
        Fault(
            name=f"range-in-{dtype}",
            does=f"The range of a {dtype} row is rounded to its dtype.",
            breaks=("AQ-1",),
            seen="wrong implementations from the specification: a range that needs more bits than its ends",
            patches=(_rounding("scale_size", _range, dtype),),
        )
        for dtype in HALF
    ),
    Fault(
        name="scale-in-the-rows-dtype",
        does="The scale of a half-precision row is rounded to its dtype before the edge is divided by it.",
        breaks=("AQ-1",),
        seen="hazard of AQ-1: step by step in float32",
        patches=(_rounding("scale_size", _result, *HALF),),
    ),
    Fault(
        name="edge-quotient-in-the-rows-dtype",
        does="The edge of a half-precision row is divided by the scale in its dtype.",
        breaks=("AQ-1",),
        seen="hazard of AQ-1: step by step in float32",
        patches=(_rounding("edge_quotient", _result, *HALF),),
    ),
    Fault(
        name="differences-in-the-rows-dtype",
        does="The differences to the bias of a half-precision row are rounded to its dtype.",
        breaks=("AQ-1",),
        seen="hazard of AQ-1: step by step in float32",
        patches=(_rounding("code_quotients", _differences, *HALF),),
    ),
    Fault(
        name="quotients-in-the-rows-dtype",
        does="The values of a half-precision row are divided by the scale in its dtype.",
        breaks=("AQ-1",),
        seen="hazard of AQ-1: step by step in float32",
        patches=(_rounding("code_quotients", _quotients, *HALF),),
    ),
)

FAULTS = REQUESTS + PRECISION
