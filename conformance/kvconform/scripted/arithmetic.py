"""The scripted model's arithmetic on plain ints: what it saw, what it answers, how its state moves.

Nothing here knows a cache, an array or a log, so every adapter uses the same. Meaning of every number:
``docs/scenarios.md`` sections 1 and 6.
"""

from __future__ import annotations

from functools import lru_cache

from ..pattern import chain, chain_all

PLAIN, ROTATING, QUANTIZED, RECURRENT, COMPOSITE, CHUNKED = 1, 2, 3, 4, 5, 6
LEAF_CODES = {"plain": PLAIN, "rotating": ROTATING, "recurrent": RECURRENT, "chunked": CHUNKED}
"""Codes of the leaves that fold their code and one number; quantized ones fold two more."""

STATE_MODULUS = 251
BOOST = 1024
"""What the ``boost`` processor adds; up to 1024 tokens of vocabulary it forces the token."""
BOOST_SEED = 99


def fold_leaf(seen: int, kind: str, number: int) -> int:
    """A plain, rotating, chunked (number: offset) or recurrent (number: its ``s``) layer."""
    return chain(chain(seen, LEAF_CODES[kind]), number)


def fold_quantized(seen: int, group_size: int, bits: int, offset: int) -> int:
    """A quantized layer: its code, group size, bits, then the offset."""
    return chain(chain(chain(chain(seen, QUANTIZED), group_size), bits), offset)


def fold_composite(seen: int, count: int) -> int:
    """A composite of ``count`` children, which are folded next, in order."""
    return chain(chain(seen, COMPOSITE), count)


def fold_state(seen: int, state: int | None) -> int:
    """The state handed in; none folds as 0, so that it differs from state 0."""
    return chain(seen, 0 if state is None else state + 1)


def target(seen: int, token: int, row: int, vocab: int) -> int:
    """The token that row ``row`` of a call makes most likely."""
    return chain(chain(seen, token), row) % vocab


def logits_around(token: int, vocab: int, *, ties: bool = False) -> list[int]:
    """The logits ``[vocab]`` that peak at ``token``; with ties, ``token`` and ``token + 1`` are equal."""
    falling = falling_logits(vocab, ties)
    return falling[vocab - token :] + falling[: vocab - token]


@lru_cache(maxsize=64)
def falling_logits(vocab: int, ties: bool) -> list[int]:
    """The logits that peak at token 0; those of another token are a rotation of them."""
    return [vocab // 2 - (distance // 2 if ties else distance) for distance in range(vocab)]


def next_state(mode: str, call: int, state: int | None, last_token: int) -> int | None:
    """The state in the result of call number ``call``, which was handed ``state``."""
    if mode == "none" or (mode == "alternate" and call % 2 == 1):
        return None
    return chain_all(state or 0, last_token) % STATE_MODULUS


def recurrent_filled(stream: int) -> int:
    """``s`` of a recurrent layer as a scenario fills it."""
    return chain_all(stream) % STATE_MODULUS


def recurrent_after(number: int | None, rows: int, salt: int) -> int:
    """``s`` of a recurrent layer after ``rows`` rows were written; none: it was never filled."""
    return (31 * (number or 0) + rows + salt + 1) % STATE_MODULUS


def boosted_token(call: int, vocab: int) -> int:
    """The token that the ``boost`` processor forces in its process call number ``call``."""
    return chain_all(BOOST_SEED, call) % vocab
