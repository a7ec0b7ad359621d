"""The whole enumeration on the reference, in several processes; a seeded part of it on any implementation."""

from __future__ import annotations

import multiprocessing
import os
import random
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from kvconform_reference.dialect import DIALECTS, name_of

from ..checks import Context
from ..examine import answer
from ..implementation import Implementation, Trouble, Unsupported
from ..implementations import reference
from ..observation import Observation
from ..requirements import missing
from ..scenario import Scenario
from ..session import context_of
from .alphabet import LAYERS, Names, enumerated, layer_lists, longest_sequences, scenario_count
from .judge import Bench, Breach

PROCESSES = 2
SHOWN = 20
"""Breaches that are kept: one fault breaks thousands of scenarios."""
SLICES = 4
"""Tasks a dialect: enough that two processes end together."""


@dataclass(frozen=True, kw_only=True)
class Exhausted:
    """What an enumeration found."""

    scenarios: int
    breaches: tuple[Breach, ...] = ()
    breached: int = 0
    """How many breaches there were; the first ones are kept."""
    unsupported: int = 0


def run_everything(*, processes: int = PROCESSES) -> Exhausted:
    """All scenarios of the alphabet on the reference, in every named dialect."""
    tasks = [(name, part) for name in DIALECTS for part in range(SLICES)]
    if processes < 2:
        return _summed(scenario_count(), map(judge_slice, tasks))
    how = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    workers = min(processes, os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context(how)) as pool:
        return _summed(scenario_count(), pool.map(judge_slice, tasks))


def judge_slice(task: tuple[str, int]) -> tuple[int, list[Breach]]:
    """Every fourth list of one dialect: how many breaches, and the first of them."""
    name, part = task
    dialect = DIALECTS[name]
    bench = bench_of(reference.factory(dialect), dialect=name)
    return _judged(bench, layer_lists()[part::SLICES])


def judge_lists(implementation: Implementation, lists: Iterable[Names], *, dialect: str) -> Exhausted:
    """Every sequence over some lists on one implementation."""
    chosen = tuple(lists)
    bench = bench_of(implementation, dialect=dialect)
    return _summed(len(chosen) * len(longest_sequences()), [_judged(bench, chosen)])


def bench_of(implementation: Implementation, *, dialect: str) -> Bench:
    """An implementation under all laws of the dialect that it declares; ``dialect`` is for messages."""
    return Bench(implementation, context_of(implementation, budget="default"), dialect=dialect)


def _judged(bench: Bench, lists: tuple[Names, ...]) -> tuple[int, list[Breach]]:
    count, kept = 0, list[Breach]()
    for layers, steps, judged in enumerated(lists):
        for breach in bench.judge(layers, steps, judged=judged):
            count += 1
            if len(kept) < SHOWN:
                kept.append(breach)
    return count, kept


def _summed(scenarios: int, parts: Iterable[tuple[int, list[Breach]]]) -> Exhausted:
    counted = list(parts)
    kept = [breach for _, breaches in counted for breach in breaches]
    return Exhausted(
        scenarios=scenarios,
        breaches=tuple(kept[:SHOWN]),
        breached=sum(count for count, _ in counted),
    )


# ---------------------------------------------------------------- a part of it, on any implementation


def run_sample(implementation: Implementation, *, sample: int, seed: int) -> Exhausted:
    """``sample`` scenarios of the alphabet, drawn by ``seed`` from those over layers that are declared."""
    context = context_of(implementation, budget="default")
    name = name_of(context.dialect) or "of its own"
    bench = Bench(_Answering(implementation), context, dialect=name)
    breaches: list[Breach] = []
    asked = unsupported = 0
    for layers, steps in drawn(context, sample=sample, seed=seed):
        asked += 1
        try:
            breaches += bench.judge(layers, steps)
        except Unsupported:
            unsupported += 1
        except Trouble as trouble:
            told = f"{trouble.outcome}: {trouble}"
            breaches.append(Breach(law="answer", message=told, dialect=name, layers=layers, steps=steps))
    return Exhausted(
        scenarios=asked, breaches=tuple(breaches[:SHOWN]), breached=len(breaches), unsupported=unsupported
    )


def drawn(context: Context, *, sample: int, seed: int) -> Iterator[tuple[Names, Names]]:
    """The same scenarios for the same seed and the same declared layers; each at most once."""
    usable = partial(_declared, context)
    lists = [names for names in layer_lists() if all(map(usable, names))]
    pairs = [(layers, steps) for layers in lists for steps in longest_sequences()]
    yield from random.Random(seed).sample(pairs, min(sample, len(pairs)))


def _declared(context: Context, name: str) -> bool:
    layer = LAYERS[name]
    kinds = {layer.kind, *(child.kind for child in getattr(layer, "children", ()))}
    return missing([f"layer:{kind}" for kind in kinds], context.info.capabilities) is None


class _Answering:
    """An implementation whose refusals are answers, and whose other exceptions are trouble."""

    def __init__(self, implementation: Implementation) -> None:
        self._implementation = implementation
        self.info = implementation.info

    def run(self, scenario: Scenario) -> Observation:
        """The observation; as :func:`examine` takes it."""
        return answer(self._implementation, scenario)
