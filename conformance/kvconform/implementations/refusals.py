"""Which exceptions of a Python implementation are refusals, and how a step's error is recorded."""

from __future__ import annotations

from ..observation import StepError

REFUSALS = (ValueError, TypeError, NotImplementedError)
"""Raised before anything changed they say: I do not take this. Everything else is an internal error."""


def step_error(error: Exception) -> StepError:
    """The record of an error that ended one step."""
    return StepError(kind="refused" if isinstance(error, REFUSALS) else "internal", message=str(error))
