"""The invariants that hold of every scenario of the alphabet, each with its requirement and its dialects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..checks import Context, Finding
from ..invariants import holders, passes
from ..observation import ContainerObservation
from ..requirements import outside
from ..scenario import ContainerScenario

Statement = Callable[[ContainerScenario, ContainerObservation], Iterable[Finding]]


@dataclass(frozen=True, kw_only=True)
class Law:
    """One invariant. ``whole`` laws need all steps, the others look at one step at a time."""

    requirement: str
    statement: Callable[..., Iterable[Finding]]
    whole: bool = False
    asks_context: bool = False
    dialects: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, "tuple[Any, ...]"])
    """Dialect parameters to which it is limited."""

    @property
    def name(self) -> str:
        """``MQ-5 converted_offset``."""
        return f"{self.requirement} {self.statement.__name__}"

    def for_context(self, context: Context) -> Statement:
        """The statement on scenario and observation alone."""
        if not self.asks_context:
            return self.statement
        return lambda scenario, observation: self.statement(scenario, observation, context)


KEEPS = {"rotating": ("keep", "convert"), "incompatible": ("keep",)}
"""Dialects in which nothing of the alphabet is an error."""

LAWS = (
    Law(requirement="MQ-1", statement=passes.idle_without_bits_or_layers),
    Law(
        requirement="MQ-2",
        statement=passes.idle_below_the_line,
        dialects={"threshold": ("at-least", "above")},
    ),
    Law(
        requirement="TH-5",
        statement=passes.idle_unless_quantizable_qualifies,
        asks_context=True,
        dialects={"scope": ("any-then-all", "per-layer"), "nested": ("opaque",)},
    ),
    Law(requirement="MQ-3", statement=passes.kept_layers_untouched, asks_context=True),
    Law(requirement="MQ-4", statement=passes.same_number_and_order),
    Law(requirement="MQ-5", statement=passes.converted_offset),
    Law(requirement="MQ-5", statement=passes.converted_bits),
    Law(requirement="GS-5", statement=passes.group_size_usable),
    Law(requirement="GS-8", statement=passes.compatible_request_used),
    Law(requirement="MQ-6", statement=passes.sources_unchanged, whole=True),
    Law(requirement="MQ-12", statement=passes.quantized_once),
    Law(requirement="MQ-13", statement=passes.nothing_after_error),
    Law(requirement="MQ-17", statement=passes.no_pass_raises, dialects=KEEPS),
    Law(requirement="QP-1", statement=passes.only_quantizable_convert),
    Law(requirement="QP-2", statement=passes.rows_equal_offset),
    Law(requirement="CT-1", statement=holders.holds_what_it_was_given, whole=True),
    Law(requirement="CT-2", statement=holders.holders_agree, whole=True),
    Law(requirement="CT-9", statement=holders.asked_once, whole=True),
    Law(
        requirement="CT-10",
        statement=holders.twins_independent,
        whole=True,
        dialects={"owner": ("container",)},
    ),
    Law(requirement="RF-3", statement=holders.trims_the_converted),
)


def laws_for(context: Context) -> tuple[Law, ...]:
    """The laws of a dialect."""
    return tuple(law for law in LAWS if outside(law.dialects, context.dialect) is None)
