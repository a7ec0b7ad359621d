"""What another backend may answer where this one rounds a tie the other way: whole branches, nothing looser.

GPU quantizers were seen to differ from the CPU in two rules only: the maximum of a group starts at 0 (a group
of negative values spans low..0), and rounding is half away from zero. Near a tie of the *edge code* the last
bit of a division decides the scale of the whole group, so both edge codes are accepted, each with the scale,
bias and codes that follow from it. Taking the scale of one branch and the codes of another is a fault.
Source: specification AQ-1; "codes within one" would hide real faults.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from . import affine, floats, packing

# How far from a half a quotient may lie and still round to either side, relative to the quotient: division
# that is not correctly rounded is off by up to 2.5 float32 ulps where a GPU documents it; one is at most
# 2^-23 of the quotient.
TIE_WIDTH = 2.5 * 2.0**-23


@dataclass(frozen=True, slots=True)
class Branch:
    """One acceptable result for a group: the stored scale and bias, and for each value the codes allowed.

    A value has one code; two when its quotient lies beside a tie without being one; all when it is NaN, since
    the integer that a NaN becomes is undefined.
    """

    decisions: str
    stored_scale: float
    stored_bias: float
    codes: tuple[frozenset[int], ...]


def acceptance_set(
    values: Sequence[float], *, bits: int, group_size: int, dtype: str = "float32"
) -> list[tuple[Branch, ...]]:
    """For each group of a row the acceptable branches, the CPU's own first; errors as in `affine`."""
    affine.check_parameters(len(values), bits=bits, group_size=group_size)
    stored = floats.round_values(values, dtype)
    starts = range(0, len(stored), group_size)
    return [tuple(_branches(stored[start : start + group_size], bits, dtype)) for start in starts]


def why_rejected(
    row: affine.QuantizedRow,
    values: Sequence[float],
    *,
    bits: int,
    group_size: int,
    dtype: str = "float32",
) -> str | None:
    """Why `row` is no acceptable quantization of `values`, naming the group; none when it is one."""
    accepted = acceptance_set(values, bits=bits, group_size=group_size, dtype=dtype)
    scales, biases = floats.decode(row.scales, dtype), floats.decode(row.biases, dtype)
    if not len(scales) == len(biases) == len(accepted):
        return (
            f"{len(scales)} scales and {len(biases)} biases for {len(accepted)} groups; one of each is right"
        )
    codes = packing.unpack_codes(packing.words_from_bytes(row.packed), bits, len(values))
    for index, (branches, scale, bias) in enumerate(zip(accepted, scales, biases, strict=True)):
        group = codes[index * group_size : (index + 1) * group_size]
        if not any(_is_branch(branch, scale, bias, group) for branch in branches):
            return _describe(index, scale, bias, group, branches)
    return None


def possible_bounds(values: Sequence[float]) -> list[tuple[float, float]]:
    """The group's bounds as the CPU takes them; as well low..0 for a group of negative values."""
    low, high = affine.group_bounds(values)
    return [(low, high), (low, 0.0)] if high < 0 else [(low, high)]


def possible_edge_codes(quotient: float) -> list[float]:
    """The edge code; both neighbours when the quotient is at or beside a tie."""
    usual = affine.round_edge_code(quotient)
    if not beside_tie(quotient):
        return [usual]
    below = float(math.floor(quotient))
    return [usual, below + 1 if usual == below else below]


def beside_tie(quotient: float) -> bool:
    """Whether the last bits of a float32 quotient decide how it rounds."""
    if not math.isfinite(quotient):
        return False
    distance = abs(quotient - math.floor(quotient) - 0.5)
    return distance <= TIE_WIDTH * abs(quotient)


def _branches(values: Sequence[float], bits: int, dtype: str) -> Iterator[Branch]:
    for low, high in possible_bounds(values):
        edge, direction = affine.choose_edge(low, high)
        first_scale = direction * affine.scale_size(low, high, bits)
        for edge_code in possible_edge_codes(affine.edge_quotient(edge, first_scale)):
            scale = affine.snap_scale(edge, edge_code, first_scale)
            bias = affine.choose_bias(edge, edge_code)
            quotients = affine.code_quotients(values, scale, bias)
            for rounding in _roundings(quotients):
                yield Branch(
                    decisions=f"range {low:g}..{high:g}, edge code {edge_code:g}, ties {rounding}",
                    stored_scale=floats.round_value(scale, dtype),
                    stored_bias=floats.round_value(bias, dtype),
                    codes=_allowed_codes(quotients, bits, ROUNDINGS[rounding]),
                )


def _half_even(quotient: float) -> float:
    return float(round(quotient))


def _half_away(quotient: float) -> float:
    return math.copysign(math.floor(abs(quotient) + 0.5), quotient)


ROUNDINGS: dict[str, Callable[[float], float]] = {"to even": _half_even, "away from zero": _half_away}


def _roundings(quotients: Sequence[float]) -> list[str]:
    """Both rules only where they differ: with an exact tie in the group."""
    return list(ROUNDINGS) if any(_is_tie(quotient) for quotient in quotients) else ["to even"]


def _is_tie(quotient: float) -> bool:
    return math.isfinite(quotient) and quotient - math.floor(quotient) == 0.5


def _allowed_codes(
    quotients: Sequence[float], bits: int, rounding: Callable[[float], float]
) -> tuple[frozenset[int], ...]:
    return tuple(frozenset(_codes_of(quotient, bits, rounding)) for quotient in quotients)


def _codes_of(quotient: float, bits: int, rounding: Callable[[float], float]) -> list[int]:
    if math.isnan(quotient):
        return list(range(affine.highest_code(bits) + 1))
    if math.isinf(quotient):
        return affine.clip_codes([quotient], bits)
    if beside_tie(quotient) and not _is_tie(quotient):
        below = math.floor(quotient)
        return affine.clip_codes([below, below + 1], bits)
    return affine.clip_codes([rounding(quotient)], bits)


def _is_branch(branch: Branch, scale: float, bias: float, codes: Sequence[int]) -> bool:
    return (
        _same(branch.stored_scale, scale)
        and _same(branch.stored_bias, bias)
        and all(code in allowed for code, allowed in zip(codes, branch.codes, strict=True))
    )


def _same(expected: float, observed: float) -> bool:
    return expected == observed or (math.isnan(expected) and math.isnan(observed))


def _describe(index: int, scale: float, bias: float, codes: Sequence[int], branches: Sequence[Branch]) -> str:
    known = "; ".join(
        f"{branch.decisions}: scale {branch.stored_scale!r}, bias {branch.stored_bias!r}, "
        f"{_wrong_codes(codes, branch)} codes differ"
        for branch in branches
    )
    return f"group {index} has scale {scale!r}, bias {bias!r}, which is no branch as a whole ({known}). AQ-1"


def _wrong_codes(codes: Sequence[int], branch: Branch) -> int:
    return sum(code not in allowed for code, allowed in zip(codes, branch.codes, strict=True))
