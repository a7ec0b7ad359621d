"""Checks of one step (ST)."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import strategies as st

from .. import judges, projections
from ..checks import Check, Context
from ..invariants import building, steps
from ..invariants.traces import Script
from ..scenario import PlainLayer, Scenario, ScriptedModel
from ..strategies import iterations, layers
from . import shared

EMPTY = (PlainLayer(),)


def _warm_over_line(context: Context) -> Any:
    """Layers that are over the line already: a pass too early would show at the first call."""
    warm = layers.plain(st.sampled_from((3, 1, 9)), st.just((128, 128)))
    bits = st.sampled_from(iterations.even_bits(context))
    return iterations.scenarios(
        context,
        layer_lists=layers.lists(warm | layers.bystanders(context), most=2),
        bits=bits,
        starts=st.just(0),
    )


def _warm_example(_context: Context) -> tuple[Scenario, ...]:
    return (iterations.scenario((PlainLayer(length=1),), iterations.turn(1, nexts=1, bits=4)),)


def _processed(context: Context) -> Any:
    return shared.crossing(context, processor="boost")


def _processed_example(_context: Context) -> tuple[Scenario, ...]:
    return (iterations.scenario(EMPTY, iterations.turn(1, nexts=1, bits=4, processor="boost")),)


def _maybe_empty(context: Context) -> Any:
    return iterations.scenarios(context, layer_lists=iterations.safe_lists(context, least=0))


def _no_layers(_context: Context) -> tuple[Scenario, ...]:
    return (iterations.scenario((), iterations.turn(1, nexts=1)),)


def _states(context: Context) -> Any:
    models = st.builds(ScriptedModel, seed=st.integers(0, 5), state=st.sampled_from(("always", "alternate")))
    return iterations.scenarios(context, model=models)


def _kept_state(context: Context) -> Any:
    models = st.builds(ScriptedModel, seed=st.integers(0, 5), state=st.just("always"))
    return iterations.scenarios(context, model=models)


def _state_examples(_context: Context) -> tuple[Scenario, ...]:
    return tuple(
        iterations.scenario(EMPTY, iterations.turn(1, nexts=3), model=ScriptedModel(state=state))
        for state in ("always", "alternate")
    )


def _several_tokens(_context: Context) -> tuple[Scenario, ...]:
    """A step over several tokens, without bits and with bits that are far from their start."""
    return tuple(
        iterations.scenario(EMPTY, iterations.turn(3, nexts=1, bits=bits, start=100)) for bits in (None, 4)
    )


def _followed(statement: Any) -> Any:
    def judge(scenario: Any, observation: Any) -> Any:
        return statement(scenario, observation) if Script.can_follow(scenario) else ()

    return judges.invariant(judge)


def _converting(context: Context) -> Any:
    bits = st.sampled_from(iterations.even_bits(context))
    return iterations.scenarios(context, bits=bits)


CHECKS = (
    Check(
        requirement="ST-1",
        name="order",
        scenarios=shared.processing,
        judge=judges.invariant(steps.step_order),
        needs=("feature:processors|feature:process-only",),
        weight=0.5,
    ),
    Check(
        requirement="ST-1",
        name="first-call",
        scenarios=_warm_over_line,
        judge=judges.invariant(building.first_call_sees_given),
        explicit=_warm_example,
    ),
    Check(
        requirement="ST-1",
        name="pass-position",
        scenarios=_processed,
        judge=judges.same(projections.process_caches, "pass and processors come in another order"),
        oracle="reference",
        explicit=_processed_example,
        needs=("feature:processors|feature:process-only",),
    ),
    Check(
        requirement="ST-1",
        name="everything",
        scenarios=iterations.anything,
        judge=judges.same(projections.everything_in_turns, "the iterator behaves otherwise"),
        oracle="reference",
        broad=True,
        weight=2.0,
    ),
    Check(
        requirement="ST-2",
        name="crossing",
        scenarios=shared.crossing,
        judge=judges.same(projections.call_caches, "calls see other caches"),
        oracle="reference",
        explicit=lambda context: (*shared.crossing_examples(context), *_warm_example(context)),
    ),
    Check(
        requirement="ST-3",
        name="list",
        scenarios=_maybe_empty,
        judge=judges.invariant(steps.cache_argument),
        explicit=_no_layers,
        weight=0.5,
    ),
    Check(
        requirement="ST-3",
        name="current",
        scenarios=_converting,
        judge=judges.invariant(steps.last_call_on_current_list),
        explicit=shared.crossing_examples,
    ),
    Check(
        requirement="ST-3",
        name="state",
        scenarios=_kept_state,
        judge=_followed(steps.state_handed_on),
        explicit=lambda context: _state_examples(context)[:1],
        needs=("feature:model-state",),
        weight=0.5,
    ),
    Check(
        requirement="ST-4",
        name="state",
        scenarios=_states,
        judge=_followed(steps.state_handed_on),
        explicit=_state_examples,
    ),
    Check(
        requirement="ST-5",
        name="last-row",
        scenarios=iterations.scenarios,
        judge=_followed(partial(steps.sampled_as_argmax, lengths="several")),
        explicit=_several_tokens,
    ),
    Check(
        requirement="ST-6",
        name="offsets",
        scenarios=_converting,
        judge=judges.invariant(steps.offsets_add_up),
        explicit=shared.crossing_examples,
    ),
)
