"""Checks of group-size resolution (GS)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .. import judges
from ..checks import Check, Context
from ..invariants import passes, resolving
from ..scenario import PassStep, PlainLayer, QuantizedLayer, RecurrentLayer, ResolveScenario, Scenario
from ..strategies import containers, declared, layers, numbers
from ..strategies import resolving as generated

TABLE = (
    (64, 64, 64),
    (64, 96, 96),
    (128, 96, 96),
    (128, 64, 64),
    (128, 128, 128),
    (97, 128, 128),
    (47, 64, 64),
    (49, 64, 64),
    (64, 64, 96),
    (128, 128, 64),
    (128, 192, 128),
    (128, 576, 512),
)
"""Rows of the specification's table with a nearest size: requested, key dim, value dim."""
TIES = ((48, 64, 64), (48, 128, 128), (96, 128, 128), (48, 192, 192), (96, 640, 128))
WITHOUT = ((64, 80, 80), (32, 48, 48), (128, 112, 112), (128, 128, 80), (128, 80, 128), (16, 16, 16))
EXTREME = (
    (-5, 128, 128),
    (-128, 128, 128),
    (1, 128, 128),
    (0, 128, 128),
    (10**6, 256, 256),
    (10**6, 96, 96),
)
"""The one row with 0 comes from the table; a resolver of this dialect takes it for 1."""
WRAPPING = (
    2**31 - 1,
    2**31,
    2**32,
    2**32 + 32,
    2**53,
    2**16 + 32,
    2**15,
    -(2**31),
    -(2**31) - 1,
    -(2**32) + 128,
    -(2**53),
)
"""What a narrower integer takes for another request, and the ends of what a scenario can hold."""
ONE = PlainLayer(length=1)
NEEDS = ("kind:resolve", "feature:resolver")


def _rows(*rows: tuple[int, int, int]) -> Any:
    scenarios = tuple(ResolveScenario(requested=r, key_dim=k, value_dim=v) for r, k, v in rows)
    return lambda _context: scenarios


def _swapped(_context: Context, scenario: Any) -> Scenario:
    return scenario.model_copy(update={"key_dim": scenario.value_dim, "value_dim": scenario.key_dim})


def _larger_request(_context: Context, scenario: Any) -> Scenario:
    """The next request, a huge one, or 1: between them they show every place where a size could fall."""
    asked = scenario.requested
    larger = 1 if asked < 0 else 10**9 + 1 if asked % 2 else asked + 1
    return scenario.model_copy(update={"requested": larger})


def _not_smaller(scenario: Any, observation: Any, larger: Any) -> Any:
    sizes = observation.group_size, larger.group_size
    if None in sizes or sizes[0] > sizes[1]:
        yield judges.Finding(
            message=f"a larger request gave a smaller size: {scenario.requested} gave {sizes[0]}, "
            f"a larger one {sizes[1]} for {scenario.key_dim}, {scenario.value_dim}",
            expected=f"at least {sizes[0]}",
            observed=sizes[1],
        )


def _compatible_request(_context: Context) -> Any:
    return generated.compatible(st.sampled_from(generated.SIZES))


def _zero(context: Context) -> tuple[Scenario, ...]:
    """The single scenario with a group size of 0: through a pass, or where there is none a resolver."""
    if declared.has(context, "kind:container"):
        return (containers.scenario(context, (ONE,), (PassStep(bits=4, group_size=0),)),)
    return (ResolveScenario(requested=0, key_dim=64, value_dim=64),)


def _bad_dims(_context: Context) -> Any:
    bad, good = st.integers(-3, 0), st.sampled_from((64, 128))
    return generated.dims(st.tuples(bad, good) | st.tuples(good, bad), st.sampled_from((64, 32, 128)))


def _passes(context: Context) -> Any:
    lists = layers.lists(layers.plain(layers.FILLED, numbers.head_dims()), most=2)
    requests = numbers.asked_of_a_pass()
    return containers.one_pass(context, lists, group_size=requests)


def _compatible_passes(context: Context) -> Any:
    return st.sampled_from(declared.group_sizes(context)).flatmap(
        lambda size: containers.one_pass(
            context,
            layers.lists(layers.plain(layers.FILLED, numbers.compatible_dims(smallest=size)), most=2),
            group_size=st.just(size),
        )
    )


def _without_dims(context: Context) -> Any:
    others = layers.of_kinds(context, declared.layer_kinds(context, "quantized", "recurrent", "composite"))
    return generated.of_layer(layers.empty() | others)


def _without_dims_examples(context: Context) -> tuple[Scenario, ...]:
    made: dict[str, Any] = {"quantized": QuantizedLayer(length=1), "recurrent": RecurrentLayer(slots=3)}
    others = [made[kind] for kind in declared.layer_kinds(context, *made)]
    return tuple(ResolveScenario(requested=64, layer=layer) for layer in (PlainLayer(), *others))


CHECKS = (
    Check(
        requirement="GS-1",
        name="three",
        scenarios=lambda _context: generated.dims(),
        judge=judges.invariant(resolving.only_the_three),
        explicit=_rows((32, 128, 128), (64, 128, 128), (128, 128, 128), (16, 48, 48), (256, 256, 256)),
    ),
    Check(
        requirement="GS-2",
        name="none",
        scenarios=lambda _context: generated.incompatible(),
        judge=judges.invariant(resolving.none_when_incompatible),
        explicit=_rows(*WITHOUT),
    ),
    Check(
        requirement="GS-3",
        name="nearest",
        scenarios=lambda _context: generated.compatible(),
        judge=judges.invariant(resolving.nearest),
        explicit=_rows(*TABLE),
    ),
    Check(
        requirement="GS-4",
        name="tie",
        scenarios=lambda _context: generated.compatible(st.sampled_from((48, 96))),
        judge=judges.invariant(resolving.lower_of_tie),
        explicit=_rows(*TIES),
    ),
    Check(
        requirement="GS-5",
        name="resolver",
        scenarios=lambda _context: generated.dims(),
        judge=judges.invariant(resolving.divides),
        explicit=_rows(*TABLE[:3], *TIES, *WITHOUT),
        needs=NEEDS,
    ),
    Check(
        requirement="GS-5",
        name="pass",
        scenarios=_passes,
        judge=judges.invariant(passes.group_size_usable),
        needs=("kind:container",),
    ),
    Check(
        requirement="GS-6",
        name="swap",
        scenarios=lambda _context: generated.dims(),
        judge=judges.same(lambda _context, answer: answer.group_size, "swapping the dims changed the size"),
        oracle="relation",
        companion=_swapped,
        explicit=_rows((64, 64, 96), (64, 128, 80), (64, 80, 128), (128, 128, 64)),
    ),
    Check(
        requirement="GS-7",
        name="monotone",
        scenarios=lambda _context: generated.compatible(
            numbers.requests() | st.sampled_from((47, 48, 95, 96))
        ),
        judge=judges.relation(_not_smaller),
        oracle="relation",
        companion=_larger_request,
        explicit=_rows((48, 128, 128), (96, 128, 128), (127, 128, 128), (128, 256, 256), (-100, 128, 128)),
    ),
    Check(
        requirement="GS-8",
        name="resolver",
        scenarios=_compatible_request,
        judge=judges.invariant(resolving.compatible_unchanged),
        explicit=_rows((32, 64, 64), (64, 128, 128), (128, 128, 128), (32, 96, 96)),
        needs=NEEDS,
    ),
    Check(
        requirement="GS-8",
        name="pass",
        scenarios=_compatible_passes,
        judge=judges.invariant(passes.compatible_request_used),
        needs=("kind:container",),
    ),
    Check(
        requirement="GS-9",
        name="extremes",
        scenarios=lambda _context: generated.compatible(
            st.integers(-(10**6), -1) | st.integers(1000, 10**12)
        ),
        judge=judges.invariant(resolving.extremes),
        explicit=_rows(*EXTREME, *((requested, 128, 128) for requested in WRAPPING)),
    ),
    Check(
        requirement="GS-10",
        name="no-dims",
        scenarios=_without_dims,
        judge=judges.invariant(resolving.no_result_without_dims),
        explicit=_without_dims_examples,
    ),
    Check(
        requirement="GS-11",
        name="zero",
        scenarios=None,
        # Any answer will do, a refusal included; what must not happen is that none comes.
        judge=lambda _context, _scenario, _observation, _expect: (),
        explicit=_zero,
        judges_refusals=True,
    ),
    Check(
        requirement="GS-12",
        name="dims",
        scenarios=_bad_dims,
        judge=judges.invariant(resolving.bad_dims_refused),
        explicit=_rows((64, 0, 0), (64, -64, -64), (64, 64, 0), (64, -32, 64)),
        judges_refusals=True,
    ),
)
