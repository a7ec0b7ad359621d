"""Checks of which layers are quantizable (QP)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .. import judges, projections
from ..checks import Check, Context, Finding
from ..invariants import holders, passes, resolving
from ..scenario import (
    AppendStep,
    ChunkedLayer,
    CompositeLayer,
    Layer,
    PassStep,
    PlainLayer,
    QuantizedLayer,
    RecurrentLayer,
    ResolveScenario,
    RotatingLayer,
    Scenario,
    TrimStep,
)
from ..strategies import containers, declared, layers, numbers
from ..strategies import resolving as generated

SMALLEST = 32
"""A request that every resolver can use for dims that are multiples of it."""


def _quantizable(context: Context, scenario: Any, observation: Any, _expect: Any) -> Any:
    return resolving.quantizable(scenario, observation, context.dialect.rotating)


def _asked_examples(context: Context) -> tuple[Scenario, ...]:
    """Plain layers of any dims and fill, and one of each other kind."""
    odd = PlainLayer(length=1, key_dim=80, value_dim=80)
    plain = (PlainLayer(length=1), PlainLayer(), PlainLayer(length=1, trim=1), odd)
    others = (
        QuantizedLayer(length=1),
        RecurrentLayer(),
        RotatingLayer(length=1),
        CompositeLayer(children=(PlainLayer(length=1),)),
    )
    kept = [layer for layer in others if declared.has(context, f"layer:{layer.kind}")]
    return tuple(ResolveScenario(requested=SMALLEST, layer=layer) for layer in (*plain, *kept))


def _alone(context: Context) -> Any:
    """One layer at start 0: a plain one converts, and of the others none does."""
    others = declared.layer_kinds(context, "quantized", "recurrent", "composite")
    plain = layers.plain(st.integers(1, 9) | st.sampled_from((255, 256, 257)), numbers.compatible_dims())
    layer = plain | layers.of_kinds(context, others, layers.FILLED) if others else plain
    return containers.one_pass(context, layers.lists(layer, most=1), group_size=st.just(SMALLEST))


def _with_chunked(context: Context) -> Any:
    chunked = layers.chunked(st.integers(1, 20)) | layers.chunked(drops=True)
    lists = layers.with_one(chunked, layers.plain(layers.SMALL), most=3)
    return containers.scenarios(context, lists, _passes_around(context))


def _passes_around(context: Context) -> Any:
    """A pass, rows, and a second pass: what was kept may not have disarmed it, or must have."""
    first = containers.pass_steps(context, start=st.sampled_from((0, 3, 8)), group_size=st.just(64))
    append = st.builds(AppendStep, rows=st.integers(1, 4))
    trim = st.builds(TrimStep, rows=st.integers(1, 20))
    return st.tuples(first) | st.tuples(first, append, first) | st.tuples(trim, first)


def _dropped(context: Context) -> tuple[Scenario, ...]:
    chunked, plain = ChunkedLayer(length=5, chunk_size=4, drop_front=True), PlainLayer(length=1)
    passing, append = PassStep(bits=4, start=3), AppendStep(rows=4)
    kept = ChunkedLayer(length=4)
    return (
        containers.scenario(context, (kept,), (passing,)),
        containers.scenario(context, (chunked,), (passing,)),
        containers.scenario(context, (chunked, plain), (passing,)),
        containers.scenario(context, (chunked, PlainLayer()), (passing, append, passing)),
        # Trimmed to no rows at all, one of them, and with others beside it: the offset stays above its rows.
        containers.scenario(context, (chunked,), (TrimStep(rows=4), PassStep(bits=4))),
        containers.scenario(context, (chunked,), (TrimStep(rows=3), PassStep(bits=4))),
        containers.scenario(
            context, (PlainLayer(length=20), chunked), (TrimStep(rows=9), PassStep(bits=4), append)
        ),
    )


def _built(context: Context) -> Any:
    lists = layers.lists(layers.any_layer(context, st.integers(0, 20)))
    return containers.scenarios(context, lists, st.just(()))


def _built_examples(context: Context) -> tuple[Scenario, ...]:
    """Every kind alone, where asking could leave a trace: full windows and chunks, nothing stored."""
    kinds: tuple[Layer, ...] = (
        PlainLayer(),
        PlainLayer(length=2, trim=1),
        ChunkedLayer(length=5, chunk_size=4),
        RotatingLayer(length=5, max_size=4),
        RecurrentLayer(),
        RecurrentLayer(filled=False),
    )
    declared_kinds = [layer for layer in kinds if declared.has(context, f"layer:{layer.kind}")]
    return tuple(containers.scenario(context, (layer,), ()) for layer in declared_kinds)


def _asked_without_bits(context: Context) -> Any:
    lists = layers.lists(layers.any_layer(context, st.integers(0, 20)))
    return containers.scenarios(context, lists, st.just((PassStep(),)))


def _same_after_asking(scenario: Any, observation: Any) -> Any:
    first, last = observation.steps[0], observation.steps[-1]
    if (first.holders, first.objects) != (last.holders, last.objects):
        yield Finding(message="asking changed what holders see: a pass without bits", observed=last.holders)


CHECKS = (
    Check(
        requirement="QP-1",
        name="asked",
        scenarios=lambda context: generated.of_layer(layers.any_layer(context)),
        judge=_quantizable,
        explicit=_asked_examples,
        needs=("kind:resolve", "feature:layer-queries"),
    ),
    Check(
        requirement="QP-1",
        name="pass",
        scenarios=_alone,
        judge=judges.all_of(
            judges.invariant(passes.whole_plain_layer_converts),
            judges.invariant(passes.only_quantizable_convert),
        ),
        needs=("kind:container",),
    ),
    Check(
        requirement="QP-2",
        name="declared",
        scenarios=_with_chunked,
        judge=judges.same(projections.outcomes_and_answers, "chunked layers fare otherwise"),
        oracle="reference",
        explicit=_dropped,
    ),
    Check(
        requirement="QP-2",
        name="rows",
        scenarios=_with_chunked,
        judge=judges.invariant(passes.rows_equal_offset),
        explicit=_dropped,
    ),
    Check(
        requirement="QP-3",
        name="built",
        scenarios=_built,
        judge=judges.invariant(holders.same_fill_as_given),
        explicit=_built_examples,
    ),
    Check(
        requirement="QP-3",
        name="asked",
        scenarios=_asked_without_bits,
        judge=judges.invariant(_same_after_asking),
    ),
)
