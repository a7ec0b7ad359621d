"""What the steps of an iterator must satisfy, in any design (ST, PS)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ..checks import Finding
from ..observation import (
    CallEvent,
    DidSampleEvent,
    IterateObservation,
    ProcessEvent,
    PromptEvent,
    SampleEvent,
)
from ..scenario import IterateScenario
from ..scripted import arithmetic
from . import traces
from .traces import Script


def step_order(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """ST-1: in every round: one call, then at most one process, one sample, at most one did-sample."""
    for seen in traces.whole_turns(scenario, observation):
        for number, events in enumerate(traces.rounds(seen.record.trace)):
            names = [event.event for event in events]
            if "call" not in names or "sample" not in names:
                continue
            order = [name for name in names if name in ("call", "process", "sample", "did-sample")]
            expected = [name for name in ("call", "process", "sample", "did-sample") if name in order]
            if order != expected:
                yield traces.finding("a step is out of order", seen, expected, order, at=f", round {number}")


def cache_argument(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """ST-3: the current list, one entry a layer; none exactly when it is empty. Every call succeeds."""
    for seen in traces.turns(scenario, observation):
        if seen.record.error is not None:
            yield traces.finding("a call could not be made", seen, None, seen.record.error.message)
        for call in traces.calls(seen.record.trace):
            expected = (len(scenario.layers), not scenario.layers)
            observed = (len(call.caches), call.no_cache)
            if observed != expected:
                names = ("layers", "none")
                yield traces.finding(
                    "a call got another list than the container's",
                    seen,
                    dict(zip(names, expected, strict=True)),
                    dict(zip(names, observed, strict=True)),
                )
                return


def last_call_on_current_list(
    scenario: IterateScenario, observation: IterateObservation
) -> Iterator[Finding]:
    """ST-3: what the last call wrote to is what the container lists now."""
    for seen in traces.whole_turns(scenario, observation):
        calls = traces.calls(seen.record.trace)
        if not calls or seen.turn.cache != "same":
            continue
        offsets = [seen.record.objects[number].offset for number in seen.record.holders.get("container", ())]
        expected = [
            None if offset is None else offset + len(calls[-1].tokens) for offset in calls[-1].offsets
        ]
        if offsets != expected:
            yield traces.finding(
                "the model does not work on the container's current layers", seen, expected, offsets
            )


def state_handed_on(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """ST-4: each step but the first is handed the state that the one before answered with, none too."""
    script = Script(scenario)
    for seen in traces.whole_turns(scenario, observation):
        built, all_calls = traces.construction(seen.record.trace), traces.calls(seen.record.trace)
        first_step = len(traces.calls(built)) - 1
        for number, call in enumerate(all_calls):
            answer = script.answer(call)
            if first_step <= number < len(all_calls) - 1 and all_calls[number + 1].state != answer.state:
                observed = all_calls[number + 1].state
                yield traces.finding(
                    "a call was not handed the last state",
                    seen,
                    answer.state,
                    observed,
                    at=f", call {number + 1}",
                )


def no_processing(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """PS-3: without a penalty and without an explicit processor nothing is processed."""
    kinds = (PromptEvent, ProcessEvent, DidSampleEvent)
    for seen in traces.turns(scenario, observation):
        found = [event.event for event in seen.record.trace if isinstance(event, kinds)]
        if found:
            yield traces.finding("parameters without a penalty give a processor", seen, [], found)


def sampled_as_argmax(
    scenario: IterateScenario, observation: IterateObservation, *, lengths: str = "all"
) -> Iterator[Finding]:
    """ST-5, PS-2, IT-4: each sample is the sampler's choice from the last row of the call before it.

    For scenarios without processors. ``lengths``: ``several`` looks at calls of several tokens only.
    """
    script = Script(scenario)
    for seen in traces.whole_turns(scenario, observation):
        choose = min if seen.turn.sampler == "argmin" else max
        answer: traces.Answer | None = None
        for event in seen.record.trace:
            if isinstance(event, CallEvent):
                answer = script.answer(event)
            if not isinstance(event, SampleEvent) or answer is None:
                continue
            logits = answer.logits()
            if (lengths == "all" or len(answer.targets) > 1) and event.token != logits.index(choose(logits)):
                expected = logits.index(choose(logits))
                what = f"the sample is not the {'arg' + choose.__name__} of the last row"
                yield traces.finding(what, seen, expected, event.token)
                return


def boosted(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """PS-1, IT-4: with the explicit boost processor and argmax every sample is the token it forces."""
    for seen in traces.whole_turns(scenario, observation):
        sampled = traces.samples(seen.record.trace)
        expected = [arithmetic.boosted_token(k, scenario.model.vocab) for k in range(len(sampled))]
        if sampled != expected:
            yield traces.finding("the sampler did not see the processed logits", seen, expected, sampled)


def processed_once_each(
    scenario: IterateScenario, observation: IterateObservation, *, told: bool
) -> Iterator[Finding]:
    """PS-1: as many process calls as samples; with ``told`` each sample is told to the processor at once."""
    yield from processed_as_often(scenario, observation, told=told)
    for seen in traces.whole_turns(scenario, observation) if told else ():
        trace = seen.record.trace
        sampled = traces.samples(trace)
        reported = [event.token for event in trace if isinstance(event, DidSampleEvent)]
        if reported != sampled:
            yield traces.finding("did-sample was not told every sampled token", seen, sampled, reported)


def processed_as_often(
    scenario: IterateScenario, observation: IterateObservation, *, told: bool
) -> Iterator[Finding]:
    """NX-3: as many process calls as samples, and with ``told`` as many did-samples."""
    for seen in traces.whole_turns(scenario, observation):
        trace = seen.record.trace
        sampled = len(traces.samples(trace))
        kinds = (ProcessEvent, DidSampleEvent) if told else (ProcessEvent,)
        for name, kind in zip(("process", "did-sample"), kinds, strict=False):
            called = len(traces.events(trace, kind))
            if called != sampled:
                yield traces.finding(
                    f"{name} and sample were not called equally often", seen, sampled, called
                )


def offsets_add_up(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """ST-6: from call to call every offset moves by the tokens of the call, conversion or not."""
    for seen in traces.whole_turns(scenario, observation):
        calls = traces.calls(seen.record.trace)
        for number, (before, after) in enumerate(pairwise(calls)):
            expected = traces.moved(before)
            if after.offsets != expected:
                at = f", call {number + 1}"
                yield traces.finding(
                    "an offset did not move by the tokens of the call", seen, expected, after.offsets, at=at
                )
