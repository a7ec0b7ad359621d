"""Affine quantization (section 14): groups whose numbers on the way are easy to get wrong."""

from __future__ import annotations

from .words import quantize, vector

RAMP = [n / 8 for n in range(32)]

VECTORS = (
    vector(
        "aq-ramp-4-bits",
        "AQ-1 AQ-4 QC-6",
        "the edge is the end farther from zero and the scale is negative when that is the highest value",
        quantize(RAMP, bits=4),
    ),
    vector(
        "aq-ramp-3-bits",
        "AQ-1 QC-6",
        "3-bit codes that straddle words, cut at word borders instead",
        quantize(RAMP, bits=3),
    ),
    vector(
        "aq-zeros",
        "AQ-1 AQ-3",
        "a division by a range of zero",
        quantize([0.0] * 32, bits=4),
    ),
)
