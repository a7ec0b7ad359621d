"""Steps: when a call sees what (section 9)."""

from __future__ import annotations

from .words import E, iterate, turn, vector

VECTORS = (
    vector(
        "st-start-10-prompt-10",
        "ST-1 ST-2",
        "the first quantized call one step too early or too late when the prompt ends on the line",
        iterate(E, turns=[turn(10, 3, bits=4, start=10)]),
    ),
    vector(
        "st-start-11-prompt-10",
        "ST-1 ST-2 ST-6",
        "the first quantized call one step too early or too late when the line lies behind the prompt",
        iterate(E, turns=[turn(10, 3, bits=4, start=11)]),
    ),
)
