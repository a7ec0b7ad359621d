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


def prompts_and_windows() -> SearchStrategy[tuple[int, int]]:
    """A prompt length and a prefill step: around multiples of it, and below; short prompts first."""
    return st.sampled_from(_PROMPTS_AND_WINDOWS)


def _prompts_and_windows() -> list[tuple[int, int]]:
    below = [(length, 512) for length in (*range(1, 13), 511, 512, 513)]
    around = {
        (max(1, chunks * window + extra), window)
        for window in (8, 4, 1, 2, 3, 5)
        for chunks in range(4)
        for extra in (-1, 0, 1, 2)
    }
    return sorted([*below, *around], key=lambda pair: (pair[0], pair[1] != 512, pair[1]))


_PROMPTS_AND_WINDOWS = _prompts_and_windows()


def nexts(context: Context, *, most: int = 4) -> SearchStrategy[int]:
    """How often to ask; at least once where construction is lazy."""
    return st.integers(0 if declared.has(context, "feature:eager") else 1, most)


def turns(
    context: Context,
    *,
    bits: SearchStrategy[int | None] | None = None,
    starts: SearchStrategy[int] = SMALL_STARTS,
    limits: SearchStrategy[int | None] = NO_LIMIT,
    most: int = 4,
    **fields: Any,
) -> SearchStrategy[Turn]:
    """One turn of the general form."""
    even = even_bits(context)
    return st.builds(
        lambda pair, seed, count, width, size, start, limit: turn(
            pair[0],
            seed=seed,
            nexts=count,
            prefill_step=pair[1],
            bits=width,
            group_size=size,
            start=start,
            max_tokens=limit,
            **fields,
        ),
        prompts_and_windows(),
        st.integers(0, 3),
        nexts(context, most=most),
        bits if bits is not None else st.sampled_from((*[None] * len(even), *even)),
        numbers.usable_requests(context),
        starts,
        limits,
    )


def even_bits(context: Context) -> tuple[int, ...]:
    """Widths that divide 32, so that written rows do not trip over what QC-3 is about."""
    return tuple(bits for bits in declared.bits(context) if 32 % bits == 0)


def safe_lists(context: Context, *, least: int = 1, most: int = 3) -> SearchStrategy[tuple[Layer, ...]]:
    """Layers that any design in this dialect gets through a turn with: dims 64 or 128, no errors declared."""
    lengths = st.sampled_from((0, 0, 3, 10))
    plain = layers.plain(lengths, st.just((128, 128)))
    return layers.lists(plain | layers.bystanders(context, lengths), least=least, most=most)


def givens(context: Context) -> SearchStrategy[str]:
    """What the first iterator is handed."""
    ways = ["list"]
    ways += ["container"] if declared.has(context, "feature:container") else []
    ways += ["model"] if declared.has(context, "feature:model-list") else []
    return st.sampled_from(ways)


def models(context: Context) -> SearchStrategy[ScriptedModel]:
    """A model: small vocabularies repeat more often."""
    states = ("none", "always", "alternate") if declared.has(context, "feature:model-state") else ("none",)
    return st.builds(
        ScriptedModel,
        seed=st.integers(0, 20),
        vocab=st.sampled_from((61, 7, 2, 16)),
        state=st.sampled_from(states),
    )


def scenarios(
    context: Context,
    *,
    layer_lists: SearchStrategy[tuple[Layer, ...]] | None = None,
    model: SearchStrategy[ScriptedModel] | None = None,
    turn_count: int = 1,
    given: SearchStrategy[str] | None = None,
    **turn_options: Any,
) -> SearchStrategy[IterateScenario]:
    """Turns of the general form over lists that every design gets through."""
    turn_strategy = turns(context, **turn_options)
    return st.builds(
        _over_given,
        layer_lists if layer_lists is not None else safe_lists(context),
        given if given is not None else givens(context),
        model if model is not None else models(context),
        st.tuples(*[turn_strategy] * turn_count),
    )


def _over_given(
    layer_list: tuple[Layer, ...], how: Any, model: ScriptedModel, chosen: tuple[Turn, ...]
) -> IterateScenario:
    built = Built(bits=4) if how in ("container", "both") else Built()
    return IterateScenario(layers=layer_list, given=how, built=built, model=model, turns=chosen)


def anything(context: Context, **fields: Any) -> SearchStrategy[IterateScenario]:
    """Up to three turns over any layers: the net under the aimed strategies."""
    kinds = layers.any_layer(context, st.sampled_from((0, 0, 3, 10)))
    lists = layers.lists(kinds, most=3) | safe_lists(context)
    limits = st.sampled_from((None, None, None, 0, 1, 2, 3))
    options: dict[str, Any] = {"limits": limits, "processor": _processor(context), **fields}
    counts = [scenarios(context, layer_lists=lists, turn_count=count, **options) for count in (1, 2, 3)]
    return st.one_of(counts)


def _processor(context: Context) -> str:
    return "boost" if declared.has(context, "feature:processors|feature:process-only") else "none"
