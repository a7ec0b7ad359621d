"""Processors and samplers of a scripted turn, for logits in plain lists; all of them write the trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kvconform_reference.parameters import GenerateParameters
from kvconform_reference.sampling import ArgmaxSampler, Processor, Sampler

from ..observation import DidSampleEvent, Event, ProcessEvent, PromptEvent, SampleEvent
from . import arithmetic, looks

Trace = list[Event]
Watch = Callable[[], Sequence[Any]]
"""The iterator's current list of caches, at the moment of the call."""


class BoostProcessor:
    """Adds so much to one logit, another one at each call, that the sampler takes its token."""

    def __init__(self) -> None:
        self._calls = 0

    def prompt(self, tokens: Any) -> None:
        """Nothing to keep."""

    def process(self, logits: Sequence[int]) -> list[int]:
        boosted = list(logits)
        boosted[arithmetic.boosted_token(self._calls, len(boosted))] += arithmetic.BOOST
        self._calls += 1
        return boosted

    def did_sample(self, token: int) -> None:
        """Nothing to keep."""


class ArgminSampler:
    """The lowest index of the lowest logit."""

    def sample(self, logits: Sequence[int]) -> int:
        return logits.index(min(logits))


class LoggedProcessor:
    """Another processor whose calls go to the trace."""

    def __init__(self, inner: Processor, *, trace: Trace, watch: Watch) -> None:
        self._inner = inner
        self._trace = trace
        self._watch = watch

    def prompt(self, tokens: Any) -> None:
        self._trace.append(PromptEvent(tokens=tuple(tokens)))
        self._inner.prompt(tokens)

    def process(self, logits: Any) -> Any:
        self._trace.append(ProcessEvent(caches=looks.signatures(self._watch())))
        return self._inner.process(logits)

    def did_sample(self, token: int) -> None:
        self._trace.append(DidSampleEvent(token=token))
        self._inner.did_sample(token)


class LoggedSampler:
    """Another sampler whose picks go to the trace."""

    def __init__(self, inner: Sampler, *, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace

    def sample(self, logits: Any) -> Any:
        token = self._inner.sample(logits)
        self._trace.append(SampleEvent(token=token))
        return token


@dataclass(frozen=True, kw_only=True)
class LoggedParameters(GenerateParameters):
    """Parameters whose own sampler and processor log, so that the iterator's choice of them stays its own."""

    trace: Trace
    watch: Watch

    def sampler(self) -> Sampler:
        return LoggedSampler(super().sampler(), trace=self.trace)

    def processor(self) -> Processor | None:
        inner = super().processor()
        return None if inner is None else LoggedProcessor(inner, trace=self.trace, watch=self.watch)


def named_sampler(name: str, *, trace: Trace) -> Sampler:
    """A logging sampler: ``argmin``, or argmax for every other name."""
    return LoggedSampler(ArgminSampler() if name == "argmin" else ArgmaxSampler(), trace=trace)


def explicit_sampler(name: str, *, trace: Trace) -> Sampler | None:
    """The sampler that a turn names; none when the parameters' is to be used."""
    return None if name == "parameters" else named_sampler(name, trace=trace)


def explicit_processor(name: str, *, trace: Trace, watch: Watch) -> Processor | None:
    """The processor that a turn names, logging; none when it names none."""
    return LoggedProcessor(BoostProcessor(), trace=trace, watch=watch) if name == "boost" else None
