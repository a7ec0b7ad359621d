"""`iterate` scenarios on the reference: turns of its token iterator over the scripted model, and their trace.

Meaning: ``docs/scenarios.md`` section 6.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from kvconform_reference import container, iterator, prefill
from kvconform_reference.dialect import Dialect

from ..observation import (
    DeprecationEvent,
    EndEvent,
    IterateObservation,
    NextEvent,
    StepError,
    TokenEvent,
    TurnRecord,
)
from ..pattern import prompt_tokens
from ..scenario import IterateScenario, Parameters, Turn
from ..scripted import players
from ..scripted.model import PrepareFailed, ScriptedModel, Trace
from . import reference_layers as layers
from . import reference_looks as looks
from .refusals import step_error


def run_iterate(scenario: IterateScenario, dialect: Dialect) -> IterateObservation:
    """One record a turn; a container that cannot be built as asked is a refusal of the whole scenario."""
    bench = _Bench(scenario, dialect)
    return IterateObservation(turns=tuple([bench.turn(turn) for turn in scenario.turns]))


class _Watched(iterator.TokenIterator):
    """A token iterator that its model knows from the start, so that players can look at its caches
    while the constructor runs.
    """

    def __init__(self, prompt: Any, model: _Model, **options: Any) -> None:
        model.iterator = self
        super().__init__(prompt, model, **options)


class _Model(ScriptedModel):
    """The scripted model, and the iterator of the current turn."""

    iterator: iterator.TokenIterator | None = None

    def current_list(self) -> Sequence[Any]:
        """What the current iterator's container lists right now."""
        return () if self.iterator is None else self.iterator.container.layers


class _Bench:
    """The caller of one scenario: its list, its container, the model, and the objects met, over all turns."""

    def __init__(self, scenario: IterateScenario, dialect: Dialect) -> None:
        slots = layers.number_layers(scenario.layers)
        built = layers.build_layers(slots, dialect)
        self._registry = looks.Registry(scenario.observe)
        self._registry.meet_all(built)
        self._dialect = dialect
        self._vocab = scenario.model.vocab
        self._model = _Model(
            scenario.model,
            slots=slots,
            layers=tuple(built),
            plan=lambda length, window: prefill.chunk_lengths(length, window, dialect.prefill),
        )
        self._caller: list[Any] | None = None if scenario.given == "model" else built
        self._kept: Any = None
        """The container that the caller has."""
        if scenario.given in ("container", "both"):
            options = scenario.built
            self._kept = container.CacheContainer(
                built, bits=options.bits, group_size=options.group_size, dialect=dialect
            )
        self._passed = self._first_passed(scenario.given)

    def turn(self, turn: Turn) -> TurnRecord:
        """Builds an iterator and asks it for tokens; an error ends the turn."""
        trace: Trace = []
        self._model.trace = trace
        self._model.iterator = None
        made: iterator.TokenIterator | None = None
        error: StepError | None = None
        times: tuple[float, float] | None = None
        try:
            made = self._build(turn, trace)
            times = (made.prefill_time, made.prefill_time)
            ask(made, turn.nexts, trace)
        except Exception as raised:
            error = turn_error(raised)
        holders = looks.meet_holders(self._registry, self._lists(made))
        return TurnRecord(
            error=error,
            trace=tuple(trace),
            count=None if made is None else made.count,
            prefill_times=None if made is None or times is None else (times[0], made.prefill_time),
            holders=holders,
            objects=self._registry.views(),
        )

    def _build(self, turn: Turn, trace: Trace) -> iterator.TokenIterator:
        if turn.cache == "caller-list":
            self._passed = self._old_list()
        prompt = prompt_tokens(turn.prompt.length, turn.prompt.seed, self._vocab)
        with logged_deprecation(trace) if turn.form == "prompt-array" else nullcontext():
            made = self._form(turn, prompt, trace)
        if "container" not in self._passed:
            self._kept = made.container
        self._passed = {"container": self._kept}
        return made

    def _form(self, turn: Turn, prompt: tuple[int, ...], trace: Trace) -> iterator.TokenIterator:
        watch = self._model.current_list
        common: dict[str, Any] = {
            "processor": players.explicit_processor(turn.processor, trace=trace, watch=watch),
            "dialect": self._dialect,
            **self._passed,
        }
        if turn.form == "sampler-first":
            return _Watched.with_sampler(
                prompt,
                self._model,
                sampler=players.named_sampler(turn.sampler, trace=trace),
                prefill_step=turn.parameters.prefill_step,
                max_tokens=turn.parameters.max_tokens,
                **common,
            )
        build = _Watched if turn.form == "general" else _Watched.from_prompt_array
        return build(
            prompt,
            self._model,
            parameters=logged_parameters(turn.parameters, trace, watch),
            sampler=players.explicit_sampler(turn.sampler, trace=trace),
            **common,
        )

    def _first_passed(self, given: str) -> dict[str, Any]:
        """What the first turn hands its iterator."""
        passed: dict[str, Any] = {}
        if given in ("list", "both"):
            passed["cache"] = self._caller
        if given in ("container", "both"):
            passed["container"] = self._kept
        return passed

    def _old_list(self) -> dict[str, Any]:
        """The list the caller made at first; without one, the first list that the model answered with."""
        old = self._model.answered if self._caller is None else self._caller
        return {} if old is None else {"cache": old}

    def _lists(self, made: iterator.TokenIterator | None) -> dict[str, Sequence[Any]]:
        """Each holder's current list, in the order in which new objects are numbered."""
        lists: dict[str, Sequence[Any]] = {}
        if self._kept is not None:
            working = self._kept if made is None else made.container
            lists = {"container": working.layers, "alias": self._kept.layers}
        if self._caller is not None:
            lists["caller"] = self._caller
        return lists


def ask(made: iterator.TokenIterator, nexts: int, trace: Trace) -> None:
    """Asks for tokens and logs what comes."""
    for _ in range(nexts):
        trace.append(NextEvent())
        token = made.next_token()
        trace.append(EndEvent() if token is None else TokenEvent(token=token))


def turn_error(raised: Exception) -> StepError:
    """The scripted model's own error by its name; others as in every step."""
    if isinstance(raised, PrepareFailed):
        return StepError(kind="model", message=str(raised))
    return step_error(raised)


def logged_parameters(parameters: Parameters, trace: Trace, watch: players.Watch) -> players.LoggedParameters:
    """The scenario's parameters for the iterator; their sampler and processor log."""
    return players.LoggedParameters(
        max_tokens=parameters.max_tokens,
        bits=parameters.bits,
        group_size=parameters.group_size,
        start=parameters.start,
        prefill_step=parameters.prefill_step,
        repetition_penalty=parameters.repetition_penalty,
        repetition_context_size=parameters.repetition_context_size,
        trace=trace,
        watch=watch,
    )


@contextmanager
def logged_deprecation(trace: Trace) -> Generator[None, None, None]:
    """Deprecation warnings go to the trace."""

    def show(_message: Any, category: type[Warning], *_where: Any) -> None:
        if issubclass(category, DeprecationWarning):
            trace.append(DeprecationEvent())

    with warnings.catch_warnings():
        warnings.simplefilter("always", DeprecationWarning)
        warnings.showwarning = show
        yield
