"""Checks of processors and samplers (PS)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .. import judges, projections
from ..checks import Check, Context
from ..invariants import steps
from ..scenario import PlainLayer, Scenario, ScriptedModel
from ..strategies import declared, iterations
from . import shared

EMPTY = (PlainLayer(),)


def _forced(context: Context) -> Any:
    """The boost processor with argmax, explicit where samplers are."""
    sampler = "argmax" if declared.has(context, "feature:samplers") else "parameters"
    return shared.processing(context, sampler=sampler)


def _forced_example(context: Context) -> tuple[Scenario, ...]:
    sampler = "argmax" if declared.has(context, "feature:samplers") else "parameters"
    return (iterations.scenario(EMPTY, iterations.turn(2, nexts=4, processor="boost", sampler=sampler)),)


def _plain_turn(_context: Context) -> tuple[Scenario, ...]:
    return (iterations.scenario(EMPTY, iterations.turn(2, nexts=4)),)


def _ties(context: Context) -> Any:
    """Every call ties between two neighbours, sometimes around the end of the vocabulary."""
    models = st.builds(
        ScriptedModel, seed=st.integers(0, 30), vocab=st.sampled_from((7, 2, 3)), ties=st.just(True)
    )
    samplers = ["parameters"] + ["argmax"] * declared.has(context, "feature:samplers")
    return st.sampled_from(samplers).flatmap(
        lambda sampler: iterations.scenarios(context, model=models, bits=st.none(), sampler=sampler)
    )


def _tie_examples(_context: Context) -> tuple[Scenario, ...]:
    """Two tokens of two tie: 0 is right, always."""
    model = ScriptedModel(vocab=2, ties=True)
    return (iterations.scenario(EMPTY, iterations.turn(1, nexts=3), model=model),)


def _penalised(context: Context) -> Any:
    """Small vocabularies, so that tokens come back; contexts shorter and longer than the prompt."""
    turn = st.builds(
        lambda length, nexts, penalty, size, seed, sampler: iterations.turn(
            length,
            seed=seed,
            nexts=nexts,
            repetition_penalty=penalty,
            repetition_context_size=size,
            sampler=sampler,
        ),
        st.integers(1, 8),
        st.integers(1, 6),
        st.sampled_from((2.0, 1.5, 1.25, 0.5, 4.0)),
        st.sampled_from((20, 2, 1, 4)),
        st.integers(0, 5),
        # The lowest logit shows what becomes of negative ones.
        st.sampled_from(
            ("parameters", "argmin") if declared.has(context, "feature:samplers") else ("parameters",)
        ),
    )
    models = st.builds(ScriptedModel, seed=st.integers(0, 20), vocab=st.sampled_from((7, 16, 5)))
    return st.builds(lambda one, model: iterations.scenario(EMPTY, one, model=model), turn, models)


def _penalty_examples(context: Context) -> tuple[Scenario, ...]:
    """A prompt that holds the likeliest token, in reach of the context and not."""
    model = ScriptedModel(vocab=5)
    samplers = ["parameters"] + ["argmin"] * declared.has(context, "feature:samplers")
    return tuple(
        iterations.scenario(
            EMPTY,
            iterations.turn(
                6, nexts=4, repetition_penalty=2.0, repetition_context_size=size, sampler=sampler
            ),
            model=model,
        )
        for sampler in samplers
        for size in (20, 1, 2)
    )


def _penalised_turns(context: Context) -> Any:
    """A second turn, whose processor must know its own prompt alone: the context would hold both.

    Without layers: what becomes of those between turns is RF-1's business.
    """
    turn = st.builds(
        lambda length, seed, nexts: iterations.turn(length, seed=seed, nexts=nexts, repetition_penalty=4.0),
        st.integers(1, 3),
        st.integers(0, 5),
        st.integers(1, 4),
    )
    models = st.builds(ScriptedModel, seed=st.integers(0, 20), vocab=st.sampled_from((7, 16, 5)))
    return st.builds(
        lambda one, two, cache, model: iterations.scenario(
            (), one, two.model_copy(update={"cache": cache}), model=model
        ),
        turn,
        turn,
        st.sampled_from(("same", "caller-list")),
        models,
    )


def _penalised_turn_examples(_context: Context) -> tuple[Scenario, ...]:
    """Seeds with which tokens of the first turn are the likeliest ones of the second."""
    one, two = (iterations.turn(1, seed=seed, nexts=4, repetition_penalty=4.0) for seed in (0, 1))
    return tuple(
        iterations.scenario(
            (), one, two.model_copy(update={"cache": cache}), model=ScriptedModel(vocab=7, seed=seed)
        )
        for cache in ("same", "caller-list")
        for seed in (1, 2)
    )


def _unpenalised(context: Context) -> Any:
    return iterations.scenarios(context, most=2)


def _own_sampler(context: Context) -> Any:
    return iterations.scenarios(context, sampler="parameters", bits=st.none())


CHECKS = (
    Check(
        requirement="PS-1",
        name="forced",
        scenarios=_forced,
        judge=judges.invariant(steps.boosted),
        explicit=_forced_example,
    ),
    Check(
        requirement="PS-1",
        name="each",
        scenarios=shared.processing,
        judge=shared.told_once_each,
        explicit=_forced_example,
        weight=0.5,
    ),
    Check(
        requirement="PS-2",
        name="ties",
        scenarios=_ties,
        judge=judges.invariant(steps.sampled_as_argmax),
        explicit=_tie_examples,
    ),
    Check(
        requirement="PS-3",
        name="penalty",
        scenarios=_penalised,
        judge=judges.same(projections.sampled, "the penalty works otherwise"),
        oracle="reference",
        explicit=_penalty_examples,
    ),
    Check(
        requirement="PS-3",
        name="later-turn",
        scenarios=_penalised_turns,
        judge=judges.same(projections.sampled, "a later turn is penalised otherwise"),
        oracle="reference",
        explicit=_penalised_turn_examples,
        weight=0.3,
    ),
    Check(
        requirement="PS-3",
        name="none",
        scenarios=_unpenalised,
        judge=judges.invariant(steps.no_processing),
        explicit=_plain_turn,
        needs=("feature:processors|feature:process-only",),
        weight=0.2,
    ),
    Check(
        requirement="PS-4",
        name="argmax",
        scenarios=_own_sampler,
        judge=judges.invariant(steps.sampled_as_argmax),
        explicit=_plain_turn,
        weight=0.5,
    ),
)
