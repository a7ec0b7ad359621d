"""Which Python exceptions are refusals, and how a step's error is recorded."""

from __future__ import annotations

from ...observation import StepError

REFUSALS = (ValueError, TypeError, NotImplementedError)
"""What a Python package raises to say that it does not take something."""


def step_error(error: Exception) -> StepError:
    """The record of an error that ended one step."""
    return StepError(
        kind="refused" if isinstance(error, REFUSALS) else "internal",
        message=f"{type(error).__name__}: {error}",
    )
