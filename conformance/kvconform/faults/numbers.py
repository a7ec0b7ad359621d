"""Faults in affine quantization and packing: one rounding, one sign, one bit order (AQ, QC-6)."""

from __future__ import annotations

import math
from array import array
from typing import Any

from kvconform_reference import affine, floats, packing

from .fault import Fault
from .planting import Patch, replaced, wrapped


def _each(rounding: Any) -> Any:
    def rounding_all(_original: Any, quotients: Any) -> list[float]:
        return [rounding(quotient) if math.isfinite(quotient) else quotient for quotient in quotients]

    return rounding_all


def _half_up(quotient: float) -> float:
    return float(math.floor(quotient + 0.5))


def _half_away(quotient: float) -> float:
    return math.copysign(math.floor(abs(quotient) + 0.5), quotient)


def _edge_code(rounding: Any) -> Any:
    return lambda _original, quotient: rounding(quotient) if math.isfinite(quotient) else quotient


def _max_from_zero(original: Any, values: Any) -> tuple[float, float]:
    low, high = original(values)
    return low, max(0.0, high)


def _plain_range(_original: Any, low: float, high: float) -> tuple[float, float]:
    return low, 1.0


def _low_edge_of_a_tie(_original: Any, low: float, high: float) -> tuple[float, float]:
    return (low, 1.0) if abs(low) >= abs(high) else (high, -1.0)


def _one_step_more(original: Any, low: float, high: float, bits: int) -> float:
    step = floats.round_float32(floats.round_float32(high - low) / (affine.highest_code(bits) + 1))
    return max(affine.SMALLEST_SCALE, step)


def _double_range(_original: Any, low: float, high: float, bits: int) -> float:
    return max(affine.SMALLEST_SCALE, (high - low) / affine.highest_code(bits))


def _stored_parameters_first(original: Any, values: Any, *, bits: int, dtype: str = "float32") -> Any:
    group = original(values, bits=bits, dtype=dtype)
    quotients = affine.code_quotients(values, group.stored_scale, group.stored_bias)
    codes = affine.clip_codes(affine.round_codes(quotients), bits)
    return affine.GroupTrace(
        **{name: getattr(group, name) for name in affine.GroupTrace.__slots__ if name != "codes"},
        codes=tuple(codes),
    )


def _clipped_below_top(original: Any, codes: Any, bits: int) -> list[int]:
    return [min(code, affine.highest_code(bits) - 1) for code in original(codes, bits)]


def _wraps_around(_original: Any, codes: Any, bits: int) -> list[int]:
    return [int(code) & affine.highest_code(bits) if math.isfinite(code) else 0 for code in codes]


def _high_code_first(original: Any, bits: int) -> tuple[int, ...]:
    return original(bits)[::-1]


def _words_swapped(original: Any, codes: Any, bits: int) -> tuple[int, ...]:
    return tuple(int.from_bytes(word.to_bytes(4, "little"), "big") for word in original(codes, bits))


def _bits_reversed(original: Any, codes: Any, bits: int) -> tuple[int, ...]:
    return original([int(f"{code:0{bits}b}"[::-1], 2) for code in codes], bits)


def _truncated_bfloat16(_original: Any, values: Any) -> bytes:
    patterns = array("I", array("f", values).tobytes())
    return floats._little_endian(array("H", [pattern >> 16 for pattern in patterns]))


def _scale_before(original: Any) -> Any:
    """Every row after the first has the scales of the row quantized before it; anew in each scenario."""
    before: list[affine.QuantizedRow] = []

    def quantizing(values: Any, **options: Any) -> affine.QuantizedRow:
        row = original(values, **options)
        before.append(row)
        last = before[-2] if len(before) > 1 else row
        scales = last.scales if len(last.scales) == len(row.scales) else row.scales
        return affine.QuantizedRow(packed=row.packed, scales=scales, biases=row.biases)

    return quantizing


FAULTS = (
    Fault(
        name="codes-are-floored",
        does="Codes are rounded down.",
        breaks=("AQ-1",),
        seen="hazard of AQ-1: rounding",
        patches=(wrapped(affine, "round_codes", _each(math.floor)),),
    ),
    Fault(
        name="codes-round-half-up",
        does="A value half-way between two codes goes to the upper one.",
        breaks=("AQ-1",),
        seen="GPU quantizers round half away from zero",
        patches=(wrapped(affine, "round_codes", _each(_half_up)),),
    ),
    Fault(
        name="codes-are-cut",
        does="Codes are cut towards zero.",
        breaks=("AQ-1",),
        seen="hazard of AQ-1: a cast to an integer",
        patches=(wrapped(affine, "round_codes", _each(math.trunc)),),
    ),
    Fault(
        name="edge-code-is-floored",
        does="The edge code is rounded down.",
        breaks=("AQ-1",),
        seen="the rounding of the edge code moves the whole scale",
        patches=(wrapped(affine, "round_edge_code", _edge_code(lambda q: float(math.floor(q)))),),
    ),
    Fault(
        name="edge-code-rounds-half-away",
        does="An edge code half-way between two integers goes away from zero.",
        breaks=("AQ-1",),
        seen="GPU quantizers round half away from zero",
        patches=(wrapped(affine, "round_edge_code", _edge_code(_half_away)),),
    ),
    Fault(
        name="edge-is-not-snapped",
        does="The scale is not moved so that zero can be represented.",
        breaks=("AQ-1",),
        seen="hazard of AQ-1: the edge decodes exactly",
        patches=(wrapped(affine, "snap_scale", lambda _original, _edge, _code, scale: scale),),
    ),
    Fault(
        name="bias-kept-at-edge-code-zero",
        does="A group whose edge code is zero keeps its edge as the bias.",
        breaks=("AQ-1", "AQ-3"),
        seen="hazard of AQ-3: otherwise it decodes to 0",
        patches=(wrapped(affine, "choose_bias", lambda _original, edge, _code: edge),),
    ),
    Fault(
        name="maximum-starts-at-zero",
        does="A group of negative values spans from its least value to 0.",
        breaks=("AQ-1",),
        seen="GPU quantizers start the maximum at 0",
        patches=(wrapped(affine, "group_bounds", _max_from_zero),),
    ),
    Fault(
        name="always-from-the-low-end",
        does="The scale always starts at the least value.",
        breaks=("AQ-1",),
        seen="hazard of AQ-1: the edge is the end farther from zero",
        patches=(wrapped(affine, "choose_edge", _plain_range),),
    ),
    Fault(
        name="low-edge-of-a-tie",
        does="Of two ends equally far from zero the low one is the edge.",
        breaks=("AQ-1",),
        seen="hazard of AQ-1: the high one of a tie",
        patches=(wrapped(affine, "choose_edge", _low_edge_of_a_tie),),
    ),
    Fault(
        name="range-cut-into-too-many-steps",
        does="The range is cut into 2^bits steps.",
        breaks=("AQ-1",),
        seen="hazard of AQ-1: 2^bits - 1",
        patches=(wrapped(affine, "scale_size", _one_step_more),),
    ),
    Fault(
        name="scale-in-double-precision",
        does="The scale is computed in double precision.",
        breaks=("AQ-1",),
        seen="a float64 computation differs in up to 0.7 % of the codes",
        patches=(
            wrapped(affine, "scale_size", _double_range),
            wrapped(affine, "edge_quotient", lambda _original, edge, scale: floats.divide(edge, scale)),
        ),
    ),
    Fault(
        name="no-smallest-scale",
        does="A constant group has a scale of 0.",
        breaks=("AQ-1",),
        seen="hazard of AQ-3: an all-zero group",
        patches=(replaced(affine, "SMALLEST_SCALE", 0.0),),
    ),
    Fault(
        name="codes-from-the-stored-scale",
        does="Codes are computed with the scale as it was rounded for storing.",
        breaks=("AQ-1",),
        seen="float16 and bfloat16: only the stored scale is rounded",
        patches=(wrapped(affine, "explain_group", _stored_parameters_first),),
    ),
    Fault(
        name="top-code-is-never-used",
        does="Codes are clipped one below the highest.",
        breaks=("AQ-1", "AQ-4"),
        seen="hazard of AQ-1: clipped to 0 .. 2^bits - 1",
        patches=(wrapped(affine, "clip_codes", _clipped_below_top),),
    ),
    Fault(
        name="codes-wrap-around",
        does="A code beyond the highest wraps around.",
        breaks=("AQ-1", "AQ-4"),
        seen="hazard of AQ-1: clipped, not masked",
        patches=(wrapped(affine, "clip_codes", _wraps_around),),
    ),
    Fault(
        name="row-takes-the-scale-before",
        does="A row gets the scale of the row quantized before it.",
        breaks=("AQ-2", "AQ-1"),
        seen="hazard of AQ-2: a scale shared by the rows of a tensor",
        patches=(Patch(affine, "quantize_row", _scale_before),),
    ),
    Fault(
        name="high-nibble-first",
        does="The first of eight codes is packed highest.",
        breaks=("AQ-1", "MQ-5"),
        seen="hazard of AQ-1: nibble order",
        patches=(wrapped(packing, "code_shifts", _high_code_first),),
    ),
    Fault(
        name="words-big-endian",
        does="Packed words have their bytes in reverse.",
        breaks=("AQ-1", "MQ-5"),
        seen="hazard of AQ-1: byte order",
        patches=(wrapped(packing, "pack_codes", _words_swapped),),
    ),
    Fault(
        name="bits-reversed",
        does="The bits of each code are packed in reverse.",
        breaks=("AQ-1", "MQ-5"),
        seen="hazard of AQ-1: bit order",
        patches=(wrapped(packing, "pack_codes", _bits_reversed),),
    ),
    Fault(
        name="bfloat16-is-cut",
        does="Values are cut to bfloat16 instead of rounded.",
        breaks=("AQ-1",),
        seen="hazard of AQ-1: stored in the input's dtype",
        patches=(
            replaced(
                floats,
                "_ENCODERS",
                {**floats._ENCODERS, "bfloat16": lambda values: _truncated_bfloat16(None, values)},
            ),
            wrapped(floats, "_encode_bfloat16", _truncated_bfloat16),
        ),
    ),
)
