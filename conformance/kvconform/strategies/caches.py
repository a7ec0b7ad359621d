"""Cache scenarios: one cache and a sequence of operations on it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from ..checks import Context
from ..scenario import (
    Append,
    CacheScenario,
    Convert,
    Copy,
    DropFront,
    Layer,
    Observe,
    Operation,
    PlainLayer,
    QuantizedLayer,
    SaveLoad,
    Select,
    StateRoundTrip,
    Trim,
)
from . import declared, numbers

CONTENT = Observe(content=True)
ACCOUNTING = Observe(accounting=True)

SMALL = st.integers(0, 9)
FILLED = st.integers(1, 6)
ONE = st.just(1)
NOTHING_EXTRA = Observe()

appends = st.builds(Append, rows=st.integers(1, 6), salt=st.integers(0, 3))
trims = st.builds(Trim, rows=st.integers(0, 12))
large_appends = st.builds(Append, rows=numbers.rows_around_growth(), salt=st.integers(0, 3))


def scenarios(
    layer: SearchStrategy[Layer], operations: SearchStrategy[Any], *, observe: Observe = NOTHING_EXTRA
) -> SearchStrategy[CacheScenario]:
    """Operations on a cache."""
    return st.builds(
        lambda made, ops: CacheScenario(layer=made, operations=tuple(ops), observe=observe), layer, operations
    )


@st.composite
def quantized(
    draw: st.DrawFn,
    context: Context,
    *,
    lengths: SearchStrategy[int] = SMALL,
    bits: SearchStrategy[int] | None = None,
    largest: int = 640,
    heads: SearchStrategy[int] = ONE,
    every_dtype: bool = False,
) -> QuantizedLayer:
    """A quantized layer whose group size divides its head dims, which often differ.

    Bits that fill a word evenly unless said: writing the others from empty is what QC-3 is about.
    """
    group_size = draw(numbers.usable_requests(context))
    multiples = st.integers(1, max(1, largest // group_size))
    same = draw(st.booleans())
    key = group_size * draw(multiples)
    return QuantizedLayer(
        length=draw(lengths),
        group_size=group_size,
        bits=draw(bits if bits is not None else even_bits(context)),
        key_dim=key,
        value_dim=key if same else group_size * draw(multiples),
        heads=draw(heads) if declared.has(context, "feature:head-counts") else 1,
        dtype=draw(st.sampled_from(declared.dtypes(context))) if every_dtype else "float32",  # pyright: ignore[reportArgumentType]
    )


def even_bits(context: Context) -> SearchStrategy[int]:
    """Widths that divide 32."""
    even = [bits for bits in declared.bits(context) if 32 % bits == 0]
    return st.sampled_from(even or list(declared.bits(context)))


@st.composite
def small_plain(draw: st.DrawFn, context: Context, *, lengths: SearchStrategy[int] = FILLED) -> PlainLayer:
    """A plain layer with small head dims, for scenarios that look at bytes."""
    dims = draw(st.sampled_from(((32, 32), (64, 64), (32, 64), (64, 32), (96, 32))))
    return PlainLayer(
        length=draw(lengths),
        key_dim=dims[0],
        value_dim=dims[1],
        heads=draw(st.sampled_from((1, 1, 2))) if declared.has(context, "feature:head-counts") else 1,
        dtype=draw(st.sampled_from(declared.dtypes(context))),  # pyright: ignore[reportArgumentType]
    )


def converts(context: Context, *, requests: SearchStrategy[int] | None = None) -> SearchStrategy[Convert]:
    """A direct conversion."""
    return st.builds(
        Convert,
        bits=numbers.good_bits(context),
        group_size=requests if requests is not None else numbers.usable_requests(context),
    )


def exports(context: Context) -> SearchStrategy[Any]:
    """The ways out and in again that are declared."""
    ways: list[Operation] = []
    if declared.has(context, "feature:save-load"):
        ways.append(SaveLoad())
    if declared.has(context, "feature:state"):
        ways.append(StateRoundTrip())
    return st.sampled_from(ways) if ways else st.nothing()


def operations(
    context: Context, *, most: int = 4, converting: bool = True, copying: bool = True
) -> SearchStrategy[tuple[Operation, ...]]:
    """Any operations that are declared."""
    choices: list[SearchStrategy[Any]] = [appends, trims, appends]
    if converting and declared.has(context, "feature:convert"):
        choices.append(converts(context))
    if copying and declared.has(context, "feature:copy"):
        choices += [st.just(Copy()), st.just(Select(cache=0))]
    if declared.has(context, "feature:save-load") or declared.has(context, "feature:state"):
        choices.append(exports(context))
    if declared.has(context, "layer:chunked"):
        choices.append(st.just(DropFront()))
    return st.lists(st.one_of(choices), max_size=most).map(tuple)


def scenario(layer: Layer, *operations: Operation, observe: Observe = NOTHING_EXTRA) -> CacheScenario:
    """These operations on this cache."""
    return CacheScenario(layer=layer, operations=operations, observe=observe)
