"""What the prefill of an iterator must satisfy, in any design (PR)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ..checks import Context, Finding
from ..observation import (
    CallEvent,
    IterateObservation,
    NewCacheEvent,
    PrepareEvent,
    ProcessEvent,
    PromptEvent,
    SampleEvent,
)
from ..scenario import IterateScenario
from . import traces


def prompt_once_first(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """PR-1: the processor's prompt is called once, before everything else, with the whole prompt."""
    for seen in traces.turns(scenario, observation):
        trace = [event for event in seen.record.trace if not isinstance(event, NewCacheEvent)]
        prompts = [event for event in trace if isinstance(event, PromptEvent)]
        if len(prompts) != 1:
            yield traces.finding("the processor's prompt was not called exactly once", seen, 1, len(prompts))
            continue
        position = trace.index(prompts[0])
        if any(
            isinstance(event, CallEvent | PrepareEvent | ProcessEvent | SampleEvent)
            for event in trace[:position]
        ):
            yield traces.finding("the processor's prompt was not called first", seen, 0, position)
        expected = traces.prompt_of(scenario, seen.turn)
        if prompts[0].tokens != expected:
            yield traces.finding(
                "the processor did not get the whole prompt", seen, expected, prompts[0].tokens
            )


def prepare_called_with_window(
    scenario: IterateScenario, observation: IterateObservation
) -> Iterator[Finding]:
    """PR-2: prepare is called once, with the prompt, and with the prefill step as its window."""
    for seen in traces.turns(scenario, observation):
        expected = [(seen.turn.prompt.length, seen.turn.parameters.prefill_step)]
        prepares = [event for event in seen.record.trace if isinstance(event, PrepareEvent)]
        observed = [(event.length, event.window) for event in prepares]
        if observed != expected:
            yield traces.finding("prepare was called with another prompt or window", seen, expected, observed)


def prepare_gets_no_state(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """PR-2: no call of prepare is handed a state; the step that follows them is IT-0's business."""
    for seen in traces.turns(scenario, observation):
        calls = traces.calls(traces.construction(seen.record.trace))
        states = [call.state for call in calls[:-1]]
        if any(state is not None for state in states):
            yield traces.finding("a call of the prefill was handed a state", seen, None, states)


def prefill_offsets_add_up(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """PR-2: prepare works on the container's own caches: the step finds them where the chunks left them."""
    for seen in traces.whole_turns(scenario, observation):
        for before, after in pairwise(traces.calls(traces.until_first_sample(seen.record.trace))):
            if after.offsets != traces.moved(before):
                what = "prepare did not work on the container's caches"
                yield traces.finding(what, seen, traces.moved(before), after.offsets)


def one_step_over_remaining(
    scenario: IterateScenario, observation: IterateObservation, context: Context
) -> Iterator[Finding]:
    """PR-3: every prompt token is fed exactly once, the remaining ones in one call; then comes one sample.

    That is the first token returned. How many chunks come before the remainder is the declared plan's.
    """
    for seen in traces.whole_turns(scenario, observation):
        built = traces.until_first_sample(seen.record.trace)
        fed = tuple(token for call in traces.calls(built) for token in call.tokens)
        expected = traces.prompt_of(scenario, seen.turn)
        if fed != expected:
            yield traces.finding("the prompt was not fed exactly once", seen, expected, fed)
        chunks = len(plan(context.dialect.prefill, len(expected), seen.turn.parameters.prefill_step))
        if len(traces.calls(built)) != chunks:
            yield traces.finding(
                "not one step over the remaining tokens", seen, chunks, len(traces.calls(built))
            )
        returned, sampled = traces.tokens(seen.record.trace), traces.samples(seen.record.trace)
        if returned and sampled and returned[0] != sampled[0]:
            yield traces.finding(
                "the first token is not the one sampled first", seen, sampled[0], returned[0]
            )


def empty_remainder_refused(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """PR-5: a clear error, no sample, no token."""
    for seen in traces.turns(scenario, observation):
        error, trace = seen.record.error, seen.record.trace
        if error is None or error.kind != "refused":
            told = "none" if error is None else f"{error.kind}: {error.message}"
            yield traces.finding("an empty remainder is no clear error", seen, "refused", told)
        if traces.samples(trace) or traces.tokens(trace):
            yield traces.finding(
                "a token was sampled from an empty remainder", seen, [], traces.samples(trace)
            )


def prompt_before_empty_remainder(
    scenario: IterateScenario, observation: IterateObservation
) -> Iterator[Finding]:
    """PR-5: the error comes after the processor's prompt."""
    for seen in traces.turns(scenario, observation):
        if not traces.events(seen.record.trace, PromptEvent):
            yield traces.finding("the error came before the processor's prompt", seen, "prompt", "no prompt")


def prefill_lengths(
    scenario: IterateScenario, observation: IterateObservation, context: Context
) -> Iterator[Finding]:
    """PR-6: the lengths of the calls up to the first sample, by the declared plan."""
    for seen in traces.whole_turns(scenario, observation):
        window, length = seen.turn.parameters.prefill_step, seen.turn.prompt.length
        expected = plan(context.dialect.prefill, length, window)
        observed = [len(call.tokens) for call in traces.calls(traces.until_first_sample(seen.record.trace))]
        if observed != expected:
            yield traces.finding(
                f"prefill is not cut as {context.dialect.prefill} does", seen, expected, observed
            )


def plan(prefill: str, length: int, window: int) -> list[int]:
    """The chunks of a prompt, peeled one by one as the specification words it."""
    if prefill == "balanced" and length > window:
        count = -(-(length - 1) // window)
        return [(length - 1 + count - 1 - i) // count for i in range(count)] + [1]
    reserved = 1 if prefill == "reserve-one" and length > 1 else 0
    remaining, chunks = length - reserved, list[int]()
    while remaining > window:
        chunks.append(window)
        remaining -= window
    return chunks + [remaining] * bool(remaining) + [1] * reserved


def window_refused(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """PR-6: a window below 1 is an error before any call."""
    for seen in traces.turns(scenario, observation):
        calls = len(traces.calls(seen.record.trace))
        if seen.record.error is None or calls:
            told = {"error": seen.record.error is not None, "calls": calls}
            yield traces.finding(
                "a window below 1 was not refused first", seen, {"error": True, "calls": 0}, told
            )
