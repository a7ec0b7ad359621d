"""Resolve scenarios: requests and head dims around everything that decides a group size."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from ..scenario import Layer, ResolveScenario
from . import numbers

SIZES = (32, 64, 128)


def dims(
    pairs: SearchStrategy[numbers.Dims] | None = None, requested: SearchStrategy[int] | None = None
) -> SearchStrategy[ResolveScenario]:
    """A request and a pair of head dims."""
    pairs = (
        pairs if pairs is not None else numbers.head_dims() | st.tuples(numbers.any_dim(), numbers.any_dim())
    )
    return st.builds(
        lambda request, pair: ResolveScenario(requested=request, key_dim=pair[0], value_dim=pair[1]),
        requested if requested is not None else numbers.requests(),
        pairs,
    )


def compatible(requested: SearchStrategy[int] | None = None) -> SearchStrategy[ResolveScenario]:
    """Pairs with a compatible size; both sides are multiples of one of the three."""
    built = st.builds(
        lambda size, key, value: (size * key, size * value),
        st.sampled_from(SIZES),
        st.integers(1, 5),
        st.integers(1, 5),
    )
    return dims(built | numbers.compatible_dims(), requested)


def incompatible() -> SearchStrategy[ResolveScenario]:
    """Pairs without one: odd ones, and those of which only one side would do."""
    near = st.builds(
        lambda size, key, value, distance: (size * key, max(1, size * value + distance)),
        st.sampled_from(SIZES),
        st.integers(1, 5),
        st.integers(1, 5),
        st.sampled_from((16, -16, 1, -1, 8)),
    ).filter(lambda pair: pair[0] % 32 != 0 or pair[1] % 32 != 0)
    return dims(numbers.incompatible_dims() | near | near.map(lambda pair: (pair[1], pair[0])))


def of_layer(
    layer: SearchStrategy[Layer], requested: SearchStrategy[int] | None = None
) -> SearchStrategy[ResolveScenario]:
    """A request asked about a layer."""
    return st.builds(
        ResolveScenario, requested=requested if requested is not None else numbers.requests(), layer=layer
    )
