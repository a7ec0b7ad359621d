"""Samplers, which pick a token from logits, and processors, which change the logits before that.

Source: specification section 11 (PS). Both see the logits of one position, `[vocab]`, in whatever array
type the model gives; :mod:`.arrays` finds the operations.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

from . import arrays


class Sampler(Protocol):
    """Picks the next token."""

    def sample(self, logits: arrays.Logits) -> arrays.Token:
        """The token picked from the (processed) logits of one position."""
        ...


class Processor(Protocol):
    """Changes logits before sampling and is told what was sampled (PS-1)."""

    def prompt(self, tokens: arrays.Tokens) -> None:
        """The full prompt, once, before everything else (PR-1)."""
        ...

    def process(self, logits: arrays.Logits) -> arrays.Logits:
        """The logits that the sampler shall see."""
        ...

    def did_sample(self, token: arrays.Token) -> None:
        """The token that was sampled, the look-ahead one included."""
        ...


class ArgmaxSampler:
    """The most likely token, the lowest index of a tie (PS-2)."""

    def sample(self, logits: arrays.Logits) -> arrays.Token:
        return arrays.ops_of(logits).argmax(logits)


class CategoricalSampler:
    """A draw from softmax(logits / temperature), after a top-p cut when 0 < p < 1 (PS-4).

    The same seed gives the same draws from the same logits. Raises ValueError for a temperature that is
    not a positive number.
    """

    def __init__(self, temperature: float, *, top_p: float = 1.0, seed: int = 0) -> None:
        if not 0 < temperature < math.inf:
            raise ValueError(
                f"temperature {temperature!r} is not a positive number; give 0 for the most likely token"
            )
        self._temperature = temperature
        self._top_p = top_p
        self._random = random.Random(seed)

    def sample(self, logits: arrays.Logits) -> arrays.Token:
        values = arrays.ops_of(logits).values(logits)
        weights = probabilities(values, self._temperature)
        if 0 < self._top_p < 1:
            weights = top_p_cut(weights, self._top_p)
        return draw(weights, self._random.random())


def probabilities(values: Sequence[float], temperature: float) -> list[float]:
    """softmax(values / temperature)."""
    highest = max(values)
    weights = [math.exp((value - highest) / temperature) for value in values]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def top_p_cut(weights: Sequence[float], top_p: float) -> list[float]:
    """The weights of the smallest set of most likely tokens whose sum reaches ``top_p``; 0 elsewhere."""
    order = sorted(range(len(weights)), key=lambda token: (-weights[token], token))
    kept = [0.0] * len(weights)
    reached = 0.0
    for token in order:
        kept[token] = weights[token]
        reached += weights[token]
        if reached >= top_p:
            break
    return kept


def draw(weights: Sequence[float], fraction: float) -> int:
    """The token whose stretch, all weights laid end to end, holds this fraction (0 <= fraction < 1)."""
    ends = list(accumulate(weights))
    mark = min(fraction * ends[-1], math.nextafter(ends[-1], 0))  # the product may round up to the very end
    return next(token for token, end in enumerate(ends) if end > mark)


class RepetitionPenaltyProcessor:
    """Makes tokens of the latest ``context_size`` ones less likely (PS-3).

    Raises ValueError for a penalty that is not a positive number or a context below 1.
    """

    def __init__(self, penalty: float, *, context_size: int = 20) -> None:
        if not 0 < penalty < math.inf:
            raise ValueError(
                f"repetition penalty {penalty!r} is not a positive number; give none for no penalty"
            )
        if context_size < 1:
            raise ValueError(
                f"repetition context size {context_size} is below 1; give how many tokens it covers"
            )
        self._penalty = penalty
        self._context: deque[arrays.Token] = deque(maxlen=context_size)

    def prompt(self, tokens: arrays.Tokens) -> None:
        self._context.clear()
        self._context.extend(arrays.ops_of(tokens).integers(tokens))

    def process(self, logits: arrays.Logits) -> arrays.Logits:
        ops = arrays.ops_of(logits)
        distinct = dict.fromkeys(map(ops.integer, self._context))
        values = ops.at(logits, tuple(distinct))
        return ops.replaced(
            logits, {token: self.penalised(value) for token, value in zip(distinct, values, strict=True)}
        )

    def did_sample(self, token: arrays.Token) -> None:
        self._context.append(token)  # the oldest beyond the context drops out

    def penalised(self, logit: float) -> float:
        """A positive logit divided by the penalty, a negative one multiplied by it."""
        return logit / self._penalty if logit > 0 else logit * self._penalty


def sampler_from(temperature: float, *, top_p: float = 1.0, seed: int = 0) -> Sampler:
    """The sampler for these parameters: argmax at temperature 0, a draw otherwise (PS-4)."""
    if temperature == 0:
        return ArgmaxSampler()
    return CategoricalSampler(temperature, top_p=top_p, seed=seed)


def processor_from(penalty: float | None, *, context_size: int = 20) -> Processor | None:
    """The processor for these parameters: none without a penalty (PS-3)."""
    return None if penalty is None else RepetitionPenaltyProcessor(penalty, context_size=context_size)
