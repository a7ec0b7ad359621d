"""Small logs to make reports from."""

from __future__ import annotations

from typing import Any

from kvconform.report.log import Event, Excuse, Footer, Header, Judged, Listed, Log, Subject
from kvconform.report.verdict import Verdict, verdict_of
from kvconform.scenario import Built, ContainerScenario, PassStep, PlainLayer, as_data

SCENARIO = as_data(
    ContainerScenario(
        layers=(PlainLayer(length=12, key_dim=80, value_dim=80),),
        built=Built(bits=4),
        steps=(PassStep(bits=4, start=10),),
    )
)


def listed(id: str, *, tier: str = "U", level: str = "must", checks: tuple[str, ...] = ("only",)) -> Listed:
    return Listed(
        id=id,
        area=id.partition("-")[0],
        tier=tier,
        level=level,
        statement=f"Statement of {id}.",
        checks=tuple(f"{id}.{name}" for name in checks),
    )


def judged(check: str, outcome: str = "pass", **more: Any) -> Judged:
    return Judged(requirement=check.partition(".")[0], check=check, outcome=outcome, **more)


def failed(check: str, outcome: str = "fail", **more: Any) -> Judged:
    evidence = {
        "message": "layer 0: offset 13, must be 12",
        "scenario": SCENARIO,
        "expected": 12,
        "observed": 13,
    }
    return judged(check, outcome, **{**evidence, "replay": ".kvconform/failures/ab.json", **more})


def header(*requirements: Listed, known: tuple[Excuse, ...] = ()) -> Header:
    return Header(
        implementation=Subject(
            spec="mine:make", name="mine", version="1.2", dialect="proposal", language="Python"
        ),
        seed=7,
        budget="quick",
        versions={"kvconform": "0.1.0"},
        requirements=requirements,
        known=known,
        known_source="known.toml" if known else None,
        started="2026-12-01T10:00:00+00:00",
    )


def events(*events: Event) -> list[Event]:
    """The events with a footer behind them."""
    results = sum(isinstance(event, Judged) for event in events)
    return [*events, Footer(results=results, seconds=1.5)]


def verdict(*given: Event, complete: bool = True, interrupted: bool = False) -> Verdict:
    log = Log.of(events(*given) if complete else list(given))
    return verdict_of(log, interrupted=interrupted)
