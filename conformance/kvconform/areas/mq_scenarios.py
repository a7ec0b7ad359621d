"""Scenarios that could break a maybe-quantize pass (MQ)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .. import judges
from ..checks import Context
from ..invariants import contents, ledger
from ..scenario import (
    AppendStep,
    ChunkedLayer,
    CompositeLayer,
    Convert,
    Layer,
    PassStep,
    PlainLayer,
    QuantizedLayer,
    RecurrentLayer,
    RotatingLayer,
    Scenario,
)
from ..strategies import caches, containers, declared, iterations, layers, numbers

GOOD = PassStep(bits=4)
ONE = PlainLayer(length=1)
THREE = PlainLayer(length=3)
TWELVE = PlainLayer(length=12)
ODD = PlainLayer(length=12, key_dim=80, value_dim=80)
FEW_ROWS = st.integers(1, 4)


def passing(context: Context, *lists: tuple[Layer, ...], start: int = 10) -> tuple[Scenario, ...]:
    """Each list with one pass over it."""
    return tuple(containers.scenario(context, one, (PassStep(bits=4, start=start),)) for one in lists)


# ---------------------------------------------------------------- order, nothing to do


def bad_bits_below(context: Context) -> Any:
    """Bits that are never looked at: every layer is below the line."""
    lists = layers.lists(layers.plain(st.integers(0, 9)), most=2)
    return containers.one_pass(
        context, lists, start=st.sampled_from((10, 11, 15, 30)), bits=numbers.bad_bits(context)
    )


def bad_bits_below_example(context: Context) -> tuple[Scenario, ...]:
    return (containers.scenario(context, (ONE,), (PassStep(bits=7, start=10),)),)


def disarmed(context: Context) -> Any:
    again = containers.pass_steps(context, bits=numbers.bad_bits(context) | numbers.good_bits(context))
    steps = st.tuples(containers.pass_steps(context, group_size=st.just(64)), again)
    return containers.scenarios(context, layers.lists(layers.plain(), most=2), steps, forms=("container",))


def disarmed_example(context: Context) -> tuple[Scenario, ...]:
    return (containers.scenario(context, (ONE,), (GOOD, PassStep(bits=7)), form="container"),)


def second_pass_silent(scenario: Any, observation: Any) -> Any:
    error = observation.steps[-1].error
    if error is not None:
        yield judges.Finding(
            message=f"a disarmed container validated bits {scenario.steps[-1].bits}: step 2",
            expected=None,
            observed=error.message,
        )


def bad_bits_iterators(context: Context) -> Any:
    bits = numbers.bad_bits(context)
    return iterations.scenarios(context, bits=bits, layer_lists=layers.lists(layers.empty(), most=2))


def bad_bits_iterator(_context: Context) -> tuple[Scenario, ...]:
    return (iterations.scenario((PlainLayer(),), iterations.turn(1, bits=7, nexts=1)),)


def idle(context: Context) -> Any:
    """No bits over any list, or an empty list with any bits."""
    lists = layers.lists(layers.any_layer(context, st.integers(0, 20)), most=3)
    no_bits = containers.pass_steps(context, bits=st.none(), start=st.integers(0, 5))
    any_bits = containers.pass_steps(context, start=st.integers(0, 5))
    return containers.scenarios(context, lists, st.tuples(no_bits)) | containers.scenarios(
        context, st.just(()), st.tuples(any_bits)
    )


def idle_examples(context: Context) -> tuple[Scenario, ...]:
    """In every form: the free pass also answers."""
    return tuple(
        containers.scenario(context, layer_list, steps, form=form)
        for form in declared.forms(context)
        for layer_list, steps in (((ONE,), (PassStep(),)), ((), (GOOD,)))
    )


def below(context: Context) -> Any:
    """Any layers of up to 12 rows (and up to 5 that were trimmed), and a start beyond them."""
    lists = layers.lists(layers.any_layer(context, st.integers(0, 12)), most=4)
    return containers.one_pass(context, lists, start=st.sampled_from((18, 19, 256, 10**6)))


def below_examples(context: Context) -> tuple[Scenario, ...]:
    """Two layers below the line whose rows together are over it, and a line that is far away."""
    six = PlainLayer(length=6)
    return (*passing(context, (six, six)), *passing(context, (six,), start=10**6))


# ---------------------------------------------------------------- what stays, what changes


def keepers(context: Context) -> Any:
    """Layers that must stay: bystanders, chunked ones that stay, and odd dims where those are kept."""
    choices = [layers.bystanders(context, st.integers(0, 20))]
    if declared.has(context, "layer:composite"):
        choices.append(layers.composite(context, layers.recurrent(), most=2))
    if declared.has(context, "layer:chunked"):
        choices.append(layers.chunked(drops=True))
    if context.dialect.incompatible == "keep":
        choices.append(layers.plain(st.integers(1, 9), numbers.incompatible_dims()))
    return st.one_of(choices)


def with_keepers(context: Context, **fields: Any) -> Any:
    lists = layers.with_one(keepers(context), layers.plain(layers.FILLED), most=4)
    return containers.one_pass(context, lists, **fields)


def keeper_examples(context: Context) -> tuple[Scenario, ...]:
    """Windows before and after they are full beside a layer that is converted."""
    if "rotating" not in declared.quiet_kinds(context):
        return ()
    windows = (RotatingLayer(length=12), RotatingLayer(length=12, max_size=4))
    return passing(context, *((window, TWELVE) for window in windows))


def kept_content(context: Context) -> Any:
    odd = layers.plain(FEW_ROWS, st.sampled_from(((16, 16), (48, 16), (16, 32))))
    kinds = [kind for kind in declared.quiet_kinds(context) if kind == "rotating"]
    choices = [odd] if context.dialect.incompatible == "keep" else []
    choices += [layers.of_kinds(context, tuple(kinds), st.integers(1, 9))] if kinds else []
    choices += [layers.recurrent()] if declared.has(context, "layer:recurrent") else []
    lists = layers.with_one(st.one_of(choices), layers.plain(FEW_ROWS, st.just((32, 32))), most=2)
    return containers.one_pass(context, lists, observe=containers.CONTENT)


def kept_content_examples(context: Context) -> tuple[Scenario, ...]:
    """A window that has wrapped: its rows stand in another order than they were written in."""
    if "rotating" not in declared.quiet_kinds(context):
        return ()
    wrapped = RotatingLayer(length=5, max_size=4, singly=True, key_dim=2, value_dim=2)
    plain = PlainLayer(length=1, key_dim=32, value_dim=32)
    step = PassStep(bits=4, group_size=32)
    return (containers.scenario(context, (wrapped, plain), (step,), observe=containers.CONTENT),)


def kept_content_judge(scenario: Any, observation: Any, accepts: ledger.RowJudge) -> Any:
    for kind in ("plain", "rotating"):
        yield from contents.container_content(scenario, observation, accepts, only=kind)


def distinct(context: Context) -> Any:
    """Layers that differ in offset or dims, so that none can pass for another."""
    dims = st.sampled_from(((64, 64), (128, 128), (64, 128), (192, 64), (256, 256)))
    plain = layers.plain(st.integers(1, 12), dims)
    lists = layers.with_one(plain, plain | layers.bystanders(context), most=4)
    return containers.one_pass(context, lists, group_size=st.just(64))


def distinct_examples(context: Context) -> tuple[Scenario, ...]:
    """Layers of other offsets; where there are such, bystanders before and between them."""
    plain = tuple(PlainLayer(length=length) for length in (12, 3, 11, 1))
    bystander = {"quantized": QuantizedLayer(length=2), "recurrent": RecurrentLayer()}
    kinds = [bystander[kind] for kind in declared.quiet_kinds(context) if kind in bystander]
    mixed = [(kind, plain[0], kind, plain[1]) for kind in kinds]
    return passing(context, plain, *mixed, start=0)


def any_convertible(context: Context) -> Any:
    layer = layers.plain(layers.FILLED, numbers.compatible_dims(smallest=64))
    lists, starts = layers.lists(layer, most=3), st.integers(0, 5)
    return containers.one_pass(context, lists, start=starts, group_size=st.just(64))


def dropped_rows(context: Context) -> tuple[Scenario, ...]:
    """A chunked layer that dropped rows: converted, its rows could not equal its offset."""
    if not declared.has(context, "layer:chunked"):
        return ()
    dropped = ChunkedLayer(length=3, chunk_size=2, drop_front=True)
    return passing(context, (ONE,), (dropped,), (dropped, ONE), start=0)


def changing_bits(context: Context) -> Any:
    steps = containers.step_sequences(
        context, most=3, trims=False, starts=st.integers(0, 4), requests=st.just(64)
    )
    return containers.scenarios(context, layers.lists(layers.plain(layers.SMALL), most=2), steps)


def other_bits_than_built(context: Context) -> tuple[Scenario, ...]:
    """A call with other bits than the container was built with."""
    return (containers.scenario(context, (ONE,), (PassStep(bits=8),)),)


def any_requests(context: Context) -> Any:
    lists = layers.lists(layers.plain(layers.FILLED, numbers.compatible_dims()), most=2)
    return containers.one_pass(context, lists, group_size=numbers.asked_of_a_pass())


def requests(context: Context) -> tuple[Scenario, ...]:
    """Sizes between the supported ones; where requests are resolved also one beyond 32 bits."""
    wide = PlainLayer(length=1, key_dim=128, value_dim=128)
    asked = [(PlainLayer(length=1, key_dim=96, value_dim=96), 64), (PlainLayer(length=1), 48), (wide, 96)]
    asked += [(wide, 2**31), (wide, 2**32)] * (context.dialect.resolver != "exact")
    return tuple(
        containers.scenario(context, (layer,), (PassStep(bits=4, group_size=size),)) for layer, size in asked
    )


def small_content(context: Context) -> Any:
    plain = caches.small_plain(context, lengths=FEW_ROWS)
    passing = containers.pass_steps(context, group_size=st.just(32))
    append = st.builds(AppendStep, rows=st.integers(1, 3), salt=st.integers(0, 3))
    steps = st.tuples(passing) | st.tuples(append, passing)
    return containers.scenarios(context, layers.lists(plain, most=2), steps, observe=containers.CONTENT)


def content_examples(context: Context) -> tuple[Scenario, ...]:
    """Several rows, and where there can be, several heads: each has its own scale."""
    heads = 2 if declared.has(context, "feature:head-counts") else 1
    layer = PlainLayer(length=2, key_dim=32, value_dim=64, heads=heads)
    step = PassStep(bits=4, group_size=32)
    return (containers.scenario(context, (layer,), (step,), observe=containers.CONTENT),)


def converted_content(scenario: Any, observation: Any, accepts: ledger.RowJudge) -> Any:
    return contents.container_content(scenario, observation, accepts, only="quantized")


def direct(context: Context) -> Any:
    plain = layers.plain(layers.FILLED, numbers.compatible_dims())
    requests = numbers.asked_of_a_pass()
    return caches.scenarios(plain, st.tuples(caches.converts(context, requests=requests)))


def direct_examples(_context: Context) -> tuple[Scenario, ...]:
    wide = PlainLayer(length=1, key_dim=96, value_dim=96)
    return (
        caches.scenario(wide, Convert(bits=4)),
        caches.scenario(PlainLayer(length=1), Convert(bits=4, group_size=48)),
    )


def then_more(context: Context) -> Any:
    """A conversion, then rows and trims that must reach the converted layer alone."""
    first = containers.pass_steps(context, group_size=st.just(32))
    after = st.lists(st.builds(AppendStep, rows=st.integers(1, 3), salt=st.integers(0, 3)), max_size=2)
    steps = st.builds(lambda one, more: (one, *more), first, after)
    plain = layers.plain(FEW_ROWS, st.just((32, 32)))
    if declared.has(context, "layer:composite") and context.dialect.nested == "recurse":
        plain = plain | layers.composite(context, plain, most=2)
    lists = layers.lists(plain, most=2)
    return containers.scenarios(context, lists, steps, observe=containers.CONTENT)


def then_more_examples(context: Context) -> tuple[Scenario, ...]:
    layer = PlainLayer(length=2, key_dim=32, value_dim=32)
    steps = (PassStep(bits=4, group_size=32), AppendStep(rows=1, salt=1))
    return (containers.scenario(context, (layer,), steps, observe=containers.CONTENT),)


# ---------------------------------------------------------------- dialect


def scope_examples(context: Context) -> tuple[Scenario, ...]:
    """The first over the line, the last, none of four; in every form."""
    lists = ((TWELVE, THREE), (THREE, TWELVE), (THREE,) * 4)
    step = PassStep(bits=4, start=10)
    return tuple(
        containers.scenario(context, one, (step,), form=form)
        for form in declared.forms(context)
        for one in lists
    )


def far_from_line(context: Context) -> Any:
    """Plain layers well over the start and well below it."""
    layer = layers.plain(st.sampled_from((3, 15, 1, 40)))
    return containers.one_pass(
        context, layers.lists(layer, least=1, most=3), start=st.just(9), group_size=st.just(64)
    )


def with_empty(context: Context) -> Any:
    """Empty layers beside one over the line; later rows, and a later pass."""
    lists = layers.with_one(layers.empty(), layers.plain(st.sampled_from((12, 3))), most=3)
    first = containers.pass_steps(
        context, start=st.sampled_from((10, 0)), group_size=st.just(64), bits=st.just(4)
    )
    append, again = st.builds(AppendStep, rows=st.integers(1, 12)), first
    steps = st.tuples(first) | st.tuples(first, append) | st.tuples(first, append, again)
    return containers.scenarios(context, lists, steps)


def with_empty_examples(context: Context) -> tuple[Scenario, ...]:
    lists = ((TWELVE, PlainLayer()), (PlainLayer(), TWELVE))
    passing, append = PassStep(bits=4, start=10), AppendStep(rows=12)
    steps = ((passing,), (passing, append), (passing, append, passing))
    return tuple(
        containers.scenario(context, one, chosen, form=form)
        for form in declared.forms(context)
        for one in lists
        for chosen in steps
    )


def with_odd(context: Context) -> Any:
    """Layers of odd dims among others, all over the line; also sizes that only some resolvers can use."""
    odd = layers.plain(layers.FILLED, numbers.incompatible_dims()) | layers.plain(
        layers.FILLED, st.sampled_from(((96, 96), (64, 96), (32, 32)))
    )
    lists = layers.with_one(odd, layers.plain(layers.FILLED), most=3)
    return containers.one_pass(context, lists)


def composites(context: Context) -> Any:
    leaves = layers.plain(st.sampled_from((12, 3, 50))) | layers.recurrent()
    leaves = leaves | layers.composite(context, leaves, most=2)
    lists = layers.with_one(layers.composite(context, leaves, most=2), layers.plain(), most=3)
    return containers.one_pass(context, lists, start=st.sampled_from((0, 10)), group_size=st.just(64))


def composite_examples(context: Context) -> tuple[Scenario, ...]:
    inner = CompositeLayer(children=(RecurrentLayer(), PlainLayer(length=50)))
    deep = CompositeLayer(children=(CompositeLayer(children=(PlainLayer(length=50),)),))
    return passing(context, (CompositeLayer(children=(ONE,)),), (inner,), (deep,), (inner, ONE), start=0)


def with_rotating(context: Context) -> Any:
    rotating = layers.rotating(st.integers(0, 60))
    lists = layers.with_one(rotating, layers.plain(), most=3)
    return containers.one_pass(context, lists, start=st.sampled_from((0, 3, 10)), group_size=st.just(64))


def rotating_examples(context: Context) -> tuple[Scenario, ...]:
    fifty = PlainLayer(length=50)
    short, full = RotatingLayer(length=5), RotatingLayer(length=50)
    return passing(context, (short,), (full, fifty), (fifty, full), (short, fifty), start=0)


def mixed(context: Context, *, plain_lengths: Any = layers.SMALL) -> Any:
    layer = layers.plain(plain_lengths) | layers.bystanders(context)
    return layers.lists(layer, most=3)


def many_passes(context: Context) -> Any:
    requests = st.sampled_from((64, 32, 128))
    kept = layers.quantized(context) if declared.has(context, "layer:quantized") else layers.plain()
    plain = layers.plain(layers.SMALL, st.just((128, 128)))
    steps = containers.step_sequences(
        context,
        most=4,
        trims=False,
        starts=st.integers(0, 3),
        bits=numbers.good_bits(context),
        requests=requests,
    )
    return containers.scenarios(context, layers.lists(plain | kept, most=2), steps)


def quantized_again(context: Context) -> tuple[Scenario, ...]:
    other = PassStep(bits=8, group_size=32)
    once = [containers.scenario(context, (ONE,), (GOOD, other))]
    if declared.has(context, "layer:quantized"):
        once.append(containers.scenario(context, (QuantizedLayer(length=1),), (other,)))
        once.append(containers.scenario(context, (PlainLayer(length=1), QuantizedLayer(length=1)), (other,)))
    return tuple(once)


def failing(context: Context) -> Any:
    """Passes that may fail on bits or on dims, with layers before and behind the one they fail on."""
    plain = (
        layers.plain(layers.FILLED)
        | layers.empty()
        | layers.plain(layers.FILLED, numbers.incompatible_dims())
    )
    bits = numbers.good_bits(context) | numbers.bad_bits(context)
    return containers.one_pass(context, layers.lists(plain, least=2, most=4), bits=bits)


def failing_examples(context: Context) -> tuple[Scenario, ...]:
    bad = containers.scenario(context, (PlainLayer(), ONE), (PassStep(bits=7),))
    return (*passing(context, (ONE, ODD), start=0), bad)


def failing_on_rotating(context: Context) -> Any:
    lists = layers.with_one(layers.rotating(layers.FILLED), layers.plain(), most=4)
    return containers.one_pass(context, lists, group_size=st.just(64))


def rotating_behind(context: Context) -> tuple[Scenario, ...]:
    return passing(context, (ONE, RotatingLayer(length=1)), (RotatingLayer(length=1), ONE), start=0)


def failing_then_good(context: Context) -> Any:
    bad = containers.pass_steps(context, bits=numbers.bad_bits(context), group_size=st.just(64))
    good = containers.pass_steps(context, group_size=st.just(64))
    return containers.scenarios(context, layers.lists(layers.plain(), most=2), st.tuples(bad, good))


def bad_bits_over(context: Context) -> Any:
    """Layers that a pass would convert, empty ones too where those are converted."""
    layer = layers.plain()
    if context.dialect.empty_layer == "convert" and context.dialect.threshold != "above":
        layer = layer | layers.empty()
    lists = layers.lists(layer, most=3)
    return containers.one_pass(context, lists, bits=numbers.bad_bits(context), group_size=st.just(64))


def bad_bits_examples(context: Context) -> tuple[Scenario, ...]:
    return tuple(containers.scenario(context, (ONE,), (PassStep(bits=bits),)) for bits in (7, 0, 16, -1))


def answering(context: Context) -> Any:
    """Lists that trigger and do not, with and without anything to convert; often asked twice."""
    kinds = layers.plain(st.sampled_from((12, 3)), numbers.head_dims()) | layers.empty()
    layer = kinds | layers.trimmed_to_zero() | layers.bystanders(context, st.sampled_from((3, 50)))
    one = containers.pass_steps(
        context,
        start=st.sampled_from((10, 0)),
        bits=numbers.bits_or_none(context),
        group_size=st.just(64),
    )
    lists = layers.lists(layer, least=0, most=3)
    return containers.scenarios(context, lists, st.tuples(one) | st.tuples(one, one), forms=("free",))


def answer_examples(context: Context) -> tuple[Scenario, ...]:
    quiet = [
        layer
        for layer in (RotatingLayer(length=50), QuantizedLayer(length=50))
        if declared.has(context, f"layer:{layer.kind}")
    ]
    lists: list[tuple[Layer, ...]] = [(ODD,), (ONE,), *((layer,) for layer in quiet)]
    made = [
        containers.scenario(context, one, (PassStep(bits=4, start=10),) * count, form="free")
        for one in lists
        for count in (1, 2)
    ]
    empty = (PlainLayer(), PlainLayer())
    return (*made, containers.scenario(context, empty, (GOOD,), form="free"))


def zero_rows(context: Context) -> Any:
    lists = layers.with_one(layers.trimmed_to_zero(), layers.plain(), most=2)
    first = containers.pass_steps(
        context, bits=st.sampled_from(iterations.even_bits(context)), group_size=st.just(64)
    )
    append = st.builds(AppendStep, rows=st.integers(1, 3))
    return containers.scenarios(context, lists, st.tuples(first) | st.tuples(first, append))


def zero_row_examples(context: Context) -> tuple[Scenario, ...]:
    zero = (PlainLayer(length=1, trim=1),)
    return (
        containers.scenario(context, zero, (GOOD,)),
        containers.scenario(context, zero, (GOOD, AppendStep(rows=1))),
    )


# ---------------------------------------------------------------- no pass raises


def any_dims(context: Context) -> Any:
    lists = layers.lists(layers.plain(layers.FILLED, numbers.head_dims()) | layers.empty(), most=3)
    return containers.one_pass(context, lists)


def dims_examples(context: Context) -> tuple[Scenario, ...]:
    dims = ((80, 80), (96, 96), (64, 96))
    return passing(context, *((PlainLayer(length=1, key_dim=k, value_dim=v),) for k, v in dims), start=0)


def any_kinds(context: Context) -> Any:
    kinds = declared.layer_kinds(context, "rotating", "chunked", "quantized", "recurrent", "composite")
    layer = layers.of_kinds(context, kinds, st.integers(0, 20)) if kinds else layers.empty()
    lists = layers.with_one(layer, layers.plain(layers.SMALL), most=3)
    return containers.one_pass(context, lists, start=st.sampled_from((0, 3)), group_size=st.just(64))


def kind_examples(context: Context) -> tuple[Scenario, ...]:
    kinds = {"rotating": RotatingLayer(length=1), "recurrent": RecurrentLayer()}
    chosen = [kinds[kind] for kind in declared.layer_kinds(context, *kinds)]
    return passing(context, *((layer,) for layer in chosen), *((layer, ONE) for layer in chosen), start=0)


def any_turns(context: Context) -> Any:
    kinds = declared.layer_kinds(context, "rotating", "recurrent", "chunked")
    layer = layers.plain(layers.SMALL, st.just((128, 128))) | layers.plain(
        layers.SMALL, st.sampled_from(((80, 80), (96, 96)))
    )
    layer = layer | layers.of_kinds(context, kinds, layers.SMALL) if kinds else layer
    bits = st.sampled_from(iterations.even_bits(context))
    return iterations.scenarios(context, layer_lists=layers.lists(layer, most=2), bits=bits)


def turn_examples(context: Context) -> tuple[Scenario, ...]:
    lists: list[tuple[Layer, ...]] = [
        (PlainLayer(key_dim=80, value_dim=80),),
        (PlainLayer(key_dim=96, value_dim=96),),
    ]
    lists += [(RotatingLayer(),)] if declared.has(context, "layer:rotating") else []
    return tuple(iterations.scenario(one, iterations.turn(2, bits=4, nexts=2)) for one in lists)
