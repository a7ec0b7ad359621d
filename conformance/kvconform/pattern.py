"""The content pattern and the prompts of scenarios: 32-bit integer arithmetic, see docs/scenarios.md."""

from __future__ import annotations

MASK = 0xFFFFFFFF
GOLDEN = 0x9E3779B9


def fmix(h: int) -> int:
    """MurmurHash3's 32-bit finaliser."""
    h ^= h >> 16
    h = h * 0x85EBCA6B & MASK
    h ^= h >> 13
    h = h * 0xC2B2AE35 & MASK
    return h ^ h >> 16


def chain(h: int, x: int) -> int:
    """Folds the integer ``x`` into the hash ``h``."""
    return fmix((h * 31 + x + GOLDEN) & MASK)


def chain_all(*parts: int) -> int:
    """``chain`` over all parts, starting from 0."""
    h = 0
    for part in parts:
        h = chain(h, part)
    return h


def row_key(stream: int, salt: int, role: int, head: int, position: int) -> int:
    """Hash of one row: layer number, salt, role (0 keys, 1 values), head, absolute position."""
    return chain_all(stream, salt, role, head, position)


def row_values(stream: int, salt: int, role: int, head: int, position: int, dim: int) -> tuple[float, ...]:
    """The ``dim`` values of one row: multiples of 1/64 in [-2, 2], exact in all three dtypes."""
    key = row_key(stream, salt, role, head, position)
    return tuple((fmix((key + channel * GOLDEN) & MASK) % 257 - 128) / 64 for channel in range(dim))


def prompt_tokens(length: int, seed: int, vocab: int) -> tuple[int, ...]:
    """The prompt of a scenario: token ``i`` is ``chain_all(seed, i) mod vocab``."""
    return tuple(chain_all(seed, i) % vocab for i in range(length))
