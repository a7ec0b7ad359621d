"""Iterate scenarios: prompts around the prefill step, limits, states, processors, several turns."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from ..checks import Context
from ..scenario import Built, IterateScenario, Layer, Parameters, PlainLayer, Prompt, ScriptedModel, Turn
from . import declared, layers, numbers

ONE_EMPTY = (PlainLayer(),)
SMALL_STARTS = st.integers(0, 12)
NO_LIMIT = st.none()


def scenario(layer_list: tuple[Layer, ...], *turns: Turn, **fields: Any) -> IterateScenario:
    """A scenario over these layers."""
    return IterateScenario(layers=layer_list, turns=turns, **fields)


def turn(prompt: int, *, nexts: int = 2, seed: int = 0, **options: Any) -> Turn:
    """A turn; what is no field of a turn is a parameter."""
    fields = {name: options.pop(name) for name in list(options) if name in Turn.model_fields}
    return Turn(
        prompt=Prompt(length=prompt, seed=seed), parameters=Parameters(**options), nexts=nexts, **fields
    )


@st.composite
def prompts_and_windows(draw: st.DrawFn, *, least: int = 1) -> tuple[int, int]:
    """A prompt length and a prefill step: around multiples of it, below it, far below it."""
    window = draw(st.sampled_from((512, 8, 4, 1, 2, 3, 5)))
    if window == 512:
        return draw(st.integers(least, 12) | st.sampled_from((511, 512, 513))), window
    chunks = draw(st.integers(0, 3))
    return max(least, chunks * window + draw(st.integers(-1, 2))), window


def nexts(context: Context, *, most: int = 4) -> SearchStrategy[int]:
    """How often to ask; at least once where construction is lazy."""
    return st.integers(0 if declared.has(context, "feature:eager") else 1, most)


@st.composite
def turns(
    draw: st.DrawFn,
    context: Context,
    *,
    bits: SearchStrategy[int | None] | None = None,
    starts: SearchStrategy[int] = SMALL_STARTS,
    limits: SearchStrategy[int | None] = NO_LIMIT,
    most: int = 4,
    **fields: Any,
) -> Turn:
    """One turn of the general form."""
    length, window = draw(prompts_and_windows())
    return turn(
        length,
        seed=draw(st.integers(0, 3)),
        nexts=draw(nexts(context, most=most)),
        prefill_step=window,
        bits=draw(bits if bits is not None else st.none() | st.sampled_from(even_bits(context))),
        group_size=draw(numbers.usable_requests(context)),
        start=draw(starts),
        max_tokens=draw(limits),
        **fields,
    )


def even_bits(context: Context) -> tuple[int, ...]:
    """Widths that divide 32, so that written rows do not trip over what QC-3 is about."""
    return tuple(bits for bits in declared.bits(context) if 32 % bits == 0)


def safe_lists(context: Context, *, least: int = 1, most: int = 3) -> SearchStrategy[tuple[Layer, ...]]:
    """Layers that any design in this dialect gets through a turn with: dims 64 or 128, no errors declared."""
    lengths = st.sampled_from((0, 0, 3, 10))
    plain = layers.plain(lengths, st.just((128, 128)))
    return layers.lists(plain | plain | layers.bystanders(context, lengths), least=least, most=most)


def givens(context: Context) -> SearchStrategy[str]:
    """What the first iterator is handed."""
    ways = ["list"]
    ways += ["container"] if declared.has(context, "feature:container") else []
    ways += ["model"] if declared.has(context, "feature:model-list") else []
    return st.sampled_from(ways)


@st.composite
def models(draw: st.DrawFn, context: Context, *, small: bool = False) -> ScriptedModel:
    """A model: small vocabularies tie and repeat more often."""
    states = ("none", "always", "alternate") if declared.has(context, "feature:model-state") else ("none",)
    return ScriptedModel(
        seed=draw(st.integers(0, 20)),
        vocab=draw(st.sampled_from((61, 7, 2, 16) if not small else (7, 2, 3))),
        state=draw(st.sampled_from(states)),  # pyright: ignore[reportArgumentType]
    )


@st.composite
def scenarios(
    draw: st.DrawFn,
    context: Context,
    *,
    layer_lists: SearchStrategy[tuple[Layer, ...]] | None = None,
    model: SearchStrategy[ScriptedModel] | None = None,
    turn_count: int = 1,
    given: SearchStrategy[str] | None = None,
    **turn_options: Any,
) -> IterateScenario:
    """Turns of the general form over lists that every design gets through."""
    lists = layer_lists if layer_lists is not None else safe_lists(context)
    how = draw(given if given is not None else givens(context))
    return IterateScenario(
        layers=draw(lists),
        given=how,  # pyright: ignore[reportArgumentType]
        built=Built(bits=4) if how in ("container", "both") else Built(),
        model=draw(model if model is not None else models(context)),
        turns=tuple(draw(turns(context, **turn_options)) for _ in range(turn_count)),
    )


def anything(context: Context, **fields: Any) -> SearchStrategy[IterateScenario]:
    """Up to three turns over any layers: the net under the aimed strategies."""
    kinds = layers.any_layer(context, st.sampled_from((0, 0, 3, 10)))
    lists = layers.lists(kinds, most=3) | safe_lists(context)
    limits = st.none() | st.integers(0, 3)
    return st.integers(1, 3).flatmap(
        lambda count: scenarios(
            context,
            layer_lists=lists,
            turn_count=count,
            limits=limits,
            processor=_processor(context),
            **fields,
        )
    )


def _processor(context: Context) -> str:
    return "boost" if declared.has(context, "feature:processors|feature:process-only") else "none"
