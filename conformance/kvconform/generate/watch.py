"""What a run of a real model is watched for: tokens, leads, and which layers became quantized when.

A watch stands where a sampler stands and picks greedily, or follows a script of tokens. It looks at the
cache list before each model call and at each sample, so it works on any loop that calls a model and a
sampler: the reference's iterator and mlx-lm's ``generate_step`` are watched by the same code.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
# (the type stubs of MLX are partial)

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
from kvconform_reference import protocol

from ..implementations import refusals
from ..observation import ConversionEvent, GenerateObservation
from . import mlx_caches

OnLogits = Callable[[mx.array], None]
"""Called with the logits ``[vocab]`` of each step, in the model's own type and not computed yet."""


class Watch:
    """A greedy sampler that keeps a record. ``layers()`` is the cache list as it is when asked."""

    def __init__(
        self,
        layers: Callable[[], Sequence[Any]],
        *,
        force: Sequence[int] | None = None,
        on_logits: OnLogits | None = None,
    ) -> None:
        self._layers = layers
        self._force = tuple(force or ())
        self._on_logits = on_logits
        self._known = mlx_caches.flattened(layers())
        self._picks: list[mx.array] = []
        self._leads: list[mx.array] = []
        self._conversions: list[ConversionEvent] = []

    def sample(self, logits: mx.array) -> mx.array:
        """The token that is fed back: the forced one while there are any, else the most likely."""
        self.look()
        if self._on_logits is not None:
            self._on_logits(logits)
        pick = mx.argmax(logits)  # the lowest index of a tie, PS-2
        token = self._token(pick)
        ahead = lead(logits, token)
        mx.async_eval(pick, ahead)  # else the logits of every step stay in memory until the end
        self._picks.append(pick)
        self._leads.append(ahead)
        return token

    def look(self) -> None:
        """Notice the layers that were replaced by quantized ones since the last look."""
        now = mlx_caches.flattened(self._layers())
        changed = [number for number, pair in enumerate(zip(self._known, now, strict=True)) if is_new(*pair)]
        if changed:
            self._conversions.append(self._event(changed, now))
        self._known = now

    def observation(self, handed_out: Sequence[int], error: Exception | None = None) -> GenerateObservation:
        """The record of a run that handed out these tokens; the look-ahead one is not among them.

        Logits that are not finite end it: nothing after them means anything.
        """
        self.look()
        leads = [float(ahead) for ahead in self._leads[: len(handed_out)]]
        good = next((step for step, ahead in enumerate(leads) if not math.isfinite(ahead)), len(leads))
        if good < len(leads):
            error = ArithmeticError(f"the logits of step {good} are not finite, so no token can be picked")
        return GenerateObservation(
            tokens=tuple(self._seen(step, token) for step, token in enumerate(handed_out[:good])),
            margins=tuple(leads[:good]),
            conversions=tuple(self._conversions),
            position=mlx_caches.position_of(self._layers()),
            nbytes=mlx_caches.bytes_of(self._layers()),
            error=None if error is None else refusals.step_error(error),
        )

    def _seen(self, step: int, handed_out: int) -> int:
        """The token handed out; the pick of the step where that is the forced one."""
        is_forced = step < len(self._force) and self._force[step] == handed_out
        return int(self._picks[step]) if is_forced else handed_out

    def _token(self, pick: mx.array) -> mx.array:
        step = len(self._picks)
        return mx.array(self._force[step], pick.dtype) if step < len(self._force) else pick

    def _event(self, changed: Sequence[int], now: Sequence[Any]) -> ConversionEvent:
        return ConversionEvent(
            position=mlx_caches.position_of(now) or 0,
            step=len(self._picks),
            layers=tuple(changed),
            group_sizes=tuple(int(now[number].group_size) for number in changed),
            nbytes_before=sum(map(mlx_caches.own_bytes, self._known)),
            nbytes=mlx_caches.bytes_of(self._layers()),
        )


def is_new(before: Any, after: Any) -> bool:
    """Whether another object, and a quantized one, sits where ``before`` was."""
    return after is not before and protocol.kind_of(after) == protocol.QUANTIZED


def lead(logits: mx.array, token: mx.array) -> mx.array:
    """How far the logit of ``token`` lies above the highest other one, float32, no dimensions.

    For the most likely token that is the margin between the top two; negative for any other.
    """
    row = logits.astype(mx.float32)
    others = mx.where(mx.arange(row.shape[0]) == token, -mx.inf, row)
    return row[token] - mx.max(others)
