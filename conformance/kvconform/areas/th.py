"""Checks of the threshold (TH)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .. import judges, projections
from ..checks import Check, Context
from ..invariants import passes
from ..scenario import AppendStep, Layer, PassStep, PlainLayer, RecurrentLayer, RotatingLayer, Scenario
from ..strategies import containers, declared, layers, numbers

ODD = PlainLayer(length=12, key_dim=80, value_dim=80)
"""Over the line and not compatible."""


def _single(context: Context) -> Any:
    return containers.near_the_line(context, most=1)


def _ten(context: Context) -> tuple[Scenario, ...]:
    """Ten rows, and a whole growth step, with the start at, below and above them."""
    return tuple(
        containers.scenario(
            context, (PlainLayer(length=length),), (PassStep(bits=4, start=length + distance),)
        )
        for length in (10, 256)
        for distance in (0, -1, 1)
    )


def _far(context: Context) -> tuple[Scenario, ...]:
    """Starts that a narrow integer would wrap to one below the five rows, and one next to the largest."""
    return tuple(
        containers.scenario(context, (PlainLayer(length=5),), (PassStep(bits=4, start=start),))
        for start in (2**16 + 1, 2**31, 2**32 + 1, 2**53 - 1)
    )


def _empty(context: Context) -> Any:
    """Empty lists at start 0, then rows and another pass: whether the first one triggered shows in it."""
    first = containers.pass_steps(context, start=st.just(0), group_size=st.just(64))
    append = st.builds(AppendStep, rows=st.integers(1, 3))
    steps = st.tuples(first) | st.tuples(first, append, first)
    return containers.scenarios(context, layers.lists(layers.empty(), most=2), steps)


def _one_empty(context: Context) -> tuple[Scenario, ...]:
    passing = PassStep(bits=4)
    return (
        containers.scenario(context, (PlainLayer(),), (passing,)),
        containers.scenario(context, (PlainLayer(),), (passing, AppendStep(rows=1), passing)),
    )


def _negative(context: Context) -> Any:
    layer = layers.empty() | layers.plain(layers.FILLED) | layers.trimmed_to_zero()
    first = containers.pass_steps(context, start=st.integers(-300, -1), group_size=st.just(64))
    append = st.builds(AppendStep, rows=st.integers(1, 3))
    second = containers.pass_steps(context, start=st.sampled_from((0, -1)), group_size=st.just(64))
    steps = st.tuples(first) | st.tuples(first, append, second)
    return containers.scenarios(context, layers.lists(layer, most=3), steps)


def _minus_one(context: Context) -> tuple[Scenario, ...]:
    passing = PassStep(bits=4, start=-1)
    lists: tuple[tuple[Layer, ...], ...] = ((PlainLayer(length=1),), (PlainLayer(),))
    once = [containers.scenario(context, one, (passing,)) for one in lists]
    once += [
        containers.scenario(context, lists[0], (PassStep(bits=4, start=start),))
        for start in (-(2**31) - 1, 1 - 2**32)
    ]
    return (*once, containers.scenario(context, lists[1], (passing, AppendStep(rows=1), passing)))


def _trigger(context: Context) -> Any:
    """One layer far over the line that cannot be converted itself, and others far below it."""
    odd = st.builds(
        lambda dims: PlainLayer(length=50, key_dim=dims[0], value_dim=dims[1]), numbers.incompatible_dims()
    )
    below, lists = layers.plain(st.integers(1, 5)), []
    lists.append(layers.with_one(odd, below, most=3))
    if context.dialect.scope == "first-then-all":
        quiet = [RotatingLayer(length=50)] if "rotating" in declared.quiet_kinds(context) else []
        first = st.sampled_from([PlainLayer(length=50), PlainLayer(length=5), *quiet])
        rest = st.lists(below | st.just(PlainLayer(length=50)), min_size=1, max_size=2)
        lists.append(st.builds(lambda one, others: (one, *others), first, rest))
    return containers.one_pass(context, st.one_of(lists), start=st.just(10), group_size=st.just(64))


def _odd_trigger(context: Context) -> tuple[Scenario, ...]:
    passing = (PassStep(bits=4, start=10),)
    three = PlainLayer(length=3)
    lists: list[tuple[Layer, ...]] = [(ODD, three), (three, ODD)]
    if context.dialect.scope == "first-then-all" and "rotating" in declared.quiet_kinds(context):
        lists += [(RotatingLayer(length=50), three), (three, RotatingLayer(length=50))]
    return tuple(containers.scenario(context, one, passing) for one in lists)


def _bystanders(context: Context) -> Any:
    """Layers that are not quantizable, far over the line, beside plain ones below it."""
    quiet = declared.quiet_kinds(context)
    far = layers.of_kinds(context, quiet, st.integers(20, 60)) if quiet else layers.empty()
    lists = layers.with_one(far, layers.plain(st.integers(1, 5)) | layers.empty(), most=3)
    return containers.one_pass(context, lists, start=st.integers(10, 20), group_size=st.just(64))


def _rotating_over(context: Context) -> tuple[Scenario, ...]:
    passing = (PassStep(bits=4, start=10),)
    kinds = {"rotating": RotatingLayer(length=50), "recurrent": RecurrentLayer()}
    chosen = [kinds[kind] for kind in declared.quiet_kinds(context) if kind in kinds]
    return tuple(containers.scenario(context, (one, PlainLayer(length=3)), passing) for one in chosen)


CHECKS = (
    Check(
        requirement="TH-1",
        name="line",
        scenarios=_single,
        judge=judges.same(projections.outcomes, "another line"),
        oracle="reference",
        explicit=lambda context: (*_ten(context), *_far(context)),
    ),
    Check(
        requirement="TH-2",
        name="empty",
        scenarios=_empty,
        judge=judges.same(projections.outcomes_and_answers, "empty layers at start 0 fare otherwise"),
        oracle="reference",
        explicit=_one_empty,
        weight=0.5,
    ),
    Check(
        requirement="TH-3",
        name="negative",
        scenarios=_negative,
        judge=judges.same(projections.outcomes_and_answers, "a negative start is taken otherwise"),
        oracle="reference",
        explicit=_minus_one,
    ),
    Check(
        requirement="TH-4",
        name="trigger",
        scenarios=_trigger,
        judge=judges.same(projections.outcomes_and_answers, "another trigger"),
        oracle="reference",
        explicit=_odd_trigger,
    ),
    Check(
        requirement="TH-5",
        name="bystanders",
        scenarios=_bystanders,
        judge=judges.declared(passes.idle_unless_quantizable_qualifies),
        explicit=_rotating_over,
    ),
)
