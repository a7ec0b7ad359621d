"""The pure-Python reference as an implementation, in any dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any

from kvconform_reference import dialect as dialects
from kvconform_reference.dialect import Dialect
from pydantic import ValidationError

from .. import __version__
from ..generate import answers
from ..implementation import FEATURES, Capabilities, Info
from ..observation import Observation, Refusal
from ..scenario import GenerateScenario, IterateScenario, Scenario
from . import reference_cache, reference_container, reference_numbers
from .refusals import REFUSALS


def factory(dialect: str | Mapping[str, Any] | Dialect = "proposal") -> ReferenceImplementation:
    """The reference in a dialect: a name, parameters spelled out, or a ``Dialect``; ValueError if unknown."""
    return ReferenceImplementation(
        dialect if isinstance(dialect, Dialect) else dialects.dialect_from(dialect)
    )


class ReferenceImplementation:
    """Answers every kind, ``generate`` where MLX is installed. Nothing is kept but loaded models."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    @property
    def info(self) -> Info:
        """Who this is, and all that the dialect has a concept of."""
        return self._info

    @cached_property
    def _info(self) -> Info:
        return Info(
            name="reference",
            version=__version__,
            backend="pure Python",
            dialect=dialects.name_of(self.dialect) or self.dialect.as_dict(),
            capabilities=Capabilities(kinds=kinds(), features=features_of(self.dialect)),
        )

    def run(self, scenario: Scenario) -> Observation:
        """The observation; a refusal of the whole scenario is a ``Refusal``."""
        try:
            return run_kind(scenario, self.dialect)
        except ValidationError as error:  # a ValueError, but ours: the answer does not fit the data model
            raise RuntimeError(f"the reference's own answer is invalid: {error}") from error
        except REFUSALS as error:
            return Refusal(message=str(error))


def run_kind(scenario: Scenario, dialect: Dialect) -> Observation:
    """The answer of the function for the scenario's kind."""
    return KINDS[scenario.kind](scenario, dialect)


def run_iterate(scenario: IterateScenario, dialect: Dialect) -> Observation:
    """Imported when first asked for: the scripted model and the iterator are of no use to the other kinds."""
    return import_module(f"{__package__}.reference_iterate").run_iterate(scenario, dialect)


def run_generate(scenario: GenerateScenario, dialect: Dialect) -> Observation:
    """The only kind that needs MLX, which is imported when this is first called."""
    return answers.by_reference(scenario, dialect)


KINDS: Mapping[str, Callable[[Any, Dialect], Observation]] = {
    "resolve": reference_numbers.run_resolve,
    "quantize": reference_numbers.run_quantize,
    "cache": reference_cache.run_cache,
    "container": reference_container.run_container,
    "iterate": run_iterate,
    "generate": run_generate,
}


def kinds() -> tuple[str, ...]:
    """The kinds that can be answered here."""
    return tuple(kind for kind in KINDS if kind != "generate" or answers.can_run())


def features_of(dialect: Dialect) -> tuple[str, ...]:
    """Every feature but those that the dialect, or a design with full processors, has no concept of."""
    absent = {"process-only"}
    if dialect.prefill == "reserve-one" or dialect.quantize_between_chunks:  # the iterator's own loop: PR-6
        absent |= {"prepare", "logits-prefill"}
    if dialect.logits_prefill == "none":
        absent.add("logits-prefill")
    return tuple(feature for feature in FEATURES if feature not in absent)
