"""Scenarios that several areas of the iterator share."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ..checks import Context, Expect
from ..invariants import steps
from ..scenario import PlainLayer, Scenario
from ..strategies import declared, iterations, layers

EMPTY = (PlainLayer(),)
WAYS_TO_GROW = ((250, 10), (255, 2), (256, 1), (512, 1))
"""Lengths with the rows appended to them: unaligned, crossing by two, full, full again (QC-3, KC-1)."""


def processing(context: Context, **options: Any) -> Any:
    """Turns with the boost processor, converting under way."""
    return iterations.scenarios(context, processor="boost", **options)


def told_once_each(context: Context, scenario: Any, observation: Any, _expect: Expect) -> Any:
    """As many process calls as samples; did-sample too where processors are told (PS-1, NX-3)."""
    told = declared.has(context, "feature:processors")
    return steps.processed_once_each(scenario, observation, told=told)


def crossing(context: Context, *, processor: str = "none", most: int = 4) -> Any:
    """A prompt that goes through in one chunk, and a start that is crossed around its end."""
    others = layers.plain(st.sampled_from((0, 5))) | layers.bystanders(context)
    return st.builds(
        lambda length, begun, distance, count, bits, more: iterations.scenario(
            (PlainLayer(length=begun), *more),
            iterations.turn(
                length, nexts=count, bits=bits, start=max(0, begun + length + distance), processor=processor
            ),
        ),
        st.integers(1, 6),
        st.sampled_from((0, 0, 3)),
        st.sampled_from((0, 1, -1, 2, -2, 3)),
        st.integers(1, most),
        st.sampled_from(iterations.even_bits(context)),
        st.lists(others, max_size=1),
    )


def crossing_examples(_context: Context) -> tuple[Scenario, ...]:
    """A prompt of ten: start at its end, one beyond, one before."""
    return tuple(
        iterations.scenario(EMPTY, iterations.turn(10, nexts=3, bits=4, start=s)) for s in (10, 11, 9)
    )
