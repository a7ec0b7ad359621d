"""Right answers to edit: the reference's, for tests of what judges them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from kvconform.checks import Context
from kvconform.implementations import reference
from kvconform.observation import Observation, observation_from_data
from kvconform.scenario import SCENARIO, Scenario
from kvconform_reference.dialect import Dialect, dialect_from

Edit = Callable[[Any], Any]
"""Changes the JSON data of an observation in place; what it returns is not looked at."""


def context(dialect: str | Dialect = "proposal", **info: Any) -> Context:
    """What checks may know of the reference in a dialect, with some of it declared otherwise."""
    made = reference.factory(dialect)
    return Context(info=made.info.model_copy(update=info), dialect=made.dialect)


def dialect(**parameters: Any) -> Dialect:
    """The proposal but for these parameters."""
    return dialect_from(parameters)


def scenario(kind: str, **fields: Any) -> Scenario:
    """A scenario from JSON-ready fields."""
    return SCENARIO.validate_python(
        json.loads(json.dumps({"version": 1, "kind": kind, **fields})), strict=False
    )


@cache
def _right(text: str, declared: Dialect) -> Observation:
    return reference.factory(declared).run(SCENARIO.validate_json(text))


def right(asked: Scenario, declared: Dialect | None = None) -> Observation:
    """The reference's answer."""
    return _right(asked.model_dump_json(), declared or Dialect())


def edited(observation: Observation, edit: Edit) -> Observation:
    """A copy with something changed."""
    data = observation.model_dump(mode="json")
    edit(data)
    return observation_from_data(data)


def put(path: str, value: Any) -> Edit:
    """Sets what stands at ``steps.1.objects.0.offset``."""
    *parents, last = [int(part) if part.lstrip("-").isdigit() else part for part in path.split(".")]

    def edit(data: Any) -> None:
        for part in parents:
            data = data[part]
        data[last] = value

    return edit


def both(*edits: Edit) -> Edit:
    """One edit after the other."""

    def edit(data: Any) -> None:
        for one in edits:
            one(data)

    return edit
