"""Checks of what holders see (RF)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .. import judges, projections
from ..checks import Check, Context
from ..invariants import holders, tokens
from ..scenario import AppendStep, PassStep, PlainLayer, Scenario, TrimStep
from ..strategies import containers, declared, iterations, layers

EMPTY = (PlainLayer(),)


def _several_turns(context: Context) -> Any:
    bits = st.sampled_from(iterations.even_bits(context))
    return st.integers(2, 3).flatmap(
        lambda count: iterations.scenarios(context, turn_count=count, bits=bits, most=3)
    )


def _two_turns(context: Context) -> tuple[Scenario, ...]:
    turn = iterations.turn(2, nexts=1, bits=4)
    late = iterations.turn(2, nexts=1, bits=4, start=4)
    made = [iterations.scenario(EMPTY, one, one) for one in (turn, late)]
    if declared.has(context, "feature:container"):
        armed = containers.ARMED
        made += [iterations.scenario(EMPTY, one, one, given="container", built=armed) for one in (turn, late)]
    return tuple(made)


def _on_old_list(context: Context) -> Any:
    """The second turn takes the caller's list; conversions before it, in it, or none."""
    bits = st.sampled_from(iterations.even_bits(context))
    starts = st.sampled_from((0, 3, 100))
    first = iterations.turns(context, bits=bits, starts=starts, most=3)
    second = iterations.turns(context, bits=bits, starts=starts, most=2, cache="caller-list")
    given = ["list"] + ["container"] * declared.has(context, "feature:container")
    return st.builds(
        lambda layer, how, one, two: iterations.scenario(
            (layer,), one, two, given=how, built=containers.ARMED
        ),
        layers.plain(st.sampled_from((0, 3)), st.just((128, 128))),
        st.sampled_from(given),
        first,
        second,
    )


def _old_list_example(_context: Context) -> tuple[Scenario, ...]:
    first = iterations.turn(2, nexts=2, bits=4)
    second = iterations.turn(1, nexts=1, bits=4, cache="caller-list")
    return (iterations.scenario(EMPTY, first, second),)


def _trimmed_later(context: Context) -> Any:
    passing = containers.pass_steps(
        context, group_size=st.just(64), bits=st.sampled_from(iterations.even_bits(context))
    )
    append = st.builds(AppendStep, rows=st.integers(1, 3))
    trim = st.builds(TrimStep, rows=st.integers(0, 6))
    steps = (
        st.tuples(passing, trim) | st.tuples(passing, append, trim) | st.tuples(passing, trim, append, trim)
    )
    return containers.scenarios(context, layers.lists(layers.plain(), most=2), steps)


def _trim_example(context: Context) -> tuple[Scenario, ...]:
    """One layer, and two."""
    layer, steps = PlainLayer(length=2), (PassStep(bits=4), TrimStep(rows=1))
    return tuple(containers.scenario(context, (layer,) * count, steps) for count in (1, 2))


CHECKS = (
    Check(
        requirement="RF-1",
        name="turns",
        scenarios=_several_turns,
        judge=judges.invariant(tokens.next_turn_continues),
        explicit=_two_turns,
    ),
    Check(
        requirement="RF-2",
        name="old-list",
        scenarios=_on_old_list,
        judge=judges.same(projections.turn_offsets, "a turn on the caller's old list goes otherwise"),
        oracle="reference",
        explicit=_old_list_example,
        weight=0.5,
    ),
    Check(
        requirement="RF-3",
        name="trim",
        scenarios=_trimmed_later,
        judge=judges.invariant(holders.trims_the_converted),
        explicit=_trim_example,
    ),
)
