"""Faults in the token iterator: construction, prefill, steps, limits, processors (IT, PR, ST, NX, PS, RF)."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

from kvconform_reference import group_size, prefill, sampling
from kvconform_reference.arrays import ListOps
from kvconform_reference.iterator import TokenIterator
from kvconform_reference.parameters import GenerateParameters
from kvconform_reference.sampling import RepetitionPenaltyProcessor

from ..scripted.model import PrepareFailed
from .containers import REMEMBERS_BUILT
from .fault import Fault
from .planting import Stand, wrapped

# ---------------------------------------------------------------- construction


def _before_prefill(change: Any) -> Any:
    """A change that does something to the iterator before its prefill runs."""

    def preparing(original: Any, made: Any, prompt: Any) -> Any:
        change(made)
        return original(made, prompt)

    return preparing


def _state_is_zero(made: Any) -> None:
    made._state = 0


def _count_is_one(made: Any) -> None:
    made._count = 1


def _clears_caches(made: Any) -> None:
    for layer in made.container.layers:
        layer.trim(layer.offset or 0)


def _lazy(original: Any, made: Any, prompt: Any) -> Any:
    made.waiting = lambda: original(made, prompt)


def _prepares_first(original: Any, made: Any) -> Any:
    waiting, made.waiting = vars(made).get("waiting"), None
    if waiting is not None:
        made._pending = waiting()
    return original(made)


def _swallows_errors(original: Any, made: Any, prompt: Any) -> Any:
    try:
        return original(made, prompt)
    except PrepareFailed:
        return 0


def _both_are_taken(original: Any, made: Any, cache: Any, container: Any, *rest: Any) -> None:
    original(made, None if container is not None else cache, container, *rest)


def _bits_unchecked(
    original: Any, made: Any, cache: Any, container: Any, parameters: Any, dialect: Any
) -> None:
    if parameters.bits not in group_size.SUPPORTED_BITS:
        parameters = GenerateParameters(prefill_step=parameters.prefill_step)
    original(made, cache, container, parameters, dialect)


def _wraps_given_container(original: Any, made: Any, cache: Any, container: Any) -> Any:
    return original(made, cache if container is None else list(container.layers), None)


def _works_on_a_copy(original: Any, made: Any, cache: Any, container: Any) -> Any:
    return copy.copy(original(made, cache, container))


def _pass_with(**fixed: Any) -> Any:
    def running(original: Any, made: Any) -> None:
        parameters = made._parameters
        asked = {
            "bits": parameters.bits,
            "group_size": parameters.group_size,
            "start": parameters.start,
            **fixed,
        }
        made.container.maybe_quantize(**asked)

    return running


def _container_bits(original: Any, made: Any) -> None:
    parameters, built = made._parameters, made.container.built["bits"]
    made.container.maybe_quantize(built or parameters.bits, parameters.group_size, parameters.start)


class _Chain:
    """Two processors, one after the other."""

    def __init__(self, first: Any, second: Any) -> None:
        self._both = (first, second)

    def prompt(self, tokens: Any) -> None:
        for one in self._both:
            one.prompt(tokens)

    def process(self, logits: Any) -> Any:
        for one in self._both:
            logits = one.process(logits)
        return logits

    def did_sample(self, token: Any) -> None:
        for one in self._both:
            one.did_sample(token)


def _chains(original: Any, made: Any, explicit: Any) -> Any:
    own = made._parameters.processor()
    return _Chain(explicit, own) if explicit is not None and own is not None else original(made, explicit)


def _sampler_first_with_bits(original: Any, cls: Any, prompt: Any, model: Any, **options: Any) -> Any:
    steps, limit = options.pop("prefill_step", 512), options.pop("max_tokens", None)
    return cls(
        prompt, model, parameters=GenerateParameters(bits=4, prefill_step=steps, max_tokens=limit), **options
    )


def _silent(_original: Any, cls: Any, prompt: Any, model: Any, **options: Any) -> Any:
    return cls(prompt, model, **options)


def _without_explicit_sampler(original: Any, cls: Any, *given: Any, **options: Any) -> Any:
    return original(cls, *given, **{**options, "sampler": None})


CONSTRUCTION = (
    Fault(
        name="state-starts-as-zero",
        does="The first call is handed state 0 instead of none.",
        breaks=("IT-0",),
        seen="hazard of IT-0: state starts as none",
        patches=(wrapped(TokenIterator, "_timed_prepare", _before_prefill(_state_is_zero)),),
    ),
    Fault(
        name="count-starts-at-one",
        does="The count is 1 before any token was returned.",
        breaks=("IT-0", "NX-1", "NX-3"),
        seen="B55; hazard of IT-0",
        patches=(wrapped(TokenIterator, "_timed_prepare", _before_prefill(_count_is_one)),),
    ),
    Fault(
        name="prefill-waits-for-next",
        does="The prefill runs in the first next, though it is declared to run in the constructor.",
        breaks=("IT-1",),
        seen="hazard of IT-1",
        patches=(
            wrapped(TokenIterator, "_timed_prepare", _lazy),
            wrapped(TokenIterator, "next_token", _prepares_first),
        ),
    ),
    Fault(
        name="prepare-error-is-swallowed",
        does="An error of the model's prepare is swallowed and an iterator comes out.",
        breaks=("IT-1",),
        seen="hazard of IT-1",
        patches=(wrapped(TokenIterator, "_prepare", _swallows_errors),),
    ),
    Fault(
        name="list-and-container-are-taken",
        does="A list beside a container is ignored without a word.",
        breaks=("IT-2",),
        seen="hazard of IT-2: giving both is an error",
        patches=(wrapped(TokenIterator, "_check", _both_are_taken),),
    ),
    Fault(
        name="given-container-is-wrapped",
        does="A given container's layers are wrapped in a container of the iterator's own.",
        breaks=("IT-2", "RF-1"),
        seen="B01: what the session holds is not what the iterator converts",
        patches=(wrapped(TokenIterator, "_container_for", _wraps_given_container),),
    ),
    Fault(
        name="iterator-keeps-its-own-copy",
        does="The iterator copies the container, so that the caller's never sees a replacement.",
        breaks=("RF-1", "IT-2"),
        seen="B01: the iterator swaps its own copies of the layers",
        patches=(wrapped(TokenIterator, "_container_for", _works_on_a_copy),),
    ),
    Fault(
        name="iterator-checks-bits-late",
        does="Bits outside the supported set are noticed at the first conversion.",
        breaks=("MQ-0",),
        seen="O10: raises only at the first conversion, mid-stream",
        patches=(wrapped(TokenIterator, "_check", _bits_unchecked),),
    ),
    Fault(
        name="container-bits-in-the-iterator",
        does="The pass gets the bits that the container was built with.",
        breaks=("IT-3",),
        seen="hazard of IT-3",
        patches=(
            REMEMBERS_BUILT,
            wrapped(TokenIterator, "_run_pass", _container_bits),
        ),
    ),
    Fault(
        name="start-is-ignored",
        does="The pass gets start 0, whatever the parameters say.",
        breaks=("ST-2", "IT-3"),
        seen="B10: quantized from the first token whatever the threshold said",
        patches=(wrapped(TokenIterator, "_run_pass", _pass_with(start=0)),),
    ),
    Fault(
        name="group-size-is-not-handed-on",
        does="The pass gets group size 64, whatever the parameters say.",
        breaks=("IT-3",),
        seen="B19: an option that is parsed and reported, and not used",
        patches=(wrapped(TokenIterator, "_run_pass", _pass_with(group_size=64)),),
    ),
    Fault(
        name="bits-are-not-handed-on",
        does="The pass gets no bits.",
        breaks=("IT-3", "ST-2"),
        seen="B19: the live cache stays as it is",
        patches=(wrapped(TokenIterator, "_run_pass", _pass_with(bits=None)),),
    ),
    Fault(
        name="processors-chain",
        does="An explicit processor runs before the parameters' one instead of replacing it.",
        breaks=("IT-4",),
        seen="hazard of IT-4: it does not chain",
        patches=(wrapped(TokenIterator, "_processor_for", _chains),),
    ),
    Fault(
        name="explicit-sampler-is-ignored",
        does="The parameters' sampler is used although another one was given.",
        breaks=("IT-4",),
        seen="hazard of IT-4",
        patches=(
            wrapped(TokenIterator, "_sampler_for", lambda original, made, _explicit: original(made, None)),
        ),
    ),
    Fault(
        name="sampler-first-quantizes",
        does="The sampler-first form quantizes at 4 bits.",
        breaks=("IT-5",),
        seen="B78: two entry points that take the same options differently",
        patches=(wrapped(TokenIterator, "with_sampler", _sampler_first_with_bits),),
    ),
    Fault(
        name="deprecated-form-is-silent",
        does="The prompt-array form does not warn.",
        breaks=("IT-6",),
        seen="hazard of IT-6",
        patches=(wrapped(TokenIterator, "from_prompt_array", _silent),),
    ),
    Fault(
        name="deprecated-form-forgets-the-sampler",
        does="The prompt-array form drops an explicit sampler.",
        breaks=("IT-6",),
        seen="B78: two entry points that take the same options differently",
        patches=(wrapped(TokenIterator, "from_prompt_array", _without_explicit_sampler),),
    ),
    Fault(
        name="warm-caches-are-cleared",
        does="An iterator clears the caches it is given.",
        breaks=("IT-7", "RF-1"),
        seen="B48: the second question fails",
        patches=(wrapped(TokenIterator, "_timed_prepare", _before_prefill(_clears_caches)),),
    ),
)

# ---------------------------------------------------------------- prefill


def _processor(**changes: Any) -> Any:
    """A change of the iterator's processor: each change gets the processor, then what it is called with."""

    def choosing(original: Any, made: Any, explicit: Any) -> Any:
        chosen = original(made, explicit)
        if chosen is None:
            return None
        return Stand(
            chosen,
            **{name: (lambda *given, _c=change: _c(chosen, *given)) for name, change in changes.items()},
        )

    return choosing


def _prompt_twice(processor: Any, tokens: Any) -> None:
    processor.prompt(tokens)
    processor.prompt(tokens)


def _prompt_after_prefill(original: Any, made: Any, prompt: Any) -> Any:
    processor = made._processor
    if processor is None:
        return original(made, prompt)
    asked = []

    def process(logits: Any) -> Any:
        if not asked:
            asked.append(processor.prompt(prompt))
        return processor.process(logits)

    made._processor = Stand(processor, prompt=lambda _tokens: None, process=process)
    return original(made, prompt)


def _no_prompt_on_warm_caches(original: Any, made: Any, prompt: Any) -> Any:
    if made._processor is not None and any(layer.offset for layer in made.container.layers):
        made._processor = Stand(made._processor, prompt=lambda _tokens: None)
    return original(made, prompt)


def _prepare_with(change: Any) -> Any:
    """A change of what the model's prepare is handed: ``change(prepare, tokens, cache, window)``."""

    def preparing(original: Any, made: Any, prompt: Any) -> Any:
        model = made._model
        made._model = Stand(model, prepare=lambda *handed: change(model.prepare, *handed))
        return original(made, prompt)

    return preparing


def _token_by_token(original: Any, made: Any, tokens: Any) -> Any:
    for token in tokens[:-1]:
        made._store_state(made._call_model((token,), made._state))
    return original(made, tokens[-1:])


def _first_token_skipped(original: Any, made: Any, prompt: Any) -> Any:
    first = original(made, prompt)
    made._look_ahead(first)
    return made._pending


def _logits_state_kept(original: Any, made: Any, result: Any) -> Any:
    made._store_state(result)
    return original(made, result)


def _logits_and_a_call(original: Any, made: Any, result: Any) -> Any:
    return made._step((original(made, result),))


def _zero_for_an_empty_prompt(original: Any, made: Any, remainder: Any) -> Any:
    return remainder or (0,)


def _empty_refused_before_prompt(original: Any, made: Any, prompt: Any) -> Any:
    if not prompt:
        raise ValueError("an empty prompt")
    return original(made, prompt)


def _one_more_fits(original: Any, length: int, window: int) -> Any:
    return (length,) if length == window + 1 else original(length, window)


def _short_first(original: Any, length: int, window: int) -> Any:
    lengths = original(length, window)
    return (*sorted(lengths[:-1]), *lengths[-1:])


def _window_raised(original: Any, length: int, window: int, *plan: Any) -> Any:
    return original(length, max(1, window), *plan)


def _pass_before_chunk(original: Any, made: Any, chunk: Any) -> None:
    made._run_pass()
    made._call_model(chunk, None)


PREFILL = (
    Fault(
        name="prompt-gets-the-last-token",
        does="The processor's prompt gets the last token of the prompt only.",
        breaks=("PR-1",),
        seen="B57: processors get only the last prompt token",
        patches=(
            wrapped(
                TokenIterator,
                "_processor_for",
                _processor(prompt=lambda processor, tokens: processor.prompt(tokens[-1:])),
            ),
        ),
    ),
    Fault(
        name="prompt-called-twice",
        does="The processor's prompt is called twice.",
        breaks=("PR-1",),
        seen="hazard of PR-1",
        patches=(wrapped(TokenIterator, "_processor_for", _processor(prompt=_prompt_twice)),),
    ),
    Fault(
        name="prompt-after-the-prefill",
        does="The processor's prompt is called when the prefill is done.",
        breaks=("PR-1",),
        seen="hazard of PR-1: once, first",
        patches=(wrapped(TokenIterator, "_prepare", _prompt_after_prefill),),
    ),
    Fault(
        name="no-prompt-on-warm-caches",
        does="The processor's prompt is not called when the caches hold something.",
        breaks=("PR-1",),
        seen="hazard of PR-1: also on warm caches",
        patches=(wrapped(TokenIterator, "_prepare", _no_prompt_on_warm_caches),),
    ),
    Fault(
        name="prepare-gets-the-default-window",
        does="The model's prepare gets a window of 512, whatever the parameters say.",
        breaks=("PR-2", "PR-6"),
        seen="B59: the chunk size is taken and ignored",
        patches=(
            wrapped(
                TokenIterator,
                "_prepare",
                _prepare_with(lambda prepare, tokens, cache, _window: prepare(tokens, cache, 512)),
            ),
        ),
    ),
    Fault(
        name="prepare-gets-copies",
        does="The model's prepare gets copies of the caches.",
        breaks=("PR-2", "NX-3"),
        seen="B01: work on copies",
        patches=(
            wrapped(
                TokenIterator,
                "_prepare",
                _prepare_with(
                    lambda prepare, tokens, cache, window: prepare(
                        tokens, [one.copy() for one in cache], window
                    )
                ),
            ),
        ),
    ),
    Fault(
        name="remainder-token-by-token",
        does="The remaining tokens are fed one by one.",
        breaks=("PR-3",),
        seen="hazard of PR-3: exactly one step",
        patches=(wrapped(TokenIterator, "_step", _token_by_token),),
    ),
    Fault(
        name="first-token-is-skipped",
        does="The first token that is returned is the second one sampled.",
        breaks=("PR-3", "NX-2"),
        seen="B54: one more forward than there are tokens to return",
        patches=(wrapped(TokenIterator, "_timed_prepare", _first_token_skipped),),
    ),
    Fault(
        name="state-of-prepared-logits-is-kept",
        does="The state that came with prepare's logits goes into the next call.",
        breaks=("PR-4",),
        seen="SR: when prepare returns logits its state is not carried over",
        patches=(wrapped(TokenIterator, "_first_from_logits", _logits_state_kept),),
    ),
    Fault(
        name="prepared-logits-cost-a-call",
        does="The token sampled from prepare's logits is fed at once, and the next one is returned first.",
        breaks=("PR-4",),
        seen="hazard of PR-4: no model call by the iterator",
        patches=(wrapped(TokenIterator, "_first_from_logits", _logits_and_a_call),),
    ),
    Fault(
        name="token-zero-for-an-empty-prompt",
        does="An empty remainder is replaced by token 0.",
        breaks=("PR-5",),
        seen="hazard of PR-5",
        patches=(wrapped(TokenIterator, "_not_empty", _zero_for_an_empty_prompt),),
    ),
    Fault(
        name="empty-prompt-is-refused-at-once",
        does="An empty prompt is refused before the processor's prompt is called.",
        breaks=("PR-5",),
        seen="hazard of PR-5: a clear error after prompt",
        patches=(wrapped(TokenIterator, "_prepare", _empty_refused_before_prompt),),
    ),
    Fault(
        name="one-more-than-the-window",
        does="A prompt one token longer than the window goes through in one call.",
        breaks=("PR-6",),
        seen="hazard of PR-6: 513 at window 512",
        patches=(wrapped(prefill, "window_lengths", _one_more_fits),),
    ),
    Fault(
        name="window-is-ignored",
        does="The prompt goes through in one call, whatever the window is.",
        breaks=("PR-6",),
        seen="B59: 13 of 14 models ignore the chunk size",
        patches=(wrapped(prefill, "window_lengths", lambda _original, length, _window: (length,)),),
    ),
    Fault(
        name="short-chunks-first",
        does="A balanced prefill feeds the shorter chunks first.",
        breaks=("PR-6",),
        seen="hazard of PR-6: longer ones first",
        patches=(wrapped(prefill, "balanced_lengths", _short_first),),
        dialects=("mlx-swift-lm",),
    ),
    Fault(
        name="reserves-nothing",
        does="The last chunk of the prompt is not cut down to one token.",
        breaks=("PR-6", "ST-2"),
        seen="B09: 23 tokens in windows of 8 are 8, 8, 6, 1",
        patches=(
            wrapped(
                prefill,
                "reserve_one_lengths",
                lambda _original, length, window: prefill.window_lengths(length, window),
            ),
        ),
        dialects=("mlx-lm",),
    ),
    Fault(
        name="window-below-one-is-one",
        does="A window of 0 or below is taken for 1.",
        breaks=("PR-6",),
        seen="hazard of PR-6: an error before any call",
        patches=(
            wrapped(prefill, "check_window", lambda _original, _window: None),
            wrapped(prefill, "chunk_lengths", _window_raised),
        ),
    ),
    Fault(
        name="pass-before-each-chunk",
        does="The pass between chunks runs before a chunk is fed, not after it.",
        breaks=("PR-7",),
        seen="B09: kinds by prompt progress",
        patches=(wrapped(TokenIterator, "_feed", _pass_before_chunk),),
        dialects=("mlx-lm",),
    ),
)

# ---------------------------------------------------------------- one step


def _pass_first(_original: Any, made: Any, tokens: Any) -> Any:
    made._run_pass()
    result = made._call_model(tokens, made._state)
    made._store_state(result)
    return made._sample(made._process(made._last_logits(result)))


def _no_pass_in_prefill(original: Any, made: Any, prompt: Any) -> Any:
    made.quiet = True
    first = original(made, prompt)
    made.quiet = False
    return first


def _unless_quiet(original: Any, made: Any) -> None:
    if not vars(made).get("quiet"):
        original(made)


def _first_list(original: Any, made: Any) -> Any:
    if "first_list" not in vars(made):
        made.first_list = list(made.container.layers)
    return made.first_list or None


def _without_batch_axis(_original: Any, made: Any, tokens: Any, state: Any) -> Any:
    return made._model(tokens, cache=made._cache_argument(), state=state)


def _keeps_old_state(original: Any, made: Any, result: Any) -> None:
    if result.state is not None:
        original(made, result)


def _costs_a_position(original: Any, made: Any) -> None:
    before = list(made.container.layers)
    original(made)
    for old, new in zip(before, made.container.layers, strict=True):
        if new is not old:
            new.trim(1)


STEP = (
    Fault(
        name="pass-before-the-call",
        does="A step runs its pass before the model call, so that its logits come from converted caches.",
        breaks=("ST-1", "ST-2"),
        seen="hazard of ST-1: the first call that sees a Q is the next one",
        patches=(wrapped(TokenIterator, "_step", _pass_first),),
    ),
    Fault(
        name="no-pass-after-the-prompt",
        does="The pass runs while tokens are handed out, not after the step over the prompt.",
        breaks=("ST-2", "PR-7"),
        seen="B09: conversion was only tried while decoding",
        patches=(
            wrapped(TokenIterator, "_timed_prepare", _no_pass_in_prefill),
            wrapped(TokenIterator, "_run_pass", _unless_quiet),
        ),
    ),
    Fault(
        name="no-batch-axis",
        does="The model gets tokens without a batch axis.",
        breaks=("ST-3",),
        seen="hazard of ST-3",
        patches=(wrapped(TokenIterator, "_call_model", _without_batch_axis),),
    ),
    Fault(
        name="model-gets-the-old-list",
        does="The model gets the list that there was when the iterator was built.",
        breaks=("ST-3",),
        seen="B01, O1: conversions land where the model does not look",
        patches=(wrapped(TokenIterator, "_cache_argument", _first_list),),
    ),
    Fault(
        name="empty-list-is-passed-on",
        does="An empty list is passed to the model as an empty list.",
        breaks=("ST-3",),
        seen="hazard of ST-3: passed as none",
        patches=(wrapped(TokenIterator, "_cache_argument", lambda _original, made: made.container.layers),),
    ),
    Fault(
        name="state-is-not-handed-on",
        does="The model never gets its state back.",
        breaks=("ST-3",),
        seen="hazard of ST-3",
        patches=(
            wrapped(
                TokenIterator,
                "_call_model",
                lambda original, made, tokens, _state: original(made, tokens, None),
            ),
        ),
    ),
    Fault(
        name="old-state-survives-none",
        does="A result without a state leaves the old state in force.",
        breaks=("ST-4",),
        seen="hazard of ST-4: also when that is none",
        patches=(wrapped(TokenIterator, "_store_state", _keeps_old_state),),
    ),
    Fault(
        name="first-position-is-sampled",
        does="The logits of the first position of a call are used.",
        breaks=("ST-5",),
        seen="hazard of ST-5",
        patches=(
            wrapped(TokenIterator, "_last_logits", lambda _original, _made, result: result.logits[0][0]),
        ),
    ),
    Fault(
        name="conversion-costs-a-position",
        does="A conversion takes the newest position off.",
        breaks=("ST-6", "NX-3"),
        seen="B48: lengths that are wrong after a conversion",
        patches=(wrapped(TokenIterator, "_run_pass", _costs_a_position),),
    ),
)

# ---------------------------------------------------------------- next


def _limit_off_by_one(original: Any, made: Any) -> bool:
    made._count -= 1
    try:
        return original(made)
    finally:
        made._count += 1


def _limit_wraps(original: Any, made: Any) -> bool:
    limit = made._parameters.max_tokens
    if limit is None or limit < 2**31:
        return original(made)
    return made._count >= (limit + 2**31) % 2**32 - 2**31


def _zero_gives_one(original: Any, made: Any) -> bool:
    return original(made) and not (made._parameters.max_tokens == 0 and made._count == 0)


def _end_is_not_final(original: Any, made: Any) -> bool:
    reached = original(made) and not vars(made).get("ended")
    made.ended = vars(made).get("ended") or reached
    return reached


def _end_costs_a_call(original: Any, made: Any) -> Any:
    if made._limit_reached():
        made._look_ahead(made._pending)
    return original(made)


def _when_asked(original: Any, made: Any) -> Any:
    """Without look-ahead: the token after the one returned last is computed when it is asked for."""
    if made._limit_reached():
        return None
    if made._count and (last := vars(made).get("last")) is not None:
        made._look_ahead(last)
    made.last = made._pending
    made._count_one()
    return made._ops.integer(made.last)


def _last_is_not_fed(original: Any, made: Any, token: Any) -> None:
    if made._parameters.max_tokens != made._count + 1:
        original(made, token)


def _fed_twice(original: Any, made: Any, token: Any) -> None:
    made._call_model(made._ops.single(token), made._state)
    original(made, token)


END_OF_SEQUENCE = 2
"""The id that many models end a sequence with."""


def _stops_at_end_of_sequence(original: Any, made: Any) -> Any:
    if vars(made).get("stopped"):
        return None
    token = original(made)
    made.stopped = token == END_OF_SEQUENCE
    return None if made.stopped else token


def _end_counts(original: Any, made: Any) -> Any:
    token = original(made)
    if token is None:
        made._count_one()
    return token


def _time_goes_on(original: Any, made: Any) -> Any:
    made._prefill_time += 1e-3
    return original(made)


NEXT = (
    Fault(
        name="one-token-too-many",
        does="One token more than the limit comes out.",
        breaks=("NX-1",),
        seen="B55: the stop test comes after the append",
        patches=(wrapped(TokenIterator, "_limit_reached", _limit_off_by_one),),
    ),
    Fault(
        name="limit-wraps-at-32-bits",
        does="The limit is held in a signed integer of 32 bits.",
        breaks=("NX-1",),
        seen="wrong implementations from the specification: limits of 2^31 and above",
        patches=(wrapped(TokenIterator, "_limit_reached", _limit_wraps),),
    ),
    Fault(
        name="limit-zero-gives-one",
        does="A limit of 0 gives one token.",
        breaks=("NX-1",),
        seen="hazard of NX-1: m = 0",
        patches=(wrapped(TokenIterator, "_limit_reached", _zero_gives_one),),
    ),
    Fault(
        name="end-is-not-final",
        does="After the end it goes on when asked again.",
        breaks=("NX-1",),
        seen="hazard of NX-1: then it ends for ever",
        patches=(wrapped(TokenIterator, "_limit_reached", _end_is_not_final),),
    ),
    Fault(
        name="end-costs-a-call",
        does="The limit is checked after the model call.",
        breaks=("NX-1",),
        seen="hazard of NX-1: the limit is checked first",
        patches=(wrapped(TokenIterator, "next_token", _end_costs_a_call),),
    ),
    Fault(
        name="no-look-ahead",
        does="A token is computed when it is asked for, not a step earlier.",
        breaks=("NX-2", "NX-3"),
        seen="B54: no look-ahead is another profile",
        patches=(wrapped(TokenIterator, "next_token", _when_asked),),
    ),
    Fault(
        name="last-token-is-not-fed",
        does="The last token within the limit costs no model call.",
        breaks=("NX-2", "NX-3"),
        seen="B54: one more forward is started than there are tokens to return",
        patches=(wrapped(TokenIterator, "_look_ahead", _last_is_not_fed),),
    ),
    Fault(
        name="token-fed-twice",
        does="Each token costs two model calls.",
        breaks=("NX-2", "NX-3"),
        seen="hazard of NX-2: exactly one model call",
        patches=(wrapped(TokenIterator, "_look_ahead", _fed_twice),),
    ),
    Fault(
        name="ends-at-a-token",
        does=f"Token {END_OF_SEQUENCE} ends the sequence.",
        breaks=("NX-4",),
        seen="hazard of NX-4: that is the caller's",
        patches=(wrapped(TokenIterator, "next_token", _stops_at_end_of_sequence),),
    ),
    Fault(
        name="the-end-counts",
        does="The count rises at the end too.",
        breaks=("NX-5",),
        seen="hazard of NX-5: never otherwise",
        patches=(wrapped(TokenIterator, "next_token", _end_counts),),
    ),
    Fault(
        name="prefill-time-goes-on",
        does="The prefill time grows while tokens are handed out.",
        breaks=("NX-5",),
        seen="hazard of NX-5: set once",
        patches=(wrapped(TokenIterator, "next_token", _time_goes_on),),
    ),
)

# ---------------------------------------------------------------- processors and samplers


def _raw_logits(original: Any, made: Any, logits: Any) -> Any:
    original(made, logits)
    return logits


def _processed_twice(original: Any, made: Any, logits: Any) -> Any:
    return original(made, original(made, logits))


def _told_one_late(processor: Any, token: Any) -> None:
    before = vars(processor).get("held_back")
    processor.held_back = token
    if before is not None:
        processor.did_sample(before)


def _told_twice(processor: Any, token: Any) -> None:
    processor.did_sample(token)
    processor.did_sample(token)


def _each_occurrence(original: Any, processor: Any, logits: Any) -> Any:
    changed = list(logits)
    for token in processor._context:
        changed[token] = processor.penalised(changed[token])
    return changed


def _context_from_the_front(original: Any, processor: Any, tokens: Any) -> None:
    original(processor, tokens[: processor._context.maxlen])


def _context_one_longer(original: Any, processor: Any, penalty: float, *, context_size: int = 20) -> None:
    original(processor, penalty, context_size=context_size)
    processor._context = deque(maxlen=context_size + 1)


def _always_a_processor(original: Any, penalty: float | None, **options: Any) -> Any:
    return original(1.0 if penalty is None else penalty, **options)


def _half_of_the_tie(_original: Any, _ops: Any, logits: Any) -> int:
    return len(logits) - 1 - logits[::-1].index(max(logits))


SAMPLING = (
    Fault(
        name="sampler-sees-raw-logits",
        does="The processor is called and its answer is dropped.",
        breaks=("PS-1",),
        seen="hazard of PS-1: the sampler sees the processed logits",
        patches=(wrapped(TokenIterator, "_process", _raw_logits),),
    ),
    Fault(
        name="processed-twice",
        does="The processor is called twice a token.",
        breaks=("PS-1", "NX-3"),
        seen="hazard of PS-1: once each",
        patches=(wrapped(TokenIterator, "_process", _processed_twice),),
    ),
    Fault(
        name="did-sample-comes-late",
        does="The processor is told of a token when the next one was sampled.",
        breaks=("PS-1", "NX-3"),
        seen="hazard of PS-1: also the look-ahead one",
        patches=(wrapped(TokenIterator, "_processor_for", _processor(did_sample=_told_one_late)),),
    ),
    Fault(
        name="did-sample-twice",
        does="The processor is told twice of each token.",
        breaks=("PS-1", "NX-3"),
        seen="hazard of PS-1: once each",
        patches=(wrapped(TokenIterator, "_processor_for", _processor(did_sample=_told_twice)),),
    ),
    Fault(
        name="argmax-takes-the-last-of-a-tie",
        does="Argmax takes the highest index of a tie.",
        breaks=("PS-2",),
        seen="half-precision models: 1.5 % of steps are exact ties",
        patches=(wrapped(ListOps, "argmax", _half_of_the_tie),),
    ),
    Fault(
        name="penalty-by-occurrence",
        does="A token that occurs twice in the context is penalised twice.",
        breaks=("PS-3",),
        seen="hazard of PS-3: each distinct token once",
        patches=(wrapped(RepetitionPenaltyProcessor, "process", _each_occurrence),),
    ),
    Fault(
        name="penalty-divides-always",
        does="Negative logits are divided by the penalty too, which makes their tokens more likely.",
        breaks=("PS-3",),
        seen="hazard of PS-3",
        patches=(
            wrapped(
                RepetitionPenaltyProcessor, "penalised", lambda _original, own, logit: logit / own._penalty
            ),
        ),
    ),
    Fault(
        name="penalty-context-from-the-front",
        does="The penalty looks at the first tokens of the prompt instead of the last ones.",
        breaks=("PS-3",),
        seen="B57: a history that misses what was prefilled",
        patches=(wrapped(RepetitionPenaltyProcessor, "prompt", _context_from_the_front),),
    ),
    Fault(
        name="penalty-context-one-longer",
        does="The penalty looks at one token more than its context.",
        breaks=("PS-3",),
        seen="hazard of PS-3: drops the oldest beyond c",
        patches=(wrapped(RepetitionPenaltyProcessor, "__init__", _context_one_longer),),
    ),
    Fault(
        name="penalty-forgets-what-was-sampled",
        does="The penalty looks at the prompt only.",
        breaks=("PS-3",),
        seen="hazard of PS-3: did-sample appends",
        patches=(wrapped(RepetitionPenaltyProcessor, "did_sample", lambda _original, _own, _token: None),),
    ),
    Fault(
        name="zero-temperature-draws",
        does="At temperature 0 the parameters' sampler draws as at 1.",
        breaks=("PS-4", "ST-5"),
        seen="hazard of PS-4: temperature 0 is argmax",
        patches=(
            wrapped(
                sampling,
                "sampler_from",
                lambda original, temperature, **options: original(temperature or 1.0, **options),
            ),
        ),
    ),
    Fault(
        name="processor-without-a-penalty",
        does="Parameters without a penalty give a processor.",
        breaks=("PS-3",),
        seen="hazard of PS-3: no penalty, no processor",
        patches=(wrapped(sampling, "processor_from", _always_a_processor),),
    ),
)

FAULTS = CONSTRUCTION + PREFILL + STEP + NEXT + SAMPLING
