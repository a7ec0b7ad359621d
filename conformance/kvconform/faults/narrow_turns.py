"""Faults that show in one place only, in turns (IT to RF); see :mod:`.narrow_layers`."""

from __future__ import annotations

from typing import Any

from kvconform_reference.arrays import ListOps
from kvconform_reference.iterator import TokenIterator
from kvconform_reference.sampling import RepetitionPenaltyProcessor

from .fault import Fault
from .planting import Stand, wrapped

# ---------------------------------------------------------------- construction and prefill


def _is_warm(made: Any) -> bool:
    return any(layer.offset for layer in made.container.layers)


def _begins(original: Any, made: Any, prompt: Any) -> Any:
    made.begun_warm = _is_warm(made)
    return original(made, prompt)


def _first_step_of_a_warm_turn(original: Any, made: Any, tokens: Any) -> Any:
    if made.begun_warm and "_pending" not in vars(made):
        made._state = 0
    return original(made, tokens)


def _clips_window(original: Any, made: Any, prompt: Any) -> Any:
    model = made._model

    def prepare(tokens: Any, cache: Any, window: int) -> Any:
        return model.prepare(tokens, cache, min(window, max(1, len(tokens))))

    made._model = Stand(model, prepare=prepare)
    return original(made, prompt)


LONG = 9
"""Tokens from which on a prompt counts as long."""


def _swaps_first_two(original: Any, made: Any, prompt: Any) -> Any:
    if len(prompt) < LONG or made._parameters.prefill_step < 2:
        return original(made, prompt)
    model = made._model

    def prepare(tokens: Any, cache: Any, window: int) -> Any:
        return model.prepare((tokens[1], tokens[0], *tokens[2:]), cache, window)

    made._model = Stand(model, prepare=prepare)
    return original(made, prompt)


def _explicit_prompt_cut(original: Any, made: Any, explicit: Any) -> Any:
    chosen = original(made, explicit)
    if explicit is None:
        return chosen
    return Stand(chosen, prompt=lambda tokens: chosen.prompt(tokens[-1:]))


def _counts_chunks(original: Any, made: Any, prompt: Any) -> Any:
    made.chunk = 0
    return original(made, prompt)


def _no_pass_after_the_second(original: Any, made: Any, chunk: Any) -> None:
    made.chunk = vars(made).get("chunk", 0) + 1
    if made.chunk == 2:
        made._call_model(chunk, None)
    else:
        original(made, chunk)


PREFILL = (
    Fault(
        name="warm-turn-begins-with-a-state",
        does="The step over the prompt of a warm cache is handed state 0.",
        breaks=("IT-0",),
        seen="hazard of IT-0: state starts as none",
        patches=(
            wrapped(TokenIterator, "_timed_prepare", _begins),
            wrapped(TokenIterator, "_step", _first_step_of_a_warm_turn),
        ),
    ),
    Fault(
        name="window-no-longer-than-the-prompt",
        does="The model's prepare gets a window that was cut down to the prompt.",
        breaks=("PR-2",),
        seen="hazard of PR-2: the prefill step as its window",
        patches=(wrapped(TokenIterator, "_prepare", _clips_window),),
    ),
    Fault(
        name="first-two-tokens-swapped",
        does="The first two tokens of a long prompt change places on their way to the model.",
        breaks=("PR-3",),
        seen="hazard of PR-3: exactly one step over the remaining tokens",
        patches=(wrapped(TokenIterator, "_prepare", _swaps_first_two),),
    ),
    Fault(
        name="explicit-processor-gets-the-last-token",
        does="The prompt of an explicit processor gets the last token only.",
        breaks=("PR-1",),
        seen="B57: processors get only the last prompt token",
        patches=(wrapped(TokenIterator, "_processor_for", _explicit_prompt_cut),),
    ),
    Fault(
        name="no-pass-after-the-second-chunk",
        does="No pass runs after the second chunk of a prompt.",
        breaks=("PR-7",),
        seen="B09: kinds by prompt progress",
        patches=(
            wrapped(TokenIterator, "_prepare", _counts_chunks),
            wrapped(TokenIterator, "_feed", _no_pass_after_the_second),
        ),
        dialects=("mlx-lm",),
    ),
)

# ---------------------------------------------------------------- steps and tokens


def _old_state_without_a_processor(original: Any, made: Any, result: Any) -> None:
    if result.state is not None or made._processor is not None:
        original(made, result)


def _first_position_when_quantizing(original: Any, made: Any, result: Any) -> Any:
    if made._parameters.bits is None or not vars(made).get("own_sampler"):
        return original(made, result)
    return result.logits[0][0]


def _notes_own_sampler(original: Any, made: Any, explicit: Any) -> Any:
    made.own_sampler = explicit is None
    return original(made, explicit)


def _newest_from_the_third(original: Any, made: Any) -> Any:
    token = original(made)
    return token if token is None or made._count < 3 else made._ops.integer(made._pending)


def _notes_logits(original: Any, made: Any, logits: Any) -> Any:
    made.last_logits = logits
    return original(made, logits)


def _samples_at_the_end(original: Any, made: Any) -> Any:
    token = original(made)
    if token is None and made._count and not vars(made).get("sampled_at_end"):
        made.sampled_at_end = True
        made._sampler.sample(made.last_logits)
    return token


def _told_the_one_before(original: Any, made: Any, explicit: Any) -> Any:
    chosen = original(made, explicit)
    if explicit is None or made._parameters.repetition_penalty is not None:
        return chosen
    told: list[Any] = []

    def did_sample(token: Any) -> None:
        told.append(token)
        chosen.did_sample(told[max(0, len(told) - 2)])

    return Stand(chosen, did_sample=did_sample)


def _last_of_few(original: Any, ops: Any, logits: Any) -> Any:
    if len(logits) > FEW:
        return original(ops, logits)
    return len(logits) - 1 - logits[::-1].index(max(logits))


FEW = 3
"""Tokens that are few enough to be compared one by one."""


def _moves_a_used_container(original: Any, made: Any, cache: Any, given: Any) -> Any:
    chosen = original(made, cache, given)
    if vars(chosen).get("used"):
        for layer in chosen.layers:
            layer.trim(1)
    chosen.used = True
    return chosen


STEPS = (
    Fault(
        name="old-state-survives-without-a-processor",
        does="Without a processor a result that has no state leaves the old one in force.",
        breaks=("ST-4",),
        seen="hazard of ST-4: also when that is none",
        patches=(wrapped(TokenIterator, "_store_state", _old_state_without_a_processor),),
    ),
    Fault(
        name="first-position-when-quantizing",
        does="With bits the parameters' sampler sees the first position's logits.",
        breaks=("ST-5",),
        seen="hazard of ST-5: two paths through a step",
        patches=(
            wrapped(TokenIterator, "_sampler_for", _notes_own_sampler),
            wrapped(TokenIterator, "_last_logits", _first_position_when_quantizing),
        ),
    ),
    Fault(
        name="newest-token-from-the-third-on",
        does="From the third token on it returns the token sampled in the same call.",
        breaks=("NX-2",),
        seen="B54; hazard of NX-2: the one sampled a step earlier",
        patches=(wrapped(TokenIterator, "next_token", _newest_from_the_third),),
    ),
    Fault(
        name="one-more-sample-at-the-end",
        does="When the end is reached one more token is sampled from the last logits.",
        breaks=("NX-3",),
        seen="B54: one more than there are tokens to return",
        patches=(
            wrapped(TokenIterator, "_sample", _notes_logits),
            wrapped(TokenIterator, "next_token", _samples_at_the_end),
        ),
    ),
    Fault(
        name="told-the-token-before",
        does="An explicit processor is told of the token before the one that was sampled.",
        breaks=("PS-1",),
        seen="hazard of PS-1: did-sample gets the sampled token",
        patches=(wrapped(TokenIterator, "_processor_for", _told_the_one_before),),
    ),
    Fault(
        name="argmax-of-few-tokens",
        does="Of up to three tokens argmax takes the highest index of a tie.",
        breaks=("PS-2",),
        seen="half-precision models: 1.5 % of steps are exact ties",
        patches=(wrapped(ListOps, "argmax", _last_of_few),),
    ),
    Fault(
        name="used-container-loses-a-position",
        does="An iterator on a container that had one before takes the newest position off.",
        breaks=("RF-1",),
        seen="B48: the second question fails",
        patches=(wrapped(TokenIterator, "_container_for", _moves_a_used_container),),
    ),
)

# ---------------------------------------------------------------- later turns


def _keeps_state_in_the_container(original: Any, made: Any, result: Any) -> None:
    original(made, result)
    made.container.last_state = made._state


def _state_of_the_container(original: Any, made: Any, prompt: Any) -> Any:
    made._state = vars(made.container).get("last_state")
    return original(made, prompt)


def _keeps_state_in_the_model(original: Any, made: Any, result: Any) -> None:
    original(made, result)
    made._model.last_state = made._state, made.container


def _state_of_the_model(original: Any, made: Any, prompt: Any) -> Any:
    state, container = vars(made._model).get("last_state", (None, None))
    made._state = None if container is made.container else state
    return original(made, prompt)


def _remembers_history(original: Any, made: Any, prompt: Any) -> Any:
    processor = getattr(made._processor, "_inner", made._processor)  # behind what logs it
    if isinstance(processor, RepetitionPenaltyProcessor):
        known = vars(made.container).setdefault("history", processor._context)
        processor.prompt = lambda tokens: known.extend(made._ops.integers(tokens))
        processor._context = known
    return original(made, prompt)


def _counts_on(original: Any, made: Any, prompt: Any) -> Any:
    made._count = vars(made.container).get("counted", 0)
    return original(made, prompt)


def _tells_its_count(original: Any, made: Any) -> None:
    original(made)
    made.container.counted = made._count


def _begins_with_the_old_token(original: Any, made: Any, prompt: Any) -> Any:
    first = original(made, prompt)
    return vars(made.container).get("looked_ahead", first)


def _leaves_its_token(original: Any, made: Any, token: Any) -> None:
    original(made, token)
    made.container.looked_ahead = made._pending


def _sampler_ends_the_penalty(original: Any, made: Any, explicit: Any) -> Any:
    processor = getattr(made._processor, "_inner", made._processor)  # behind what logs it
    if explicit is not None and isinstance(processor, RepetitionPenaltyProcessor):
        made._processor = None
    return original(made, explicit)


EXPLICIT = (
    Fault(
        name="explicit-sampler-ends-the-penalty",
        does="An explicit sampler replaces the parameters' processor too.",
        breaks=("IT-4",),
        seen="wrong implementations from the specification: one is given, so none is the parameters'",
        patches=(wrapped(TokenIterator, "_sampler_for", _sampler_ends_the_penalty),),
    ),
)

LATER_TURNS = (
    Fault(
        name="state-survives-in-the-container",
        does="An iterator begins with the last state of the one before on the same container.",
        breaks=("IT-0",),
        seen="hazard of IT-0: state starts as none",
        patches=(
            wrapped(TokenIterator, "_store_state", _keeps_state_in_the_container),
            wrapped(TokenIterator, "_timed_prepare", _state_of_the_container),
        ),
    ),
    Fault(
        name="state-survives-beside-the-container",
        does="An iterator with another container begins with the last state of the iterator before.",
        breaks=("IT-0",),
        seen="hazard of IT-0: state starts as none",
        patches=(
            wrapped(TokenIterator, "_store_state", _keeps_state_in_the_model),
            wrapped(TokenIterator, "_timed_prepare", _state_of_the_model),
        ),
    ),
    Fault(
        name="penalty-history-survives-a-turn",
        does="The parameters' processor still knows the tokens of the turn before.",
        breaks=("PS-3",),
        seen="hazard of PS-3: it keeps the last tokens of its own prompt",
        patches=(wrapped(TokenIterator, "_timed_prepare", _remembers_history),),
    ),
    Fault(
        name="count-goes-on-in-a-later-turn",
        does="The count of an iterator goes on from where the one before on its container ended.",
        breaks=("IT-0", "NX-3"),
        seen="hazard of IT-0: the count starts at 0",
        patches=(
            wrapped(TokenIterator, "_timed_prepare", _counts_on),
            wrapped(TokenIterator, "_count_one", _tells_its_count),
        ),
    ),
    Fault(
        name="later-turn-begins-with-the-old-token",
        does="A later turn first returns the token that the turn before had looked ahead to.",
        breaks=("PR-3",),
        seen="hazard of PR-3: its sampled token is the first one returned",
        patches=(
            wrapped(TokenIterator, "_timed_prepare", _begins_with_the_old_token),
            wrapped(TokenIterator, "_look_ahead", _leaves_its_token),
        ),
    ),
)

FAULTS = PREFILL + EXPLICIT + STEPS + LATER_TURNS
