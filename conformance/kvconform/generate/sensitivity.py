"""How far rounding moves the margins of a stream: the measurement behind ``tolerances``.

    python -m kvconform.generate.sensitivity                     the tiny models, one unit in the last place
    python -m kvconform.generate.sensitivity --units 511         more, as on a device of lower precision
    python -m kvconform.generate.sensitivity --dtype bfloat16    the tiny models in half precision
    python -m kvconform.generate.sensitivity --units 15 smollm2  a minute for each bit width

Each stream is run as it is and again, fed its own tokens, with every linear output moved by 0 to ``units``
units in the last place. Per bit width: the largest move of any margin, the largest mean over a stream, and
how often another token would have been picked, up to which margin.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ..errors import USAGE
from ..models import tiny
from ..models.errors import ModelError
from ..models.load import load_model
from ..models.loaded import LoadedModel
from ..observation import GenerateObservation
from ..scenario import GenerateScenario, Parameters
from . import cases

WIDTHS = (None, 8, 6, 5, 4, 3, 2)


@dataclass(frozen=True)
class Move:
    """What rounding did to one stream."""

    model: str
    bits: int | None
    step: float
    """The largest move of a margin."""
    mean: float
    repicked: tuple[float, ...]
    """The margins at the steps where another token would have been picked."""


def measured(loaded: LoadedModel, prompt: Sequence[int], bits: int | None, *, units: int) -> Move | None:
    """The move of one stream; none where these bits convert nothing, or where the stream dies."""
    from ..models import perturb
    from . import reference_run

    dialect = cases.golden_dialect()
    scenario = GenerateScenario(
        model=loaded.name, prompt=tuple(prompt), parameters=Parameters(max_tokens=24, bits=bits)
    )
    plain = reference_run.run(scenario, loaded, dialect=dialect)
    if plain.error is not None or (bits is not None and not plain.conversions):
        return None
    again = scenario.model_copy(update={"force": plain.tokens})
    with perturb.perturbed(loaded.model, units=units):
        return _move(loaded.name, bits, plain, reference_run.run(again, loaded, dialect=dialect))


def _move(model: str, bits: int | None, plain: GenerateObservation, moved: GenerateObservation) -> Move:
    shifts = [abs(before - now) for before, now in zip(plain.margins, moved.margins, strict=True)]
    steps = zip(plain.margins, plain.tokens, moved.tokens, strict=True)
    return Move(
        model=model,
        bits=bits,
        step=max(shifts),
        mean=fmean(shifts),
        repicked=tuple(margin for margin, before, now in steps if before != now),
    )


def moves(names: Sequence[str], bits: int | None, *, units: int, dtype: str | None) -> Iterator[Move]:
    """The moves of one stream of each model."""
    for name in names:
        loaded = load_model(name) if dtype is None else in_dtype(name, dtype)
        if (move := measured(loaded, prompt_of(loaded), bits, units=units)) is not None:
            yield move


def prompt_of(loaded: LoadedModel) -> Sequence[int]:
    """The short prompt of a tiny model; a short text for any other."""
    if loaded.name in tiny.catalogue():
        return tiny.tiny_spec(loaded.name).prompts["short"]
    return loaded.encode(cases.texts()["code"]["text"])


def in_dtype(name: str, dtype: str) -> LoadedModel:
    """A tiny model with all its weights, and so its caches and logits, in this type."""
    import mlx.core as mx

    model: Any = tiny.build_tiny(tiny.tiny_spec(name))
    model.set_dtype(getattr(mx, dtype))
    return LoadedModel(name=name, source="seeded weights", dtype=dtype, model=model)


# ---------------------------------------------------------------- command


def line(bits: int | None, found: Sequence[Move]) -> str:
    """One width in a line."""
    worst = max(found, key=lambda move: move.step)
    repicked = [margin for move in found for margin in move.repicked]
    picks = f"{len(repicked)} other picks" + (f" up to margin {max(repicked):.2g}" if repicked else "")
    return (
        f"{'full' if bits is None else f'{bits} bits'}: {len(found)} streams, worst step {worst.step:.2g} "
        f"({worst.model}), worst mean {max(move.mean for move in found):.2g}, {picks}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m kvconform.generate.sensitivity")
    parser.add_argument("models", nargs="*", default=list(tiny.catalogue()))
    parser.add_argument("--units", type=int, default=1, help="largest move in units in the last place")
    parser.add_argument("--dtype", choices=("float16", "bfloat16"), help="tiny models in half precision")
    options = parser.parse_args(arguments)
    try:
        for bits in WIDTHS:
            found = list(moves(options.models, bits, units=options.units, dtype=options.dtype))
            print(line(bits, found) if found else f"{bits} bits: nothing is converted", flush=True)
    except (ModelError, KeyError) as error:
        print(error, file=sys.stderr)
        return USAGE
    return 0


if __name__ == "__main__":
    sys.exit(main())
