"""The JSON report: the verdict for programs. Its fields are listed in ``docs/cli.md``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..errors import worst_code
from ..replay import replay_command
from .log import Excuse, Judged
from .verdict import RequirementVerdict, Verdict

FORMAT = 1
"""Version of the report's format."""


def json_report(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The report of a run: that of the one implementation, or ``runs`` with one each.

    ``complete`` and ``exit_code`` stand at the top in either case.
    """
    runs = [_run(verdict) for verdict in verdicts]
    if len(runs) == 1:
        return {"report": FORMAT, **runs[0]}
    return {
        "report": FORMAT,
        "complete": bool(runs) and all(run["complete"] for run in runs),
        "exit_code": worst_code([run["exit_code"] for run in runs]),
        "runs": runs,
    }


def json_text(verdicts: Sequence[Verdict]) -> str:
    """The report as the text of a file."""
    return json.dumps(json_report(verdicts), indent=2) + "\n"


def _run(verdict: Verdict) -> dict[str, Any]:
    header, broken = verdict.log.header, verdict.log.broken
    judged, universal = verdict.universal
    return {
        "implementation": verdict.implementation.model_dump(mode="json"),
        "seed": header.seed if header else None,
        "budget": header.budget if header else None,
        "complete": verdict.complete,
        "exit_code": verdict.exit_code,
        "error": broken.message if broken else None,
        "universal": {"judged": judged, "of": universal},
        "counts": verdict.counts,
        "requirements": [_requirement(requirement) for requirement in verdict.requirements],
        "known_failures": {
            "source": header.known_source if header else None,
            "stale": [_excuse(entry) for entry in verdict.stale],
        },
        "notes": list(verdict.notes),
        "selected": list(header.selected) if header else [],
        "versions": header.versions if header else {},
        "started": header.started if header else None,
        "seconds": verdict.log.footer.seconds if verdict.log.footer else None,
        "busy": [] if verdict.complete else list(verdict.log.busy),
    }


def _requirement(requirement: RequirementVerdict) -> dict[str, Any]:
    deciding, listed = requirement.deciding, requirement.listed
    return {
        "id": listed.id,
        "area": listed.area,
        "tier": listed.tier,
        "level": listed.level,
        "statement": listed.statement,
        "outcome": requirement.outcome,
        "message": requirement.message,
        **_evidence(deciding),
        "examples": sum(result.examples for result in requirement.results),
        "seconds": round(sum(result.seconds for result in requirement.results), 3),
        "checks": [_check(result) for result in requirement.results],
    }


def _evidence(deciding: Judged | None) -> dict[str, Any]:
    """What a failure leaves behind; all null where there is none."""
    return {
        "scenario": deciding.scenario if deciding else None,
        "expected": deciding.expected if deciding else None,
        "observed": deciding.observed if deciding else None,
        "replay": replay_command(deciding.replay) if deciding and deciding.replay else None,
    }


def _check(result: Judged) -> dict[str, Any]:
    return {
        "id": result.check,
        "oracle": result.oracle,
        "catch_all": result.catch_all,
        "outcome": result.outcome,
        "message": result.message,
        **_evidence(result),
        "detail": result.detail,
        "signal": result.signal or None,
        "examples": result.examples,
        "seconds": round(result.seconds, 3),
    }


def _excuse(entry: Excuse) -> dict[str, Any]:
    return {"entry": entry.key, "message": entry.message, "reason": entry.reason, "url": entry.url}
