"""What a single cache must satisfy beside its content (QC, KC)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..checks import Finding
from ..observation import CacheObservation, ObjectView, Packed
from ..scenario import Append, CacheScenario, Convert, SaveLoad, StateRoundTrip, Trim
from . import contents, ledger, tensors
from .contents import Entry

GROWTH = 256
"""Rows of one growth step (KC-1)."""


def _finding(what: str, where: str, expected: Any, observed: Any) -> Finding:
    return Finding(message=f"{what}: {where}", expected=expected, observed=observed)


def nothing_raises(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """QC-3 and others: every operation of the scenario is one that a cache must be able to do."""
    for number, record in enumerate(observation.records):
        if record.error is not None:
            operation = scenario.operations[number - 1] if number else None
            where = "making the cache" if operation is None else f"operation {number}, {operation.op}"
            layer = scenario.layer.model_dump(exclude_defaults=True)
            what = f"{operation.op if operation else 'filling'} raised"
            yield _finding(what, f"{where}, {scenario.layer.kind} {layer}", None, record.error.message)
            return


def reader_gets_offset_rows(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """QC-1: nothing from an empty cache; words, scales and biases of exactly `offset` rows otherwise."""
    for entry in contents.cache_entries(scenario, observation):
        view = entry.objects[entry.current]
        if view.rows != view.offset:
            yield _finding("a reader gets other than `offset` rows", entry.where, view.offset, view.rows)
        for name in ("keys", "values"):
            stored: Any = getattr(view, name)
            if (stored is not None) != bool(view.offset):
                yield _finding(
                    f"wrong {name} of an empty or filled cache",
                    entry.where,
                    bool(view.offset),
                    stored is not None,
                )
            if isinstance(stored, Packed):
                yield from _wrong_row_counts(name, stored, view, entry)
            elif stored is not None:
                yield _finding(
                    f"{name} are not words, scales and biases", entry.where, "packed", stored.dtype
                )


def _wrong_row_counts(name: str, stored: Packed, view: ObjectView, entry: Entry) -> Iterator[Finding]:
    counts = [part.shape[2] for part in (stored.packed, stored.scales, stored.biases)]
    if counts != [view.offset] * 3:
        yield _finding(f"{name} of another number of rows", entry.where, view.offset, counts)


def packed_width(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """QC-6: d * b / 32 words, and d / g scales and biases."""
    for entry in contents.cache_entries(scenario, observation):
        for view in entry.objects:
            for name, dim in (("keys", view.key_dim), ("values", view.value_dim)):
                stored = getattr(view, name)
                if (
                    not isinstance(stored, Packed)
                    or dim is None
                    or view.bits is None
                    or view.group_size is None
                ):
                    continue
                expected = (dim * view.bits // 32, dim // view.group_size, dim // view.group_size)
                observed = tuple(part.shape[-1] for part in (stored.packed, stored.scales, stored.biases))
                if observed != expected:
                    yield _finding(f"{name} rows of another width", entry.where, expected, observed)


def trims_right(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """QC-4: trim(n) takes min(offset, n) rows and says so; the offset never grows by it."""
    for number, operation in enumerate(scenario.operations, 1):
        before, after = observation.records[number - 1], observation.records[number]
        if not isinstance(operation, Trim):
            continue
        old, new = before.objects[before.current].offset, after.objects[after.current].offset
        if old is None or new is None:
            continue
        expected = old - min(old, max(0, operation.rows))
        where = f"operation {number}, trim({operation.rows}) at offset {old}"
        if new > old:
            yield _finding("a trim moved the offset forward", where, expected, new)
        elif operation.rows >= 0 and (new, after.result) != (expected, old - expected):
            yield _finding(
                "a trim took another number of rows", where, (expected, old - expected), (new, after.result)
            )
        elif operation.rows < 0 and new != old:
            yield _finding("a negative trim moved the offset", where, old, new)


def round_trip(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """QC-5, KC-6: what comes back has the kind, parameters, offset and rows of what went out."""
    for entry in contents.cache_entries(scenario, observation):
        if not isinstance(entry.operation, SaveLoad | StateRoundTrip):
            continue
        before = observation.records[entry.number - 1]
        old, new = before.objects[before.current], entry.objects[entry.current]
        fields = ("kind", "offset", "rows", "group_size", "bits", "start_position", "state", "keys", "values")
        different = [name for name in fields if getattr(old, name) != getattr(new, name)]
        if different:
            expected = {name: short(getattr(old, name)) for name in different}
            observed = {name: short(getattr(new, name)) for name in different}
            yield _finding(
                f"other {' and '.join(different)} after a round trip", entry.where, expected, observed
            )


def short(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        text = value.model_dump_json()
        return text if len(text) < 200 else f"{text[:200]}..."
    return value


def exported_rows(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """QC-11: no exported array holds more rows than the offset."""
    for entry in contents.cache_entries(scenario, observation):
        if isinstance(entry.operation, SaveLoad | StateRoundTrip) and entry.result is not None:
            offset = entry.objects[entry.current].offset
            if offset is not None and entry.result > offset:
                yield _finding(
                    "an exported array holds rows beyond the offset", entry.where, offset, entry.result
                )


def row_bytes(view: ObjectView, heads: int, itemsize: int) -> int:
    """QC-8: bytes of one row of a quantized cache, both sides."""
    assert view.bits is not None
    assert view.group_size is not None
    dims = (view.key_dim or 0) + (view.value_dim or 0)
    return heads * (dims * view.bits // 8 + 2 * itemsize * dims // view.group_size)


def bytes_fit(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """QC-8: whole rows, at least those held, and less than a growth step and the last append more."""
    layer: Any = scenario.layer
    itemsize = 4 if layer.dtype == "float32" else 2
    for entry in contents.cache_entries(scenario, observation):
        view, book = entry.objects[entry.current], entry.books.get(entry.current)
        if view.kind != "quantized" or view.nbytes is None or book is None or book.trimmed or not view.offset:
            continue
        size = row_bytes(view, layer.heads, itemsize)
        most = (view.offset + GROWTH + book.last_append - 1) * size
        if view.nbytes % size or not view.offset * size <= view.nbytes <= most:
            rows = f"{view.offset * size} to {most} bytes: {view.offset} to {most // size} rows of {size}"
            why = f"a row takes {_why_so_many(view, layer.heads, itemsize)}"
            where = f"{entry.where}, observed {view.nbytes}, expected {rows}, because {why}"
            yield _finding("bytes are not those of its rows", where, rows, view.nbytes)


def _why_so_many(view: ObjectView, heads: int, itemsize: int) -> str:
    """The bytes of a row of a quantized cache as a sum, in words."""
    dims = (view.key_dim or 0) + (view.value_dim or 0)
    each = f"{heads} heads x {dims}" if heads > 1 else str(dims)
    return (
        f"{each} values x {view.bits} bits / 8, and 2 x {itemsize} bytes of scale and bias "
        f"for every {view.group_size} values"
    )


def growth_keeps_converted_rows(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """QC-3: after a conversion and an append the converted rows are there, bit for bit.

    For one head, a conversion and one append.
    """
    looks = [record.objects[record.current] for record in observation.records if record.error is None]
    if len(looks) != 3:
        yield _finding("an append to a converted cache raised", "operation 2", "no error", len(looks))
        return
    for side in ("keys", "values"):
        before, after = getattr(looks[1], side), getattr(looks[2], side)
        if not isinstance(before, Packed) or not isinstance(after, Packed):
            yield _finding(
                f"the {side} of a converted cache are not packed", "operation 2", "packed", "other"
            )
            continue
        for part in ("packed", "scales", "biases"):
            old, new = (tensors.row_bytes(getattr(one, part)) for one in (before, after))
            if new[: len(old)] != old:
                kept = sum(row == other for row, other in zip(old, new, strict=False))
                what = f"a growth lost converted rows: the {part} of the {side}"
                yield _finding(what, "operation 2", len(old), kept)


def accounts_right(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """QC-10: size is the rows held, empty says whether there are none, and nothing raises."""
    for entry in contents.cache_entries(scenario, observation):
        view, book = entry.objects[entry.current], entry.books.get(entry.current)
        if view.errors:
            name, message = next(iter(view.errors.items()))
            yield _finding(f"asking for {name} raised", f"{entry.where}, offset {view.offset}", None, message)
        if book is None:
            continue
        expected = {"size": len(book.rows), "empty": not book.rows}
        observed = {name: getattr(view, name) for name in expected}
        wrong = [name for name in expected if observed[name] is not None and observed[name] != expected[name]]
        if wrong and not set(wrong) & set(view.errors or ()):
            yield _finding(
                f"wrong {' and '.join(wrong)}", f"{entry.where}, offset {view.offset}", expected, observed
            )


def bytes_reported(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """QC-10: the byte count of a filled cache is above 0, of one that was never written 0."""
    for entry in contents.cache_entries(scenario, observation):
        view, book = entry.objects[entry.current], entry.books.get(entry.current)
        if view.nbytes is None or book is None:
            continue
        never_written = view.key_dim is None and not book.rows
        if (book.rows and view.nbytes <= 0) or (never_written and view.nbytes != 0):
            yield _finding(
                "wrong byte count", f"{entry.where}, offset {view.offset}", "0 when empty", view.nbytes
            )


def trimmable_right(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """KC-2, KC-4, KC-5: whether a cache can be trimmed, by its kind and fill."""
    for entry in contents.cache_entries(scenario, observation):
        view = entry.objects[entry.current]
        family = _family(entry)
        if view.trimmable is not None and family and view.trimmable != all(book.trimmable for book in family):
            expected = all(book.trimmable for book in family)
            yield _finding(
                f"wrong answer to whether a {view.kind} cache can be trimmed",
                entry.where,
                expected,
                view.trimmable,
            )


def _family(entry: Entry) -> list[ledger.Ledger]:
    """The ledgers of the current cache and of everything in it."""
    numbers, pending = list[int](), [entry.current]
    while pending:
        number = pending.pop()
        numbers.append(number)
        pending += entry.objects[number].children or ()
    return [entry.books[number] for number in numbers if number in entry.books]


def state_replaced(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """KC-4: each write replaces every slot by one whole new array; a trim takes nothing."""
    for number, operation in enumerate(scenario.operations, 1):
        before, after = observation.records[number - 1], observation.records[number]
        old, new = before.objects[before.current], after.objects[after.current]
        if old.kind != "recurrent" or after.error is not None:
            continue
        expected = old.state
        if isinstance(operation, Append):
            first = (31 * (old.state[0] if old.state else 0) + operation.rows + operation.salt + 1) % 251
            slots = getattr(scenario.layer, "slots", 1)
            expected = tuple((first + slot) % 251 for slot in range(slots))
        if new.state != expected or new.offset is not None:
            yield _finding(
                "wrong state of a recurrent cache", f"operation {number}, {operation.op}", expected, new.state
            )


def grows_by_steps(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """KC-1: a plain cache has room for its rows, and for less than a growth step and the last append more."""
    layer: Any = scenario.layer
    size = layer.heads * (layer.key_dim + layer.value_dim) * (4 if layer.dtype == "float32" else 2)
    for entry in contents.cache_entries(scenario, observation):
        view, book = entry.objects[entry.current], entry.books.get(entry.current)
        if view.nbytes is None or book is None or book.trimmed or not book.rows:
            continue
        least, most = len(book.rows) * size, (len(book.rows) + GROWTH + book.last_append - 1) * size
        if view.nbytes % size or not least <= view.nbytes <= most:
            rows = f"{size} bytes a row, {least // size} to {most // size} rows"
            yield _finding("bytes are not those of its rows", entry.where, rows, view.nbytes)


def converted_directly(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """MQ-5: a single cache converted directly is quantized with the bits asked for, at the same offset."""
    for entry in contents.cache_entries(scenario, observation):
        if isinstance(entry.operation, Convert):
            before = observation.records[entry.number - 1]
            old, new = before.objects[before.current], entry.objects[entry.current]
            expected = ("quantized", old.offset, entry.operation.bits)
            if (new.kind, new.offset, new.bits) != expected:
                what = "a direct conversion has another kind, offset or bits"
                yield _finding(what, entry.where, expected, (new.kind, new.offset, new.bits))
