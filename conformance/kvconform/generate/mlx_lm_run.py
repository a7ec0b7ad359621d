"""`generate` scenarios by mlx-lm: its own ``generate_step``, watched through its model and its sampler."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
# (the type stubs of MLX are partial)

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import mlx.core as mx

from ..models.loaded import LoadedModel
from ..observation import GenerateObservation
from ..scenario import GenerateScenario, Parameters
from .mlx_model import make_prompt_cache
from .watch import OnLogits, Watch

# mlx_lm.generate is a function as well as a module.
generate_step: Any = import_module("mlx_lm.generate").generate_step
make_logits_processors: Any = import_module("mlx_lm.sample_utils").make_logits_processors


def run(
    scenario: GenerateScenario, loaded: LoadedModel, *, on_logits: OnLogits | None = None
) -> GenerateObservation:
    """The stream of a model that is already loaded; ``scenario.model`` is not looked at.

    An error ends the stream and is its ``error``. ``on_logits`` gets what a sampler gets here, which are
    log-probabilities.
    """
    layers: list[Any] = list(make_prompt_cache(loaded.model))
    watch = Watch(lambda: layers, force=scenario.force, on_logits=on_logits)
    handed_out: list[int] = []
    try:
        for token, _ in tokens(scenario.prompt, loaded, layers, scenario.parameters, watch):
            handed_out.append(int(token))
    except Exception as error:  # whatever mlx-lm raises: recorded as it is
        return watch.observation(handed_out, error)
    return watch.observation(handed_out)


def tokens(
    prompt: Sequence[int], loaded: LoadedModel, layers: list[Any], parameters: Parameters, watch: Watch
) -> Any:
    """``generate_step`` over a real model and this cache list, which it changes in place."""
    return generate_step(
        mx.array(list(prompt), mx.uint32),
        _Watched(loaded.model, watch),
        max_tokens=parameters.max_tokens,
        sampler=lambda logprobs: watch.sample(logprobs.reshape(-1)).reshape(1),
        logits_processors=processors(parameters),
        prompt_cache=layers,
        prefill_step_size=parameters.prefill_step,
        kv_bits=parameters.bits,
        kv_group_size=parameters.group_size,
        quantized_kv_start=parameters.start,
    )


def processors(parameters: Parameters) -> Any:
    """mlx-lm's own repetition penalty, when one is asked for."""
    if parameters.repetition_penalty is None:
        return None
    return make_logits_processors(
        repetition_penalty=parameters.repetition_penalty,
        repetition_context_size=parameters.repetition_context_size,
    )


class _Watched:
    """A model that is looked at before each call; everything else is the model's own."""

    def __init__(self, module: Any, watch: Watch) -> None:
        self._module = module
        self._watch = watch

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._watch.look()
        return self._module(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)
