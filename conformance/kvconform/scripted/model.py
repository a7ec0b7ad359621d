"""The scripted model over the reference's caches: counts its calls, writes rows, answers with peaked logits.

It logs every call, so the trace shows what an iterator did. Meaning: ``docs/scenarios.md`` section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from kvconform_reference.iterator import ModelResult, RemainingTokens

from ..implementations import reference_layers
from ..implementations.reference_layers import LayerSlot
from ..observation import CallEvent, Event, NewCacheEvent, PrepareEvent
from ..pattern import chain_all
from ..scenario import ScriptedModel as Script
from . import arithmetic, looks

Trace = list[Event]
Plan = Callable[[int, int], tuple[int, ...]]
"""(prompt length, window) -> chunk lengths, as the declared `prefill` plan cuts them."""


class PrepareFailed(Exception):  # noqa: N818 - the scripted model's own error, not an error of the harness
    """What prepare raises when the scenario says ``raise``."""


class ModelMisused(Exception):  # noqa: N818
    """The iterator called the model in a way that no model understands."""


class ScriptedModel:
    """The model of one scenario; the call number runs over all its turns."""

    def __init__(
        self, script: Script, *, slots: Sequence[LayerSlot], layers: Sequence[Any], plan: Plan
    ) -> None:
        self.trace: Trace = []
        """Where the events of the current turn go."""
        self.answered: list[Any] | None = None
        """The first list that was answered with when the iterator asked for one."""
        self._script = script
        self._slots = slots
        self._layers = layers
        self._plan = plan
        self._calls = 0

    def new_cache(self, parameters: Any) -> list[Any]:
        """A new list of the scenario's layers."""
        self.trace.append(NewCacheEvent())
        fresh = list(self._layers)
        self.answered = fresh if self.answered is None else self.answered
        return fresh

    def __call__(self, tokens: Any, *, cache: Sequence[Any] | None, state: int | None) -> ModelResult:
        """One model call on ``[1, length]`` tokens."""
        row = only_row(tokens)
        layers = () if cache is None else cache
        self._log_call(row, layers, state, no_cache=cache is None)
        seen = arithmetic.fold_state(
            looks.fold_layers(chain_all(self._script.seed), layers),
            state,
        )
        call = self._calls
        self._calls += 1
        self._write(layers, len(row), salt=call)
        last_token = row[-1] if row else 0
        return ModelResult(
            (PeakedRows(seen, row, self._script.vocab, ties=self._script.ties),),
            arithmetic.next_state(self._script.state, call, state, last_token),
        )

    def prepare(self, tokens: Sequence[int], cache: Sequence[Any], window: int) -> Any:
        """The prefill as the script says: calls itself on chunks, answers with tokens, logits or nothing."""
        self.trace.append(PrepareEvent(length=len(tokens), window=window))
        how = self._script.prepare
        if how == "raise":
            raise PrepareFailed("scripted prepare failed")
        chunks = list(cut(tokens, self._plan(len(tokens), window)))
        if not chunks:
            return RemainingTokens(())
        if how == "tokens":
            self._feed(chunks[:-1], cache)
            return RemainingTokens(chunks[-1])
        result = self._feed(chunks, cache, with_state=how == "logits")
        return result if how == "logits" else RemainingTokens(())

    def _feed(
        self, chunks: Sequence[Sequence[int]], cache: Sequence[Any], *, with_state: bool = False
    ) -> ModelResult | None:
        """Calls itself on every chunk; the last result."""
        result = None
        for chunk in chunks:
            state = result.state if with_state and result is not None else None
            result = self((chunk,), cache=cache or None, state=state)
        return result

    def _write(self, layers: Sequence[Any], rows: int, *, salt: int) -> None:
        for slot, layer in zip(
            self._slots, layers, strict=False
        ):  # a list of another length shows in the trace
            reference_layers.write_rows(slot, layer, rows, salt=salt)

    def _log_call(
        self, row: tuple[int, ...], layers: Sequence[Any], state: int | None, *, no_cache: bool
    ) -> None:
        self.trace.append(
            CallEvent(
                tokens=row,
                offsets=looks.offsets(layers),
                caches=looks.signatures(layers),
                state=state,
                no_cache=no_cache,
            )
        )


class PeakedRows(Sequence[list[int]]):
    """The logits of one call, ``[length, vocab]``; a row is computed when it is looked at."""

    def __init__(self, seen: int, tokens: tuple[int, ...], vocab: int, *, ties: bool) -> None:
        self._seen = seen
        self._tokens = tokens
        self._vocab = vocab
        self._ties = ties

    def __len__(self) -> int:
        return len(self._tokens)

    @overload
    def __getitem__(self, index: int) -> list[int]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[int]]: ...
    def __getitem__(self, index: int | slice) -> list[int] | list[list[int]]:
        rows = range(len(self._tokens))[index]
        return self._row(rows) if isinstance(rows, int) else [self._row(row) for row in rows]

    def _row(self, row: int) -> list[int]:
        peak = arithmetic.target(self._seen, self._tokens[row], row, self._vocab)
        return arithmetic.logits_around(peak, self._vocab, ties=self._ties)


def only_row(tokens: Any) -> tuple[int, ...]:
    """The tokens of ``[1, length]``; :class:`ModelMisused` for anything else (ST-3)."""
    if len(tokens) != 1 or isinstance(tokens[0], int):
        raise ModelMisused(f"the model was called with {tokens!r}; a leading batch axis of 1 is due")
    return tuple(tokens[0])


def cut(tokens: Sequence[int], lengths: Sequence[int]) -> Iterator[Sequence[int]]:
    """The tokens in chunks of these lengths."""
    start = 0
    for length in lengths:
        yield tokens[start : start + length]
        start += length
