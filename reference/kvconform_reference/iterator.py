"""The token iterator: feeds a prompt through a model and hands out one token after the other.

It works on any model, cache list and array type: tokens and logits go through :mod:`.arrays`, caches are
only passed on, and all dynamic quantization is the container's. Where designs differ it asks the
dialect. Source: specification sections 7 to 10.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from . import arrays, bit_widths, policy, prefill, sampling
from .container import CacheContainer
from .dialect import PROPOSAL, Dialect
from .parameters import GenerateParameters


class ModelResult(NamedTuple):
    """What a model call gives: logits `[1, length, vocab]` and the state for the next call, or none.

    Any object with these two attributes will do.
    """

    logits: Any
    state: Any = None


class RemainingTokens(NamedTuple):
    """What a model's prepare answers when it leaves the last tokens of the prompt to the iterator."""

    tokens: arrays.Tokens


class Model(Protocol):
    """What the iterator needs of a model."""

    def __call__(self, tokens: Any, *, cache: Sequence[Any] | None, state: Any) -> Any:
        """One forward pass over `[1, length]` tokens that also writes to the caches (ST-3)."""
        ...

    def prepare(self, tokens: arrays.Tokens, cache: Sequence[Any], window: int) -> Any:
        """Feeds the prompt to the caches: :class:`RemainingTokens`, or the result of the last call (PR-2)."""
        ...

    def new_cache(self, parameters: Any) -> list[Any]:
        """A fresh cache list (CT-9)."""
        ...


class Container(Protocol):
    """What the iterator needs of the object that owns the layers."""

    @property
    def layers(self) -> Sequence[Any]:
        """The current list."""
        ...

    def maybe_quantize(self, bits: int | None, group_size: int, start: int) -> None:
        """One pass over the layers (MQ)."""
        ...

    def rearm(self) -> None:
        """A new iterator works on it (CT-12)."""
        ...


class TokenIterator:
    """Tokens of ``model`` after ``prompt``, one for each ``next``; the prefill runs in the constructor.

    ``cache`` is a list of layers, which gets a container of its own; ``container`` one that the caller
    keeps; with neither, the model is asked for a list. ``processor`` and ``sampler`` replace those of the
    parameters. Raises ValueError for bad options before the model is touched, and whatever the model's
    prepare raises.
    """

    def __init__(
        self,
        prompt: arrays.Tokens,
        model: Model,
        *,
        cache: list[Any] | None = None,
        container: Container | None = None,
        parameters: GenerateParameters | None = None,
        processor: sampling.Processor | None = None,
        sampler: sampling.Sampler | None = None,
        dialect: Dialect = PROPOSAL,
    ) -> None:
        parameters = parameters or GenerateParameters()
        self._check(cache, container, parameters, dialect)
        self._model = model
        self._parameters = parameters
        self._dialect = dialect
        self._ops = arrays.ops_of(prompt)
        self._processor = self._processor_for(processor)
        self._sampler = self._sampler_for(sampler)
        self._state: Any = None  # IT-0
        self._count = 0
        self._prefill_time = 0.0
        self.container: Container = self._container_for(cache, container)
        self.container.rearm()  # CT-12
        self._pending: arrays.Token = self._timed_prepare(prompt)

    @classmethod
    def with_sampler(
        cls,
        prompt: arrays.Tokens,
        model: Model,
        *,
        sampler: sampling.Sampler,
        processor: sampling.Processor | None = None,
        cache: list[Any] | None = None,
        container: Container | None = None,
        prefill_step: int = 512,
        max_tokens: int | None = None,
        dialect: Dialect = PROPOSAL,
    ) -> TokenIterator:
        """The sampler-first form: an explicit sampler instead of parameters; it never quantizes (IT-5)."""
        return cls(
            prompt,
            model,
            cache=cache,
            container=container,
            parameters=GenerateParameters(prefill_step=prefill_step, max_tokens=max_tokens),
            processor=processor,
            sampler=sampler,
            dialect=dialect,
        )

    @classmethod
    def from_prompt_array(cls, prompt: arrays.Tokens, model: Model, **options: Any) -> TokenIterator:
        """The deprecated form over a bare prompt array: warns, then is the general form (IT-6)."""
        warnings.warn(
            "TokenIterator.from_prompt_array is deprecated; call TokenIterator with the same arguments",
            DeprecationWarning,
            stacklevel=2,
        )
        return cls(prompt, model, **options)

    # ------------------------------------------------------------ what a caller sees

    @property
    def count(self) -> int:
        """How many tokens were returned so far (NX-5)."""
        return self._count

    @property
    def prefill_time(self) -> float:
        """Seconds that the prefill took, the step that gave the first token included; set once (NX-5)."""
        return self._prefill_time

    def next_token(self) -> int | None:
        """The next token, or none for ever once the limit is reached (NX-1)."""
        if self._limit_reached():
            return None
        token = self._pending
        self._look_ahead(token)
        self._count_one()
        return self._ops.integer(token)

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        token = self.next_token()
        if token is None:
            raise StopIteration
        return token

    # ------------------------------------------------------------ construction

    def _check(
        self,
        cache: list[Any] | None,
        container: Container | None,
        parameters: GenerateParameters,
        dialect: Dialect,
    ) -> None:
        """Refuse what cannot work before the model is touched (IT-2, MQ-0, PR-6)."""
        if cache is not None and container is not None:
            raise ValueError("a cache list and a container were both given to the token iterator; give one")
        prefill.check_window(parameters.prefill_step)
        if parameters.bits is not None:
            bit_widths.check_bits(parameters.bits)
        policy.check_options(parameters.bits, parameters.group_size, parameters.start, dialect=dialect)

    def _container_for(self, cache: list[Any] | None, container: Container | None) -> Container:
        """The given container, or one of its own over the given or the model's list (IT-2, CT-9)."""
        if container is not None:
            return container
        return CacheContainer(cache, model=self._model, parameters=self._parameters, dialect=self._dialect)

    def _processor_for(self, explicit: sampling.Processor | None) -> sampling.Processor | None:
        """The explicit processor, else the parameters' (IT-4)."""
        return self._parameters.processor() if explicit is None else explicit

    def _sampler_for(self, explicit: sampling.Sampler | None) -> sampling.Sampler:
        """The explicit sampler, else the parameters' (IT-4)."""
        return self._parameters.sampler() if explicit is None else explicit

    # ------------------------------------------------------------ prefill

    def _timed_prepare(self, prompt: arrays.Tokens) -> arrays.Token:
        began = time.perf_counter()
        first = self._prepare(prompt)
        self._prefill_time = time.perf_counter() - began
        return first

    def _prepare(self, prompt: arrays.Tokens) -> arrays.Token:
        """Feeds the prompt and gives the first token (PR)."""
        if self._processor is not None:
            self._processor.prompt(prompt)  # PR-1
        if self._feeds_itself():
            return self._step(self._not_empty(self._feed_chunks(prompt)))
        answer = self._model.prepare(prompt, self.container.layers, self._parameters.prefill_step)  # PR-2
        if isinstance(answer, RemainingTokens):
            return self._step(self._not_empty(answer.tokens))  # PR-3
        return self._first_from_logits(answer)

    def _feeds_itself(self) -> bool:
        """Whether the prompt's chunks are the iterator's work and not the model's prepare (PR-6, PR-7)."""
        return self._dialect.prefill == "reserve-one" or self._dialect.quantize_between_chunks

    def _feed_chunks(self, prompt: arrays.Tokens) -> arrays.Tokens:
        """Feeds all chunks but the last, which is the answer (PR-7)."""
        total = self._ops.length(prompt)
        lengths = prefill.chunk_lengths(total, self._parameters.prefill_step, self._dialect.prefill)
        fed = 0
        for length in lengths[:-1]:
            self._feed(self._ops.part(prompt, fed, fed + length))
            fed += length
        return self._ops.part(prompt, fed, total)

    def _feed(self, chunk: arrays.Tokens) -> None:
        """One chunk, without a state and with its result dropped, as the model's prepare does it."""
        self._call_model(chunk, None)
        if self._dialect.quantize_between_chunks:
            self._run_pass()
        self._ops.computed(self.container.layers)

    def _not_empty(self, remainder: arrays.Tokens) -> arrays.Tokens:
        if self._ops.length(remainder) == 0:
            raise ValueError(  # PR-5
                "the prefill left no tokens and no logits to sample the first token from; "
                "give a prompt of at least one token, and a model whose prepare leaves one"
            )
        return remainder

    def _first_from_logits(self, result: Any) -> arrays.Token:
        """The first token from the logits that prepare answered with, without a model call (PR-4)."""
        path = self._dialect.logits_prefill
        if path == "none":
            raise ValueError(
                "the model's prepare answered with logits, which this dialect has no use for; "
                "answer with the remaining tokens"
            )
        if path == "bare":
            return self._sample(self._process(self._last_logits(result)))
        self._store_state(result)
        return self._choose(self._last_logits(result))

    # ------------------------------------------------------------ one step

    def _step(self, tokens: arrays.Tokens) -> arrays.Token:
        """Model call, state, then pass and processors, then sample and did-sample (ST-1)."""
        result = self._call_model(tokens, self._state)
        self._store_state(result)
        return self._choose(self._last_logits(result))

    def _call_model(self, tokens: arrays.Tokens, state: Any) -> Any:
        return self._model(self._ops.batched(tokens), cache=self._cache_argument(), state=state)

    def _cache_argument(self) -> Sequence[Any] | None:
        """The current list; an empty one is passed as none (ST-3)."""
        return self.container.layers or None

    def _store_state(self, result: Any) -> None:
        self._state = result.state  # ST-4: also when it is none

    def _last_logits(self, result: Any) -> arrays.Logits:
        return self._ops.last(result.logits)  # ST-5

    def _choose(self, logits: arrays.Logits) -> arrays.Token:
        """Pass and processors in the dialect's order, then the sample."""
        if self._dialect.pass_position == "before-processors":
            self._run_pass()
            return self._sample(self._process(logits))
        processed = self._process(logits)
        self._run_pass()
        return self._sample(processed)

    def _run_pass(self) -> None:
        """One pass with the parameters' options, never the container's (IT-3)."""
        parameters = self._parameters
        self.container.maybe_quantize(parameters.bits, parameters.group_size, parameters.start)

    def _process(self, logits: arrays.Logits) -> arrays.Logits:
        return logits if self._processor is None else self._processor.process(logits)

    def _sample(self, logits: arrays.Logits) -> arrays.Token:
        """One token, told to the processor (PS-1)."""
        token = self._sampler.sample(logits)
        if self._processor is not None:
            self._processor.did_sample(token)
        self._ops.scheduled(token)
        return token

    # ------------------------------------------------------------ handing out

    def _limit_reached(self) -> bool:
        """Whether no more tokens come out (NX-1)."""
        limit = self._parameters.max_tokens
        if limit is None or (limit < 0 and self._dialect.negative_max_tokens == "unlimited"):
            return False
        return self._count >= limit

    def _look_ahead(self, token: arrays.Token) -> None:
        """Computes the token after the one that is about to be returned (NX-2)."""
        self._pending = self._step(self._ops.single(token))

    def _count_one(self) -> None:
        self._count += 1
