"""Cases of iterate scenarios."""

from __future__ import annotations

from functools import partial
from typing import Any

from kvconform.invariants import building, prefills, steps, tokens
from suite_answers import both, context, put, scenario
from suite_cases import Case, with_context

EMPTY = {"kind": "plain"}
WIDE = {"kind": "plain", "key_dim": 128, "value_dim": 128}
WARM = {"kind": "plain", "length": 3}
PROPOSAL = context()
REFUSED = {"kind": "refused", "message": "no"}
INTERNAL = {"kind": "internal", "message": "oops"}


def turn(
    prompt: int = 1, nexts: int = 1, fields: dict[str, Any] | None = None, **parameters: Any
) -> dict[str, Any]:
    return {"prompt": {"length": prompt}, "parameters": parameters, "nexts": nexts, **(fields or {})}


def made(*turns: Any, layers: Any = (EMPTY,), **fields: Any) -> Any:
    return scenario("iterate", layers=list(layers), turns=list(turns), **fields)


def event(name: str, number: int = 0, *, at: int = 0) -> Any:
    """Finds event ``number`` of a kind in turn ``at``."""

    def find(data: Any) -> tuple[list[Any], int]:
        trace = data["turns"][at]["trace"]
        places = [i for i, one in enumerate(trace) if one["event"] == name]
        return trace, places[number]

    return find


def drop(found: Any) -> Any:
    def edit(data: Any) -> None:
        trace, place = found(data)
        del trace[place]

    return edit


def repeat(found: Any) -> Any:
    def edit(data: Any) -> None:
        trace, place = found(data)
        trace.insert(place, dict(trace[place]))

    return edit


def change(found: Any, **fields: Any) -> Any:
    def edit(data: Any) -> None:
        trace, place = found(data)
        trace[place].update(fields)

    return edit


def replace(found: Any, other: dict[str, Any]) -> Any:
    def edit(data: Any) -> None:
        trace, place = found(data)
        trace[place] = other

    return edit


def move(found: Any, *, by: int) -> Any:
    def edit(data: Any) -> None:
        trace, place = found(data)
        trace.insert(place + by, trace.pop(place))

    return edit


def other_token(found: Any) -> Any:
    """The next token of the vocabulary instead."""

    def edit(data: Any) -> None:
        trace, place = found(data)
        trace[place]["token"] = (trace[place]["token"] + 1) % 61

    return edit


BITS = {"bits": 4}
BOOST = {"processor": "boost"}
ALWAYS = {"state": "always"}
DECLARED = partial(with_context, context=PROPOSAL)

CASES = (
    Case(
        name="a turn that raises",
        statement=building.no_turn_raises,
        scenario=made(turn(**BITS), layers=[{"kind": "rotating"}]),
        wrong=put("turns.0.error", REFUSED),
        says="a turn raised because of a layer",
    ),
    Case(
        name="a lazy constructor",
        statement=building.prefill_in_constructor,
        scenario=made(turn()),
        wrong=move(event("next"), by=-3),
        says="construction did not run the prefill",
    ),
    Case(
        name="a swallowed error of prepare",
        statement=building.prepare_error_reaches_caller,
        scenario=made(turn(), model={"prepare": "raise"}),
        wrong=put("turns.0.error", None),
        says="prepare's error did not reach the caller",
    ),
    Case(
        name="an iterator after an error of prepare",
        statement=building.prepare_error_reaches_caller,
        scenario=made(turn(), model={"prepare": "raise"}),
        wrong=lambda data: data["turns"][0]["trace"].append({"event": "next"}),
        says="an iterator exists although prepare raised",
    ),
    Case(
        name="a state from the start",
        statement=partial(building.begins_at_nothing, counts=True),
        scenario=made(turn(nexts=0)),
        wrong=change(event("call"), state=0),
        says="the first step was handed a state",
    ),
    Case(
        name="a count from the start",
        statement=partial(building.begins_at_nothing, counts=True),
        scenario=made(turn(nexts=0)),
        wrong=put("turns.0.count", 1),
        says="the count does not start at 0",
    ),
    Case(
        name="a model asked twice",
        statement=building.model_asked_once,
        scenario=made(turn(), given="model"),
        wrong=repeat(event("new-cache")),
        says="the model was asked for a list another number of times",
    ),
    Case(
        name="a container that is not used",
        statement=building.container_used_as_is,
        scenario=made(turn(), given="container"),
        wrong=put("turns.0.objects.0.offset", 0),
        says="layer 0 of the container was not used",
    ),
    Case(
        name="a container of its own",
        statement=building.container_used_as_is,
        scenario=made(turn(2, 2, **BITS), given="container", built={"bits": 4}),
        wrong=put("turns.0.holders.alias", [0]),
        says="the iterator does not work on the container it was given",
    ),
    Case(
        name="a container that loses its layers",
        statement=building.container_used_as_is,
        scenario=made(turn(), given="container"),
        wrong=both(put("turns.0.holders.alias", []), put("turns.0.holders.container", [])),
        says="the iterator's container holds another number of layers",
    ),
    Case(
        name="a list and a container accepted",
        statement=building.both_refused,
        scenario=made(turn(), given="both"),
        wrong=put("turns.0.error", None),
        says="a list and a container were both accepted",
    ),
    Case(
        name="a call before the refusal",
        statement=building.both_refused,
        scenario=made(turn(), given="both"),
        wrong=lambda data: data["turns"][0]["trace"].append(
            {"event": "call", "tokens": [1], "offsets": [0], "caches": ["S"]}
        ),
        says="the model was called before the refusal",
    ),
    Case(
        name="bits refused too late",
        statement=building.bits_refused_first,
        scenario=made(turn(bits=7)),
        wrong=lambda data: data["turns"][0]["trace"].append(
            {"event": "call", "tokens": [1], "offsets": [0], "caches": ["S"]}
        ),
        says="bits 7 were not refused first",
    ),
    Case(
        name="a sampler-first form that quantizes",
        statement=building.never_quantizes,
        scenario=made(turn(fields={"form": "sampler-first", "sampler": "argmax"}, **BITS)),
        wrong=change(event("call", 1), caches=["Q:64,4"]),
        says="the sampler-first form quantized",
    ),
    Case(
        name="another group size than asked",
        statement=DECLARED(building.quantized_as_asked),
        scenario=made(turn(nexts=2, group_size=32, **BITS), layers=[WIDE]),
        wrong=change(event("call", 1), caches=["Q:64,4"]),
        says="a layer was quantized otherwise than the parameters ask",
    ),
    Case(
        name="bits that are not handed on",
        statement=DECLARED(building.quantized_as_asked),
        scenario=made(turn(nexts=2, **BITS), layers=[WIDE]),
        wrong=change(event("call", 2), caches=["S"]),
        says="a layer was quantized otherwise than the parameters ask",
    ),
    Case(
        name="an earlier start than asked",
        statement=DECLARED(building.quantized_as_asked),
        scenario=made(turn(nexts=3, start=2, **BITS), layers=[WIDE]),
        wrong=change(event("call", 1), caches=["Q:64,4"]),
        says="a layer was quantized otherwise than the parameters ask",
    ),
    Case(
        name="a warm cache taken for an empty one",
        statement=building.continues_at_offset,
        scenario=made(turn(), layers=[WARM]),
        wrong=change(event("call"), offsets=[0]),
        says="the first call is not at the given offset",
    ),
    Case(
        name="a pass before the first call",
        statement=building.first_call_sees_given,
        scenario=made(turn(**BITS), layers=[WARM]),
        wrong=change(event("call"), caches=["Q:64,4"]),
        says="the first call does not see the given caches",
    ),
    Case(
        name="a prompt given twice",
        statement=prefills.prompt_once_first,
        scenario=made(turn(fields=BOOST)),
        wrong=repeat(event("prompt")),
        says="the processor's prompt was not called exactly once",
    ),
    Case(
        name="a prompt given late",
        statement=prefills.prompt_once_first,
        scenario=made(turn(fields=BOOST)),
        wrong=move(event("prompt"), by=2),
        says="the processor's prompt was not called first",
    ),
    Case(
        name="the remaining tokens instead of the prompt",
        statement=prefills.prompt_once_first,
        scenario=made(turn(3, fields=BOOST, prefill_step=2)),
        wrong=change(event("prompt"), tokens=[1]),
        says="the processor did not get the whole prompt",
    ),
    Case(
        name="another window",
        statement=prefills.prepare_called_with_window,
        scenario=made(turn(3, prefill_step=2)),
        wrong=change(event("prepare"), window=512),
        says="prepare was called with another prompt or window",
    ),
    Case(
        name="a state in the prefill",
        statement=prefills.prepare_gets_no_state,
        scenario=made(turn(3, prefill_step=2), model=ALWAYS),
        wrong=change(event("call"), state=5),
        says="a call of the prefill was handed a state",
    ),
    Case(
        name="a prefill of copies",
        statement=prefills.prefill_offsets_add_up,
        scenario=made(turn(3, prefill_step=2)),
        wrong=change(event("call", 1), offsets=[0]),
        says="prepare did not work on the container's caches",
    ),
    Case(
        name="a token that is fed twice",
        statement=DECLARED(prefills.one_step_over_remaining),
        scenario=made(turn(3, prefill_step=2)),
        wrong=repeat(event("call", 1)),
        says="the prompt was not fed exactly once",
    ),
    Case(
        name="a remainder in two steps",
        statement=DECLARED(prefills.one_step_over_remaining),
        scenario=made(turn(2)),
        wrong=lambda data: data["turns"][0]["trace"].__setitem__(
            slice(1, 2),
            [
                {**data["turns"][0]["trace"][1], "tokens": [token]}
                for token in data["turns"][0]["trace"][1]["tokens"]
            ],
        ),
        says="not one step over the remaining tokens",
    ),
    Case(
        name="a first token that was not sampled first",
        statement=DECLARED(prefills.one_step_over_remaining),
        scenario=made(turn()),
        wrong=other_token(event("token")),
        says="the first token is not the one sampled first",
    ),
    Case(
        name="a trap on an empty prompt",
        statement=prefills.empty_remainder_refused,
        scenario=made(turn(0)),
        wrong=put("turns.0.error", INTERNAL),
        says="an empty remainder is no clear error",
    ),
    Case(
        name="a token from nothing",
        statement=prefills.empty_remainder_refused,
        scenario=made(turn(0)),
        wrong=lambda data: data["turns"][0]["trace"].append({"event": "sample", "token": 3}),
        says="a token was sampled from an empty remainder",
    ),
    Case(
        name="an error before the processor's prompt",
        statement=prefills.prompt_before_empty_remainder,
        scenario=made(turn(0, fields=BOOST)),
        wrong=drop(event("prompt")),
        says="the error came before the processor's prompt",
    ),
    Case(
        name="a window that is ignored",
        statement=DECLARED(prefills.prefill_lengths),
        scenario=made(turn(3, prefill_step=2)),
        wrong=both(drop(event("call")), change(event("call"), tokens=[8, 8, 8])),
        says="prefill is not cut as window does",
    ),
    Case(
        name="a window of nothing that is taken",
        statement=prefills.window_refused,
        scenario=made(turn(2, prefill_step=0)),
        wrong=put("turns.0.error", None),
        says="a window below 1 was not refused first",
    ),
    Case(
        name="a sample before the processing",
        statement=steps.step_order,
        scenario=made(turn(fields=BOOST)),
        wrong=move(event("sample", 1), by=-1),
        says="a step is out of order",
    ),
    Case(
        name="an empty list instead of none",
        statement=steps.cache_argument,
        scenario=made(turn(), layers=[]),
        wrong=change(event("call"), no_cache=False),
        says="a call got another list than the container's",
    ),
    Case(
        name="a call that the model does not understand",
        statement=steps.cache_argument,
        scenario=made(turn()),
        wrong=put("turns.0.error", INTERNAL),
        says="a call could not be made",
    ),
    Case(
        name="the old list",
        statement=steps.last_call_on_current_list,
        scenario=made(turn(nexts=2, **BITS)),
        wrong=put("turns.0.objects.1.offset", 1),
        says="the model does not work on the container's current layers",
    ),
    Case(
        name="a state that is dropped",
        statement=steps.state_handed_on,
        scenario=made(turn(nexts=2), model=ALWAYS),
        wrong=change(event("call", 1), state=None),
        says="a call was not handed the last state",
    ),
    Case(
        name="a state that is kept too long",
        statement=steps.state_handed_on,
        scenario=made(turn(nexts=3), model={"state": "alternate"}),
        wrong=change(event("call", 2), state=7),
        says="a call was not handed the last state",
    ),
    Case(
        name="a processor of nobody's",
        statement=steps.no_processing,
        scenario=made(turn()),
        wrong=lambda data: data["turns"][0]["trace"].append({"event": "process", "caches": []}),
        says="parameters without a penalty give a processor",
    ),
    Case(
        name="logits of another row",
        statement=partial(steps.sampled_as_argmax, lengths="several"),
        scenario=made(turn(3)),
        wrong=other_token(event("sample")),
        says="the sample is not the argmax of the last row",
    ),
    Case(
        name="the higher index of a tie",
        statement=steps.sampled_as_argmax,
        scenario=made(turn(nexts=2), model={"ties": True}),
        wrong=other_token(event("sample")),
        says="the sample is not the argmax of the last row",
    ),
    Case(
        name="another sampler than the explicit one",
        statement=steps.sampled_as_argmax,
        scenario=made(turn(fields={"sampler": "argmin"})),
        wrong=other_token(event("sample", 1)),
        says="the sample is not the argmin of the last row",
    ),
    Case(
        name="unprocessed logits",
        statement=steps.boosted,
        scenario=made(turn(fields={**BOOST, "sampler": "argmax"})),
        wrong=other_token(event("sample")),
        says="the sampler did not see the processed logits",
    ),
    Case(
        name="processed twice",
        statement=partial(steps.processed_once_each, told=True),
        scenario=made(turn(fields=BOOST)),
        wrong=repeat(event("process")),
        says="process and sample were not called equally often",
    ),
    Case(
        name="a did-sample too few",
        statement=partial(steps.processed_as_often, told=True),
        scenario=made(turn(fields=BOOST)),
        wrong=drop(event("did-sample", 1)),
        says="did-sample and sample were not called equally often",
    ),
    Case(
        name="a lookahead token that the processor is not told",
        statement=partial(steps.processed_once_each, told=True),
        scenario=made(turn(fields=BOOST)),
        wrong=drop(event("did-sample", 1)),
        says="did-sample was not told every sampled token",
    ),
    Case(
        name="an offset that stands still",
        statement=steps.offsets_add_up,
        scenario=made(turn(nexts=2, **BITS)),
        wrong=change(event("call", 2), offsets=[1]),
        says="an offset did not move by the tokens of the call",
    ),
    Case(
        name="no lookahead",
        statement=tokens.tokens_fed_back,
        scenario=made(turn(nexts=2)),
        wrong=other_token(event("token", 1)),
        says="a round does not return the token sampled before",
    ),
    Case(
        name="a round without its call",
        statement=tokens.tokens_fed_back,
        scenario=made(turn(nexts=2)),
        wrong=drop(event("call", 2)),
        says="a round does not return the token sampled before",
    ),
    Case(
        name="a token too many",
        statement=DECLARED(tokens.limit_kept),
        scenario=made(turn(nexts=2, max_tokens=1)),
        wrong=replace(event("end"), {"event": "token", "token": 3}),
        says="another number of tokens came out",
    ),
    Case(
        name="a call beyond the limit",
        statement=DECLARED(tokens.limit_kept),
        scenario=made(turn(nexts=2, max_tokens=1)),
        wrong=lambda data: data["turns"][0]["trace"].insert(
            -1, {"event": "call", "tokens": [1], "offsets": [0], "caches": ["S"]}
        ),
        says="the model was called beyond the limit",
    ),
    Case(
        name="an end of its own",
        statement=tokens.unlimited,
        scenario=made(turn(nexts=3)),
        wrong=replace(event("token", 2), {"event": "end"}),
        says="the sequence ended by itself",
    ),
    Case(
        name="an offset short of one",
        statement=tokens.final_offsets,
        scenario=made(turn(nexts=2)),
        wrong=put("turns.0.objects.0.offset", 2),
        says="layer 0 is at another offset after 2 tokens",
    ),
    Case(
        name="a sample too few",
        statement=partial(tokens.samples_and_count, counts=True),
        scenario=made(turn(nexts=2)),
        wrong=drop(event("sample", 2)),
        says="another number of samples for 2 tokens",
    ),
    Case(
        name="a count short of one",
        statement=partial(tokens.samples_and_count, counts=True),
        scenario=made(turn(nexts=2)),
        wrong=put("turns.0.count", 1),
        says="the count is not the number of tokens returned",
    ),
    Case(
        name="a count that goes on",
        statement=tokens.count_is_tokens,
        scenario=made(turn(nexts=3, max_tokens=1)),
        wrong=put("turns.0.count", 3),
        says="the count is not the number of tokens returned",
    ),
    Case(
        name="a prefill time that moves",
        statement=tokens.prefill_time_once,
        scenario=made(turn()),
        wrong=put("turns.0.prefill_times", [0.5, 0.6]),
        says="the prefill time was not set once",
    ),
    Case(
        name="a prefill time of nothing",
        statement=tokens.prefill_time_once,
        scenario=made(turn()),
        wrong=put("turns.0.prefill_times", [0.0, 0.0]),
        says="the prefill time was not set once",
    ),
    Case(
        name="a second turn from the start",
        statement=tokens.next_turn_continues,
        scenario=made(turn(), turn()),
        wrong=change(event("call", at=1), offsets=[0]),
        says="a turn does not continue where the last one ended",
    ),
)
