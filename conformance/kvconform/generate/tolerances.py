"""How far a stream may lie from its golden on another platform, and where each number comes from.

Two platforms that compute the same model differ by rounding. Without quantization that moves a margin by a
few units in the last place. A quantized cache turns it into whole codes: a value just beside the border of
two codes falls on the other side, and once in a while the edge code of a group does, which moves the scale
of all its values. So a quantized stream gets two bounds: for its worst step, which one such event can
move far, and for its mean, which stays small while a wrong stream's does not.

``python -m kvconform.generate.sensitivity`` measures again; the bounds are about twice the worst seen.
"""

from __future__ import annotations

from dataclasses import dataclass

from .golden import Golden

TIES = {"float32": 0.05, "float16": 0.05, "bfloat16": 1.0}
"""Below this recorded margin another token is a tie, by the type of the logits.

float32 and float16: 64-token streams of SmolLM2 on a CUDA device kept within 0.02 and 0.05 of the CPU's.
bfloat16: one unit in the last place moved the margins of 22 of 23 tiny models by up to 0.58 (float16: 0.13).
"""


@dataclass(frozen=True)
class Bound:
    """How far the margins of a teacher-forced stream may move."""

    step: float
    """At any one step."""
    mean: float
    """On average over all steps."""


DEEP_LAYERS = 8
"""From how many converted layers on a stream counts as deep: every layer is a chance for a code to flip."""

SHALLOW = {
    8: Bound(0.1, 0.015),
    6: Bound(0.6, 0.08),
    5: Bound(0.6, 0.08),
    4: Bound(2.6, 0.15),
    3: Bound(2.6, 0.2),
    2: Bound(2.6, 0.2),
}
"""float32, few layers: the tiny models, every linear output moved by up to 511 units in the last place."""

DEEP = {
    8: Bound(0.3, 0.06),
    6: Bound(1.2, 0.2),
    5: Bound(2.0, 0.4),
    4: Bound(6.0, 0.8),
    3: Bound(6.0, 1.6),
    2: Bound(6.0, 1.6),
}
"""float32, many layers: SmolLM2's 30, every linear output moved by up to 15 units in the last place."""

HALF = {
    "float16": {
        8: Bound(0.4, 0.1),
        6: Bound(1.2, 0.2),
        5: Bound(2.0, 0.3),
        4: Bound(3.4, 0.6),
        3: Bound(3.6, 0.8),
        2: Bound(6.0, 1.1),
    },
    "bfloat16": {
        8: Bound(2.2, 0.5),
        6: Bound(2.5, 0.7),
        5: Bound(2.9, 0.7),
        4: Bound(5.5, 1.3),
        3: Bound(7.5, 1.5),
        2: Bound(11.0, 1.9),
    },
}
"""At least this much in half precision: the tiny models, every linear output moved by at most one unit."""


def tie_tolerance(dtype: str) -> float:
    """The margin below which another token counts as a tie; the narrowest for a type that is not known."""
    return TIES.get(dtype, min(TIES.values()))


def bound_for(recorded: Golden) -> Bound:
    """The bound of a quantized golden: by its bits, how many of its layers were converted, and its dtype."""
    layers = {layer for event in recorded.expected.conversions for layer in event.layers}
    bits = recorded.scenario.parameters.bits or max(DEEP)
    table = DEEP if len(layers) >= DEEP_LAYERS else SHALLOW
    return wider(by_bits(table, bits), by_bits(HALF.get(recorded.recorded.dtype, table), bits))


def by_bits(table: dict[int, Bound], bits: int) -> Bound:
    """The entry for these bits; for bits that are not in the table that of the next lower ones."""
    return table[max((known for known in table if known <= bits), default=min(table))]


def wider(one: Bound, other: Bound) -> Bound:
    """The larger of both in each respect."""
    return Bound(max(one.step, other.step), max(one.mean, other.mean))
