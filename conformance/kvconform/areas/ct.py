"""Checks of the container (CT)."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import strategies as st

from .. import judges, projections
from ..checks import Check, Context
from ..invariants import building, holders, passes
from ..scenario import (
    AppendStep,
    Built,
    ChunkedLayer,
    CompositeLayer,
    Layer,
    Observe,
    PassStep,
    PlainLayer,
    QuantizedLayer,
    RecurrentLayer,
    RotatingLayer,
    Scenario,
)
from ..strategies import containers, declared, iterations, layers, numbers

FOUR, EIGHT = PassStep(bits=4), PassStep(bits=8)
ONE, EMPTY = PlainLayer(length=1), PlainLayer()
ODD = PlainLayer(length=1, key_dim=80, value_dim=80)
MORE = AppendStep(rows=1)
LOOKS = Observe(accesses=True)
CONTAINER = ("container",)
"""The form with a container: the latch is looked at in no other."""


def _plain_lists(context: Context, *, most: int = 3) -> Any:
    return layers.lists(layers.plain(layers.SMALL) | layers.empty() | layers.bystanders(context), most=most)


def _sequences(context: Context, **options: Any) -> Any:
    return containers.step_sequences(
        context, trims=False, starts=st.integers(0, 6), requests=st.sampled_from((64, 32)), **options
    )


def _in_container(context: Context, lists: Any, steps: Any, **fields: Any) -> Any:
    return containers.scenarios(context, lists, steps, forms=CONTAINER, **fields)


def _steps(
    context: Context, *pairs: tuple[tuple[Layer, ...], tuple[Any, ...]], **fields: Any
) -> tuple[Scenario, ...]:
    return tuple(containers.scenario(context, one, steps, form="container", **fields) for one, steps in pairs)


def _built_otherwise(_context: Context, scenario: Any) -> Scenario:
    """The same container, built with another group size: one that no conversion could use."""
    other = 48 if scenario.built.group_size == 128 else 128
    return scenario.model_copy(update={"built": Built(bits=scenario.built.bits, group_size=other)})


def _built_examples(context: Context) -> tuple[Scenario, ...]:
    wide = (PlainLayer(length=1, key_dim=128, value_dim=128),)
    return tuple(
        made
        for size in (64, 128)
        for made in _steps(context, (wide, (FOUR,)), built=Built(bits=4, group_size=size))
    )


def _built_with_other_bits(_context: Context, scenario: Any) -> Scenario:
    return scenario.model_copy(update={"built": Built(bits=12 - scenario.built.bits)})


def _sequences_in_container(context: Context) -> Any:
    dims = st.just((128, 128))
    lists = layers.lists(layers.plain(layers.SMALL, dims) | layers.bystanders(context), most=2)
    steps = _sequences(context, most=3)
    return st.sampled_from((64, 32, 128, 48, 7)).flatmap(
        lambda size: _in_container(context, lists, steps, built=Built(bits=4, group_size=size))
    )


def _any_sequences(context: Context) -> Any:
    lists = layers.lists(layers.any_layer(context, st.integers(0, 12)), most=3)
    return containers.scenarios(context, lists, _sequences(context, most=3))


def _one_of_each(context: Context) -> tuple[Scenario, ...]:
    """A list of every kind of layer, filled; another of layers that hold nothing."""
    made: dict[str, tuple[Layer, Layer]] = {
        "chunked": (ChunkedLayer(length=5), ChunkedLayer()),
        "rotating": (RotatingLayer(length=5, max_size=4), RotatingLayer()),
        "quantized": (QuantizedLayer(length=5), QuantizedLayer()),
        "recurrent": (RecurrentLayer(), RecurrentLayer(filled=False)),
        "composite": (CompositeLayer(children=(ONE, ONE)), CompositeLayer(children=(EMPTY,))),
    }
    kinds = declared.layer_kinds(context, *made)
    filled, empty = (tuple(made[kind][place] for kind in kinds) for place in (0, 1))
    lists = ((ONE, *filled, ODD), (EMPTY, *empty, PlainLayer(length=1, trim=1)))
    return tuple(
        containers.scenario(context, one, (), form=form) for form in declared.forms(context) for one in lists
    )


def _caller_steps(context: Context) -> Any:
    """Conversions, then rows through the container or through the caller's list."""
    through = st.sampled_from(("container", "caller"))
    append = st.builds(AppendStep, rows=st.integers(1, 4), through=through)
    passing = containers.pass_steps(
        context, group_size=st.just(64), bits=st.sampled_from(iterations.even_bits(context))
    )
    steps = st.lists(append | passing, min_size=1, max_size=3)
    return containers.scenarios(context, layers.lists(layers.plain(), most=2), steps)


def _caller_examples(context: Context) -> tuple[Scenario, ...]:
    through = AppendStep(rows=1, through="caller")
    return (
        containers.scenario(context, (ONE,), (FOUR,)),
        containers.scenario(context, (ONE,), (FOUR, MORE)),
        containers.scenario(context, (ONE,), (FOUR, through)),
    )


def _latched(context: Context) -> Any:
    """Built with bits or without; layers over the line, below it, and never written."""
    wide = layers.plain(layers.FILLED, st.just((128, 128)))
    lists = layers.with_one(wide, wide | layers.empty() | layers.bystanders(context), most=3)
    steps = containers.step_sequences(
        context, trims=False, starts=st.sampled_from((0, 1, 3, 6)), requests=st.sampled_from((64, 32))
    )
    built = st.sampled_from((Built(bits=4), Built(bits=8, group_size=32), Built(bits=4), Built()))
    return built.flatmap(lambda one: _in_container(context, lists, steps, built=one))


def _latch_examples(context: Context) -> tuple[Scenario, ...]:
    lists: list[tuple[tuple[Layer, ...], tuple[Any, ...]]] = [
        ((ONE, EMPTY), (FOUR, MORE, FOUR)),
        ((ONE, EMPTY), (FOUR, MORE, PassStep(bits=8, group_size=32))),
    ]
    late = (FOUR, MORE, FOUR)
    unarmed = _steps(context, ((ONE,), (FOUR,)), built=Built())
    return (*_steps(context, *lists, ((ODD, EMPTY), late), ((EMPTY,), late)), *unarmed)


def _nothing_to_arm_for(context: Context) -> Any:
    """Lists without a quantizable layer: a pass has nothing to look for."""
    lists = layers.lists(layers.bystanders(context), most=2)
    passing = containers.pass_steps(context, start=st.integers(0, 3))
    return _in_container(context, lists, st.tuples(passing), observe=LOOKS)


def _nothing_to_arm_for_examples(context: Context) -> tuple[Scenario, ...]:
    made: dict[str, Layer] = {"quantized": QuantizedLayer(length=1), "recurrent": RecurrentLayer()}
    lists = [((made[kind],), (FOUR,)) for kind in declared.layer_kinds(context, *made)]
    return _steps(context, *lists, observe=LOOKS)


def _never_looks(scenario: Any, observation: Any) -> Any:
    del scenario
    for number, record in enumerate(observation.steps):
        if record.accesses:
            what = f"a container without a quantizable layer is armed: step {number} looked at layers"
            yield judges.Finding(message=what, expected=0, observed=record.accesses)


def _unarmed(context: Context) -> Any:
    return _in_container(context, _plain_lists(context), _sequences(context, most=3), built=Built())


def _call_bits(context: Context) -> Any:
    none = st.just(PassStep())
    call = containers.pass_steps(context, group_size=st.just(64))
    steps = st.tuples(none, call) | st.tuples(call) | st.tuples(none, none, call)
    return _in_container(context, layers.lists(layers.plain(), most=2), steps)


def _hazards(context: Context) -> Any:
    """All empty, some empty, all incompatible: then rows, then a pass that comes too late."""
    odd = layers.plain(layers.FILLED, numbers.incompatible_dims())
    lists = (
        layers.lists(layers.empty(), most=2)
        | layers.lists(odd, most=2)
        | layers.with_one(layers.empty(), layers.plain(), most=2)
    )
    first = containers.pass_steps(
        context, start=st.sampled_from((0, 5)), group_size=st.just(64), bits=st.just(4)
    )
    append = st.builds(AppendStep, rows=st.integers(1, 6))
    steps = st.tuples(first, append, first) | st.tuples(append, first, append, first)
    return _in_container(context, lists, steps)


def _hazard_examples(context: Context) -> tuple[Scenario, ...]:
    return _steps(
        context,
        ((EMPTY,), (FOUR, MORE, FOUR)),
        ((ONE, EMPTY), (FOUR, MORE, FOUR)),
        ((ODD,), (FOUR, MORE, FOUR)),
    )


def _reaching(context: Context) -> Any:
    """A single layer below the line, then over it, with a pass on each side."""
    return st.builds(
        lambda form, start, below, more, bits: containers.scenario(
            context,
            (PlainLayer(length=max(0, start - below)),),
            (
                PassStep(bits=bits, start=start),
                AppendStep(rows=below + more),
                PassStep(bits=bits, start=start),
            ),
            form=form,
        ),
        st.sampled_from(declared.forms(context)),
        numbers.starts().filter(lambda start: start > 1),
        st.integers(1, 3),
        st.integers(1, 4),
        numbers.good_bits(context),
    )


def _reached(context: Context) -> tuple[Scenario, ...]:
    """One row, then over the line: near it, and beyond a growth of the cache."""
    return tuple(
        containers.scenario(
            context,
            (ONE,),
            (PassStep(bits=4, start=start), AppendStep(rows=start), PassStep(bits=4, start=start)),
        )
        for start in (2, 256)
    )


def _asked(context: Context) -> Any:
    given = st.sampled_from(("model", "list"))
    lists = layers.lists(layers.plain(layers.SMALL), least=0, most=2)
    return given.flatmap(
        lambda how: containers.scenarios(context, lists, st.tuples(st.just(FOUR)), forms=CONTAINER, given=how)
    )


def _asked_examples(context: Context) -> tuple[Scenario, ...]:
    return (
        *_steps(context, ((ONE,), ()), given="model"),
        *_steps(context, ((ONE,), ()), ((), ())),
    )


def _asked_in_turns(context: Context) -> Any:
    """The model is asked by the iterator."""
    return iterations.scenarios(context, given=st.sampled_from(("model", "list")), turn_count=1)


def _twins(context: Context) -> Any:
    lists = layers.lists(layers.plain() | layers.bystanders(context), most=3)
    steps = _sequences(context, most=3, bits=numbers.good_bits(context))
    return _in_container(context, lists, steps, twin=True)


def _counted(context: Context) -> Any:
    passing = containers.pass_steps(context, group_size=st.just(64), start=st.integers(0, 3))
    layer = layers.plain()
    if context.dialect.incompatible == "keep":
        layer = layer | layers.plain(layers.FILLED, numbers.incompatible_dims())
    return _in_container(context, layers.lists(layer, most=2), st.tuples(passing, passing), observe=LOOKS)


def _counted_examples(context: Context) -> tuple[Scenario, ...]:
    lists: list[tuple[Layer, ...]] = [(ONE,)]
    lists += [(ODD,)] * (context.dialect.incompatible == "keep")
    return _steps(context, *((one, (FOUR, FOUR)) for one in lists), observe=LOOKS)


def _settling(context: Context) -> Any:
    lists = (
        layers.lists(
            layers.plain(layers.SMALL, st.sampled_from(((128, 128), (80, 80))))
            | layers.empty()
            | layers.bystanders(context),
            most=3,
        )
        if context.dialect.incompatible == "keep"
        else _plain_lists(context)
    )
    steps = _sequences(context, most=4, bits=st.sampled_from(iterations.even_bits(context)) | st.none())
    return containers.scenarios(context, lists, steps)


def _settling_examples(context: Context) -> tuple[Scenario, ...]:
    form = declared.forms(context)[0]
    below = PassStep(bits=4, start=2)
    quantized: list[Any] = []
    if declared.has(context, "layer:quantized"):
        quantized.append(((QuantizedLayer(length=9), ONE), (below,)))
    return tuple(
        containers.scenario(context, one, steps, form=form)
        for one, steps in (
            ((ONE, EMPTY), (FOUR, MORE, FOUR)),
            ((ONE, PlainLayer(length=9)), (below, AppendStep(rows=3), below)),
            ((PlainLayer(length=9), ONE), (below, AppendStep(rows=3), below)),
            ((ONE,), (FOUR, EIGHT)),
            *quantized,
        )
    )


def _asked_for_another_size(context: Context) -> Any:
    """A second iterator that asks for a size which the first one's resolver may not have had a use for."""
    turn = partial(iterations.turns, context, bits=st.just(4), starts=st.just(0), most=2)
    return st.builds(
        lambda layer, one, two, first, second: iterations.scenario(
            (layer,),
            _with_size(one, first),
            _with_size(two, second),
            given="container",
            built=containers.ARMED,
        ),
        layers.plain(layers.SMALL),
        turn(),
        turn(),
        st.sampled_from((128, 64)),
        st.sampled_from((64, 32)),
    )


def _with_size(turn: Any, size: int) -> Any:
    return turn.model_copy(update={"parameters": turn.parameters.model_copy(update={"group_size": size})})


CHECKS = (
    Check(
        requirement="CT-0",
        name="group",
        scenarios=_sequences_in_container,
        judge=judges.same(
            projections.everything_in_container, "the group size given to the container matters"
        ),
        oracle="relation",
        companion=_built_otherwise,
        explicit=_built_examples,
    ),
    Check(
        requirement="CT-0",
        name="bits",
        scenarios=_sequences_in_container,
        judge=judges.same(projections.everything_in_container, "the bits given to the container matter"),
        oracle="relation",
        companion=_built_with_other_bits,
        explicit=lambda context: _steps(context, ((ONE,), (EIGHT,))),
    ),
    Check(
        requirement="CT-1",
        name="identity",
        scenarios=_any_sequences,
        judge=judges.invariant(holders.holds_what_it_was_given),
        explicit=_one_of_each,
    ),
    Check(
        requirement="CT-2",
        name="alias",
        scenarios=_any_sequences,
        judge=judges.invariant(holders.holders_agree),
        explicit=lambda context: (containers.scenario(context, (ONE,), (FOUR,)),),
    ),
    Check(
        requirement="CT-3",
        name="owner",
        scenarios=_caller_steps,
        judge=judges.same(projections.caller_view, "container and caller see otherwise"),
        oracle="reference",
        explicit=_caller_examples,
    ),
    Check(
        requirement="CT-4",
        name="latch",
        scenarios=_latched,
        judge=judges.same(projections.layers, "the latch works otherwise"),
        oracle="reference",
        explicit=_latch_examples,
        weight=1.5,
    ),
    Check(
        requirement="CT-4",
        name="nothing-to-arm-for",
        scenarios=_nothing_to_arm_for,
        judge=judges.invariant(_never_looks),
        explicit=_nothing_to_arm_for_examples,
        needs=("feature:accesses", "layer:quantized|layer:recurrent"),
        weight=0.3,
    ),
    Check(
        requirement="CT-5",
        name="unarmed",
        scenarios=_unarmed,
        judge=judges.invariant(passes.never_acts),
        explicit=lambda context: _steps(context, ((ONE,), (FOUR,)), built=Built()),
    ),
    Check(
        requirement="CT-6",
        name="call-bits",
        scenarios=_call_bits,
        judge=judges.same(projections.layers, "the call's bits work otherwise"),
        oracle="reference",
        explicit=lambda context: _steps(context, ((ONE,), (PassStep(), EIGHT))),
    ),
    Check(
        requirement="CT-7",
        name="hazards",
        scenarios=_hazards,
        judge=judges.same(projections.layers, "a known hazard is not as it is"),
        oracle="reference",
        explicit=_hazard_examples,
    ),
    Check(
        requirement="CT-8",
        name="reached",
        scenarios=_reaching,
        judge=judges.invariant(holders.converts_when_reached),
        explicit=_reached,
    ),
    Check(
        requirement="CT-9",
        name="asked",
        scenarios=_asked,
        judge=judges.invariant(holders.asked_once),
        explicit=_asked_examples,
        needs=("kind:container", "feature:container"),
        weight=0.3,
    ),
    Check(
        requirement="CT-9",
        name="turns",
        scenarios=_asked_in_turns,
        judge=judges.invariant(building.model_asked_once),
        explicit=lambda _context: (iterations.scenario((), iterations.turn(1, nexts=1)),),
        needs=("kind:iterate",),
        weight=0.3,
    ),
    Check(
        requirement="CT-10",
        name="twins",
        scenarios=_twins,
        judge=judges.invariant(holders.twins_independent),
        explicit=lambda context: _steps(context, ((ONE,), (FOUR,)), twin=True),
    ),
    Check(
        requirement="CT-11",
        name="looks",
        scenarios=_counted,
        judge=judges.declared(holders.no_looks_when_disarmed),
        explicit=_counted_examples,
    ),
    Check(
        requirement="CT-12",
        name="latch",
        scenarios=_settling,
        judge=judges.same(projections.layers, "the latch works otherwise"),
        oracle="reference",
        explicit=_settling_examples,
        needs=("kind:container",),
        weight=1.5,
    ),
    Check(
        requirement="CT-12",
        name="turns",
        scenarios=_asked_for_another_size,
        judge=judges.same(
            projections.call_caches, "model calls find other caches than the declared latch leaves them"
        ),
        oracle="reference",
        needs=("kind:iterate", "feature:container"),
        weight=0.5,
    ),
)
