"""What the iterator, the samplers and the processors need of arrays, whoever made them.

The iterator drives the scripted models of a test with plain lists and real models with their own
arrays. Everything it does to tokens and logits goes through one :class:`ArrayOps`, found by the type
of the value with single dispatch. To teach it another array type::

    arrays.ops_of.register(mx.array, lambda _array: MLX_OPS)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any, Protocol

Tokens = Any
"""A one-dimensional array of token ids (for the scripted models a list or tuple)."""
Token = Any
"""One token id as a sampler gives it: an int, or an array of no dimensions that is not computed yet."""
Logits = Any
"""The logits of one position, `[vocab]`."""


class ArrayOps(Protocol):
    """The operations on one kind of array. None of them may wait for a result unless it says so."""

    def length(self, tokens: Tokens) -> int:
        """How many tokens there are."""
        ...

    def part(self, tokens: Tokens, start: int, stop: int) -> Tokens:
        """The tokens from ``start`` up to, not including, ``stop``."""
        ...

    def single(self, token: Token) -> Tokens:
        """One sampled token as an array of one token."""
        ...

    def batched(self, tokens: Tokens) -> Any:
        """The tokens with a leading batch axis of 1: ``[1, length]``."""
        ...

    def last(self, logits: Any) -> Logits:
        """The last position of ``[1, length, vocab]``: ``[vocab]``."""
        ...

    def argmax(self, logits: Logits) -> Token:
        """The index of the highest logit, the lowest index of a tie."""
        ...

    def scheduled(self, token: Token) -> None:
        """Start computing a token that will be asked for soon."""
        ...

    def integer(self, token: Token) -> int:
        """The token as an int; waits for it."""
        ...

    def integers(self, tokens: Tokens) -> Sequence[int]:
        """The tokens as ints; waits for them."""
        ...

    def values(self, logits: Logits) -> Sequence[float]:
        """All logits as floats; waits for them."""
        ...

    def at(self, logits: Logits, indices: Sequence[int]) -> Sequence[float]:
        """The logits at these indices as floats; waits for them."""
        ...

    def replaced(self, logits: Logits, values: Mapping[int, float]) -> Logits:
        """A copy of the logits with the values at these indices replaced."""
        ...

    def computed(self, layers: Sequence[Any]) -> None:
        """Make sure that what the layers hold is computed: called after each chunk of a prefill."""
        ...


class ListOps:
    """The operations on plain sequences: tokens are ints, logits nested lists of numbers."""

    def length(self, tokens: Tokens) -> int:
        return len(tokens)

    def part(self, tokens: Tokens, start: int, stop: int) -> Tokens:
        return tokens[start:stop]

    def single(self, token: Token) -> Tokens:
        return (token,)

    def batched(self, tokens: Tokens) -> Any:
        return (tokens,)

    def last(self, logits: Any) -> Logits:
        return logits[0][-1]

    def argmax(self, logits: Logits) -> Token:
        return logits.index(max(logits))

    def scheduled(self, token: Token) -> None:
        """Nothing to start: ints are there."""

    def integer(self, token: Token) -> int:
        return token

    def integers(self, tokens: Tokens) -> Sequence[int]:
        return tokens

    def values(self, logits: Logits) -> Sequence[float]:
        return logits

    def at(self, logits: Logits, indices: Sequence[int]) -> Sequence[float]:
        return [logits[index] for index in indices]

    def replaced(self, logits: Logits, values: Mapping[int, float]) -> Logits:
        copy = list(logits)
        for index, value in values.items():
            copy[index] = value
        return copy

    def computed(self, layers: Sequence[Any]) -> None:
        """Nothing to wait for: lists are there."""


LIST_OPS = ListOps()


@singledispatch
def ops_of(value: object) -> ArrayOps:
    """The operations for an array like ``value``; TypeError for a type that nobody registered."""
    raise TypeError(
        f"no array operations are registered for {type(value).__name__}; give a list of token ids, "
        "or register the type with kvconform_reference.arrays.ops_of"
    )


@ops_of.register(list)
@ops_of.register(tuple)
def _(value: Sequence[Any]) -> ArrayOps:
    return LIST_OPS
