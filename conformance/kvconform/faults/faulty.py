"""A catalogued fault as an implementation that can be run like any other."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from ..implementation import Crash, Info
from ..implementations import reference
from ..observation import Observation
from ..scenario import Scenario
from .fault import DialectSpec, Fault
from .planting import ProcessDied, planted


class FaultyImplementation:
    """The reference with one fault, in a dialect that it declares.

    The fault is in force only while ``run`` runs: what judges the answer is the unharmed reference.
    """

    def __init__(self, fault: Fault, dialect: DialectSpec | None = None) -> None:
        self.fault = fault
        declared = fault.declared(dialect)
        self._declaring = reference.factory(declared)
        self._behaving = reference.factory(replace(declared, **fault.behaves))

    @property
    def info(self) -> Info:
        """The reference's own, under the fault's name."""
        return self._info

    @cached_property
    def _info(self) -> Info:
        return self._declaring.info.model_copy(update={"name": f"fault:{self.fault.name}"})

    def run(self, scenario: Scenario) -> Observation:
        """The faulty answer; :class:`Crash` where the fault takes the process down."""
        try:
            with planted(self.fault.patches):
                return self._behaving.run(scenario)
        except ProcessDied as died:
            raise Crash(f"the process died with {died.signal}", signal=died.signal) from None
