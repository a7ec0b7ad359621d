"""Answers of Python implementations in their JSON form: a dict is read exactly like a line of the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar, cast, get_args

from pydantic import TypeAdapter, ValidationError

from .implementation import Implementation, Info, ProtocolBroken
from .observation import OBSERVATION, Observation
from .scenario import Scenario
from .wire import messages

ValueT = TypeVar("ValueT")

_UNION, _ = get_args(Observation)
CLASSES: dict[str, type] = {one.model_fields["kind"].default: one for one in get_args(_UNION)}
"""The class of every kind of observation."""

_INFO: TypeAdapter[Info] = TypeAdapter(Info)
_INITIALIZED: TypeAdapter[messages.Initialized] = TypeAdapter(messages.Initialized)


def observation_of(given: Any, scenario: Scenario) -> Observation:
    """What ``run`` returned, as an observation; ``ProtocolBroken`` says what to return instead."""
    if isinstance(given, tuple(CLASSES.values())):
        return cast("Observation", given)
    advice = (
        f"return a kvconform.{CLASSES[scenario.kind].__name__}, or its JSON form (docs/wire.md) as a dict"
    )
    if not isinstance(given, Mapping):
        raise ProtocolBroken(f"the answer is no observation: run() returned {_kind(given)}; {advice}")
    try:
        return _read(OBSERVATION, cast("Mapping[str, Any]", given))
    except ValueError as error:
        raise ProtocolBroken(f"the answer is no observation: {error}; {advice}") from error


def info_of(given: Mapping[str, Any]) -> Info:
    """An ``Info`` from its own fields, or from the result of ``initialize``; ``ValueError`` if neither."""
    if "implementation" in given:
        return _read(_INITIALIZED, {"protocol": messages.PROTOCOL, **given}).info()
    return _read(_INFO, given)


class Described:
    """An implementation that gives its info as a dict, with the ``Info`` that this is."""

    def __init__(self, implementation: Implementation, info: Info) -> None:
        self._implementation = implementation
        self.info = info

    def run(self, scenario: Scenario) -> Observation:
        """The implementation's own answer, whatever form it has."""
        return self._implementation.run(scenario)

    def __getattr__(self, name: str) -> Any:
        """``close``, and whatever else the implementation has."""
        return getattr(self._implementation, name)


def _read(form: TypeAdapter[ValueT], given: Mapping[str, Any]) -> ValueT:
    """Through JSON text, as over the wire: ``ValueError`` names the field that is wrong, or has no JSON."""
    try:
        text = json.dumps(dict(given), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"it cannot be written as JSON ({error})") from None
    try:
        return form.validate_json(text)
    except ValidationError as error:
        raise ValueError(messages.first_fault(error)) from None


def _kind(given: Any) -> str:
    return "None" if given is None else type(given).__name__
