"""The reference's array operations on MLX arrays.

Importing this module registers them, so that the reference's own iterator, samplers and processors
run on ``mx.array``. Nothing waits for a result unless the protocol says so: the next token is being
computed while the last one is handed out.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
# (the type stubs of MLX are partial)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mlx.core as mx
from kvconform_reference import arrays


class MlxOps:
    """`kvconform_reference.arrays.ArrayOps` for ``mx.array``; sampled tokens have no dimensions."""

    def length(self, tokens: mx.array) -> int:
        return tokens.shape[0]

    def part(self, tokens: mx.array, start: int, stop: int) -> mx.array:
        return tokens[start:stop]

    def single(self, token: mx.array) -> mx.array:
        return token.reshape(1)

    def batched(self, tokens: mx.array) -> mx.array:
        return tokens.reshape(1, -1)

    def last(self, logits: mx.array) -> mx.array:
        if logits.shape[:2] == (1, 1):  # every step but the first; one operation instead of three
            return logits.reshape(-1)
        return logits[0, -1]

    def argmax(self, logits: mx.array) -> mx.array:
        return mx.argmax(logits)  # the lowest index of a tie, PS-2

    def scheduled(self, token: mx.array | int) -> None:
        mx.async_eval(token)

    def integer(self, token: mx.array | int) -> int:
        return int(token)

    def integers(self, tokens: mx.array) -> Sequence[int]:
        listed: Any = tokens.tolist()
        return listed

    def values(self, logits: mx.array) -> Sequence[float]:
        listed: Any = logits.astype(mx.float32).tolist()
        return listed

    def at(self, logits: mx.array, indices: Sequence[int]) -> Sequence[float]:
        return self.values(logits[mx.array(list(indices), mx.uint32)]) if indices else []

    def replaced(self, logits: mx.array, values: Mapping[int, float]) -> mx.array:
        if not values:
            return logits
        changed = mx.array(logits)
        changed[mx.array(list(values), mx.uint32)] = mx.array(list(values.values()), logits.dtype)
        return changed

    def computed(self, layers: Sequence[Any]) -> None:
        mx.eval([layer.state for layer in layers])


MLX_OPS = MlxOps()


@arrays.ops_of.register(mx.array)
def _(value: mx.array) -> arrays.ArrayOps:
    return MLX_OPS
