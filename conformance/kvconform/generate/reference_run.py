"""`generate` scenarios by the reference: its own iterator and container over real MLX models and caches."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
# (the type stubs of MLX are partial)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from kvconform_reference import iterator
from kvconform_reference.container import CacheContainer
from kvconform_reference.dialect import PROPOSAL, Dialect
from kvconform_reference.parameters import GenerateParameters

from ..models.loaded import LoadedModel
from ..observation import GenerateObservation
from ..scenario import GenerateScenario, Parameters
from .mlx_model import MlxModel
from .watch import OnLogits, Watch


def run(
    scenario: GenerateScenario,
    loaded: LoadedModel,
    *,
    dialect: Dialect = PROPOSAL,
    on_logits: OnLogits | None = None,
    cache: list[Any] | None = None,
) -> GenerateObservation:
    """The stream of a model that is already loaded; ``scenario.model`` is not looked at.

    An error of the model, of a pass or of the options ends the stream and is its ``error``. ``on_logits``
    gets the logits of each step; ``cache`` is a list to go on with, a fresh one by default.
    """
    parameters = generate_parameters(scenario.parameters)
    layers = MlxModel(loaded.model).new_cache() if cache is None else cache
    handed_out: list[int] = []
    container = CacheContainer(layers, parameters=parameters, dialect=dialect)
    watch = Watch(lambda: container.layers, force=scenario.force, on_logits=on_logits)
    try:
        for token in tokens(scenario.prompt, loaded, container, parameters, dialect, watch):
            handed_out.append(int(token))
    except Exception as error:  # whatever a model's code raises
        return watch.observation(handed_out, error)
    return watch.observation(handed_out)


def tokens(
    prompt: Sequence[int],
    loaded: LoadedModel,
    container: CacheContainer,
    parameters: GenerateParameters,
    dialect: Dialect,
    watch: Watch,
) -> iterator.TokenIterator:
    """The iterator over a real model, watched. The prefill runs here."""
    plan = "balanced" if dialect.prefill == "balanced" else "window"  # PR-6: what the model's prepare does
    return iterator.TokenIterator(
        mx.array(list(prompt), mx.uint32),
        MlxModel(loaded.model, plan=plan, before_call=watch.look),
        container=container,
        parameters=parameters,
        sampler=watch,
        dialect=dialect,
    )


def generate_parameters(parameters: Parameters) -> GenerateParameters:
    """The scenario's parameters as the reference has them; greedy."""
    return GenerateParameters(**parameters.model_dump())
