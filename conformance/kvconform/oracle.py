"""The first oracle: what the reference, configured with the declared dialect, answers.

The second one (``invariants``) knows no reference. A bug in the reference must not be able to hide.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kvconform_reference.dialect import Dialect

from .observation import Observation, Refusal

if TYPE_CHECKING:
    from .implementation import Implementation
    from .scenario import Scenario


class ReferenceOracle:
    """Answers scenarios as a design with ``dialect`` must, with everything the reference can do."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._reference = _reference(dialect)

    def __call__(self, scenario: Scenario) -> Observation:
        """The expected observation; a refusal is an observation too."""
        try:
            return self._reference.run(scenario)
        except (ValueError, TypeError, NotImplementedError) as refusal:
            return Refusal(message=str(refusal))


@lru_cache(maxsize=64)
def _reference(dialect: Dialect) -> Implementation:
    from .implementations import reference

    return reference.factory(dialect)
