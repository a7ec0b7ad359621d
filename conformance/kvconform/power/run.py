"""Puts the catalogue on trial, in several processes."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial

from kvconform_reference.dialect import dialect_from, name_of

from ..errors import UserError, near_matches
from ..faults import Fault, FaultyImplementation, catalogued
from ..faults.fault import DialectSpec
from ..session import context_of
from ..suite import all_checks
from .corpus import Corpus
from .matrix import Matrix
from .trial import Kill, Trial, hunt, replayed

PROCESSES = 2
"""As many as the machines have that the suite is run on in CI."""


@dataclass(frozen=True, kw_only=True)
class PowerOptions:
    """What is asked of a run."""

    faults: tuple[str, ...] = ()
    """Names; empty: all."""
    budget: str = "default"
    seed: int
    matrix: bool = True
    """Whether every check is put to every fault, or only those of the requirements that it names."""
    processes: int = PROCESSES


Task = tuple[str, int]
"""A fault's name and the number of one of its dialects."""


def selected_faults(names: Sequence[str]) -> tuple[Fault, ...]:
    """The faults of these names, all of them for none; :class:`UserError` for an unknown one."""
    known = catalogued()
    for name in names:
        if name not in known:
            raise UserError(
                f"fault {name!r} is not known{near_matches(name, list(known))}. See docs/faults.md."
            )
    return tuple(known[name] for name in names) if names else tuple(known.values())


def tasks_of(options: PowerOptions) -> list[Task]:
    """One task for each dialect of each selected fault."""
    faults = selected_faults(options.faults)
    return [(fault.name, number) for fault in faults for number in range(len(fault.dialects))]


def run_power(options: PowerOptions, on_trial: Callable[[Trial], None] = lambda _trial: None) -> Matrix:
    """The trials of all selected faults in all their dialects, in the order of the catalogue."""
    trials: list[Trial] = []
    for trial in _trials(tasks_of(options), options):
        trials.append(trial)
        on_trial(trial)
    return Matrix(trials=tuple(trials), seed=options.seed, budget=options.budget, complete=options.matrix)


def _trials(tasks: Sequence[Task], options: PowerOptions) -> Iterator[Trial]:
    work = partial(try_fault, budget=options.budget, seed=options.seed, matrix=options.matrix)
    if min(options.processes, len(tasks)) < 2:
        yield from map(work, tasks)
        return
    forks = "fork" in multiprocessing.get_all_start_methods()
    if forks and options.matrix:
        _corpus_for(_key("proposal"), options.budget, options.seed).prepare(all_checks())
    how = multiprocessing.get_context("fork" if forks else "spawn")
    with ProcessPoolExecutor(min(options.processes, os.cpu_count() or 1), mp_context=how) as pool:
        yield from pool.map(work, tasks)


def try_fault(task: Task, *, budget: str, seed: int, matrix: bool) -> Trial:
    """One fault in one of its dialects: the requirements it names as in a run, then all others."""
    fault, dialect = catalogued()[task[0]], catalogued()[task[0]].dialects[task[1]]
    kills, examples, seconds = hunt(fault, dialect, all_checks(), seed=seed, budget=budget)
    if matrix:
        kills += _other_kills(fault, dialect, kills, budget=budget, seed=seed)
    return Trial(
        fault=fault.name,
        dialect=dialect_name(dialect),
        breaks=fault.breaks,
        kills=tuple(kills),
        examples=examples,
        seconds=seconds,
    )


def _other_kills(
    fault: Fault, dialect: DialectSpec, kills: Iterable[Kill], *, budget: str, seed: int
) -> list[Kill]:
    corpus = _corpus_for(_key(dialect), budget, seed)
    rest = [check for check in all_checks() if check.requirement not in fault.breaks]
    return list(replayed(fault, dialect, rest, corpus))


def dialect_name(dialect: DialectSpec) -> str:
    """A dialect's name, or what it says otherwise than the default."""
    if isinstance(dialect, str):
        return dialect
    return name_of(dialect_from(dialect)) or ", ".join(f"{name} = {value}" for name, value in dialect.items())


def _key(dialect: DialectSpec) -> str:
    return json.dumps(dialect if isinstance(dialect, str) else dict(dialect))


@cache
def _corpus_for(key: str, budget: str, seed: int) -> Corpus:
    """One corpus a dialect and process; what a fork finds here it does not ask for again."""
    harmless = Fault(name="none", does="Nothing.", breaks=(), seen="", dialects=(json.loads(key),))
    context = context_of(FaultyImplementation(harmless), budget=budget)
    info = context.info.model_copy(update={"name": "reference"})
    return Corpus(context=replace(context, info=info), seed=seed)
