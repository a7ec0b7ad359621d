"""Checks of the other caches (KC)."""

from __future__ import annotations

from itertools import cycle, product
from typing import Any

from hypothesis import strategies as st

from .. import judges, projections
from ..checks import Check, Context
from ..invariants import contents, storage
from ..scenario import (
    Append,
    ChunkedLayer,
    CompositeLayer,
    DropFront,
    Observe,
    Operation,
    PlainLayer,
    QuantizedLayer,
    RecurrentLayer,
    RotatingLayer,
    SaveLoad,
    Scenario,
    Trim,
)
from ..strategies import caches, declared, layers, numbers
from .shared import WAYS_TO_GROW

SMALL_DIMS: dict[str, Any] = {"key_dim": 2, "value_dim": 3}
"""Bytes of plain rows need no group size: tiny head dims keep scenarios that look at them small."""
BOTH = Observe(content=True, accounting=True)


def _counted(statement: Any = contents.cache_counts) -> Any:
    return judges.all_of(judges.invariant(storage.nothing_raises), judges.invariant(statement))


def _written(statement: Any = contents.cache_content) -> Any:
    return judges.all_of(judges.invariant(storage.nothing_raises), judges.content(statement))


def _writes_and_trims(*, most: int = 4) -> Any:
    return st.lists(caches.appends | caches.appends | caches.trims, max_size=most)


def _plain(context: Context) -> Any:
    layer = layers.plain(st.integers(0, 9) | numbers.rows_around_growth(), numbers.head_dims())
    operations = (
        caches.appends | caches.large_appends | caches.trims | st.builds(Trim, rows=st.integers(-3, -1))
    )
    return caches.scenarios(layer, st.lists(operations, max_size=4))


def _negative_trim(_context: Context) -> tuple[Scenario, ...]:
    return (caches.scenario(PlainLayer(length=1), Trim(rows=-1)),)


def _doubling(_context: Context) -> tuple[Scenario, ...]:
    """Two whole growth steps, and one row more."""
    return (caches.scenario(PlainLayer(length=512), Append(rows=1), observe=caches.ACCOUNTING),)


def _window_examples(_context: Context) -> tuple[Scenario, ...]:
    """Rows that must be kept, and a ring that must be put in order before rows are dropped."""
    kept = RotatingLayer(length=5, max_size=4, keep=1, singly=True, **SMALL_DIMS)
    ring = RotatingLayer(length=6, max_size=4, singly=True, **SMALL_DIMS)
    return tuple(
        caches.scenario(layer, *steps, observe=BOTH)
        for layer in (kept, ring)
        for steps in ((), (Append(rows=2),), (Append(rows=1),), (Append(rows=2), Append(rows=1)))
    )


def _plain_content(context: Context) -> Any:
    heads = st.sampled_from((1, 2)) if declared.has(context, "feature:head-counts") else st.just(1)
    layer = st.builds(
        lambda length, trim, count, dtype: PlainLayer(
            length=length, trim=min(length, trim), heads=count, dtype=dtype, **SMALL_DIMS
        ),
        st.integers(0, 6) | st.sampled_from((255, 256)),
        st.integers(0, 3),
        heads,
        st.sampled_from(declared.dtypes(context)),
    )
    return caches.scenarios(layer, _writes_and_trims(most=3), observe=caches.CONTENT)


def _plain_content_examples(context: Context) -> tuple[Scenario, ...]:
    """Rows in the place of others that were trimmed; growth as in QC-3, in each dtype."""
    dtypes = declared.dtypes(context)
    every = tuple(product(WAYS_TO_GROW, dtypes))
    chosen = zip(WAYS_TO_GROW, cycle(dtypes), strict=False) if context.budget == "quick" else every
    grown = (
        caches.scenario(
            PlainLayer.model_validate({"length": length, "dtype": dtype, **SMALL_DIMS}),
            Append(rows=more),
            observe=caches.CONTENT,
        )
        for (length, more), dtype in chosen
    )
    written = PlainLayer(length=3, **SMALL_DIMS)
    trimmed = caches.scenario(written, Trim(rows=2), Append(rows=1, salt=1), observe=caches.CONTENT)
    return (trimmed, *grown)


def _plain_bytes(context: Context) -> Any:
    layer = layers.plain(st.integers(0, 9) | numbers.rows_around_growth())
    operations = st.lists(caches.appends | caches.large_appends, max_size=3)
    return caches.scenarios(layer, operations, observe=caches.ACCOUNTING)


@st.composite
def _rotating_layers(draw: st.DrawFn) -> RotatingLayer:
    max_size = draw(st.sampled_from((4, 2, 3, 8, 1)))
    return RotatingLayer(
        length=draw(st.integers(0, 2 * max_size + 1)),
        max_size=max_size,
        keep=draw(st.integers(0, max_size - 1) if max_size > 1 else st.just(0)),
        singly=draw(st.booleans()),
        **SMALL_DIMS,
    )


def _rotating(_context: Context) -> Any:
    singles = st.builds(Append, rows=st.just(1), salt=st.integers(0, 3))
    operations = st.lists(singles | caches.appends | caches.trims, max_size=5)
    return caches.scenarios(_rotating_layers(), operations, observe=BOTH)


def _rotating_results(scenario: Any, observation: Any) -> Any:
    """A reader gets at most max size + m - 1 rows of an append of m."""
    for number, operation in enumerate(scenario.operations, 1):
        record = observation.records[number]
        if isinstance(operation, Append) and record.error is None and record.result is not None:
            most = scenario.layer.max_size + operation.rows - 1
            if record.result > most:
                what = (
                    f"an append of {operation.rows} shows more than max size + m - 1 rows: operation {number}"
                )
                yield judges.Finding(message=what, expected=most, observed=record.result)


def _chunked(_context: Context) -> Any:
    layer = st.builds(
        lambda length, size, drop: ChunkedLayer(
            length=length, chunk_size=size, drop_front=drop, **SMALL_DIMS
        ),
        st.integers(0, 9),
        st.sampled_from((4, 2, 16, 1)),
        st.booleans(),
    )
    operations = st.lists(caches.appends | st.just(DropFront()) | caches.trims, max_size=5)
    return caches.scenarios(layer, operations, observe=caches.CONTENT)


def _chunked_example(_context: Context) -> tuple[Scenario, ...]:
    layer = ChunkedLayer(length=3, chunk_size=2, drop_front=True, **SMALL_DIMS)
    steps: tuple[Operation, ...] = (Append(rows=2), DropFront(), Trim(rows=3))
    return (caches.scenario(layer, *steps, observe=caches.CONTENT),)


def _recurrent(_context: Context) -> Any:
    return caches.scenarios(layers.recurrent(), _writes_and_trims(), observe=caches.ACCOUNTING)


def _state_examples(_context: Context) -> tuple[Scenario, ...]:
    return tuple(
        caches.scenario(
            RecurrentLayer(filled=filled), Append(rows=1), Trim(rows=1), observe=caches.ACCOUNTING
        )
        for filled in (True, False)
    )


def _composites(context: Context) -> Any:
    kinds = declared.layer_kinds(context, "recurrent", "rotating")
    leaf = layers.plain(layers.SMALL, st.just((32, 32))) | (
        layers.of_kinds(context, kinds) if kinds else layers.empty()
    )
    return caches.scenarios(
        layers.composite(context, leaf), _writes_and_trims(most=3), observe=caches.ACCOUNTING
    )


def _composite_examples(_context: Context) -> tuple[Scenario, ...]:
    children = (PlainLayer(length=1), RecurrentLayer())
    two = (PlainLayer(length=1), PlainLayer(length=1))
    steps: tuple[Operation, ...] = (Append(rows=1), Trim(rows=1))
    return (
        caches.scenario(CompositeLayer(children=children[:1]), *steps, observe=caches.ACCOUNTING),
        caches.scenario(CompositeLayer(children=two), *steps, observe=caches.ACCOUNTING),
        caches.scenario(CompositeLayer(children=children), *steps, observe=caches.ACCOUNTING),
    )


def _saved(context: Context) -> Any:
    """Every kind, empty and filled, saved, then written to."""
    plain = st.builds(lambda n: PlainLayer(length=n, **SMALL_DIMS), st.integers(0, 4))
    kinds: dict[str, Any] = {
        "rotating": _rotating_layers(),
        "chunked": st.builds(
            lambda n, d: ChunkedLayer(length=n, chunk_size=3, drop_front=d, **SMALL_DIMS),
            st.integers(0, 6),
            st.booleans(),
        ),
        "quantized": caches.quantized(context, lengths=st.integers(0, 3), largest=64),
        "recurrent": layers.recurrent(),
        "composite": layers.composite(context, plain | layers.recurrent(), most=2),
    }
    layer = plain | st.one_of([kinds[kind] for kind in declared.layer_kinds(context, *kinds)])
    after = st.lists(caches.appends, max_size=2)
    before = st.lists(caches.appends | caches.trims, max_size=1)
    operations = st.builds(lambda a, b: (*a, SaveLoad(), *b), before, after)
    return caches.scenarios(layer, operations, observe=caches.CONTENT)


def _saved_examples(context: Context) -> tuple[Scenario, ...]:
    made = (
        PlainLayer(length=1, **SMALL_DIMS),
        PlainLayer(),
        ChunkedLayer(length=4, chunk_size=3, drop_front=True, **SMALL_DIMS),
        RotatingLayer(length=5, max_size=4, keep=1, singly=True, **SMALL_DIMS),
        QuantizedLayer(length=1),
        RecurrentLayer(),
        CompositeLayer(children=(PlainLayer(length=1, **SMALL_DIMS), RecurrentLayer())),
    )
    kept = [layer for layer in made if declared.has(context, f"layer:{layer.kind}")]
    plain = (caches.scenario(layer, SaveLoad(), Append(rows=1), observe=caches.CONTENT) for layer in kept)
    return (*plain, *_saved_rings(context))


def _saved_rings(context: Context) -> tuple[Scenario, ...]:
    """Rings filled by several rows at once: the offset alone does not tell where the oldest row is."""
    if not declared.has(context, "layer:rotating"):
        return ()
    return tuple(
        caches.scenario(
            RotatingLayer(length=length, max_size=5, keep=1, **SMALL_DIMS),
            *[Append(rows=1)] * singles,
            SaveLoad(),
            Append(rows=1, salt=1),
            observe=caches.CONTENT,
        )
        for length in (9, 10, 11)
        for singles in (1, 2)
    )


def _anything(context: Context) -> Any:
    """Any cache and any operations: the net under the others, without content."""
    kinds = declared.layer_kinds(context, "rotating", "chunked", "recurrent")
    layer = layers.plain(layers.SMALL, numbers.compatible_dims())
    if declared.has(context, "layer:quantized"):
        layer |= caches.quantized(context)
    rows = caches.scenarios(layer, caches.operations(context))
    if not kinds:
        return rows
    # What a copy of those shares is nobody's statement; of a quantized cache it is QC-9's.
    return rows | caches.scenarios(layers.of_kinds(context, kinds), caches.operations(context, copying=False))


CHECKS = (
    Check(
        requirement="KC-1",
        name="counts",
        scenarios=_plain,
        judge=judges.all_of(judges.invariant(storage.trims_right), judges.invariant(contents.cache_counts)),
        explicit=_negative_trim,
    ),
    Check(
        requirement="KC-1",
        name="content",
        scenarios=_plain_content,
        judge=_written(),
        explicit=_plain_content_examples,
        weight=0.4,
    ),
    Check(
        requirement="KC-1",
        name="growth",
        scenarios=_plain_bytes,
        judge=judges.invariant(storage.grows_by_steps),
        explicit=_doubling,
        needs=("feature:accounting",),
        weight=0.5,
    ),
    Check(
        requirement="KC-1",
        name="everything",
        scenarios=_anything,
        judge=judges.same(projections.everything_in_cache, "a cache behaves otherwise"),
        oracle="reference",
        broad=True,
        weight=1.5,
    ),
    Check(
        requirement="KC-2",
        name="window",
        scenarios=_rotating,
        judge=judges.all_of(
            _written(),
            judges.invariant(storage.trimmable_right),
            judges.invariant(_rotating_results),
        ),
        explicit=_window_examples,
    ),
    Check(
        requirement="KC-3",
        name="chunk",
        scenarios=_chunked,
        judge=_written(),
        explicit=_chunked_example,
    ),
    Check(
        requirement="KC-4",
        name="state",
        scenarios=_recurrent,
        judge=judges.all_of(
            judges.invariant(storage.state_replaced),
            judges.invariant(storage.trimmable_right),
        ),
        explicit=_state_examples,
        weight=0.5,
    ),
    Check(
        requirement="KC-5",
        name="children",
        scenarios=_composites,
        judge=judges.all_of(_counted(), judges.invariant(storage.trimmable_right)),
        explicit=_composite_examples,
        weight=0.7,
    ),
    Check(
        requirement="KC-6",
        name="save",
        scenarios=_saved,
        judge=judges.all_of(_written(), judges.invariant(storage.round_trip)),
        explicit=_saved_examples,
        weight=0.5,
    ),
)
