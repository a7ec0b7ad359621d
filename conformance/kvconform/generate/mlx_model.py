"""A real MLX model in the form that the reference's iterator drives."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
# (the type stubs of MLX are partial)

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
from kvconform_reference import prefill
from kvconform_reference.iterator import ModelResult, RemainingTokens
from mlx_lm.models import cache as mlx_lm_caches

from . import mlx_arrays

make_prompt_cache: Any = mlx_lm_caches.make_prompt_cache


class MlxModel:
    """An ``mlx.nn.Module`` behind `kvconform_reference.iterator.Model`.

    ``plan`` says how prepare cuts the prompt (PR-6); ``before_call`` is called before each model call.
    mlx-lm's models hand no state from call to call.
    """

    def __init__(
        self, module: Any, *, plan: str = "window", before_call: Callable[[], None] | None = None
    ) -> None:
        self._module = module
        self._plan = plan
        self._before_call = before_call

    def __call__(self, tokens: mx.array, *, cache: Sequence[Any] | None, state: Any = None) -> ModelResult:
        """Logits ``[1, length, vocab]``; writes ``length`` rows to every cache."""
        del state
        if self._before_call is not None:
            self._before_call()
        return ModelResult(self._module(tokens, cache=cache))

    def prepare(self, tokens: mx.array, cache: Sequence[Any], window: int) -> RemainingTokens:
        """Feeds all chunks of the prompt but the last, which is left to the iterator (PR-2, PR-3)."""
        total = tokens.shape[0]
        fed = 0
        for length in prefill.chunk_lengths(total, window, self._plan)[:-1]:
            self(tokens[fed : fed + length][None], cache=cache or None)
            mlx_arrays.MLX_OPS.computed(cache)  # otherwise the graphs of all chunks are in memory at once
            fed += length
        return RemainingTokens(tokens[fed:])

    def new_cache(self, parameters: Any = None) -> list[Any]:
        """The cache list that mlx-lm makes for this model (CT-9)."""
        del parameters
        return list(make_prompt_cache(self._module))
