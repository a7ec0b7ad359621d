"""Checks of head dims and compatibility (HD)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .. import judges
from ..checks import Check, Context
from ..invariants import holders, passes, resolving
from ..scenario import (
    AppendStep,
    Layer,
    PassStep,
    PlainLayer,
    QuantizedLayer,
    RecurrentLayer,
    ResolveScenario,
    Scenario,
)
from ..strategies import containers, declared, layers, numbers
from ..strategies import resolving as generated

UNEVEN = PlainLayer(length=1, key_dim=96, value_dim=64)
TWO_ARRAYS = RecurrentLayer(slots=2)


def _asked(context: Context) -> Any:
    return generated.of_layer(layers.any_layer(context))


def _every_kind(context: Context) -> tuple[Scenario, ...]:
    """Stored and not, packed, and what looks like a key and a value array."""
    kinds: tuple[Layer, ...] = (
        UNEVEN,
        PlainLayer(),
        PlainLayer(length=1, trim=1),
        QuantizedLayer(length=1),
        RecurrentLayer(slots=3),
    )
    chosen = [layer for layer in kinds if declared.has(context, f"layer:{layer.kind}")]
    return tuple(ResolveScenario(requested=64, layer=layer) for layer in chosen)


def _looked_at(context: Context) -> Any:
    append = st.tuples(st.builds(AppendStep, rows=st.integers(1, 3)))
    kinds = declared.layer_kinds(context, "chunked", "rotating", "recurrent")
    others = layers.of_kinds(context, kinds) if kinds else layers.empty()
    lists = layers.lists(layers.plain(layers.SMALL, numbers.head_dims()) | others, most=3)
    return containers.scenarios(context, lists, append)


def _plain_layers(_context: Context) -> Any:
    plain = layers.plain(layers.FILLED, numbers.head_dims()) | layers.empty()
    return generated.of_layer(plain | layers.trimmed_to_zero(numbers.head_dims()))


def _examples(*rows: tuple[int, int, int]) -> Any:
    made = [PlainLayer(length=length, key_dim=key, value_dim=value) for length, key, value in rows]
    scenarios = [ResolveScenario(requested=r, layer=layer) for layer in made for r in (64, 32, 128, 7, -1)]
    return lambda _context: tuple(scenarios)


def _beside_two_arrays(context: Context) -> Any:
    lists = layers.with_one(st.just(TWO_ARRAYS), layers.plain(), most=3)
    return containers.one_pass(context, lists, group_size=st.just(64))


def _explicit_beside(context: Context) -> tuple[Scenario, ...]:
    passing = (PassStep(bits=4),)
    return (containers.scenario(context, (PlainLayer(length=1), TWO_ARRAYS), passing),)


CHECKS = (
    Check(
        requirement="HD-1",
        name="asked",
        scenarios=_asked,
        judge=judges.invariant(resolving.head_dims),
        explicit=_every_kind,
        needs=("kind:resolve", "feature:layer-queries"),
    ),
    Check(
        requirement="HD-1",
        name="looks",
        scenarios=_looked_at,
        judge=judges.invariant(holders.looks_show_stored_dims),
        explicit=lambda context: (containers.scenario(context, (UNEVEN,), ()),),
        needs=("kind:container",),
    ),
    Check(
        requirement="HD-2",
        name="any-request",
        scenarios=_plain_layers,
        judge=judges.invariant(resolving.compatibility),
        explicit=_examples((5, 96, 96), (5, 80, 80), (5, 64, 80), (5, 96, 64), (0, 64, 64)),
    ),
    Check(
        requirement="HD-3",
        name="asked",
        scenarios=lambda _context: generated.of_layer(layers.recurrent()),
        judge=judges.invariant(resolving.two_arrays_are_no_trap),
        explicit=lambda _context: (ResolveScenario(requested=64, layer=TWO_ARRAYS),),
        needs=("kind:resolve", "feature:layer-queries"),
    ),
    Check(
        requirement="HD-3",
        name="pass",
        scenarios=_beside_two_arrays,
        judge=judges.all_of(
            judges.invariant(passes.no_pass_raises),
            judges.declared(passes.kept_layers_untouched),
        ),
        explicit=_explicit_beside,
        needs=("kind:container",),
    ),
)
