"""Checks of building an iterator (IT)."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import strategies as st

from .. import judges, places, projections
from ..checks import Check, Context, Expect, Finding
from ..implementation import Capabilities
from ..invariants import building, steps
from ..observation import DeprecationEvent
from ..scenario import Built, PlainLayer, Scenario, ScriptedModel
from ..strategies import declared, iterations, layers

EMPTY = PlainLayer()
SEVERAL = PlainLayer(length=3)
MODELS_PREPARE: dict[str, tuple[Any, ...]] = {
    "prefill": ("window", "balanced"),
    "quantize_between_chunks": (False,),
}
"""Dialects in which the model's prepare cuts the prompt; in the others the iterator does it itself."""


def _counts(context: Context) -> bool:
    return declared.has(context, "feature:count")


def _begins(context: Context, scenario: Any, observation: Any, _expect: Expect) -> Any:
    return building.begins_at_nothing(scenario, observation, counts=_counts(context))


def _later_turns(context: Context) -> Any:
    """Two turns of a model that hands out states, on the same container or on the caller's list."""
    scenarios = iterations.scenarios(
        context, model=st.builds(ScriptedModel, state=st.just("always")), turn_count=2, most=2
    )
    return st.builds(_second_turn_on, scenarios, st.sampled_from(("same", "caller-list")))


def _second_turn_on(scenario: Any, cache: str) -> Scenario:
    first, second = scenario.turns
    return scenario.model_copy(update={"turns": (first, second.model_copy(update={"cache": cache}))})


def _later_turn_examples(context: Context) -> tuple[Scenario, ...]:
    """The second turn also ends where it began: what its iterator starts with is all there is to see."""
    last = 0 if declared.has(context, "feature:eager") else 1
    return tuple(
        iterations.scenario(
            (EMPTY,),
            iterations.turn(1, nexts=1),
            iterations.turn(1, nexts=last, cache=cache),
            model=ScriptedModel(state="always"),
            given=given,
            built=built,
        )
        for given, built in _givens(context)
        for cache in ("same", "caller-list")
    )


def _one(
    *,
    layer: Any = EMPTY,
    model: ScriptedModel | None = None,
    given: str = "list",
    built: Built | None = None,
    **turn: Any,
) -> Any:
    """A one-token prompt over one layer."""
    made = iterations.scenario(
        (layer,),
        iterations.turn(1, **{"nexts": 1, **turn}),
        model=model or ScriptedModel(),
        given=given,
        built=built or Built(),
    )
    return lambda _context: (made,)


def _failing_prepare(context: Context) -> Any:
    return iterations.scenarios(
        context, model=st.builds(ScriptedModel, seed=st.integers(0, 5), prepare=st.just("raise"))
    )


def _both(context: Context) -> Any:
    return iterations.scenarios(context, given=st.just("both"))


def _over_container(context: Context) -> Any:
    """Bits on both sides, and different ones in the container."""
    built = st.sampled_from((Built(bits=8, group_size=32), Built(bits=2, group_size=128)))
    scenarios = iterations.scenarios(
        context, given=st.just("container"), bits=_some_bits(context), starts=st.integers(0, 6)
    )
    return st.builds(lambda one, other: one.model_copy(update={"built": other}), scenarios, built)


def _some_bits(context: Context) -> Any:
    return st.sampled_from(iterations.even_bits(context))


def _built_as_asked(_context: Context, scenario: Any) -> Scenario:
    """The container built with the parameters' own options."""
    parameters = scenario.turns[0].parameters
    return scenario.model_copy(
        update={"built": Built(bits=parameters.bits, group_size=parameters.group_size)}
    )


def _unarmed(context: Context) -> Any:
    scenarios = iterations.scenarios(
        context,
        given=st.just("container"),
        bits=_some_bits(context),
        layer_lists=layers.lists(layers.plain(layers.SMALL), most=2),
    )
    return scenarios.map(lambda one: one.model_copy(update={"built": Built()}))


def _unarmed_example(_context: Context) -> tuple[Scenario, ...]:
    return (iterations.scenario((EMPTY,), iterations.turn(1, bits=4), given="container", built=Built()),)


def _never_quantized(scenario: Any, observation: Any) -> Any:
    for finding in building.never_quantizes(scenario, observation):
        message = finding.message.replace(
            "the sampler-first form quantized", "a container built without bits quantized"
        )
        yield Finding(message=message, expected=finding.expected, observed=finding.observed)


def _over_given_container(context: Context) -> Any:
    """A container whose layers are converted under way."""
    given = st.sampled_from(("container", "list"))
    return iterations.scenarios(context, given=given, bits=_some_bits(context), starts=st.integers(0, 6))


def _handed(context: Context) -> Any:
    """One layer that every supported size divides; each option differs from its default."""
    return iterations.scenarios(
        context,
        bits=_some_bits(context),
        layer_lists=layers.lists(layers.plain(st.just(0), st.just((128, 128))), most=1),
        given=iterations.givens(context),
    )


def _handed_examples(context: Context) -> tuple[Scenario, ...]:
    wide = (PlainLayer(key_dim=128, value_dim=128),)
    options: tuple[dict[str, int], ...] = ({"group_size": 32}, {"bits": 8}, {"start": 3})
    return tuple(
        iterations.scenario(
            wide, iterations.turn(2, **{"nexts": 2, "bits": 4, **one}), given=given, built=built
        )
        for one in options
        for given, built in _givens(context)
    )


def _givens(context: Context) -> list[tuple[str, Built]]:
    container = [("container", Built(bits=4))] if declared.has(context, "feature:container") else []
    return [("list", Built()), *container]


def _argmin(context: Context) -> Any:
    return iterations.scenarios(context, sampler="argmin")


def _boost_and_penalty(context: Context) -> Any:
    turn = iterations.turns(context, processor="boost", sampler="argmax", bits=st.none())
    penalised = turn.map(
        lambda one: one.model_copy(
            update={"parameters": one.parameters.model_copy(update={"repetition_penalty": 1.5})}
        )
    )
    return st.builds(
        lambda one, seed: iterations.scenario((EMPTY,), one, model=ScriptedModel(seed=seed)),
        penalised,
        st.integers(0, 5),
    )


def _boost_and_penalty_example(_context: Context) -> tuple[Scenario, ...]:
    turn = iterations.turn(3, nexts=2, processor="boost", sampler="argmax", repetition_penalty=1.5)
    return (iterations.scenario((EMPTY,), turn),)


def _one_of_two(context: Context) -> Any:
    """An explicit sampler beside the parameters' penalty, or an explicit processor beside their sampler."""
    turn = st.builds(
        lambda length, nexts, seed, size, explicit: iterations.turn(
            length,
            seed=seed,
            nexts=nexts,
            repetition_penalty=2.0,
            repetition_context_size=size,
            **explicit,
        ),
        st.integers(1, 8),
        st.integers(1, 5),
        st.integers(0, 5),
        st.sampled_from((20, 4)),
        st.sampled_from(_explicit_one(context)),
    )
    models = st.builds(ScriptedModel, seed=st.integers(0, 20), vocab=st.sampled_from((5, 7)))
    return st.builds(lambda one, model: iterations.scenario((EMPTY,), one, model=model), turn, models)


def _one_of_two_examples(context: Context) -> tuple[Scenario, ...]:
    """Small vocabularies, so that the penalty tells at once."""
    return tuple(
        iterations.scenario(
            (EMPTY,),
            iterations.turn(6, nexts=4, repetition_penalty=2.0, **explicit),
            model=ScriptedModel(vocab=5, seed=seed),
        )
        for explicit in _explicit_one(context)
        for seed in (0, 1)
    )


def _explicit_one(context: Context) -> list[dict[str, Any]]:
    explicit: list[dict[str, Any]] = [{"sampler": "argmin"}, {"sampler": "argmax"}] * declared.has(
        context, "feature:samplers"
    )
    return explicit + [{"processor": "boost"}] * declared.has(context, "feature:processors")


def _penalised_once(context: Context, scenario: Any, observation: Any, _expect: Expect) -> Any:
    told = declared.has(context, "feature:processors")
    return steps.processed_once_each(scenario, observation, told=told)


def _sampler_first(context: Context) -> Any:
    """Parameters that would quantize, which the form has no use for; also over an armed container."""
    form = partial(
        iterations.turns, context, form="sampler-first", bits=_some_bits(context), starts=st.just(0)
    )
    processors = (
        st.sampled_from(("none", "boost")) if declared.has(context, "feature:processors") else st.just("none")
    )
    turn = processors.flatmap(lambda processor: form(processor=processor))
    return st.builds(
        lambda given, one, layer: iterations.scenario((layer,), one, given=given, built=Built(bits=4)),
        iterations.givens(context),
        turn,
        layers.plain(layers.SMALL),
    )


def _prompt_array(context: Context) -> Any:
    """With every explicit thing that the form could forget."""
    samplers = st.sampled_from(
        ("parameters", "argmin") if declared.has(context, "feature:samplers") else ("parameters",)
    )
    processors = st.sampled_from(
        ("none", "boost") if declared.has(context, "feature:processors") else ("none",)
    )
    return st.tuples(samplers, processors).flatmap(
        lambda chosen: iterations.scenarios(
            context, form="prompt-array", given=st.just("list"), sampler=chosen[0], processor=chosen[1]
        )
    )


def _prompt_array_examples(context: Context) -> tuple[Scenario, ...]:
    explicit = [{}]
    explicit += [{"sampler": "argmin"}] * declared.has(context, "feature:samplers")
    explicit += [{"processor": "boost"}] * declared.has(context, "feature:processors")
    return tuple(made for one in explicit for made in _one(form="prompt-array", **one)(context))


def _general(_context: Context, scenario: Any) -> Scenario:
    turns_ = tuple(turn.model_copy(update={"form": "general"}) for turn in scenario.turns)
    return scenario.model_copy(update={"turns": turns_})


@places.made_of("record")
def _without_warnings(context: Context, observation: Any) -> Any:
    features = tuple(name for name in context.info.capabilities.features if name != "prompt-array")
    silent = Capabilities(features=features)
    info = context.info.model_copy(update={"capabilities": silent})
    return projections.everything_in_turns(Context(info=info, dialect=context.dialect), observation)


def _warns(scenario: Any, observation: Any) -> Any:
    del scenario
    for number, turn in enumerate(observation.turns):
        if not any(isinstance(event, DeprecationEvent) for event in turn.trace):
            message = f"the prompt-array form did not warn: turn {number + 1}"
            yield Finding(message=message, expected="deprecated")


def _warm(context: Context) -> Any:
    warm = layers.plain(st.sampled_from((3, 10, 1, 255, 256)), st.just((128, 128)))
    return iterations.scenarios(context, layer_lists=layers.lists(warm | layers.bystanders(context), most=2))


CHECKS = (
    Check(
        requirement="IT-0",
        name="start",
        scenarios=lambda context: iterations.scenarios(context, most=1),
        judge=_begins,
        explicit=lambda context: _one(nexts=0)(context) if declared.has(context, "feature:eager") else (),
        weight=0.3,
    ),
    Check(
        requirement="IT-0",
        name="later-turn",
        scenarios=_later_turns,
        judge=_begins,
        explicit=_later_turn_examples,
        needs=("feature:model-state",),
        weight=0.2,
    ),
    Check(
        requirement="IT-1",
        name="prefill",
        scenarios=iterations.scenarios,
        judge=judges.invariant(building.prefill_in_constructor),
        explicit=_one(nexts=0),
        needs=("feature:eager",),
        weight=0.5,
    ),
    Check(
        requirement="IT-1",
        name="error",
        scenarios=_failing_prepare,
        judge=judges.invariant(building.prepare_error_reaches_caller),
        explicit=_one(model=ScriptedModel(prepare="raise")),
        needs=("feature:prepare",),
        dialects=MODELS_PREPARE,
        weight=0.3,
    ),
    Check(
        requirement="IT-2",
        name="used",
        scenarios=iterations.scenarios,
        judge=judges.all_of(
            judges.invariant(building.model_asked_once),
            judges.invariant(building.container_used_as_is),
        ),
        explicit=_one(),
    ),
    Check(
        requirement="IT-2",
        name="both",
        scenarios=_both,
        judge=judges.or_refused(judges.invariant(building.both_refused)),
        judges_refusals=True,
        explicit=_one(given="both"),
        needs=("feature:both-refused",),
        weight=0.2,
    ),
    Check(
        requirement="IT-2",
        name="given",
        scenarios=_over_given_container,
        judge=judges.invariant(building.container_used_as_is),
        explicit=_one(given="container", built=Built(bits=4), bits=4, nexts=2),
        needs=("feature:container",),
        weight=0.5,
    ),
    Check(
        requirement="IT-3",
        name="handed-on",
        scenarios=_handed,
        judge=judges.declared(building.quantized_as_asked),
        explicit=_handed_examples,
        needs=("kind:iterate",),
    ),
    Check(
        requirement="IT-3",
        name="parameters",
        scenarios=_over_container,
        judge=judges.same(projections.everything_in_turns, "what the container was built with matters"),
        oracle="relation",
        companion=_built_as_asked,
        needs=("feature:container",),
    ),
    Check(
        requirement="IT-3",
        name="unarmed",
        scenarios=_unarmed,
        judge=judges.invariant(_never_quantized),
        explicit=_unarmed_example,
        needs=("feature:container",),
        dialects={"latch": ("first-trigger",)},
        weight=0.5,
    ),
    Check(
        requirement="IT-4",
        name="sampler",
        scenarios=_argmin,
        judge=judges.invariant(steps.sampled_as_argmax),
        explicit=_one(sampler="argmin"),
        needs=("feature:samplers",),
        weight=0.5,
    ),
    Check(
        requirement="IT-4",
        name="processor",
        scenarios=_boost_and_penalty,
        judge=judges.all_of(judges.invariant(steps.boosted), _penalised_once),
        explicit=_boost_and_penalty_example,
        needs=("feature:processors|feature:process-only", "feature:penalty"),
        weight=0.5,
    ),
    Check(
        requirement="IT-4",
        name="one-of-two",
        scenarios=_one_of_two,
        judge=judges.same(projections.sampled, "what is not replaced is not the parameters'"),
        oracle="reference",
        explicit=_one_of_two_examples,
        needs=("feature:samplers|feature:processors", "feature:penalty"),
        weight=0.3,
    ),
    Check(
        requirement="IT-5",
        name="never",
        scenarios=_sampler_first,
        judge=judges.invariant(building.never_quantizes),
        explicit=_one(form="sampler-first", sampler="argmax", bits=4),
        weight=0.5,
    ),
    Check(
        requirement="IT-6",
        name="same",
        scenarios=_prompt_array,
        judge=judges.all_of(
            judges.invariant(_warns),
            judges.same(_without_warnings, "the prompt-array form differs from the general one"),
        ),
        oracle="relation",
        companion=_general,
        explicit=_prompt_array_examples,
        weight=0.5,
    ),
    Check(
        requirement="IT-7",
        name="warm",
        scenarios=_warm,
        judge=judges.invariant(building.continues_at_offset),
        explicit=_one(layer=SEVERAL),
        weight=0.5,
    ),
)
