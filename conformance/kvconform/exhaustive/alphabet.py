"""The alphabet of the exhaustive run: eight layers, four steps, the named dialects. Fixed in the docs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from types import MappingProxyType

from kvconform_reference.dialect import DIALECTS, Dialect

from ..scenario import (
    AppendStep,
    Built,
    ChunkedLayer,
    CompositeLayer,
    ContainerScenario,
    Layer,
    Observe,
    PassStep,
    PlainLayer,
    QuantizedLayer,
    RecurrentLayer,
    RotatingLayer,
    Step,
    TrimStep,
)

MOST_LAYERS = 3
MOST_STEPS = 3

LAYERS: Mapping[str, Layer] = MappingProxyType(
    {
        "E": PlainLayer(),
        "S2": PlainLayer(length=2),
        "S3": PlainLayer(length=3),
        "D4": PlainLayer(length=4, key_dim=80, value_dim=80),
        "R5": RotatingLayer(length=5, max_size=4),
        "C5": ChunkedLayer(length=5, chunk_size=4, drop_front=True),
        "Q3": QuantizedLayer(length=3, group_size=64, bits=4),
        "L": CompositeLayer(children=(RecurrentLayer(), PlainLayer(length=4))),
    }
)
"""Empty; below the line, at it, over it without a group size; each other kind, a composite of two."""

STEPS: Mapping[str, Step] = MappingProxyType(
    {
        "append": AppendStep(rows=1),
        "trim": TrimStep(rows=3),
        "pass": PassStep(bits=4, group_size=64, start=3),
        "pass0": PassStep(bits=8, group_size=32, start=0),
    }
)
"""Rows that carry a layer over the line, rows off that leave none, a pass at the line, another at 0."""

BUILT = Built(bits=4)
NOTHING_EXTRA = Observe()

Names = tuple[str, ...]


def layer_lists() -> tuple[Names, ...]:
    """All lists of up to three layers, the shortest first."""
    return tuple(names for count in range(MOST_LAYERS + 1) for names in product(LAYERS, repeat=count))


def longest_sequences() -> tuple[Names, ...]:
    """All sequences of three steps; every shorter one begins some of them."""
    return tuple(product(STEPS, repeat=MOST_STEPS))


def scenario_count() -> int:
    """Lists times sequences of any length times dialects."""
    sequences = sum(len(STEPS) ** length for length in range(MOST_STEPS + 1))
    return len(layer_lists()) * sequences * len(DIALECTS)


def scenario(layers: Names, steps: Names, dialect: Dialect) -> ContainerScenario:
    """The scenario of these names; built without validation, since its parts are valid.

    Where the container owns its layers a second one stands beside it (CT-10).
    """
    return _made(
        tuple([LAYERS[name] for name in layers]),
        tuple([STEPS[name] for name in steps]),
        twin=dialect.owner == "container",
    )


@lru_cache(maxsize=1024)
def one_step(layers: Names, step: str) -> ContainerScenario:
    """One step of a scenario by itself, for a law that looks at one step."""
    return _made(tuple([LAYERS[name] for name in layers]), (STEPS[step],), twin=False)


def _made(layers: tuple[Layer, ...], steps: tuple[Step, ...], *, twin: bool) -> ContainerScenario:
    return ContainerScenario.model_construct(
        version=1,  # every field is given: a default would be copied each time
        kind="container",
        layers=layers,
        form="container",
        given="list",
        built=BUILT,
        twin=twin,
        steps=steps,
        observe=NOTHING_EXTRA,
    )


def described(layers: Names, steps: Names) -> str:
    """``[S2, E] append pass``."""
    return f"[{', '.join(layers)}] {' '.join(steps)}"


def enumerated(lists: Iterator[Names] | tuple[Names, ...]) -> Iterator[tuple[Names, Names, int]]:
    """Every list with every longest sequence, and how many of its first steps the sequence before had too."""
    for layers in lists:
        before: Names = ()
        for steps in longest_sequences():
            yield layers, steps, _common(before, steps)
            before = steps


def _common(one: Names, other: Names) -> int:
    return next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))
