"""What each kit's reader of vectors must make of files that the recorded ones alone do not tell apart."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import support

Vector = dict[str, Any]
Reader = Callable[[Path], bool]
"""Whether the reader of a kit accepts the example's answers to all vectors of a folder."""


def check_reader(reads: Reader, folder: Path) -> None:
    """Everything that docs/vectors.md calls right is accepted in one go, everything wrong is seen alone."""
    write(folder / "right", list(right()))
    assert reads(folder / "right")
    for number, (what, vector) in enumerate(wrong()):
        write(folder / str(number), [vector])
        assert not reads(folder / str(number)), what


def write(folder: Path, vectors: list[Vector]) -> None:
    """A folder with these vectors, each in a file of its own."""
    for number, vector in enumerate(vectors):
        path = folder / vector["id"][:2] / f"{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(vector))


def recorded(name: str) -> Vector:
    """A vector of the repository."""
    path = support.VECTORS / name[:2] / f"{name}.json"
    data: Vector = json.loads(path.read_text(encoding="utf-8"))
    return data


def changed(name: str, change: Callable[[Vector], object]) -> Vector:
    """The same with something else in it."""
    vector = copy.deepcopy(recorded(name))
    change(vector)
    return vector


LATCH, BAD_BITS, RAISES = "ct-never-armed-nothing-quantizable", "mq-bad-bits-7", "it-prepare-raises"


def right() -> Iterator[Vector]:
    """Vectors that the example answers, or is not asked."""
    yield recorded(LATCH)
    yield changed(LATCH, lambda vector: [step.pop("accesses", None) for step in steps(vector)])
    yield changed(BAD_BITS, lambda vector: error_of(vector).update(kind="internal"))
    yield changed(BAD_BITS, lambda vector: error_of(vector).update(message="in other words"))
    yield changed(RAISES, lambda vector: error_of(vector).update(message="in other words"))
    for needs in (["feature:pancake"], ["feature:pancake|feature:waffle"], ["bits:7"], ["kind:generate"]):
        yield changed(LATCH, lambda vector, needs=needs: vector.update(needs=needs, expected={}))


def wrong() -> Iterator[tuple[str, Vector]]:
    """Vectors that the example does not answer, though it is asked."""
    needs = ["feature:pancake|feature:copy", "feature:copy|feature:pancake"]
    for need in needs:
        yield need, changed(LATCH, lambda vector, need=need: vector.update(needs=[need], expected={}))
    yield "another number of looks", changed(LATCH, lambda vector: steps(vector)[1].update(accesses=7))
    yield (
        "no error where one is due",
        changed(BAD_BITS, lambda vector: [s.pop("error", 0) for s in steps(vector)]),
    )
    yield "the model's own error", changed(RAISES, lambda vector: error_of(vector).update(kind="internal"))
    yield "an error of the model's", changed(BAD_BITS, lambda vector: error_of(vector).update(kind="model"))


def steps(vector: Vector) -> list[dict[str, Any]]:
    """The records of what is expected."""
    expected = vector["expected"]
    records: list[dict[str, Any]] = expected.get("steps") or expected["turns"]
    return records


def error_of(vector: Vector) -> dict[str, Any]:
    """The first error that is expected."""
    error: dict[str, Any] = next(record["error"] for record in steps(vector) if record.get("error"))
    return error
