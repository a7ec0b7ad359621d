"""The scripted model on MLX arrays, and the samplers and processors around it; all of them write the trace.

The model is eager (it reads its tokens at once); the logits it answers with are real MLX arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from ...observation import CallEvent, Event, NewCacheEvent, NextEvent, ProcessEvent, SampleEvent
from ...pattern import chain_all
from ...scenario import ScriptedModel
from ...scripted import arithmetic
from . import layers
from .package import mx

Trace = list[Event]
Processor = Callable[[Any, Any], Any]
Sampler = Callable[[Any], Any]


IDLE_CALLS = 50
"""So many calls without a token in a row are taken for a loop without end; no design needs one."""


class Endless(RuntimeError):  # noqa: N818 - names what was seen
    """The iterator calls the model over and over with nothing; without this the scenario would never end."""


class Model:
    """The scripted model as ``generate_step`` wants one: callable, with ``layers`` and ``make_cache``."""

    def __init__(
        self,
        script: ScriptedModel,
        slots: Sequence[layers.Slot],
        builder: layers.Builder,
        caches: list[Any],
    ) -> None:
        self.layers = list(slots)
        self.trace: Trace = []
        """Where events of the current turn go."""
        self.first_list: list[Any] | None = None
        """The list that it answered with when it was first asked for one."""
        self.current: list[Any] = []
        """The list of the last call."""
        self._script = script
        self._builder = builder
        self._caches = tuple(caches)
        self._calls = self._idle = 0
        self._rotations = _rotations(script)

    def make_cache(self) -> list[Any]:
        """A new list of the scenario's layers; logged, because it is the model that was asked."""
        self.trace.append(NewCacheEvent())
        made = list(self._caches)
        if self.first_list is None:
            self.first_list = made
        return made

    def __call__(self, tokens: Any, cache: list[Any] | None = None) -> Any:
        """Logits ``[1, L, vocab]`` of the tokens ``[1, L]``; writes L rows to every layer."""
        (read,) = tokens.tolist()
        self._notice_endless(len(read))
        caches = self.current = cache if cache is not None else []
        self.trace.append(
            CallEvent(
                tokens=tuple(read),
                offsets=tuple(layers.offset(one) for one in caches),
                caches=tuple(layers.signature(one) for one in caches),
                no_cache=cache is None,
            )
        )
        seen = _seen(self._script.seed, caches)
        for slot, one in zip(self.layers, caches, strict=bool(caches)):
            self._builder.write(slot, one, len(read), salt=self._calls)
        self._calls += 1
        return self._logits(seen, read)

    def _notice_endless(self, rows: int) -> None:
        self._idle = 0 if rows else self._idle + 1
        if self._idle >= IDLE_CALLS:
            raise Endless(
                f"the model was called {IDLE_CALLS} times in a row without a token: a loop without end"
            )

    def _logits(self, seen: int, tokens: list[int]) -> Any:
        vocab = self._script.vocab
        targets = [arithmetic.target(seen, token, row, vocab) for row, token in enumerate(tokens)]
        return mx.array(self._rotations[vocab - np.array(targets, np.intp)])[None]


def _rotations(script: ScriptedModel) -> npt.NDArray[np.float32]:
    """Row ``vocab - t`` holds the logits that peak at ``t``: a view of one array, nothing is copied."""
    falling = np.array(arithmetic.falling_logits(script.vocab, script.ties), np.float32)
    return sliding_window_view(np.concatenate([falling, falling]), script.vocab)


def _seen(seed: int, caches: Sequence[Any]) -> int:
    """Hash of everything the model can tell about its caches; mlx-lm hands no state."""
    seen = chain_all(seed)
    for cache in layers.leaves(caches):
        seen = _fold(seen, cache)
    return arithmetic.fold_state(seen, None)


def _fold(seen: int, cache: Any) -> int:
    match layers.kind_of(cache):
        case "composite":
            return arithmetic.fold_composite(seen, len(cache.caches))
        case "quantized":
            return arithmetic.fold_quantized(seen, cache.group_size, cache.bits, cache.offset)
        case "recurrent":
            return arithmetic.fold_leaf(seen, "recurrent", layers.recurrent_state(cache))
        case kind:
            return arithmetic.fold_leaf(seen, kind, cache.offset)


# ---------------------------------------------------------------- samplers


def logging_sampler(pick: Callable[..., Any], trace: Trace) -> Sampler:
    """Samples with ``pick`` (``mx.argmax``, ``mx.argmin``: the lowest index of a tie).

    ``generate_step`` runs its prefill at the first ``next``: that ``next`` is logged behind the first sample,
    where the prefill of an eager iterator ends.
    """

    def sample(logprobs: Any) -> Any:
        token = pick(logprobs, axis=-1)
        first = not any(isinstance(event, SampleEvent) for event in trace)
        trace.append(SampleEvent(token=token.item()))
        if first:
            trace.append(NextEvent())
        return token

    return sample


# ---------------------------------------------------------------- processors


def logging_processor(process: Processor, trace: Trace, caches: Callable[[], Sequence[Any]]) -> Processor:
    """Logs ``process`` with the signatures of the caches at that moment, then processes."""

    def logged(tokens: Any, logits: Any) -> Any:
        trace.append(ProcessEvent(caches=tuple(layers.signature(cache) for cache in caches())))
        return process(tokens, logits)

    return logged


def boost() -> Processor:
    """The processor that forces a token of its own at each call."""
    calls = 0

    def process(tokens: Any, logits: Any) -> Any:
        nonlocal calls
        vocab = logits.shape[-1]
        raised = np.zeros(vocab, np.float32)
        raised[arithmetic.boosted_token(calls, vocab)] = arithmetic.BOOST
        calls += 1
        return logits + mx.array(raised)

    return process
