"""Head dims, group sizes, bits, starts and offsets around the edges that matter."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from ..checks import Context
from . import declared

Dims = tuple[int, int]

USUAL_DIMS = (64, 128, 32, 96, 192, 256, 160, 224, 576, 512, 384, 640)
"""Head dims of real models that at least one supported group size divides, and a few more such."""

ODD_DIMS = (80, 48, 112, 72, 16, 40, 100, 120, 144, 1, 31, 33, 63, 65, 127, 129)
"""Head dims that no supported group size divides: of real models, and beside multiples of 32."""

REQUESTS = (64, 32, 128, 48, 96, 16, 1, 256, 47, 49, 95, 97, 80, 112, 7, 33, 65, 129, -1, -64, 10**6)
"""Requested group sizes: supported ones, the ties between them and their neighbours, and nonsense."""

SUPPORTED = (64, 32, 128)

GROWTH = 256
"""Rows by which caches grow (KC-1): offsets around its multiples are worth a look."""


# One choice a pair: Hypothesis takes elements out of lists whole only while they are few choices long.


def compatible_dims(*, smallest: int = 32) -> SearchStrategy[Dims]:
    """Pairs that share a supported group size, in half of the cases with different key and value dims."""
    return st.sampled_from(_compatible_pairs(smallest))


def incompatible_dims() -> SearchStrategy[Dims]:
    """Pairs that share none: both odd, or only one of them."""
    return st.sampled_from(_incompatible_pairs())


def head_dims() -> SearchStrategy[Dims]:
    """Any pair; two of three can be quantized."""
    compatible, odd = _compatible_pairs(32), _incompatible_pairs()
    return st.sampled_from(compatible + odd * (len(compatible) // (2 * len(odd)) or 1))


@cache
def _compatible_pairs(smallest: int) -> list[Dims]:
    dims = [dim for dim in USUAL_DIMS if dim % smallest == 0]
    mixed = [(key, value) for key in dims for value in dims if key != value]
    return [(dim, dim) for dim in dims] * max(1, len(mixed) // len(dims)) + mixed


@cache
def _incompatible_pairs() -> list[Dims]:
    few = USUAL_DIMS[:4]
    same = [(dim, dim) for dim in ODD_DIMS]
    mixed = [pair for odd in ODD_DIMS for usual in few for pair in ((odd, usual), (usual, odd))]
    return same * (len(mixed) // (2 * len(same)) or 1) + mixed


def any_dim() -> SearchStrategy[int]:
    """One head dim: a multiple of 32, a neighbour of one, or any other up to 640."""
    multiples = st.builds(lambda n, d: max(1, 32 * n + d), st.integers(1, 20), st.sampled_from((0, 0, -1, 1)))
    return multiples | st.sampled_from(USUAL_DIMS + ODD_DIMS) | st.integers(1, 640)


def requests() -> SearchStrategy[int]:
    """A requested group size, never 0."""
    others = st.integers(-3, 300) | st.integers(-(10**6), 10**9)
    return st.sampled_from(REQUESTS) | others.filter(bool)


def asked_of_a_pass() -> SearchStrategy[int]:
    """A requested group size among those that matter, supported ones most often."""
    return st.sampled_from((*SUPPORTED * 4, *REQUESTS))


def usable_requests(context: Context) -> SearchStrategy[int]:
    """A requested group size that is supported."""
    return st.sampled_from(declared.group_sizes(context))


def good_bits(context: Context) -> SearchStrategy[int]:
    """A supported bit width."""
    return st.sampled_from(declared.bits(context))


def bad_bits(context: Context) -> SearchStrategy[int]:
    """A bit width that is neither supported nor declared; 1 is left out, since MLX takes it (MQ-14)."""
    candidates = (7, 0, 9, 16, -1, -4, 32, 64)
    return st.sampled_from([bits for bits in candidates if bits not in context.info.capabilities.bits])


def bits_or_none(context: Context) -> SearchStrategy[int | None]:
    """A supported bit width, sometimes none."""
    widths = declared.bits(context)
    return st.sampled_from((*widths, *widths, None, None, None))


def starts() -> SearchStrategy[int]:
    """A start above 0: small, or around a growth of the cache."""
    return st.sampled_from((*range(1, 13), GROWTH - 1, GROWTH, GROWTH + 1))


def rows_around_growth() -> SearchStrategy[int]:
    """Numbers of rows: few, or around the steps in which a cache grows."""
    edges = [GROWTH * steps + distance for steps in (1, 2) for distance in (-1, 0, 1)]
    return st.sampled_from((*range(1, 10), *edges))
