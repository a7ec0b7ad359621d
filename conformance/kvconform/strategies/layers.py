"""Layers and layer lists: every kind, empty and trimmed ones, composites; plain and full ones first."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from ..checks import Context
from ..scenario import (
    ChunkedLayer,
    CompositeLayer,
    Layer,
    PlainLayer,
    QuantizedLayer,
    RecurrentLayer,
    RotatingLayer,
)
from . import declared, numbers

Lengths = SearchStrategy[int]
SMALL = st.integers(0, 9)
FILLED = st.integers(1, 9)


def plain(
    lengths: Lengths = FILLED, dims: SearchStrategy[numbers.Dims] | None = None
) -> SearchStrategy[Layer]:
    """Plain layers with these offsets; some are written further and trimmed back."""
    return st.builds(
        _plain,
        length=lengths,
        trim=st.sampled_from((0, 0, 0, 1, 5)),
        dims=dims if dims is not None else st.just((64, 64)),
    )


def _plain(*, length: int, trim: int, dims: numbers.Dims) -> Layer:
    return PlainLayer(
        length=length + trim if length else 0,
        trim=trim if length else 0,
        key_dim=dims[0],
        value_dim=dims[1],
    )


def empty() -> SearchStrategy[Layer]:
    """Plain layers that were never written."""
    return st.just(PlainLayer())


def trimmed_to_zero(dims: SearchStrategy[numbers.Dims] | None = None) -> SearchStrategy[Layer]:
    """Plain layers that were written and trimmed back to offset 0: dims known, no rows."""
    return st.builds(
        lambda rows, pair: PlainLayer(length=rows, trim=rows, key_dim=pair[0], value_dim=pair[1]),
        st.integers(1, 5),
        dims if dims is not None else st.just((64, 64)),
    )


def rotating(lengths: Lengths = SMALL) -> SearchStrategy[Layer]:
    """Rotating layers, before and after their window is full, filled at once or row by row."""
    return st.builds(
        lambda length, window, singly: RotatingLayer(
            length=length, max_size=window[0], keep=window[1], singly=singly
        ),
        lengths,
        st.sampled_from(((16, 0), (4, 0), (8, 0), (4, 1), (8, 4), (16, 4), (1, 0))),
        st.booleans(),
    )


def chunked(lengths: Lengths = FILLED, *, drops: bool | None = None) -> SearchStrategy[Layer]:
    """Chunked layers; with ``drops`` always (or never) with rows dropped at the front."""
    if drops is True:
        return st.builds(
            lambda size, more: ChunkedLayer(length=size + more, chunk_size=size, drop_front=True),
            st.sampled_from((4, 16, 1)),
            st.integers(1, 8),
        )
    asked = st.just(False) if drops is False else st.booleans()
    return st.builds(
        lambda length, size, drop: ChunkedLayer(length=length, chunk_size=size, drop_front=drop),
        lengths,
        st.sampled_from((16, 4)),
        asked,
    )


def quantized(context: Context, lengths: Lengths = SMALL) -> SearchStrategy[Layer]:
    """Layers that are quantized from the start, with a head dim that every group size divides."""
    return st.builds(
        lambda length, group_size, bits: QuantizedLayer(
            length=length, group_size=group_size, bits=bits, key_dim=128, value_dim=128
        ),
        lengths,
        numbers.usable_requests(context),
        _safe_bits(context),
    )


def _safe_bits(context: Context) -> SearchStrategy[int]:
    """Widths that fill a word evenly: other checks than QC-3 should not trip over the others."""
    even = [bits for bits in declared.bits(context) if 32 % bits == 0]
    return st.sampled_from(even or list(declared.bits(context)))


def recurrent() -> SearchStrategy[Layer]:
    """Recurrent layers; two slots look most like a key and a value array."""
    return st.builds(RecurrentLayer, slots=st.sampled_from((2, 1, 3)), filled=st.booleans())


def composite(context: Context, children: SearchStrategy[Layer], *, most: int = 3) -> SearchStrategy[Layer]:
    """Composites of these children."""
    return st.builds(CompositeLayer, children=st.lists(children, min_size=1, max_size=most).map(tuple))


def bystanders(context: Context, lengths: Lengths = SMALL) -> SearchStrategy[Layer]:
    """Layers that a pass leaves alone in this dialect, whatever their offset."""
    return (
        of_kinds(context, declared.quiet_kinds(context), lengths)
        if declared.quiet_kinds(context)
        else st.nothing()
    )


def of_kinds(
    context: Context, kinds: tuple[str, ...], lengths: Lengths = SMALL, **dims: Any
) -> SearchStrategy[Layer]:
    """Layers of any of these kinds."""
    made: dict[str, SearchStrategy[Layer]] = {
        "plain": plain(lengths, **dims),
        "chunked": chunked(lengths),
        "rotating": rotating(lengths),
        "quantized": quantized(context, lengths),
        "recurrent": recurrent(),
        "composite": composite(context, plain(lengths) | recurrent()),
    }
    return st.one_of([made[kind] for kind in kinds])


def any_layer(context: Context, lengths: Lengths = SMALL) -> SearchStrategy[Layer]:
    """Every kind that is declared: plain ones of any dims most often."""
    kinds = declared.layer_kinds(context, "chunked", "rotating", "quantized", "recurrent")
    leaves = plain(lengths, numbers.head_dims()) | plain(lengths) | of_kinds(context, kinds, lengths)
    leaves = leaves | empty() | trimmed_to_zero(numbers.head_dims())
    if not declared.has(context, "layer:composite"):
        return leaves
    return leaves | composite(context, leaves)


def lists(
    layer: SearchStrategy[Layer], *, least: int = 1, most: int = 4
) -> SearchStrategy[tuple[Layer, ...]]:
    """Layer lists, the shortest first."""
    return st.lists(layer, min_size=least, max_size=most).map(tuple)


def with_one(
    needed: SearchStrategy[Layer], others: SearchStrategy[Layer], *, most: int = 3
) -> SearchStrategy[tuple[Layer, ...]]:
    """Lists with at least one ``needed`` layer at any place among up to ``most - 1`` others."""
    before, after = st.lists(others, max_size=most // 2), st.lists(others, max_size=(most - 1) // 2)
    return st.builds(lambda a, layer, b: (*a, layer, *b), before, needed, after)
