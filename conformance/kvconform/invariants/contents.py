"""Content of container and cache observations against the ledger of what was written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..checks import Finding
from ..observation import CacheObservation, ContainerObservation, ObjectView
from ..scenario import (
    Append,
    AppendStep,
    CacheScenario,
    ContainerScenario,
    Convert,
    Copy,
    DropFront,
    DropFrontStep,
    Operation,
    PassStep,
    SaveLoad,
    StateRoundTrip,
    Trim,
    TrimStep,
)
from . import ledger, reading
from .ledger import Ledger, RowJudge
from .reading import Moment

Books = dict[int, Ledger]
"""Object id to its ledger; an object whose history is not known (after an error) has none."""


def container_books(
    scenario: ContainerScenario, observation: ContainerObservation
) -> Iterator[tuple[Moment, Books]]:
    """Every step with the ledgers after it. Replaced objects stay; new ones take over their rows."""
    books = {
        number: ledger.filled(layer, number) for number, layer in enumerate(ledger.numbered(scenario.layers))
    }
    for moment in reading.moments(scenario, observation):
        if moment.after.error is not None:
            if not moment.unchanged:
                return
        else:
            _apply(moment, books)
        yield moment, books


def _apply(moment: Moment, books: Books) -> None:
    step = moment.step
    if isinstance(step, PassStep):
        for place in moment.conversions():
            if place.before in books and place.after not in books:
                books[place.after] = books[place.before].copied(kind=moment.new(place).kind)
        return
    holder = step.through if isinstance(step, AppendStep) else "container"
    listed = moment.before.holders.get(holder, ())
    chosen = getattr(step, "layers", None)
    for index, number in enumerate(listed):
        if chosen is None or index in chosen:
            for leaf in _leaves(moment.before.objects, number):
                _write(step, books.get(leaf))


def _leaves(objects: tuple[ObjectView, ...], number: int) -> Iterator[int]:
    children = objects[number].children
    if children:
        for child in children:
            yield from _leaves(objects, child)
    else:
        yield number


def _write(step: AppendStep | TrimStep | DropFrontStep, book: Ledger | None) -> None:
    if book is None:
        return
    if isinstance(step, AppendStep):
        book.append(step.rows, step.salt)
    elif isinstance(step, TrimStep):
        book.trim(step.rows)
    else:
        book.drop_front()


def container_content(
    scenario: ContainerScenario,
    observation: ContainerObservation,
    accepts: RowJudge,
    *,
    only: str | None = None,
) -> Iterator[Finding]:
    """Every object holds the rows that were written to it; ``only``: of one kind."""
    for moment, books in container_books(scenario, observation):
        for number, book in books.items():
            if only in (None, book.kind):
                yield from _wrong_look(moment.where, number, book, moment.after.objects[number], accepts)


def _wrong_look(
    where: str, number: int, book: Ledger, view: ObjectView, accepts: RowJudge
) -> Iterator[Finding]:
    counts = ledger.wrong_counts(book, view)
    if counts:
        yield _wrong_counts(where, number, book, counts)
        return
    wrong = ledger.wrong_content(book, view, accepts)
    if wrong is not None:
        yield Finding(
            message=f"wrong content of a {book.kind} cache: {where}, object {number}: {wrong}",
            expected="the rows that were written",
            observed=wrong,
        )


def _wrong_counts(where: str, number: int, book: Ledger, counts: dict[str, tuple[object, object]]) -> Finding:
    return Finding(
        message=f"wrong {' and '.join(counts)} of a {book.kind} cache: {where}, object {number}",
        expected={name: pair[0] for name, pair in counts.items()},
        observed={name: pair[1] for name, pair in counts.items()},
    )


# ---------------------------------------------------------------- cache scenarios


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One operation on the current cache: the ledgers before and after it, and what was seen after it."""

    number: int
    operation: Operation | None
    """``None``: the fresh cache."""
    current: int
    books: Books
    objects: tuple[ObjectView, ...]
    result: int | None

    @property
    def where(self) -> str:
        """The operation in words."""
        if self.operation is None:
            return "the fresh cache"
        fields = self.operation.model_dump(exclude={"op"}, exclude_defaults=True)
        shown = ", ".join(f"{name}={value}" for name, value in fields.items())
        return f"operation {self.number}, {self.operation.op}({shown})"


def cache_entries(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Entry]:
    """Every operation with the ledgers after it, up to the first one that raised."""
    layers = tuple(ledger.numbered((scenario.layer,)))
    books = {number: ledger.filled(layer, number) for number, layer in enumerate(layers)}
    current = 0
    for number, record in enumerate(observation.records):
        if record.error is not None:
            return
        operation = scenario.operations[number - 1] if number else None
        if operation is not None:
            current = _operate(operation, books, current, record.current, len(layers))
        yield Entry(
            number=number,
            operation=operation,
            current=record.current,
            books=books,
            objects=record.objects,
            result=record.result,
        )


def _operate(operation: Operation, books: Books, current: int, now: int, size: int) -> int:
    """Keep the books of one operation; a new cache (with its children) gets a copy of the current one's."""
    family = [books[number] for number in range(current, current + size) if number in books]
    match operation:
        case Append(rows=rows, salt=salt):
            for book in family:
                book.append(rows, salt)
        case Trim(rows=rows):
            if all(book.trimmable for book in family):
                for book in family:
                    book.trim(rows)
        case DropFront():
            books[current].drop_front()
        case Convert():
            books[now] = books[current].copied(kind="quantized")
        case Copy() | SaveLoad() | StateRoundTrip():
            for child in range(size):
                if current + child in books and now != current:
                    books[now + child] = books[current + child].copied()
        case _:
            pass
    return now


def cache_content(
    scenario: CacheScenario, observation: CacheObservation, accepts: RowJudge
) -> Iterator[Finding]:
    """Every cache holds the rows that were written to it, after every operation; what is made anew is new."""
    met = 0
    for entry in cache_entries(scenario, observation):
        if isinstance(entry.operation, Copy | SaveLoad | StateRoundTrip | Convert) and entry.current < met:
            yield Finding(
                message=f"nothing new was made: {entry.where} answered with object {entry.current}",
                expected=f"object {met}",
                observed=f"object {entry.current}",
            )
            return
        met = len(entry.objects)
        for number, book in entry.books.items():
            if number < len(entry.objects):
                yield from _wrong_look(entry.where, number, book, entry.objects[number], accepts)


def cache_counts(scenario: CacheScenario, observation: CacheObservation) -> Iterator[Finding]:
    """Offset and rows alone, for scenarios that look at no bytes."""
    for entry in cache_entries(scenario, observation):
        for number, book in entry.books.items():
            if number < len(entry.objects) and (counts := ledger.wrong_counts(book, entry.objects[number])):
                yield _wrong_counts(entry.where, number, book, counts)
