"""What the trace of a token iterator must satisfy, in any design (IT, PR, ST, NX, PS, RF)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ..checks import Context, Finding
from ..observation import (
    CallEvent,
    DidSampleEvent,
    Event,
    IterateObservation,
    NewCacheEvent,
    PrepareEvent,
    ProcessEvent,
    PromptEvent,
    SampleEvent,
    TokenEvent,
)
from ..scenario import IterateScenario
from ..scripted import arithmetic
from . import traces
from .holders import expected_fill
from .traces import Script, Seen


def _finding(what: str, seen: Seen, expected: Any, observed: Any, *, at: str = "") -> Finding:
    prompt, parameters = seen.turn.prompt.length, seen.turn.parameters
    where = f"turn {seen.number}, prompt of {prompt}, prefill step {parameters.prefill_step}{at}"
    return Finding(message=f"{what}: {where}", expected=expected, observed=observed)


def no_turn_raises(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """MQ-17: no turn over an accepted list raises because of a layer."""
    for seen in traces.turns(scenario, observation):
        if seen.record.error is not None:
            kinds = ", ".join(traces.signature(layer) for layer in scenario.layers)
            yield _finding(
                "a turn raised because of a layer",
                seen,
                "tokens",
                seen.record.error.message,
                at=f", layers {kinds}",
            )


# ---------------------------------------------------------------- construction


def prefill_in_constructor(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """IT-1: the prompt has been fed and the first token sampled before the first next."""
    for seen in traces.whole_turns(scenario, observation):
        built = traces.construction(seen.record.trace)
        fed = sum(len(call.tokens) for call in traces.calls(built))
        expected, observed = (seen.turn.prompt.length, 1), (fed, len(traces.samples(built)))
        if expected != observed:
            yield _finding(
                "construction did not run the prefill", seen, *_tokens_and_samples(expected, observed)
            )


def _tokens_and_samples(expected: tuple[int, int], observed: tuple[int, int]) -> tuple[Any, Any]:
    names = ("tokens fed", "samples")
    return dict(zip(names, expected, strict=True)), dict(zip(names, observed, strict=True))


def prepare_error_reaches_caller(
    scenario: IterateScenario, observation: IterateObservation
) -> Iterator[Finding]:
    """IT-1: the model's own error comes through, and there is no iterator to ask."""
    for seen in traces.turns(scenario, observation):
        error = seen.record.error
        if error is None or error.kind != "model":
            told = "no error" if error is None else f"{error.kind}: {error.message}"
            yield _finding("prepare's error did not reach the caller", seen, "the model's error", told)
        if traces.rounds(seen.record.trace):
            yield _finding(
                "an iterator exists although prepare raised", seen, 0, len(traces.rounds(seen.record.trace))
            )


def begins_at_nothing(
    scenario: IterateScenario, observation: IterateObservation, *, counts: bool
) -> Iterator[Finding]:
    """IT-0: the state of the first call is none; the count of an iterator that was not asked is 0."""
    for seen in traces.whole_turns(scenario, observation):
        calls = traces.calls(seen.record.trace)
        if calls and calls[0].state is not None:
            yield _finding("the first call was handed a state", seen, None, calls[0].state)
        if counts and seen.turn.nexts == 0 and seen.record.count != 0:
            yield _finding("the count does not start at 0", seen, 0, seen.record.count)


def model_asked_once(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """CT-9, IT-2: the model is asked for a list exactly once when nothing was given, never otherwise."""
    for seen in traces.turns(scenario, observation):
        requests = len(traces.events(seen.record.trace, NewCacheEvent))
        expected = int(scenario.given == "model" and seen.number == 0)
        if requests != expected:
            yield _finding("the model was asked for a list another number of times", seen, expected, requests)


def container_used_as_is(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """IT-2: the given layers are written to, and who holds the container sees the iterator's list."""
    for seen in traces.whole_turns(scenario, observation):
        container, alias = seen.record.holders.get("container"), seen.record.holders.get("alias")
        if container != alias and seen.turn.cache == "same":
            yield _finding("the iterator does not work on the container it was given", seen, container, alias)
        yield from _wrong_layer_count(scenario, seen)
        if seen.number == 0:
            yield from _not_written(scenario, seen)


def _wrong_layer_count(scenario: IterateScenario, seen: Seen) -> Iterator[Finding]:
    held = len(seen.record.holders.get("container", ()))
    if held != len(scenario.layers):
        yield _finding(
            "the iterator's container holds another number of layers", seen, len(scenario.layers), held
        )


def _not_written(scenario: IterateScenario, seen: Seen) -> Iterator[Finding]:
    """The container's layers, as a holder of the container reads them, are at the end of all that was fed."""
    fed = sum(len(call.tokens) for call in traces.calls(seen.record.trace))
    listed = seen.record.holders.get("container", ())
    for index, (layer, number) in enumerate(zip(scenario.layers, listed, strict=False)):
        begun, offset = expected_fill(layer)["offset"], seen.record.objects[number].offset
        if begun is not None and offset != begun + fed:
            yield _finding(f"layer {index} of the container was not used", seen, begun + fed, offset)


def both_refused(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """IT-2: a list and a container together are an error, before the model is touched."""
    for seen in traces.turns(scenario, observation):
        if seen.record.error is None:
            yield _finding("a list and a container were both accepted", seen, "an error", "none")
        if traces.calls(seen.record.trace):
            yield _finding(
                "the model was called before the refusal", seen, 0, len(traces.calls(seen.record.trace))
            )


def bits_refused_first(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """MQ-0: an iterator refuses unsupported bits before the model is touched."""
    for seen in traces.turns(scenario, observation):
        error, calls = seen.record.error, len(traces.calls(seen.record.trace))
        if error is None or error.kind != "refused" or calls:
            told = {"error": None if error is None else f"{error.kind}: {error.message}", "calls": calls}
            expected = {"error": "refused", "calls": 0}
            yield _finding(f"bits {seen.turn.parameters.bits} were not refused first", seen, expected, told)


def never_quantizes(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """IT-5: no call and no holder ever sees a quantized layer."""
    for seen in traces.turns(scenario, observation):
        caches = [cache for call in traces.calls(seen.record.trace) for cache in call.caches]
        kinds = [seen.record.objects[number].kind for number in seen.record.holders.get("container", ())]
        if any(cache.startswith("Q") for cache in caches) or "quantized" in kinds:
            yield _finding(
                "the sampler-first form quantized", seen, "never", {"calls": caches, "kinds": kinds}
            )


def quantized_as_asked(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """IT-3: what is quantized has the parameters' bits and group size, and is past the parameters' start.

    For one plain layer whose dims every supported group size divides.
    """
    for seen in traces.whole_turns(scenario, observation):
        asked = seen.turn.parameters
        for number, call in enumerate(traces.calls(seen.record.trace)):
            for cache, offset in zip(call.caches, call.offsets, strict=True):
                if not cache.startswith("Q:"):
                    continue
                expected = f"Q:{asked.group_size},{asked.bits} from offset {asked.start} on"
                if cache != f"Q:{asked.group_size},{asked.bits}" or (offset or 0) < asked.start:
                    what = "a layer was quantized otherwise than the parameters ask"
                    yield _finding(what, seen, expected, f"{cache} at offset {offset}", at=f", call {number}")


def continues_at_offset(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """IT-7: the first call finds every layer at the offset that it was given with."""
    for seen in traces.turns(scenario, observation):
        calls = traces.calls(seen.record.trace)
        if seen.number == 0 and calls:
            expected = tuple(expected_fill(layer)["offset"] for layer in scenario.layers)
            if calls[0].offsets != expected:
                yield _finding("the first call is not at the given offset", seen, expected, calls[0].offsets)


def first_call_sees_given(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """ST-1: no pass runs before the first call, so it finds every layer as it was given."""
    for seen in traces.turns(scenario, observation):
        calls = traces.calls(seen.record.trace)
        if seen.number == 0 and calls:
            expected = tuple(traces.signature(layer) for layer in scenario.layers)
            if calls[0].caches != expected:
                yield _finding(
                    "the first call does not see the given caches", seen, expected, calls[0].caches
                )


# ---------------------------------------------------------------- prepare


def prompt_once_first(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """PR-1: the processor's prompt is called once, before everything else, with the whole prompt."""
    for seen in traces.turns(scenario, observation):
        trace = [event for event in seen.record.trace if not isinstance(event, NewCacheEvent)]
        prompts = [event for event in trace if isinstance(event, PromptEvent)]
        if len(prompts) != 1:
            yield _finding("the processor's prompt was not called exactly once", seen, 1, len(prompts))
            continue
        position = trace.index(prompts[0])
        if any(
            isinstance(event, CallEvent | PrepareEvent | ProcessEvent | SampleEvent)
            for event in trace[:position]
        ):
            yield _finding("the processor's prompt was not called first", seen, 0, position)
        expected = traces.prompt_of(scenario, seen.turn)
        if prompts[0].tokens != expected:
            yield _finding("the processor did not get the whole prompt", seen, expected, prompts[0].tokens)


def prepare_called_with_window(
    scenario: IterateScenario, observation: IterateObservation
) -> Iterator[Finding]:
    """PR-2: prepare is called once, with the prompt, and with the prefill step as its window."""
    for seen in traces.turns(scenario, observation):
        expected = [(seen.turn.prompt.length, seen.turn.parameters.prefill_step)]
        prepares = [event for event in seen.record.trace if isinstance(event, PrepareEvent)]
        observed = [(event.length, event.window) for event in prepares]
        if observed != expected:
            yield _finding("prepare was called with another prompt or window", seen, expected, observed)


def prepare_gets_no_state(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """PR-2: no call of the construction is handed a state (prepare's own calls, then the first step)."""
    for seen in traces.turns(scenario, observation):
        states = [call.state for call in traces.calls(traces.construction(seen.record.trace))]
        if any(state is not None for state in states):
            yield _finding("a call of the prefill was handed a state", seen, None, states)


def one_step_over_remaining(
    scenario: IterateScenario, observation: IterateObservation, context: Context
) -> Iterator[Finding]:
    """PR-3: every prompt token is fed exactly once, the remaining ones in one call; then comes one sample.

    That is the first token returned. How many chunks come before the remainder is the declared plan's.
    """
    for seen in traces.whole_turns(scenario, observation):
        built = _until_first_sample(seen)
        fed = tuple(token for call in traces.calls(built) for token in call.tokens)
        expected = traces.prompt_of(scenario, seen.turn)
        if fed != expected:
            yield _finding("the prompt was not fed exactly once", seen, expected, fed)
        chunks = len(plan(context.dialect.prefill, len(expected), seen.turn.parameters.prefill_step))
        if len(traces.calls(built)) != chunks:
            yield _finding("not one step over the remaining tokens", seen, chunks, len(traces.calls(built)))
        returned, sampled = traces.tokens(seen.record.trace), traces.samples(seen.record.trace)
        if returned and sampled and returned[0] != sampled[0]:
            yield _finding("the first token is not the one sampled first", seen, sampled[0], returned[0])


def _until_first_sample(seen: Seen) -> list[Event]:
    trace = seen.record.trace
    first = next((i for i, event in enumerate(trace) if isinstance(event, SampleEvent)), len(trace))
    return list(trace[: first + 1])


def empty_remainder_refused(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """PR-5: a clear error, no sample, no token."""
    for seen in traces.turns(scenario, observation):
        error, trace = seen.record.error, seen.record.trace
        if error is None or error.kind != "refused":
            told = "none" if error is None else f"{error.kind}: {error.message}"
            yield _finding("an empty remainder is no clear error", seen, "refused", told)
        if traces.samples(trace) or traces.tokens(trace):
            yield _finding("a token was sampled from an empty remainder", seen, [], traces.samples(trace))


def prompt_before_empty_remainder(
    scenario: IterateScenario, observation: IterateObservation
) -> Iterator[Finding]:
    """PR-5: the error comes after the processor's prompt."""
    for seen in traces.turns(scenario, observation):
        if not traces.events(seen.record.trace, PromptEvent):
            yield _finding("the error came before the processor's prompt", seen, "prompt", "no prompt")


def prefill_lengths(
    scenario: IterateScenario, observation: IterateObservation, context: Context
) -> Iterator[Finding]:
    """PR-6: the lengths of the calls up to the first sample, by the declared plan."""
    for seen in traces.whole_turns(scenario, observation):
        window, length = seen.turn.parameters.prefill_step, seen.turn.prompt.length
        expected = plan(context.dialect.prefill, length, window)
        observed = [len(call.tokens) for call in traces.calls(_until_first_sample(seen))]
        if observed != expected:
            yield _finding(f"prefill is not cut as {context.dialect.prefill} does", seen, expected, observed)


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
            yield _finding("a window below 1 was not refused first", seen, {"error": True, "calls": 0}, told)


# ---------------------------------------------------------------- steps


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
                yield _finding("a step is out of order", seen, expected, order, at=f", round {number}")


def cache_argument(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """ST-3: the current list, one entry a layer; none exactly when it is empty. Every call succeeds."""
    for seen in traces.turns(scenario, observation):
        if seen.record.error is not None:
            yield _finding("a call could not be made", seen, None, seen.record.error.message)
        for call in traces.calls(seen.record.trace):
            expected = (len(scenario.layers), not scenario.layers)
            observed = (len(call.caches), call.no_cache)
            if observed != expected:
                names = ("layers", "none")
                yield _finding(
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
            yield _finding(
                "the model does not work on the container's current layers", seen, expected, offsets
            )


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
                yield _finding(
                    "a round does not return the token sampled before, at one call",
                    seen,
                    dict(zip(names, expected, strict=True)),
                    dict(zip(names, (tokens, fed), strict=True)),
                    at=f", round {number}",
                )
            returned += 1


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
                yield _finding(
                    "a call was not handed the last state",
                    seen,
                    answer.state,
                    observed,
                    at=f", call {number + 1}",
                )


def prefill_offsets_add_up(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """PR-2: prepare works on the container's own caches: the step finds them where the chunks left them."""
    for seen in traces.whole_turns(scenario, observation):
        for before, after in pairwise(traces.calls(_until_first_sample(seen))):
            if after.offsets != _moved(before):
                what = "prepare did not work on the container's caches"
                yield _finding(what, seen, _moved(before), after.offsets)


def no_processing(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """PS-3: without a penalty and without an explicit processor nothing is processed."""
    kinds = (PromptEvent, ProcessEvent, DidSampleEvent)
    for seen in traces.turns(scenario, observation):
        found = [event.event for event in seen.record.trace if isinstance(event, kinds)]
        if found:
            yield _finding("parameters without a penalty give a processor", seen, [], found)


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
                yield _finding(what, seen, expected, event.token)
                return


def boosted(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """PS-1, IT-4: with the explicit boost processor and argmax every sample is the token it forces."""
    for seen in traces.whole_turns(scenario, observation):
        sampled = traces.samples(seen.record.trace)
        expected = [arithmetic.boosted_token(k, scenario.model.vocab) for k in range(len(sampled))]
        if sampled != expected:
            yield _finding("the sampler did not see the processed logits", seen, expected, sampled)


def processed_once_each(
    scenario: IterateScenario, observation: IterateObservation, *, told: bool
) -> Iterator[Finding]:
    """PS-1: as many process calls as samples; with ``told`` each sample is told to the processor at once."""
    for seen in traces.whole_turns(scenario, observation):
        trace = seen.record.trace
        sampled = traces.samples(trace)
        processed = len(traces.events(trace, ProcessEvent))
        if processed != len(sampled):
            yield _finding("process and sample were not called equally often", seen, len(sampled), processed)
        reported = [event.token for event in trace if isinstance(event, DidSampleEvent)]
        if told and reported != sampled:
            yield _finding("did-sample was not told every sampled token", seen, sampled, reported)


def offsets_add_up(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """ST-6: from call to call every offset moves by the tokens of the call, conversion or not."""
    for seen in traces.whole_turns(scenario, observation):
        calls = traces.calls(seen.record.trace)
        for number, (before, after) in enumerate(pairwise(calls)):
            expected = _moved(before)
            if after.offsets != expected:
                at = f", call {number + 1}"
                yield _finding(
                    "an offset did not move by the tokens of the call", seen, expected, after.offsets, at=at
                )


def _moved(call: CallEvent) -> tuple[int | None, ...]:
    return tuple(None if offset is None else offset + len(call.tokens) for offset in call.offsets)


# ---------------------------------------------------------------- next


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
            yield _finding("another number of tokens came out", seen, expected, observed)
        for number, events in enumerate(rounds):
            lazy_prefill = number == 0 and not traces.calls(traces.construction(seen.record.trace))
            if traces.ended(events) and traces.calls(events) and not lazy_prefill:
                calls = len(traces.calls(events))
                yield _finding(
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
            yield _finding(
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
                yield _finding(
                    f"layer {index} is at another offset after {tokens} tokens", seen, expected, offset
                )


def samples_and_count(
    scenario: IterateScenario, observation: IterateObservation, *, counts: bool
) -> Iterator[Finding]:
    """NX-3: k + 1 samples for k tokens; the count is k."""
    for seen in traces.whole_turns(scenario, observation):
        tokens, samples = len(traces.tokens(seen.record.trace)), len(traces.samples(seen.record.trace))
        if samples != tokens + 1:
            yield _finding(f"another number of samples for {tokens} tokens", seen, tokens + 1, samples)
        if counts and seen.record.count != tokens:
            yield _finding("the count is not the number of tokens returned", seen, tokens, seen.record.count)


def count_is_tokens(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """NX-5: the count rises once per returned token, also when an iterator is asked beyond its limit."""
    for seen in traces.whole_turns(scenario, observation):
        tokens = len(traces.tokens(seen.record.trace))
        if seen.record.count != tokens:
            yield _finding("the count is not the number of tokens returned", seen, tokens, seen.record.count)


def prefill_time_once(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """NX-5: above 0 after construction, and the same after the last next."""
    for seen in traces.whole_turns(scenario, observation):
        times = seen.record.prefill_times
        if times is None or times[0] <= 0 or times[0] != times[1]:
            yield _finding("the prefill time was not set once", seen, "one time above 0", times)


# ---------------------------------------------------------------- holders over turns


def next_turn_continues(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """RF-1: the first call of a turn finds the layers where the last call of the one before left them."""
    before: CallEvent | None = None
    for seen in traces.whole_turns(scenario, observation):
        calls = traces.calls(seen.record.trace)
        if not calls:
            return
        if before is not None and calls[0].offsets != _moved(before):
            yield _finding(
                "a turn does not continue where the last one ended", seen, _moved(before), calls[0].offsets
            )
        before = calls[-1]
