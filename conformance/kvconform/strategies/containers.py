"""Container scenarios: layer lists behind holders, and step sequences with passes that cross the line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from ..checks import Context
from ..scenario import (
    AppendStep,
    Built,
    ContainerScenario,
    DropFrontStep,
    Layer,
    Observe,
    PassStep,
    PlainLayer,
    Step,
    TrimStep,
)
from . import declared, layers, numbers

Layers = SearchStrategy[tuple[Layer, ...]]
ARMED = Built(bits=4)
CONTENT = Observe(content=True)
NOTHING_EXTRA = Observe()


def scenario(
    context: Context,
    layer_list: Sequence[Layer],
    steps: Sequence[Step],
    *,
    form: str | None = None,
    **fields: Any,
) -> ContainerScenario:
    """A scenario in the first form that is declared, with a container that was built with bits."""
    chosen: Any = form or declared.forms(context)[0]
    fields.setdefault("built", ARMED if chosen == "container" else Built())
    return ContainerScenario(layers=tuple(layer_list), steps=tuple(steps), form=chosen, **fields)


def scenarios(
    context: Context,
    layer_lists: Layers,
    steps: SearchStrategy[Sequence[Step]],
    *,
    forms: tuple[str, ...] | None = None,
    **fields: Any,
) -> SearchStrategy[ContainerScenario]:
    """Scenarios over these lists and steps, in every form that is declared."""
    return st.builds(
        lambda form, layer_list, chosen: scenario(context, layer_list, chosen, form=form, **fields),
        st.sampled_from(forms or declared.forms(context)),
        layer_lists,
        steps,
    )


def one_pass(
    context: Context,
    layer_lists: Layers,
    *,
    start: SearchStrategy[int] | None = None,
    bits: SearchStrategy[int] | None = None,
    group_size: SearchStrategy[int] | None = None,
    **fields: Any,
) -> SearchStrategy[ContainerScenario]:
    """One pass over these lists; start 0, any good bits and a supported group size unless said."""
    steps = st.tuples(pass_steps(context, start=start, bits=bits, group_size=group_size))
    return scenarios(context, layer_lists, steps, **fields)


def pass_steps(
    context: Context,
    *,
    start: SearchStrategy[int] | None = None,
    bits: SearchStrategy[int] | SearchStrategy[int | None] | None = None,
    group_size: SearchStrategy[int] | None = None,
) -> SearchStrategy[PassStep]:
    """One pass with these options."""
    return st.builds(
        PassStep,
        bits=bits if bits is not None else numbers.good_bits(context),
        group_size=group_size if group_size is not None else numbers.usable_requests(context),
        start=start if start is not None else st.just(0),
    )


def near_the_line(context: Context, *, most: int = 3) -> SearchStrategy[ContainerScenario]:
    """One pass at group size 64 over plain layers whose offsets lie around its start."""
    distances = st.lists(st.sampled_from((0, -1, 1, 7, -7)), min_size=1, max_size=most)
    return st.builds(
        lambda form, start, offsets, bits: scenario(
            context,
            [PlainLayer(length=max(0, start + distance)) for distance in offsets],
            (PassStep(bits=bits, start=start),),
            form=form,
        ),
        st.sampled_from(declared.forms(context)),
        numbers.starts(),
        distances,
        numbers.good_bits(context),
    )


def step_sequences(
    context: Context,
    *,
    most: int = 4,
    starts: SearchStrategy[int] | None = None,
    bits: Any = None,
    requests: SearchStrategy[int] | None = None,
    trims: bool = True,
) -> SearchStrategy[tuple[Step, ...]]:
    """Appends, trims and passes under changing bits, group size and start; at least one pass."""
    passes = pass_steps(
        context,
        start=starts if starts is not None else st.integers(0, 12),
        bits=bits if bits is not None else numbers.bits_or_none(context),
        group_size=requests,
    )
    others: list[SearchStrategy[Any]] = [
        st.builds(AppendStep, rows=st.integers(1, 8), salt=st.integers(0, 3)),
    ]
    if trims:
        others.append(st.builds(TrimStep, rows=st.integers(1, 5)))
        if declared.has(context, "layer:chunked"):
            others.append(st.just(DropFrontStep()))
    # Mapped: Hypothesis takes two mentions of one strategy for one, and passes are wanted more often.
    more_passes = [passes, passes.map(_same), passes.map(_itself)]
    before = st.lists(st.one_of(*more_passes, *others), max_size=most - 1)
    return st.builds(lambda some, last: (*some, last), before, passes)


def _same(step: Step) -> Step:
    return step


def _itself(step: Step) -> Step:
    return step


def anything(context: Context, *, observe: Observe = NOTHING_EXTRA) -> SearchStrategy[ContainerScenario]:
    """Any list of any layers, and any steps: the net under the aimed strategies.

    Layers that a dialect declares to be an error are left in: what counts is what comes before that error.
    """
    steps = step_sequences(
        context,
        bits=numbers.bits_or_none(context),
        requests=numbers.asked_of_a_pass(),
        starts=st.sampled_from((*range(13), -1, -2)),
    )
    lists = layers.lists(layers.any_layer(context, st.integers(0, 12)), least=0, most=4)
    built = st.sampled_from((ARMED, Built(bits=8, group_size=32), Built()))
    extras: dict[str, SearchStrategy[Any]] = {"twin": st.booleans()}
    if declared.has(context, "feature:model-list"):
        extras["given"] = st.sampled_from(("list", "list", "model"))
    return st.builds(
        lambda form, layer_list, chosen, b, extra: _whole(
            context, form, layer_list, chosen, b, extra, observe
        ),
        st.sampled_from(declared.forms(context)),
        lists,
        steps,
        built,
        st.fixed_dictionaries(extras),
    )


def _whole(
    context: Context,
    form: str,
    layer_list: tuple[Layer, ...],
    steps: tuple[Step, ...],
    built: Built,
    extra: dict[str, Any],
    observe: Observe,
) -> ContainerScenario:
    if form == "free":  # nobody builds a container, asks a model for a list, or has a second one
        built, extra = Built(), {}
    return scenario(context, layer_list, steps, form=form, built=built, observe=observe, **extra)
