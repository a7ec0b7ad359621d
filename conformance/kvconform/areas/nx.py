"""Checks of asking for the next token (NX)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .. import judges
from ..checks import Check, Context, Expect
from ..invariants import steps, tokens
from ..scenario import PlainLayer, Scenario, ScriptedModel
from ..strategies import declared, iterations
from . import shared

EMPTY = (PlainLayer(),)


def _limited(context: Context) -> Any:
    limits = st.none() | st.integers(0, 3) | st.just(7)
    return iterations.scenarios(context, limits=limits, most=5)


def _limits(_context: Context) -> tuple[Scenario, ...]:
    asked = ((0, 1), (1, 2), (2, 4), (None, 2))
    return tuple(iterations.scenario(EMPTY, iterations.turn(1, nexts=n, max_tokens=m)) for m, n in asked)


def _far_limits(_context: Context) -> tuple[Scenario, ...]:
    """Limits that a narrow integer would wrap: to something negative, to 1, to 0."""
    asked = ((2**31, 2), (2**32 + 1, 3), (2**16, 2))
    return tuple(iterations.scenario(EMPTY, iterations.turn(1, nexts=n, max_tokens=m)) for m, n in asked)


def _several(_context: Context) -> tuple[Scenario, ...]:
    """More tokens than a first and a last one."""
    return (iterations.scenario(EMPTY, iterations.turn(1, nexts=5)),)


def _two_turns(_context: Context) -> tuple[Scenario, ...]:
    return (iterations.scenario(EMPTY, iterations.turn(1, nexts=2), iterations.turn(1, nexts=1)),)


def _negative(context: Context) -> Any:
    return iterations.scenarios(context, limits=st.integers(-9, -1), most=3)


def _minus_one(_context: Context) -> tuple[Scenario, ...]:
    return (iterations.scenario(EMPTY, iterations.turn(1, nexts=2, max_tokens=-1)),)


def _counted(context: Context, scenario: Any, observation: Any, _expect: Expect) -> Any:
    counts = declared.has(context, "feature:count")
    return tokens.samples_and_count(scenario, observation, counts=counts)


def _as_often(context: Context, scenario: Any, observation: Any, _expect: Expect) -> Any:
    told = declared.has(context, "feature:processors")
    return steps.processed_as_often(scenario, observation, told=told)


def _every_token(context: Context) -> Any:
    """Few tokens and many nexts, so that each of them comes out."""
    models = st.builds(ScriptedModel, seed=st.integers(0, 20), vocab=st.sampled_from((2, 3, 5)))
    return iterations.scenarios(context, model=models, most=12, bits=st.none())


def _long(_context: Context) -> tuple[Scenario, ...]:
    return (iterations.scenario(EMPTY, iterations.turn(1, nexts=20), model=ScriptedModel(vocab=4)),)


CHECKS = (
    Check(
        requirement="NX-1",
        name="limit",
        scenarios=_limited,
        judge=judges.declared(tokens.limit_kept),
        explicit=lambda context: (*_limits(context), *_far_limits(context)),
    ),
    Check(
        requirement="NX-1",
        name="negative",
        scenarios=_negative,
        judge=judges.declared(tokens.limit_kept),
        explicit=_minus_one,
        weight=0.3,
    ),
    Check(
        requirement="NX-2",
        name="lookahead",
        scenarios=_limited,
        judge=judges.invariant(tokens.tokens_fed_back),
        explicit=lambda context: (*_limits(context), *_several(context)),
    ),
    Check(
        requirement="NX-3",
        name="offsets",
        scenarios=iterations.scenarios,
        judge=judges.invariant(tokens.final_offsets),
        explicit=shared.crossing_examples,
    ),
    Check(
        requirement="NX-3",
        name="samples",
        scenarios=_limited,
        judge=_counted,
        explicit=lambda context: (*_limits(context), *_two_turns(context)),
        weight=0.5,
    ),
    Check(
        requirement="NX-3",
        name="processed",
        scenarios=shared.processing,
        judge=_as_often,
        needs=("feature:processors|feature:process-only",),
        weight=0.5,
    ),
    Check(
        requirement="NX-4",
        name="unlimited",
        scenarios=_every_token,
        judge=judges.invariant(tokens.unlimited),
        explicit=_long,
        weight=0.5,
    ),
    Check(
        requirement="NX-5",
        name="count",
        scenarios=_limited,
        judge=judges.invariant(tokens.count_is_tokens),
        explicit=_limits,
        needs=("feature:count",),
    ),
    Check(
        requirement="NX-5",
        name="prefill-time",
        scenarios=iterations.scenarios,
        judge=judges.invariant(tokens.prefill_time_once),
        explicit=_limits,
        needs=("feature:prefill-time",),
        weight=0.2,
    ),
)
