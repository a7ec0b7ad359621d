"""Affine quantization (section 14): groups whose numbers on the way are easy to get wrong."""

from __future__ import annotations

from ...pattern import GOLDEN, MASK, fmix
from .words import Source, quantize, vector

RAMP = [n / 8 for n in range(32)]
SIGNED = [(n - 16) / 4 for n in range(32)]


def noise(seed: int, count: int, size: float = 1.0) -> list[float]:
    """Numbers in [-size, size) with 24 random bits."""
    raw = [fmix((seed * 0x85EBCA6B + i * GOLDEN) & MASK) >> 8 for i in range(count)]
    return [size * (value / 2**23 - 1) for value in raw]


WIDTHS = tuple(
    vector(
        f"aq-ramp-{bits}-bits",
        "AQ-1 AQ-4 QC-6",
        "the edge is the end farther from zero; the scale is negative when that is the highest value",
        quantize(RAMP, bits=bits),
        reports="vllm#38479",
    )
    for bits in (2, 3, 4, 5, 6, 8)
)


def _formats() -> tuple[Source, ...]:
    cases = [(bits, 64, dtype) for bits in (3, 4, 8) for dtype in ("float32", "float16", "bfloat16")]
    cases += [(4, 128, "float32"), (6, 128, "float16"), (2, 32, "bfloat16"), (5, 32, "float16")]
    return tuple(
        vector(
            f"aq-noise-{bits}-bits-group-{group}-{dtype}",
            "AQ-1 AQ-4" if dtype == "float32" else "AQ-1",
            "codes computed in another precision than float32, or with the rounded scale and bias",
            quantize(noise(bits * 1000 + group, group * 2, 2.5), bits=bits, group_size=group, dtype=dtype),
        )
        for bits, group, dtype in cases
    )


EDGES = (
    vector(
        "aq-zeros",
        "AQ-1 AQ-3",
        "a division by a range of zero",
        quantize([0.0] * 32, bits=4),
    ),
    vector(
        "aq-constant",
        "AQ-1 AQ-3 AQ-4",
        "a constant group decodes to something near its value instead of the value",
        quantize([0.3] * 32, bits=4),
    ),
    vector(
        "aq-constant-negative",
        "AQ-1 AQ-3",
        "a constant negative group gets the wrong edge or sign",
        quantize([-1.7] * 32, bits=2),
    ),
    vector(
        "aq-constant-tiny",
        "AQ-1 AQ-3",
        "a magnitude below half the smallest scale does not decode to 0",
        quantize([4e-8] * 32, bits=8),
    ),
    vector(
        "aq-constant-just-large-enough",
        "AQ-1 AQ-3",
        "a magnitude just above half the smallest scale decodes to 0",
        quantize([6e-8] * 32, bits=8),
    ),
    vector(
        "aq-edge-tie",
        "AQ-1",
        "of two ends equally far from zero the lower one becomes the edge",
        quantize([-2.0, 2.0, *SIGNED[2:14], *[0.0] * 18], bits=4),
    ),
    vector(
        "aq-edge-code-half",
        "AQ-1",
        "the edge code is rounded half up instead of half to even, which moves the whole scale",
        quantize([-8.5 + n % 16 for n in range(32)], bits=4),
    ),
    vector(
        "aq-edge-code-half-other-way",
        "AQ-1",
        "the edge code is rounded half away from zero instead of half to even",
        quantize([-9.5 + n % 16 for n in range(32)], bits=4),
    ),
    vector(
        "aq-codes-half",
        "AQ-1",
        "values half-way between two codes are rounded away from zero instead of half to even",
        quantize([0.0, 15.0, *[n % 15 + 0.5 for n in range(30)]], bits=4),
    ),
    vector(
        "aq-all-negative",
        "AQ-1",
        "the highest value starts at 0 instead of at the first one",
        quantize([-1.0 - n / 64 for n in range(32)], bits=4),
    ),
    vector(
        "aq-all-positive",
        "AQ-1",
        "the lowest value starts at 0 instead of at the first one",
        quantize([1.0 + n / 64 for n in range(32)], bits=4),
    ),
    vector(
        "aq-one-outlier",
        "AQ-1 AQ-4",
        "one huge value decides over all the small ones, in the wrong precision",
        quantize([*noise(5, 31, 1e-3), 1000.0], bits=4),
    ),
    vector(
        "aq-negative-zero",
        "AQ-1",
        "a sign of zero turns up in codes, scale or bias",
        quantize([-0.0] * 31 + [1.0], bits=3),
    ),
    vector(
        "aq-subnormal",
        "AQ-1",
        "subnormal values are flushed, or divided by",
        quantize([2.0**-149, -(2.0**-149)] * 16, bits=4),
    ),
    vector(
        "aq-two-groups",
        "AQ-1",
        "scales and biases of two groups of a row are swapped or shared",
        quantize(RAMP + [-4 * value for value in RAMP], bits=4),
    ),
    vector(
        "aq-float16-stored-scale",
        "AQ-1",
        "codes are computed with the scale as it is stored, after it was rounded",
        quantize(noise(77, 32, 900.0), bits=8, dtype="float16"),
    ),
    vector(
        "aq-bfloat16-stored-scale",
        "AQ-1",
        "codes are computed with the scale as it is stored, after it was rounded",
        quantize(noise(78, 32, 3.0), bits=8, dtype="bfloat16"),
    ),
    vector(
        "aq-bfloat16-range",
        "AQ-1",
        "the range, which needs more bits than its two ends, is rounded to bfloat16",
        quantize(noise(29, 32), bits=8, dtype="bfloat16"),
    ),
    vector(
        "aq-bfloat16-steps",
        "AQ-1",
        "a step on the way to the codes is computed in bfloat16 instead of float32",
        quantize(noise(97, 32), bits=6, dtype="bfloat16"),
    ),
    vector(
        "aq-float16-steps",
        "AQ-1",
        "a step on the way to the codes, the range included, is computed in float16 instead of float32",
        quantize(noise(2274, 32), bits=8, dtype="float16"),
    ),
)

ROWS = (
    vector(
        "aq-rows",
        "AQ-2 AQ-1",
        "rows share scales, or are laid out one behind the other",
        quantize(RAMP, SIGNED, [0.5] * 32, bits=4),
    ),
    vector(
        "aq-rows-reversed",
        "AQ-2",
        "the codes of a row depend on the rows before it",
        quantize([0.5] * 32, SIGNED, RAMP, bits=4),
    ),
    vector(
        "aq-no-rows",
        "AQ-1",
        "a tensor without rows raises",
        quantize(bits=4),
    ),
)

REFUSED = tuple(
    vector(f"aq-refused-{name}", ids, comment, scenario)
    for name, ids, comment, scenario in (
        ("7-bits", "AQ-1 MQ-14", "7 bits are packed somehow", quantize(RAMP, bits=7)),
        (
            "group-16",
            "AQ-1 GS-5",
            "a group size that is not supported is used",
            quantize(RAMP, bits=4, group_size=16),
        ),
        (
            "group-64-of-96",
            "AQ-1 GS-5",
            "a group size that leaves a remainder is used",
            quantize(RAMP * 3, bits=4, group_size=64),
        ),
    )
)

VECTORS = (*WIDTHS, *_formats(), *EDGES, *ROWS, *REFUSED)
