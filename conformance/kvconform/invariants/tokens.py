"""What comes out of an iterator, and what stays behind, in any design (NX, RF)."""

from __future__ import annotations

from collections.abc import Iterator

from ..checks import Context, Finding
from ..observation import (
    CallEvent,
    IterateObservation,
    TokenEvent,
)
from ..scenario import IterateScenario
from . import traces
from .holders import expected_fill


def tokens_fed_back(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """NX-2: each returned token was sampled a step earlier, and costs one call that is fed with it alone."""
    for seen in traces.whole_turns(scenario, observation):
        sampled = traces.samples(seen.record.trace)
        returned = 0
        for number, events in enumerate(traces.rounds(seen.record.trace)):
            tokens = [event.token for event in events if isinstance(event, TokenEvent)]
            if not tokens or returned >= len(sampled):
                continue
            fed = [list(call.tokens) for call in traces.calls(events)]
            # Where construction is lazy the first round holds the prefill as well (its first next is late).
            expected = ([sampled[returned]], [[sampled[returned]]])
            if (tokens, fed) != expected:
                names = ("returned", "fed")
                yield traces.finding(
                    "a round does not return the token sampled before, at one call",
                    seen,
                    dict(zip(names, expected, strict=True)),
                    dict(zip(names, (tokens, fed), strict=True)),
                    at=f", round {number}",
                )
            returned += 1


def limit_kept(
    scenario: IterateScenario, observation: IterateObservation, context: Context
) -> Iterator[Finding]:
    """NX-1: exactly max tokens come out, then the end for ever, without a model call."""
    for seen in traces.whole_turns(scenario, observation):
        limit = _limit(seen.turn.parameters.max_tokens, context)
        rounds = traces.rounds(seen.record.trace)
        expected = ["token" if limit is None or i < limit else "end" for i in range(seen.turn.nexts)]
        observed = ["end" if traces.ended(events) else "token" for events in rounds]
        if observed != expected:
            yield traces.finding("another number of tokens came out", seen, expected, observed)
        for number, events in enumerate(rounds):
            lazy_prefill = number == 0 and not traces.calls(traces.construction(seen.record.trace))
            if traces.ended(events) and traces.calls(events) and not lazy_prefill:
                calls = len(traces.calls(events))
                yield traces.finding(
                    "the model was called beyond the limit", seen, 0, calls, at=f", round {number}"
                )


def _limit(max_tokens: int | None, context: Context) -> int | None:
    if max_tokens is None or max_tokens >= 0:
        return max_tokens
    return 0 if context.dialect.negative_max_tokens == "none" else None


def unlimited(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """NX-4: without a limit every next gives a token, whatever the tokens are."""
    for seen in traces.whole_turns(scenario, observation):
        count = len(traces.tokens(seen.record.trace))
        if count != seen.turn.nexts:
            last = traces.tokens(seen.record.trace)[-1:]
            yield traces.finding(
                "the sequence ended by itself", seen, seen.turn.nexts, count, at=f", after token {last}"
            )


def final_offsets(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """NX-3: after k tokens every layer that maintains an offset is at its start + prompt + k."""
    for seen in traces.whole_turns(scenario, observation):
        if seen.number > 0:
            return
        tokens = len(traces.tokens(seen.record.trace))
        listed = seen.record.holders.get("container", ())
        for index, (layer, number) in enumerate(zip(scenario.layers, listed, strict=False)):
            begun, offset = expected_fill(layer)["offset"], seen.record.objects[number].offset
            if begun is not None and offset != begun + seen.turn.prompt.length + tokens:
                expected = begun + seen.turn.prompt.length + tokens
                yield traces.finding(
                    f"layer {index} is at another offset after {tokens} tokens", seen, expected, offset
                )


def samples_and_count(
    scenario: IterateScenario, observation: IterateObservation, *, counts: bool
) -> Iterator[Finding]:
    """NX-3: k + 1 samples for k tokens; the count is k."""
    for seen in traces.whole_turns(scenario, observation):
        tokens, samples = len(traces.tokens(seen.record.trace)), len(traces.samples(seen.record.trace))
        if samples != tokens + 1:
            yield traces.finding(f"another number of samples for {tokens} tokens", seen, tokens + 1, samples)
        if counts and seen.record.count != tokens:
            yield traces.finding(
                "the count is not the number of tokens returned", seen, tokens, seen.record.count
            )


def count_is_tokens(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """NX-5: the count rises once per returned token, also when an iterator is asked beyond its limit."""
    for seen in traces.whole_turns(scenario, observation):
        tokens = len(traces.tokens(seen.record.trace))
        if seen.record.count != tokens:
            yield traces.finding(
                "the count is not the number of tokens returned", seen, tokens, seen.record.count
            )


def prefill_time_once(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """NX-5: above 0 after construction, and the same after the last next."""
    for seen in traces.whole_turns(scenario, observation):
        times = seen.record.prefill_times
        if times is None or times[0] <= 0 or times[0] != times[1]:
            yield traces.finding("the prefill time was not set once", seen, "one time above 0", times)


def next_turn_continues(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """RF-1: the first call of a turn finds the layers where the last call of the one before left them."""
    before: CallEvent | None = None
    for seen in traces.whole_turns(scenario, observation):
        calls = traces.calls(seen.record.trace)
        if not calls:
            return
        if before is not None and calls[0].offsets != traces.moved(before):
            yield traces.finding(
                "a turn does not continue where the last one ended",
                seen,
                traces.moved(before),
                calls[0].offsets,
            )
        before = calls[-1]
