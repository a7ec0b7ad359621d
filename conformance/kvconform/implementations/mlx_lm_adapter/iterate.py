"""`iterate` scenarios: turns of ``generate_step`` over the scripted model, and their trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...implementation import Unsupported
from ...observation import (
    EndEvent,
    IterateObservation,
    NextEvent,
    SampleEvent,
    StepError,
    TokenEvent,
    TurnRecord,
)
from ...pattern import prompt_tokens
from ...scenario import IterateScenario, Turn
from ..refusals import step_error
from . import layers, looks, package, scripted
from .package import mx


def run(scenario: IterateScenario) -> IterateObservation:
    """One record a turn."""
    _require_concepts(scenario)
    bench = _Bench(scenario)
    return IterateObservation(turns=tuple(bench.turn(turn) for turn in scenario.turns))


def _require_concepts(scenario: IterateScenario) -> None:
    """*Unsupported* for what ``generate_step`` has no words for."""
    missing = {
        "way of being given both a list and a container": scenario.given == "both",
        "model state": scenario.model.state != "none",
        "prepare of the model": scenario.model.prepare != "tokens",
    }
    for turn in scenario.turns:
        missing |= {
            f"{turn.form} form": turn.form != "general",
            "construction without a next (it is lazy)": turn.nexts == 0,
        }
        for what, is_missing in missing.items():
            if is_missing:
                raise Unsupported(f"mlx-lm's generate_step has no {what}")


class _Bench:
    """The caller of ``generate_step``: its list or none, the model, and the objects met, over all turns."""

    def __init__(self, scenario: IterateScenario) -> None:
        slots = layers.number(scenario.layers)
        builder = layers.Builder(content=scenario.observe.content)
        built = [builder.build(slot) for slot in slots]
        self._registry = looks.Registry(scenario.observe)
        self._registry.meet_all(built)
        self._model = scripted.Model(scenario.model, slots, builder, built)
        self._vocab = scenario.model.vocab
        self._caller = None if scenario.given == "model" else built
        self._working: list[Any] | None = built if scenario.given == "container" else None
        """What stands for a container: a list handed in as one, or of the last turn that got past prefill."""

    def turn(self, turn: Turn) -> TurnRecord:
        """One call of ``generate_step``, asked ``nexts`` times."""
        trace: scripted.Trace = []
        self._model.trace = trace
        error: StepError | None = None
        try:
            self._take(self._tokens(turn), turn.nexts, trace)
        except Exception as raised:
            error = step_error(raised)
        if any(isinstance(event, SampleEvent) for event in trace):
            self._working = self._model.current
        return TurnRecord(
            error=error, trace=tuple(trace), holders=self._holders(), objects=self._registry.views()
        )

    def _holders(self) -> dict[str, tuple[int, ...]]:
        """Whose list is which; with a caller's list all names stand for that one."""
        lists = {"container": self._working, "alias": self._working, "caller": self._caller}
        return {name: self._registry.meet_all(held) for name, held in lists.items() if held is not None}

    def _passed(self, turn: Turn) -> list[Any] | None:
        """The list that a turn hands over; without one the model is asked."""
        if self._caller is not None:
            return self._caller
        return self._model.first_list if turn.cache == "caller-list" else self._working

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
        steps = package.generate_step(
            mx.array(prompt, mx.uint32),
            self._model,
            max_tokens=limit,
            sampler=self._sampler(turn),
            logits_processors=self._processors(turn),
            prompt_cache=self._passed(turn),
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
        return [
            scripted.logging_processor(one, self._model.trace, lambda: self._model.current) for one in chosen
        ]
