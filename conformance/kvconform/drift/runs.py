"""Runs of one model from one prompt, which is fed once.

The caches after the prompt are copied for each run. That is how the proposal generates (it feeds the whole
prompt in full precision and quantizes then), and with a long prompt it is most of the time that a run takes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from kvconform_reference import prefill
from kvconform_reference.container import CacheContainer
from kvconform_reference.parameters import GenerateParameters

from ..advice.fates import DIALECT
from ..generate import reference_run
from ..generate.mlx_arrays import MLX_OPS
from ..generate.mlx_model import make_prompt_cache
from ..generate.watch import Watch
from ..models.loaded import LoadedModel
from ..observation import GenerateObservation

PREFILL_STEP = 512
"""Longest chunk of the prompt that one model call gets: the proposal's default (IT-0)."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a run gave."""

    observation: GenerateObservation
    logits: tuple[mx.array, ...]
    """``[vocab]`` of each token that was handed out."""


class Runs:
    """Greedy runs of a loaded model from one prompt. ``on_token`` is called at each sampled token."""

    def __init__(
        self, loaded: LoadedModel, prompt: Sequence[int], *, on_token: Callable[[], None] = lambda: None
    ) -> None:
        self.loaded = loaded
        self.prompt = tuple(prompt)
        self._on_token = on_token
        self._warm = caches_after(loaded.model, self.prompt[:-1])

    def layers_after_prompt(self) -> list[Any]:
        """A cache list that has seen the whole prompt."""
        layers = copy.deepcopy(self._warm)
        self.loaded.model(mx.array([self.prompt[-1:]]), cache=layers)
        return layers

    def run(
        self, parameters: GenerateParameters, *, force: Sequence[int] = (), stop: Collection[int] = ()
    ) -> Run:
        """One run; ``force`` is fed back instead of the sampled tokens, a token of ``stop`` is the last.

        Whatever the model raises ends the run and is the observation's error.
        """
        logits: list[mx.array] = []

        def on_logits(row: mx.array) -> None:
            logits.append(row)
            self._on_token()

        container = CacheContainer(copy.deepcopy(self._warm), parameters=parameters, dialect=DIALECT)
        watch = Watch(lambda: container.layers, force=force, on_logits=on_logits)
        observation = self._watched(container, parameters, watch, stop)
        return Run(observation=observation, logits=tuple(logits[: len(observation.tokens)]))

    def _watched(
        self, container: CacheContainer, parameters: GenerateParameters, watch: Watch, stop: Collection[int]
    ) -> GenerateObservation:
        handed_out: list[int] = []
        last = self.prompt[-1:]
        try:
            for token in reference_run.tokens(last, self.loaded, container, parameters, DIALECT, watch):
                handed_out.append(token)
                if token in stop:
                    break
        except Exception as error:  # whatever a model's code raises
            return watch.observation(handed_out, error)
        return watch.observation(handed_out)


def caches_after(module: Any, tokens: Sequence[int]) -> list[Any]:
    """The cache list of a model that was fed these tokens, in chunks."""
    layers: list[Any] = list(make_prompt_cache(module))
    fed = 0
    for length in prefill.chunk_lengths(len(tokens), PREFILL_STEP):
        module(mx.array([tokens[fed : fed + length]]), cache=layers)
        MLX_OPS.computed(layers)
        fed += length
    return layers
