"""What building an iterator must satisfy, in any design (IT, MQ-0, MQ-17)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..checks import Context, Finding
from ..observation import (
    IterateObservation,
    NewCacheEvent,
)
from ..scenario import IterateScenario
from . import traces
from .holders import expected_fill
from .traces import Seen


def no_turn_raises(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """MQ-17: no turn over an accepted list raises because of a layer."""
    for seen in traces.turns(scenario, observation):
        if seen.record.error is not None:
            kinds = ", ".join(traces.signature(layer) for layer in scenario.layers)
            yield traces.finding(
                "a turn raised because of a layer",
                seen,
                "tokens",
                seen.record.error.message,
                at=f", layers {kinds}",
            )


def prefill_in_constructor(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """IT-1: the prompt has been fed and the first token sampled before the first next."""
    for seen in traces.whole_turns(scenario, observation):
        built = traces.construction(seen.record.trace)
        fed = sum(len(call.tokens) for call in traces.calls(built))
        expected, observed = (seen.turn.prompt.length, 1), (fed, len(traces.samples(built)))
        if expected != observed:
            yield traces.finding(
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
            yield traces.finding("prepare's error did not reach the caller", seen, "the model's error", told)
        if traces.rounds(seen.record.trace):
            yield traces.finding(
                "an iterator exists although prepare raised", seen, 0, len(traces.rounds(seen.record.trace))
            )


def begins_at_nothing(
    scenario: IterateScenario, observation: IterateObservation, *, counts: bool
) -> Iterator[Finding]:
    """IT-0: the first step is handed no state; the count of an iterator that was not asked is 0."""
    for seen in traces.whole_turns(scenario, observation):
        calls = traces.calls(traces.until_first_sample(seen.record.trace))
        if calls and calls[-1].state is not None:
            yield traces.finding("the first step was handed a state", seen, None, calls[-1].state)
        if counts and seen.turn.nexts == 0 and seen.record.count != 0:
            yield traces.finding("the count does not start at 0", seen, 0, seen.record.count)


def model_asked_once(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """CT-9, IT-2: the model is asked for a list exactly once when nothing was given, never otherwise."""
    for seen in traces.turns(scenario, observation):
        requests = len(traces.events(seen.record.trace, NewCacheEvent))
        expected = int(scenario.given == "model" and seen.number == 0)
        if requests != expected:
            yield traces.finding(
                "the model was asked for a list another number of times", seen, expected, requests
            )


def container_used_as_is(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """IT-2: the given layers are written to, and who holds the container sees the iterator's list."""
    for seen in traces.whole_turns(scenario, observation):
        container, alias = seen.record.holders.get("container"), seen.record.holders.get("alias")
        if container != alias and seen.turn.cache == "same":
            yield traces.finding(
                "the iterator does not work on the container it was given", seen, container, alias
            )
        yield from _wrong_layer_count(scenario, seen)
        if seen.number == 0:
            yield from _not_written(scenario, seen)


def _wrong_layer_count(scenario: IterateScenario, seen: Seen) -> Iterator[Finding]:
    held = len(seen.record.holders.get("container", ()))
    if held != len(scenario.layers):
        yield traces.finding(
            "the iterator's container holds another number of layers", seen, len(scenario.layers), held
        )


def _not_written(scenario: IterateScenario, seen: Seen) -> Iterator[Finding]:
    """The container's layers, as a holder of the container reads them, are at the end of all that was fed."""
    fed = sum(len(call.tokens) for call in traces.calls(seen.record.trace))
    listed = seen.record.holders.get("container", ())
    for index, (layer, number) in enumerate(zip(scenario.layers, listed, strict=False)):
        begun, offset = expected_fill(layer)["offset"], seen.record.objects[number].offset
        if begun is not None and offset != begun + fed:
            yield traces.finding(f"layer {index} of the container was not used", seen, begun + fed, offset)


def both_refused(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """IT-2: a list and a container together are an error, before the model is touched."""
    for seen in traces.turns(scenario, observation):
        if seen.record.error is None:
            yield traces.finding("a list and a container were both accepted", seen, "an error", "none")
        if traces.calls(seen.record.trace):
            yield traces.finding(
                "the model was called before the refusal", seen, 0, len(traces.calls(seen.record.trace))
            )


def bits_refused_first(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """MQ-0: an iterator refuses unsupported bits before the model is touched."""
    for seen in traces.turns(scenario, observation):
        error, calls = seen.record.error, len(traces.calls(seen.record.trace))
        if error is None or error.kind != "refused" or calls:
            told = {"error": None if error is None else f"{error.kind}: {error.message}", "calls": calls}
            expected = {"error": "refused", "calls": 0}
            yield traces.finding(
                f"bits {seen.turn.parameters.bits} were not refused first", seen, expected, told
            )


def never_quantizes(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """IT-5: no call and no holder ever sees a quantized layer."""
    for seen in traces.turns(scenario, observation):
        caches = [cache for call in traces.calls(seen.record.trace) for cache in call.caches]
        kinds = [seen.record.objects[number].kind for number in seen.record.holders.get("container", ())]
        if any(cache.startswith("Q") for cache in caches) or "quantized" in kinds:
            yield traces.finding(
                "the sampler-first form quantized", seen, "never", {"calls": caches, "kinds": kinds}
            )


def quantized_as_asked(
    scenario: IterateScenario, observation: IterateObservation, context: Context
) -> Iterator[Finding]:
    """IT-3: the layer is quantized with the parameters' bits and group size, from the parameters' start on.

    For one plain layer whose dims every supported group size divides, and turns with bits.
    """
    for seen in traces.whole_turns(scenario, observation):
        asked = seen.turn.parameters
        start = 0 if context.dialect.threshold == "none" else asked.start
        expected = f"Q:{asked.group_size},{asked.bits} from offset {start} on"
        for number, (cache, offset, due) in enumerate(_layer_at_calls(seen, start)):
            as_asked = cache == f"Q:{asked.group_size},{asked.bits}" and offset >= start
            if (cache.startswith("Q:") and not as_asked) or (cache == "S" and due):
                what = "a layer was quantized otherwise than the parameters ask"
                yield traces.finding(
                    what, seen, expected, f"{cache} at offset {offset}", at=f", call {number}"
                )


def _layer_at_calls(seen: Seen, start: int) -> Iterator[tuple[str, int, bool]]:
    """Per call: what it found of the layer, at which offset, and whether a step has left it over the line."""
    first_step = len(traces.calls(traces.until_first_sample(seen.record.trace))) - 1
    for number, call in enumerate(traces.calls(seen.record.trace)):
        offset = call.offsets[0] or 0
        yield call.caches[0], offset, number > first_step and offset > start


def continues_at_offset(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """IT-7: the first call finds every layer at the offset that it was given with."""
    for seen in traces.turns(scenario, observation):
        calls = traces.calls(seen.record.trace)
        if seen.number == 0 and calls:
            expected = tuple(expected_fill(layer)["offset"] for layer in scenario.layers)
            if calls[0].offsets != expected:
                yield traces.finding(
                    "the first call is not at the given offset", seen, expected, calls[0].offsets
                )


def first_call_sees_given(scenario: IterateScenario, observation: IterateObservation) -> Iterator[Finding]:
    """ST-1: no pass runs before the first call, so it finds every layer as it was given."""
    for seen in traces.turns(scenario, observation):
        calls = traces.calls(seen.record.trace)
        if seen.number == 0 and calls:
            expected = tuple(traces.signature(layer) for layer in scenario.layers)
            if calls[0].caches != expected:
                yield traces.finding(
                    "the first call does not see the given caches", seen, expected, calls[0].caches
                )
