"""Reads the trace of a turn: construction, rounds of next, model calls, and what the model must have said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..checks import Finding
from ..observation import (
    CallEvent,
    EndEvent,
    Event,
    IterateObservation,
    NextEvent,
    SampleEvent,
    TokenEvent,
    TurnRecord,
)
from ..pattern import chain_all, prompt_tokens
from ..scenario import CompositeLayer, IterateScenario, Layer, RecurrentLayer, Turn
from ..scripted import arithmetic

Trace = Sequence[Event]


class Seen(NamedTuple):
    """A turn: what was asked, what came of it, where it stands in the scenario."""

    number: int
    turn: Turn
    record: TurnRecord


def turns(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Seen]:
    """Every turn."""
    for number, (turn, record) in enumerate(zip(scenario.turns, observation.turns, strict=True)):
        yield Seen(number, turn, record)


def whole_turns(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Seen]:
    """The turns before the first one that raised."""
    for seen in turns(scenario, observation):
        if seen.record.error is not None:
            return
        yield seen


def events(trace: Trace, kind: type[Event]) -> list[Event]:  # pyright: ignore[reportInvalidTypeForm]
    """The events of one kind."""
    return [event for event in trace if isinstance(event, kind)]  # pyright: ignore[reportArgumentType]


def calls(trace: Trace) -> list[CallEvent]:
    """The model calls."""
    return [event for event in trace if isinstance(event, CallEvent)]


def samples(trace: Trace) -> list[int]:
    """The tokens that were sampled."""
    return [event.token for event in trace if isinstance(event, SampleEvent)]


def tokens(trace: Trace) -> list[int]:
    """The tokens that were returned."""
    return [event.token for event in trace if isinstance(event, TokenEvent)]


def construction(trace: Trace) -> list[Event]:
    """What stands before the first next."""
    return list(
        trace[: next((i for i, event in enumerate(trace) if isinstance(event, NextEvent)), len(trace))]
    )


def until_first_sample(trace: Trace) -> list[Event]:
    """The prefill and the step that gives the first token, whether construction is lazy or not."""
    first = next((i for i, event in enumerate(trace) if isinstance(event, SampleEvent)), len(trace))
    return list(trace[: first + 1])


def rounds(trace: Trace) -> list[list[Event]]:
    """What stands behind each next, up to its token or end."""
    result: list[list[Event]] = []
    for event in trace:
        if isinstance(event, NextEvent):
            result.append([])
        elif result:
            result[-1].append(event)
    return result


def ended(events_of_round: Trace) -> bool:
    """Whether a round answered that it is done."""
    return any(isinstance(event, EndEvent) for event in events_of_round)


def prompt_of(scenario: IterateScenario, turn: Turn) -> tuple[int, ...]:
    """The tokens of a turn's prompt."""
    return prompt_tokens(turn.prompt.length, turn.prompt.seed, scenario.model.vocab)


def signature(layer: Layer) -> str:
    """The signature of a layer as its scenario fills it."""
    if isinstance(layer, CompositeLayer):
        return f"L({','.join(signature(child) for child in layer.children)})"
    if layer.kind == "quantized":
        return f"Q:{layer.group_size},{layer.bits}"
    return {"plain": "S", "chunked": "C", "rotating": "R", "recurrent": "M"}[layer.kind]


def finding(what: str, seen: Seen, expected: Any, observed: Any, *, at: str = "") -> Finding:
    prompt, parameters = seen.turn.prompt.length, seen.turn.parameters
    where = f"turn {seen.number + 1}, prompt of {prompt}, prefill step {parameters.prefill_step}{at}"
    return Finding(message=f"{what}: {where}", expected=expected, observed=observed)


def moved(call: CallEvent) -> tuple[int | None, ...]:
    return tuple(None if offset is None else offset + len(call.tokens) for offset in call.offsets)


# ---------------------------------------------------------------- the model, once more


@dataclass
class Script:
    """The scripted model beside the trace: what it must have answered to each call that was logged."""

    scenario: IterateScenario
    call: int = 0
    recurrent: list[int | None] = field(default_factory=list[int | None])

    def __post_init__(self) -> None:
        self.recurrent = [
            arithmetic.recurrent_filled(number)
            if isinstance(layer, RecurrentLayer) and layer.filled
            else None
            for number, layer in enumerate(self.scenario.layers)
        ]

    @staticmethod
    def can_follow(scenario: IterateScenario) -> bool:
        """Composites hide their children's offsets from the log: those lists are not followed."""
        return not any(isinstance(layer, CompositeLayer) for layer in scenario.layers)

    def answer(self, event: CallEvent) -> Answer:
        """The answer to the next logged call."""
        seen = self._seen(event)
        model = self.scenario.model
        targets = [arithmetic.target(seen, token, row, model.vocab) for row, token in enumerate(event.tokens)]
        last = event.tokens[-1] if event.tokens else 0
        state = arithmetic.next_state(model.state, self.call, event.state, last)
        for index, caches in enumerate(event.caches):
            if caches == "M" and index < len(self.recurrent):
                rows = len(event.tokens)
                self.recurrent[index] = arithmetic.recurrent_after(self.recurrent[index], rows, self.call)
        self.call += 1
        return Answer(targets, state, model.vocab, model.ties)

    def _seen(self, event: CallEvent) -> int:
        seen = chain_all(self.scenario.model.seed)
        for index, (cache, offset) in enumerate(zip(event.caches, event.offsets, strict=True)):
            if cache.startswith("Q:"):
                group_size, bits = map(int, cache[2:].split(","))
                seen = arithmetic.fold_quantized(seen, group_size, bits, offset or 0)
            elif cache == "M":
                state = self.recurrent[index] if index < len(self.recurrent) else None
                seen = arithmetic.fold_leaf(seen, "recurrent", state or 0)
            else:
                kind = {"S": "plain", "R": "rotating", "C": "chunked"}.get(cache, "plain")
                seen = arithmetic.fold_leaf(seen, kind, offset or 0)
        return arithmetic.fold_state(seen, event.state)


class Answer(NamedTuple):
    """What the model answered: the peak of each row's logits, and the state."""

    targets: list[int]
    state: int | None
    vocab: int
    ties: bool

    def logits(self, row: int = -1) -> list[int]:
        """The logits of one row."""
        return arithmetic.logits_around(self.targets[row], self.vocab, ties=self.ties)
