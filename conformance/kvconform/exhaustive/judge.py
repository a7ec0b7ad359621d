"""Judges scenarios of the alphabet: step by step where a law looks at one step, else all at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..checks import Context
from ..implementation import Implementation
from ..observation import ContainerObservation, Observation
from ..scenario import ContainerScenario
from .alphabet import Names, described, one_step, scenario
from .laws import Law, Statement, laws_for


@dataclass(frozen=True, kw_only=True)
class Breach:
    """A law that a scenario breaks."""

    law: str
    message: str
    dialect: str
    layers: Names
    steps: Names

    def __str__(self) -> str:
        return f"{self.law}: {self.message}: {described(self.layers, self.steps)}, dialect {self.dialect}"


class Bench:
    """One implementation under all laws of its dialect."""

    def __init__(self, implementation: Implementation, context: Context, *, dialect: str) -> None:
        self._implementation = implementation
        self._context = context
        self._dialect = dialect
        laws = laws_for(context)
        self._steps = [(law, law.for_context(context)) for law in laws if not law.whole]
        self._whole = [(law, law.for_context(context)) for law in laws if law.whole]

    def judge(self, layers: Names, steps: Names, *, judged: int = 0) -> Iterator[Breach]:
        """Run a scenario and judge it; the first ``judged`` steps have been judged as part of another one."""
        asked = scenario(layers, steps, self._context.dialect)
        observation = self._implementation.run(asked)
        if not isinstance(observation, ContainerObservation):
            yield self._breach("CT-0 built", f"it was refused: {_told(observation)}", layers, steps)
            return
        for law, statement in self._whole:
            yield from self._breaches(law, statement, asked, observation, layers, steps)
        for number in range(judged, len(steps)):
            one = one_step(layers, steps[number])
            seen = ContainerObservation.model_construct(
                kind="container", list_requests=0, steps=observation.steps[number : number + 2]
            )
            for law, statement in self._steps:
                yield from self._breaches(law, statement, one, seen, layers, steps[: number + 1])

    def _breaches(
        self,
        law: Law,
        statement: Statement,
        asked: ContainerScenario,
        observation: ContainerObservation,
        layers: Names,
        steps: Names,
    ) -> Iterator[Breach]:
        for finding in statement(asked, observation):
            yield self._breach(law.name, finding.message, layers, steps)

    def _breach(self, law: str, message: str, layers: Names, steps: Names) -> Breach:
        return Breach(law=law, message=message, dialect=self._dialect, layers=layers, steps=steps)


def _told(observation: Observation) -> str:
    return getattr(observation, "message", type(observation).__name__)
