"""Fixtures of the model tests.

On the CPU MLX would compile each fused kernel with g++, 11-17 seconds each: switched off.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import pytest

os.environ.setdefault("MLX_DISABLE_COMPILE", "1")

Stream = Callable[..., list[int]]


@pytest.fixture(scope="session")
def stream() -> Stream:
    """Greedy tokens of a model, its cache optionally quantized once, right after the prompt."""
    import mlx.core as mx
    from mlx_lm.models.cache import make_prompt_cache

    def run(model: Any, prompt: Sequence[int], *, bits: int | None = None, tokens: int = 40) -> list[int]:
        cache = make_prompt_cache(model)
        produced: list[int] = []
        feed = list(prompt)
        for _ in range(tokens):
            logits = model(mx.array([feed]), cache=cache)[0, -1]
            if bits is not None and not produced:
                cache[:] = [_converted(layer, bits) for layer in cache]
            feed = [int(mx.argmax(logits).item())]
            produced += feed
        return produced

    return run


def _converted(layer: Any, bits: int) -> Any:
    """The layer quantized at the largest group size of 64 and 32 that fits, or itself."""
    from kvconform.models import layers

    if layers.layer_kind(layer) != "plain":
        return layer
    for size in (64, 32):
        if all(dim % size == 0 for dim in layers.head_dims(layer) or (1,)):
            return layer.to_quantized(group_size=size, bits=bits)
    return layer
