"""The verdict of a check, how a scenario is put to an implementation, and how large a failure is."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from . import json_form
from .checks import Check, Finding
from .implementation import Crash, Implementation, Trouble, Unsupported
from .observation import Observation, Refusal
from .outcomes import Outcome
from .scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class Result:
    """What one check found. ``scenario`` and what follows describe the smallest failure."""

    requirement: str
    check: str
    outcome: Outcome
    message: str = ""
    scenario: Scenario | None = None
    expected: Any = None
    observed: Any = None
    observation: Observation | None = None
    """The whole answer, when there was one."""
    detail: str = ""
    """Traceback, or the last lines of a process's stderr."""
    signal: str = ""
    """Of a crash."""
    examples: int = 0
    """Scenarios that were judged."""
    seconds: float = 0.0


class Malformed(Trouble):
    """An answer that is none: it says nothing for or against the requirement."""

    outcome = "protocol"


class Raised(Trouble):
    """An exception that is no refusal, of the implementation or in judging its answer."""

    outcome = "error"


def answer(implementation: Implementation, scenario: Scenario) -> Observation:
    """The observation; the exceptions that mean a refusal become one, all others trouble."""
    try:
        return json_form.observation_of(implementation.run(scenario), scenario)
    except (Unsupported, Trouble):
        raise
    except ValidationError as error:
        raise Malformed(f"the answer is no observation: {error}", detail=traceback.format_exc()) from error
    except (ValueError, TypeError, NotImplementedError) as refusal:
        return Refusal(message=str(refusal) or type(refusal).__name__)
    except Exception as error:
        message = f"the implementation raised {type(error).__name__}: {error}"
        raise Raised(message, detail=traceback.format_exc()) from error


def trouble_result(check: Check, scenario: Scenario, trouble: Trouble) -> Result:
    """The failure of a scenario that was not answered."""
    return Result(
        requirement=check.requirement,
        check=check.id,
        outcome=trouble.outcome,  # pyright: ignore[reportArgumentType] - declared as str for adapters
        message=str(trouble),
        scenario=scenario,
        detail=trouble.detail,
        signal=trouble.signal if isinstance(trouble, Crash) else "",
    )


def finding_result(check: Check, scenario: Scenario, observation: Observation, finding: Finding) -> Result:
    """The failure that a judge found."""
    return Result(
        requirement=check.requirement,
        check=check.id,
        outcome="fail",
        message=finding.message,
        scenario=scenario,
        expected=finding.expected,
        observed=finding.observed,
        observation=observation,
    )


def refused_result(check: Check, scenario: Scenario, refusal: Refusal) -> Result:
    """The failure of refusing what must not be refused."""
    return Result(
        requirement=check.requirement,
        check=check.id,
        outcome="fail",
        message=f"a scenario with nothing wrong in it was refused: {refusal.message}",
        scenario=scenario,
        expected="an answer",
        observed=f"refused: {refusal.message}",
        observation=refusal,
    )


def size(result: Result) -> tuple[int, int, int]:
    """How large a failing scenario is: what it says beyond the defaults, and the sum of its numbers."""
    assert result.scenario is not None
    said = result.scenario.model_dump(mode="json", exclude_defaults=True)
    return _parts(said), len(json.dumps(said)), sum(map(abs, _numbers(said)))


def _parts(data: object) -> int:
    """How many fields and entries a JSON value has."""
    if isinstance(data, dict):
        return sum(1 + _parts(value) for value in cast("dict[str, object]", data).values())
    if isinstance(data, list):
        return sum(1 + _parts(value) for value in cast("list[object]", data))
    return 0


def _numbers(data: object) -> Iterator[int]:
    if isinstance(data, dict):
        data = list(cast("dict[str, object]", data).values())
    if isinstance(data, list):
        for item in cast("list[object]", data):
            yield from _numbers(item)
    elif isinstance(data, int) and not isinstance(data, bool):
        yield data
