"""`iterate` scenarios: turns of ``generate_step`` over the scripted model, and their trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...implementation import Unsupported
from ...observation import (
    EndEvent,
    IterateObservation,
    NextEvent,
    StepError,
    TokenEvent,
    TurnRecord,
)
from ...pattern import prompt_tokens
from ...scenario import IterateScenario, Turn
from . import layers, looks, package, scripted
from .package import mx
from ..refusals import step_error


def run(scenario: IterateScenario) -> IterateObservation:
    """One record a turn."""
    _require_concepts(scenario)
    bench = _Bench(scenario)
    return IterateObservation(turns=tuple(bench.turn(turn) for turn in scenario.turns))


def _require_concepts(scenario: IterateScenario) -> None:
    """*Unsupported* for what ``generate_step`` has no words for."""
    asked_model = scenario.given == "model"
    missing = {
        "being given a list and a container": scenario.given == "both",
        "a model state": scenario.model.state != "none",
        "a prepare of the model": scenario.model.prepare != "tokens",
    }
    for turn in scenario.turns:
        missing |= {
            f"the {turn.form} form": turn.form != "general",
            "construction without a next: its construction is lazy": turn.nexts == 0,
            "a caller's list when the model was asked": turn.cache == "caller-list" and asked_model,
        }
        for what, is_missing in missing.items():
            if is_missing:
                raise Unsupported(f"mlx-lm's generate_step has no {what}")


class _Bench:
    """The model, the one list that plays every holder, and the objects met, over all turns."""

    def __init__(self, scenario: IterateScenario) -> None:
        slots = layers.number(scenario.layers)
        builder = layers.Builder(content=scenario.observe.content)
        self._list: list[Any] = [builder.build(slot) for slot in slots]
        self._registry = looks.Registry(scenario.observe)
        self._registry.meet_all(self._list)
        self._model = scripted.Model(scenario.model, slots, builder, self._list)
        self._vocab = scenario.model.vocab
        self._ask_model = scenario.given == "model"
        self._holders = ("container", "alias") if self._ask_model else ("container", "alias", "caller")

    def turn(self, turn: Turn) -> TurnRecord:
        """One call of ``generate_step``, asked ``nexts`` times."""
        trace: scripted.Trace = []
        self._model.trace = trace
        error: StepError | None = None
        try:
            self._take(self._tokens(turn), turn.nexts, trace)
        except Exception as raised:
            error = step_error(raised)
        ids = self._registry.meet_all(self._list)
        holders: dict[str, tuple[int, ...]] = dict.fromkeys(self._holders, ids)
        return TurnRecord(error=error, trace=tuple(trace), holders=holders, objects=self._registry.views())

    def _take(self, tokens: Iterator[int], nexts: int, trace: scripted.Trace) -> None:
        for i in range(nexts):
            if i > 0:  # the first one is logged by the sampler
                trace.append(NextEvent())
            token = next(tokens, None)
            trace.append(EndEvent() if token is None else TokenEvent(token=token))

    def _tokens(self, turn: Turn) -> Iterator[int]:
        parameters = turn.parameters
        limit = -1 if parameters.max_tokens is None else parameters.max_tokens
        prompt = prompt_tokens(turn.prompt.length, turn.prompt.seed, self._vocab)
        given = None if self._ask_model else self._list
        self._ask_model = False  # later turns go on with the list the model made
        steps = package.generate_step(
            mx.array(prompt, mx.uint32),
            self._model,
            max_tokens=limit,
            sampler=self._sampler(turn),
            logits_processors=self._processors(turn),
            prompt_cache=given,
            prefill_step_size=parameters.prefill_step,
            kv_bits=parameters.bits,
            kv_group_size=parameters.group_size,
            quantized_kv_start=parameters.start,
        )
        return (int(token) for token, _ in steps)

    def _sampler(self, turn: Turn) -> scripted.Sampler:
        return scripted.logging_sampler(
            mx.argmin if turn.sampler == "argmin" else mx.argmax, self._model.trace
        )

    def _processors(self, turn: Turn) -> list[scripted.Processor] | None:
        """An explicit processor instead of the parameters' one (IT-4), as a caller would pass it."""
        if turn.processor == "boost":
            chosen = [scripted.boost()]
        elif turn.parameters.repetition_penalty is not None:
            chosen = package.make_logits_processors(
                repetition_penalty=turn.parameters.repetition_penalty,
                repetition_context_size=turn.parameters.repetition_context_size,
            )
        else:
            return None
        return [scripted.logging_processor(one, self._model.trace, lambda: self._list) for one in chosen]
