"""Checks of the prefill (PR)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .. import judges, projections
from ..checks import Check, Context
from ..invariants import prefills
from ..scenario import PlainLayer, Scenario, ScriptedModel
from ..strategies import declared, iterations, layers
from .it import MODELS_PREPARE

EMPTY = (PlainLayer(),)
LOGITS = st.builds(
    ScriptedModel,
    seed=st.integers(0, 5),
    prepare=st.just("logits"),
    state=st.sampled_from(("none", "always", "alternate")),
)


def _plain(context: Context, **options: Any) -> Any:
    """Turns that never quantize, over plain layers: prefill alone is looked at."""
    return iterations.scenarios(
        context, layer_lists=layers.lists(layers.plain(layers.SMALL), most=1), bits=st.none(), **options
    )


def _with_processor(context: Context) -> Any:
    """Warm and empty caches; prepare that answers with tokens or, where it can, with logits."""
    prepares = ["tokens", "logits"] if declared.has(context, "feature:logits-prefill") else ["tokens"]
    models = st.builds(ScriptedModel, seed=st.integers(0, 5), prepare=st.sampled_from(prepares))
    return _plain(context, model=models, processor="boost")


def _prompted(_context: Context) -> tuple[Scenario, ...]:
    """A prompt of several chunks, on an empty cache and on a warm one."""
    turn = iterations.turn(3, nexts=1, prefill_step=2, processor="boost")
    return tuple(iterations.scenario((PlainLayer(length=length),), turn) for length in (0, 3))


def _windows(_context: Context) -> tuple[Scenario, ...]:
    """Prompts shorter than the window, and longer."""
    return tuple(
        iterations.scenario(EMPTY, iterations.turn(length, nexts=1, prefill_step=window))
        for length, window in ((1, 512), (3, 2))
    )


def _later_prefill(context: Context) -> tuple[Scenario, ...]:
    """A prefill of several chunks when a turn before has left a state."""
    state = "always" if declared.has(context, "feature:model-state") else "none"
    turn = iterations.turn(3, nexts=1, prefill_step=1)
    return (iterations.scenario(EMPTY, turn, turn, model=ScriptedModel(state=state)),)


def _empty_prompt_processed(_context: Context) -> tuple[Scenario, ...]:
    return (iterations.scenario(EMPTY, iterations.turn(0, nexts=1, processor="boost")),)


def _with_state(context: Context) -> Any:
    models = st.builds(ScriptedModel, state=st.sampled_from(("always", "alternate")))
    return _plain(context, model=models)


def _second_turn_with_state(context: Context) -> Any:
    return _with_state(context) if declared.has(context, "feature:model-state") else _plain(context)


def _logits(context: Context) -> Any:
    layer = layers.plain(layers.SMALL) | layers.bystanders(context)
    states = LOGITS if declared.has(context, "feature:model-state") else LOGITS.map(_stateless)
    return iterations.scenarios(
        context,
        layer_lists=layers.lists(layer, most=2),
        model=states,
        processor="boost",
        starts=st.integers(0, 6),
    )


def _stateless(model: ScriptedModel) -> ScriptedModel:
    return model.model_copy(update={"state": "none"})


def _logits_examples(context: Context) -> tuple[Scenario, ...]:
    state = "always" if declared.has(context, "feature:model-state") else "none"
    model = ScriptedModel(prepare="logits", state=state)
    return (
        iterations.scenario(EMPTY, iterations.turn(1, nexts=0), model=model),
        iterations.scenario(EMPTY, iterations.turn(1, nexts=1), model=model),
        iterations.scenario(EMPTY, iterations.turn(1, nexts=2, bits=4), model=model),
        iterations.scenario(EMPTY, iterations.turn(1, nexts=1, bits=4, max_tokens=0), model=model),
    )


def _empty_prompt(_context: Context) -> tuple[Scenario, ...]:
    return (iterations.scenario(EMPTY, iterations.turn(0, nexts=1)),)


def _empty_prompts(context: Context) -> Any:
    return st.builds(
        lambda layer, window, bits: iterations.scenario(
            (layer,), iterations.turn(0, nexts=1, prefill_step=window, bits=bits)
        ),
        layers.plain(layers.SMALL),
        st.sampled_from((512, 1, 4)),
        st.none() | st.just(4),
    )


def _all_consumed(context: Context) -> Any:
    models = st.builds(ScriptedModel, seed=st.integers(0, 5), prepare=st.just("all"))
    return _plain(context, model=models)


def _consumed_example(_context: Context) -> tuple[Scenario, ...]:
    return (iterations.scenario(EMPTY, iterations.turn(1, nexts=1), model=ScriptedModel(prepare="all")),)


def _empty_with_processor(context: Context) -> Any:
    return _empty_prompts(context).map(
        lambda one: one.model_copy(
            update={"turns": tuple(turn.model_copy(update={"processor": "boost"}) for turn in one.turns)}
        )
    )


def _cuts(_context: Context) -> tuple[Scenario, ...]:
    pairs = ((1, 512), (23, 8), (8, 8), (9, 8), (16, 8), (17, 8), (2, 1), (513, 512), (600, 512), (1025, 512))
    return tuple(iterations.scenario(EMPTY, iterations.turn(p, nexts=1, prefill_step=w)) for p, w in pairs)


def _long_prompts(_context: Context) -> tuple[Scenario, ...]:
    """Prompts that go through at once, in two chunks, in many, and in two turns."""
    pairs = ((12, 512), (12, 8), (23, 4))
    later = iterations.scenario(EMPTY, *[iterations.turn(3, nexts=2, seed=seed) for seed in (0, 1)])
    return (
        *(iterations.scenario(EMPTY, iterations.turn(p, nexts=1, prefill_step=w)) for p, w in pairs),
        later,
    )


def _bad_windows(_context: Context) -> tuple[Scenario, ...]:
    return tuple(iterations.scenario(EMPTY, iterations.turn(2, nexts=1, prefill_step=w)) for w in (-1, 0))


def _between_chunks(context: Context) -> Any:
    """Prompts of several chunks, with the start inside of them."""
    return st.builds(
        lambda window, chunks, extra, count, bits, share, layer_list: iterations.scenario(
            layer_list,
            iterations.turn(
                window * chunks + extra,
                nexts=count,
                prefill_step=window,
                bits=bits,
                start=share * (window * chunks + extra + 1) // 8,
            ),
        ),
        st.sampled_from((4, 2, 3, 8)),
        st.integers(1, 3),
        st.integers(0, 2),
        st.integers(1, 2),
        st.sampled_from(iterations.even_bits(context)),
        st.integers(0, 8),
        layers.lists(layers.plain(st.sampled_from((0, 3))), most=2),
    )


def _between_examples(_context: Context) -> tuple[Scenario, ...]:
    return (
        iterations.scenario(EMPTY, iterations.turn(3, nexts=1, prefill_step=1, bits=4, start=1)),
        iterations.scenario(EMPTY, iterations.turn(2, nexts=1, bits=4)),
        iterations.scenario(EMPTY, iterations.turn(1300, nexts=1, bits=4, start=600)),
    )


CHECKS = (
    Check(
        requirement="PR-1",
        name="prompt",
        scenarios=_with_processor,
        judge=judges.invariant(prefills.prompt_once_first),
        explicit=_prompted,
        weight=0.5,
    ),
    Check(
        requirement="PR-2",
        name="window",
        scenarios=_plain,
        judge=judges.invariant(prefills.prepare_called_with_window),
        explicit=_windows,
        dialects=MODELS_PREPARE,
        weight=0.5,
    ),
    Check(
        requirement="PR-2",
        name="state",
        scenarios=_second_turn_with_state,
        judge=judges.invariant(prefills.prepare_gets_no_state),
        explicit=_later_prefill,
        dialects=MODELS_PREPARE,
        weight=0.5,
    ),
    Check(
        requirement="PR-2",
        name="caches",
        scenarios=_plain,
        judge=judges.invariant(prefills.prefill_offsets_add_up),
        explicit=_windows,
        dialects=MODELS_PREPARE,
        weight=0.5,
    ),
    Check(
        requirement="PR-3",
        name="one-step",
        scenarios=lambda context: _plain(context) | _plain(context, turn_count=2),
        judge=judges.declared(prefills.one_step_over_remaining),
        explicit=_long_prompts,
    ),
    Check(
        requirement="PR-4",
        name="logits",
        scenarios=_logits,
        judge=judges.same(projections.logits_path, "logits from prepare are taken otherwise"),
        oracle="reference",
        explicit=_logits_examples,
    ),
    Check(
        requirement="PR-5",
        name="empty-prompt",
        scenarios=_empty_prompts,
        judge=judges.or_refused(judges.invariant(prefills.empty_remainder_refused)),
        judges_refusals=True,
        explicit=_empty_prompt,
        weight=0.2,
    ),
    Check(
        requirement="PR-5",
        name="consumed",
        scenarios=_all_consumed,
        judge=judges.or_refused(judges.invariant(prefills.empty_remainder_refused)),
        judges_refusals=True,
        explicit=_consumed_example,
        needs=("feature:prepare",),
        dialects=MODELS_PREPARE,
        weight=0.2,
    ),
    Check(
        requirement="PR-5",
        name="prompt-first",
        scenarios=_empty_with_processor,
        judge=judges.invariant(prefills.prompt_before_empty_remainder),
        explicit=_empty_prompt_processed,
        needs=("feature:processors",),
        weight=0.2,
    ),
    Check(
        requirement="PR-6",
        name="lengths",
        scenarios=_plain,
        judge=judges.declared(prefills.prefill_lengths),
        explicit=_cuts,
    ),
    Check(
        requirement="PR-6",
        name="bad-window",
        scenarios=None,  # a window of 0 may loop for ever: each try can cost a time limit
        judge=judges.or_refused(judges.invariant(prefills.window_refused)),
        explicit=_bad_windows,
        judges_refusals=True,
    ),
    Check(
        requirement="PR-7",
        name="between",
        scenarios=_between_chunks,
        judge=judges.same(projections.call_caches, "the pass runs elsewhere in the prefill"),
        oracle="reference",
        explicit=_between_examples,
    ),
)
