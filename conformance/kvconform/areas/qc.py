"""Checks of the quantized cache (QC)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import cycle, islice
from typing import Any

from hypothesis import strategies as st

from .. import judges
from ..checks import Check, Context
from ..invariants import contents, numeric, storage
from ..observation import Packed
from ..scenario import (
    Append,
    CacheScenario,
    Convert,
    Copy,
    Operation,
    PlainLayer,
    QuantizedLayer,
    QuantizeScenario,
    SaveLoad,
    Scenario,
    Select,
    StateRoundTrip,
    Trim,
)
from ..strategies import caches, declared, numbers, tensors
from .shared import WAYS_TO_GROW

SMALL = partial(caches.quantized, largest=64)
"""Small head dims, for scenarios that look at bytes."""
ONE_ROW = QuantizedLayer(length=1)
NEVER = QuantizedLayer()


def _examples(*scenarios: CacheScenario) -> Any:
    return lambda _context: scenarios


def _read(context: Context) -> Any:
    operations = st.lists(caches.appends | caches.trims, max_size=2)
    return caches.scenarios(SMALL(context, every_dtype=True), operations, observe=caches.CONTENT)


# ---------------------------------------------------------------- convert and append commute


def _converting_last(context: Context) -> Any:
    """Rows, rows, conversion."""
    plain = caches.small_plain(context)
    operations = st.tuples(caches.appends, caches.converts(context, requests=st.just(32)))
    return caches.scenarios(plain, operations, observe=caches.CONTENT)


def _converting_first(_context: Context, scenario: Any) -> Scenario:
    """The conversion first, then the same rows one by one."""
    append, convert = scenario.operations
    singles = (Append(rows=1, salt=append.salt),) * append.rows
    return scenario.model_copy(update={"operations": (convert, *singles)})


def _same_quantized(scenario: Any, observation: Any, other: Any) -> Any:
    del scenario
    one, two = observation.records[-1], other.records[-1]
    errors = [
        record.error.message for answer in (observation, other) for record in answer.records if record.error
    ]
    views = one.objects[one.current], two.objects[two.current]
    fields = ("kind", "offset", "rows", "keys", "values")
    different = [name for name in fields if getattr(views[0], name) != getattr(views[1], name)]
    if errors or different:
        yield judges.Finding(
            message="convert then append is not append then convert: "
            + (f"raised {errors[0]}" if errors else f"{' and '.join(different)} differ"),
            expected={name: storage.short(getattr(views[1], name)) for name in different},
            observed={name: storage.short(getattr(views[0], name)) for name in different},
        )


# ---------------------------------------------------------------- growth


def _written_from_empty(context: Context) -> Any:
    layer = caches.quantized(context, lengths=st.just(0), bits=numbers.good_bits(context))
    operations = st.lists(caches.appends | caches.large_appends, min_size=1, max_size=3)
    return caches.scenarios(layer, operations)


def _written_after_conversion(context: Context) -> Any:
    plain = st.builds(
        lambda length, dims: PlainLayer(length=length, key_dim=dims[0], value_dim=dims[1]),
        numbers.rows_around_growth(),
        numbers.compatible_dims(),
    )
    requests = _smallest(context)
    convert = st.builds(Convert, bits=numbers.good_bits(context), group_size=st.just(requests))
    operations = st.tuples(convert, caches.appends | caches.large_appends)
    return caches.scenarios(plain, operations | st.tuples(convert, caches.appends, caches.large_appends))


def _smallest(context: Context) -> int:
    """A request that any resolver can use for dims that are multiples of it."""
    return min(declared.group_sizes(context))


def _every_width(context: Context) -> tuple[Scenario, ...]:
    wide = ((64, 64), (96, 96), (128, 128), (256, 256), (192, 128))
    return tuple(
        CacheScenario(
            layer=QuantizedLayer(group_size=_smallest(context), bits=bits, key_dim=key, value_dim=value),
            operations=(Append(rows=1),),
        )
        for bits in declared.bits(context)
        for key, value in wide
    )


def _grown_content(context: Context) -> Any:
    """Rows on both sides of a growth boundary, with small head dims."""
    return st.builds(
        lambda case, bits, length, more: caches.scenario(
            _growing(context, case, bits, length), Append(rows=more), observe=caches.CONTENT
        ),
        st.sampled_from(_growth_cases(context)),
        st.sampled_from(declared.bits(context)),
        st.sampled_from((255, 256, 250, 511)),
        st.integers(1, 7),
    )


def _growth_cases(context: Context) -> tuple[dict[str, Any], ...]:
    """What a growth may depend on beside bits and lengths: head dims that differ, and each dtype."""
    size = _smallest(context)
    dims: tuple[dict[str, Any], ...] = ({}, {"value_dim": 2 * size}, {"key_dim": 2 * size})
    return (*dims, *({"dtype": dtype} for dtype in declared.dtypes(context)[1:]))


def _growing(context: Context, case: Mapping[str, Any], bits: int, length: int) -> QuantizedLayer:
    """The smallest layer of a case: bytes of hundreds of rows are slow."""
    size = _smallest(context)
    small = QuantizedLayer(length=length, group_size=size, bits=bits, key_dim=size, value_dim=size)
    return small.model_copy(update=case)


def _boundary(context: Context) -> tuple[Scenario, ...]:
    """The buffer grows: from a length that is no multiple of its step, when it is full, and once more.

    Each bit width grows in each way. The quick budget asks each width for all of it in one scenario, with the
    next case each time; the others grow each width in every case and in every way alone.
    """
    return _all_ways(context) if context.budget == "quick" else _each_way(context)


def _all_ways(context: Context) -> tuple[Scenario, ...]:
    """From 250 rows to 260, to a full buffer of 512, and one row beyond."""
    rows = (Append(rows=10), Append(rows=252), Append(rows=1))
    widths, cases = declared.bits(context), _growth_cases(context)
    pairs = islice(zip(cycle(widths), cycle(cases), strict=True), max(len(widths), len(cases)))
    return tuple(
        caches.scenario(_growing(context, case, bits, 250), *rows, observe=caches.CONTENT)
        for bits, case in pairs
    )


def _each_way(context: Context) -> tuple[Scenario, ...]:
    return tuple(
        caches.scenario(_growing(context, case, bits, length), Append(rows=more), observe=caches.CONTENT)
        for bits in declared.bits(context)
        for number, case in enumerate(_growth_cases(context))
        for length, more in (WAYS_TO_GROW if number == 0 else (WAYS_TO_GROW[0], WAYS_TO_GROW[-1]))
    )


def _converted_boundary(context: Context) -> tuple[Scenario, ...]:
    """The first growth after a conversion, at each bit width, and the second at one of them.

    What the new rows hold is QC-2's business.
    """
    size, widths = _smallest(context), declared.bits(context)
    chosen = widths[:1] if context.budget == "quick" else widths
    cases = [(bits, 256, 1) for bits in chosen]
    if context.budget != "quick":
        cases += [(widths[0], 250, 10), (widths[-1], 512, 1)]
    return tuple(
        caches.scenario(
            PlainLayer(length=length, key_dim=size, value_dim=size),
            Convert(bits=bits, group_size=size),
            Append(rows=more),
            observe=caches.CONTENT,
        )
        for bits, length, more in cases
    )


# ---------------------------------------------------------------- trim, copy, export


def _trimmed(context: Context) -> Any:
    operations = st.lists(caches.appends | st.builds(Trim, rows=st.integers(-3, 12)), min_size=1, max_size=3)
    return caches.scenarios(caches.quantized(context), operations)


def _overwritten(context: Context) -> Any:
    """Rows, a trim, other rows in their place."""
    trim = st.builds(Trim, rows=st.integers(1, 6))
    operations = st.tuples(trim, caches.appends) | st.tuples(caches.appends, trim, caches.appends)
    return caches.scenarios(SMALL(context), operations, observe=caches.CONTENT)


def _overwritten_example(_context: Context) -> tuple[Scenario, ...]:
    layer = QuantizedLayer(length=3)
    return (caches.scenario(layer, Trim(rows=2), Append(rows=1, salt=1), observe=caches.CONTENT),)


def _exported(context: Context) -> Any:
    """Empty, filled and trimmed caches, out and in again, often written to afterwards."""
    before = st.lists(caches.appends | caches.trims, max_size=1)
    after = st.lists(caches.appends, max_size=1)
    operations = st.builds(lambda a, b, c: (*a, b, *c), before, caches.exports(context), after)
    return caches.scenarios(
        SMALL(context, lengths=st.integers(0, 5), every_dtype=True), operations, observe=caches.CONTENT
    )


def _export_examples(context: Context) -> tuple[Scenario, ...]:
    ways: tuple[tuple[str, Operation], ...] = (("save-load", SaveLoad()), ("state", StateRoundTrip()))
    chosen = [way for name, way in ways if declared.has(context, f"feature:{name}")]
    return tuple(
        caches.scenario(layer, way, Append(rows=1), observe=caches.CONTENT)
        for way in chosen
        for layer in (ONE_ROW, NEVER, QuantizedLayer(length=1, bits=8, group_size=32))
    )


def _trimmed_exports(context: Context) -> tuple[Scenario, ...]:
    """A row that was trimmed is the nearest to a row beyond the offset."""
    ways: tuple[tuple[str, Operation], ...] = (("save-load", SaveLoad()), ("state", StateRoundTrip()))
    return tuple(
        caches.scenario(QuantizedLayer(length=2), Trim(rows=1), way)
        for name, way in ways
        if declared.has(context, f"feature:{name}")
    )


def _copied(context: Context) -> Any:
    """A copy, rows to both, often after a trim, when both write to the same place."""
    first = st.lists(caches.trims, max_size=1)
    one, two = (
        st.builds(Append, rows=st.integers(1, 3), salt=st.just(1)),
        st.builds(Append, rows=st.integers(1, 3), salt=st.just(2)),
    )
    operations = st.builds(lambda trims, a, b: (*trims, Copy(), a, Select(cache=0), b), first, one, two)
    layer = SMALL(context, lengths=st.integers(0, 5))
    return caches.scenarios(layer, operations, observe=caches.CONTENT)


def _copy_example(_context: Context) -> tuple[Scenario, ...]:
    steps = (Copy(), Append(rows=1, salt=1), Select(cache=0), Append(rows=1, salt=2))
    return (caches.scenario(ONE_ROW, *steps, observe=caches.CONTENT),)


# ---------------------------------------------------------------- sizes


def _packed(context: Context) -> Any:
    """Converted, not written from empty: how wide rows of any bits are, whatever QC-3 says."""
    plain = caches.small_plain(context, lengths=st.integers(1, 2))
    return caches.scenarios(
        plain, st.tuples(caches.converts(context, requests=st.just(32))), observe=caches.CONTENT
    )


def _packed_examples(context: Context) -> tuple[Scenario, ...]:
    """Every bit width, also those whose codes straddle words."""
    plain, size = PlainLayer(length=1, key_dim=96, value_dim=32), _smallest(context)
    return tuple(
        caches.scenario(plain, Convert(bits=bits, group_size=size), observe=caches.CONTENT)
        for bits in declared.bits(context)
        if plain.key_dim % size == 0 == plain.value_dim % size
    )


def _packed_rows(context: Context) -> tuple[Scenario, ...]:
    size = _smallest(context)
    row = tensors.tensor([[0.0] * size], "float32")
    return tuple(QuantizeScenario(tensor=row, bits=bits, group_size=size) for bits in declared.bits(context))


def _packed_sides(scenario: Any, observation: Any) -> Any:
    """QC-6 only where something is packed."""
    packed = [
        view for record in observation.records for view in record.objects if isinstance(view.keys, Packed)
    ]
    return storage.packed_width(scenario, observation) if packed else ()


def _uneven(context: Context) -> Any:
    """Key and value dims that differ, one and several heads."""
    dims = st.sampled_from(((32, 64), (64, 32), (96, 32), (32, 96)))
    heads = st.integers(1, 3) if declared.has(context, "feature:head-counts") else st.just(1)
    layer = st.builds(
        lambda pair, count, length, bits: QuantizedLayer(
            length=length,
            group_size=_smallest(context),
            bits=bits,
            key_dim=pair[0],
            value_dim=pair[1],
            heads=count,
        ),
        dims,
        heads,
        st.integers(0, 3),
        caches.even_bits(context),
    )
    return caches.scenarios(layer, st.lists(caches.appends, max_size=1), observe=caches.CONTENT)


def _uneven_example(context: Context) -> tuple[Scenario, ...]:
    """Two heads where there can be, the dims either way round."""
    heads, size = (2 if declared.has(context, "feature:head-counts") else 1), _smallest(context)
    return tuple(
        caches.scenario(
            QuantizedLayer(length=1, group_size=size, key_dim=key, value_dim=value, heads=heads),
            Append(rows=1),
            observe=caches.CONTENT,
        )
        for key, value in ((size, 2 * size), (2 * size, size))
    )


def _accounted(context: Context) -> Any:
    """Written and converted caches of every dtype and number of heads; no trims."""
    heads = st.integers(1, 3) if declared.has(context, "feature:head-counts") else st.just(1)
    layer = caches.quantized(context, heads=heads, every_dtype=True)
    operations = st.lists(caches.appends | caches.large_appends, max_size=2)
    written = caches.scenarios(layer, operations, observe=caches.ACCOUNTING)
    if not declared.has(context, "feature:convert"):
        return written
    convert = caches.converts(context, requests=st.just(_smallest(context)))
    converted = caches.scenarios(
        caches.small_plain(context), st.tuples(convert, caches.appends), observe=caches.ACCOUNTING
    )
    return written | converted


def _accounted_examples(context: Context) -> tuple[Scenario, ...]:
    """Each bit width at dims whose codes fill words evenly and not, converted where that is possible."""
    size = _smallest(context)
    written: tuple[Scenario, ...] = (
        caches.scenario(QuantizedLayer(length=5, bits=8), observe=caches.ACCOUNTING),
        caches.scenario(QuantizedLayer(length=500), Append(rows=20), observe=caches.ACCOUNTING),
    )
    if not declared.has(context, "feature:convert"):
        return written
    return written + tuple(
        caches.scenario(
            PlainLayer(length=1, key_dim=dim, value_dim=dim),
            Convert(bits=bits, group_size=size),
            observe=caches.ACCOUNTING,
        )
        for bits in declared.bits(context)
        for dim in (96, 128, 160, 256)
        if dim % size == 0
    )


def _sized(context: Context) -> Any:
    operations = st.lists(caches.appends | caches.trims, max_size=3)
    return caches.scenarios(caches.quantized(context), operations, observe=caches.ACCOUNTING)


def _size_examples(_context: Context) -> tuple[Scenario, ...]:
    return (
        caches.scenario(NEVER, observe=caches.ACCOUNTING),
        caches.scenario(ONE_ROW, observe=caches.ACCOUNTING),
        caches.scenario(ONE_ROW, Trim(rows=1), observe=caches.ACCOUNTING),
    )


CHECKS = (
    Check(
        requirement="QC-1",
        name="read",
        scenarios=_read,
        judge=judges.invariant(storage.reader_gets_offset_rows),
        explicit=_examples(
            caches.scenario(NEVER, observe=caches.CONTENT),
            caches.scenario(ONE_ROW, observe=caches.CONTENT),
            caches.scenario(QuantizedLayer(length=2), Trim(rows=1), observe=caches.CONTENT),
            caches.scenario(QuantizedLayer(length=1, value_dim=128), observe=caches.CONTENT),
        ),
        weight=0.5,
    ),
    Check(
        requirement="QC-2",
        name="commute",
        scenarios=_converting_last,
        judge=judges.relation(_same_quantized),
        oracle="relation",
        companion=_converting_first,
        explicit=_examples(
            caches.scenario(
                PlainLayer(length=1, key_dim=32, value_dim=32),
                Append(rows=1),
                Convert(bits=4, group_size=32),
                observe=caches.CONTENT,
            )
        ),
        weight=0.4,
    ),
    Check(
        requirement="QC-3",
        name="from-empty",
        scenarios=_written_from_empty,
        judge=judges.all_of(
            judges.invariant(storage.nothing_raises), judges.invariant(contents.cache_counts)
        ),
        explicit=_every_width,
    ),
    Check(
        requirement="QC-3",
        name="after-conversion",
        scenarios=_written_after_conversion,
        judge=judges.all_of(
            judges.invariant(storage.nothing_raises), judges.invariant(contents.cache_counts)
        ),
        needs=("feature:convert",),
    ),
    Check(
        requirement="QC-3",
        name="content",
        scenarios=_grown_content,
        explicit=_boundary,
        judge=judges.content(contents.cache_content),
        weight=0.1,
    ),
    Check(
        requirement="QC-3",
        name="converted-content",
        scenarios=None,
        explicit=_converted_boundary,
        judge=judges.invariant(storage.growth_keeps_converted_rows),
        needs=("feature:convert",),
    ),
    Check(
        requirement="QC-4",
        name="trim",
        scenarios=_trimmed,
        judge=judges.invariant(storage.trims_right),
        explicit=_examples(
            caches.scenario(ONE_ROW, Trim(rows=-1)),
            caches.scenario(ONE_ROW, Trim(rows=1)),
            caches.scenario(ONE_ROW, Trim(rows=2)),
        ),
    ),
    Check(
        requirement="QC-4",
        name="overwrite",
        scenarios=_overwritten,
        judge=judges.content(contents.cache_content),
        explicit=_overwritten_example,
        weight=0.4,
    ),
    Check(
        requirement="QC-5",
        name="round-trip",
        scenarios=_exported,
        judge=judges.all_of(
            judges.invariant(storage.nothing_raises),
            judges.invariant(storage.round_trip),
            judges.content(contents.cache_content),
        ),
        explicit=_export_examples,
        weight=0.4,
    ),
    Check(
        requirement="QC-6",
        name="cache",
        scenarios=_packed,
        judge=judges.invariant(_packed_sides),
        explicit=_packed_examples,
        needs=("kind:cache", "feature:convert"),
        weight=0.5,
    ),
    Check(
        requirement="QC-6",
        name="rows",
        scenarios=lambda context: tensors.scenarios(context, most=1),
        judge=judges.invariant(numeric.shapes),
        explicit=_packed_rows,
        needs=("kind:quantize",),
        weight=0.3,
    ),
    Check(
        requirement="QC-7",
        name="uneven",
        scenarios=_uneven,
        judge=judges.all_of(judges.invariant(storage.nothing_raises), judges.content(contents.cache_content)),
        explicit=_uneven_example,
        weight=0.4,
    ),
    Check(
        requirement="QC-8",
        name="bytes",
        scenarios=_accounted,
        judge=judges.invariant(storage.bytes_fit),
        explicit=_accounted_examples,
    ),
    Check(
        requirement="QC-9",
        name="copy",
        scenarios=_copied,
        judge=judges.content(contents.cache_content),
        explicit=_copy_example,
        weight=0.4,
    ),
    Check(
        requirement="QC-10",
        name="sizes",
        scenarios=_sized,
        judge=judges.invariant(storage.accounts_right),
        explicit=_size_examples,
    ),
    Check(
        requirement="QC-10",
        name="bytes",
        scenarios=_sized,
        judge=judges.invariant(storage.bytes_reported),
        explicit=_size_examples,
        weight=0.5,
    ),
    Check(
        requirement="QC-11",
        name="export",
        scenarios=_exported,
        judge=judges.invariant(storage.exported_rows),
        explicit=lambda context: (*_export_examples(context), *_trimmed_exports(context)),
        weight=0.3,
    ),
)
