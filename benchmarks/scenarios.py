"""Scenarios a second in process, what validation costs, and what share of a check each part has."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from kvconform.checks import Check, Context
from kvconform.examine import examine, examples_for
from kvconform.implementations import reference
from kvconform.observation import OBSERVATION, Observation
from kvconform.scenario import SCENARIO, Scenario
from kvconform.session import DEFAULT_SEED, context_of, start_session
from kvconform.suite import all_checks

from .measuring import Row, per_second

WANTED = {"resolve": 20_000, "container": 2_000, "iterate": 1_000}
"""Scenarios a second that are promised where no bytes are asked for."""
KINDS = ("resolve", "quantize", "cache", "container", "iterate")
SAMPLE = 400
"""Scenarios of each sort: as the suite generates them, not chosen for speed."""


def asked() -> dict[str, list[Scenario]]:
    """What the suite asks at the quick budget, by kind; those that want bytes apart."""
    session = start_session("reference", budget="quick")
    sorted_out: dict[str, list[Scenario]] = {}
    for scenario in session.asked(all_checks(), examples=15):
        observe = getattr(scenario, "observe", None)
        name = f"{scenario.kind}, bytes" if observe is not None and observe.content else scenario.kind
        sorted_out.setdefault(name, []).append(scenario)
    return {name: scenarios[:SAMPLE] for name, scenarios in sorted_out.items()}


def rates(scenarios: dict[str, list[Scenario]]) -> Iterator[Row]:
    """The reference, in process, without Hypothesis."""
    run = reference.factory().run
    measured = {name: per_second(_quiet(run), scenarios[name]) for name in sorted(scenarios)}
    for name, rate in measured.items():
        kind = name.partition(",")[0]
        wanted = f"wanted {WANTED[name]:,}" if name in WANTED else ""
        ratio = (
            f"{rate / measured[kind]:.2f} of those without" if name != kind and kind in measured else wanted
        )
        yield Row(section="scenarios a second", what=name, value=rate, unit="1/s", beside=ratio)


def _quiet(run: object) -> object:
    def answer(scenario: Scenario) -> Observation | None:
        try:
            return run(scenario)  # pyright: ignore
        except (ValueError, TypeError, NotImplementedError):  # a refusal is an answer
            return None

    return answer


def validation(scenarios: dict[str, list[Scenario]]) -> Iterator[Row]:
    """Reading and writing the documents of one scenario, beside running it."""
    run = reference.factory().run
    for kind in KINDS:
        chosen = scenarios.get(kind, [])[:100]
        pairs = [(one.model_dump_json(), run(one)) for one in chosen]
        answers = [answer.model_dump_json() for _, answer in pairs]
        running = 1 / per_second(run, chosen)
        for what, action, items in (
            ("scenario read", SCENARIO.validate_json, [text for text, _ in pairs]),
            ("observation written", lambda answer: answer.model_dump_json(), [one for _, one in pairs]),
            ("observation read", OBSERVATION.validate_json, answers),
        ):
            seconds = 1 / per_second(action, items)
            yield Row(
                section="cost of validation",
                what=f"{kind}: {what}",
                value=seconds * 1e6,
                unit="us",
                beside=f"{seconds / running:.2f} of running it",
            )


class _Timed:
    """An implementation that adds up the time its answers take."""

    def __init__(self) -> None:
        self._inner = reference.factory()
        self.info = self._inner.info
        self.seconds = 0.0

    def run(self, scenario: Scenario) -> Observation:
        started = time.process_time()
        try:
            return self._inner.run(scenario)
        finally:
            self.seconds += time.process_time() - started


def areas(budgets: tuple[str, ...]) -> Iterator[Row]:
    """CPU time of the suite by area, and in the quick budget how much of it is answering and judging."""
    totals: dict[str, float] = {}
    for budget in budgets:
        by_area: dict[str, float] = {}
        shares = {"answers": 0.0, "judges": 0.0, "all": 0.0}
        for check in all_checks():
            spent = _spent(check, budget)
            by_area[check.area] = by_area.get(check.area, 0.0) + spent["all"]
            shares = {name: shares[name] + spent[name] for name in shares}
        totals[budget] = shares["all"]
        for area, seconds in by_area.items():
            yield Row(
                section=f"suite, {budget} budget",
                what=area,
                value=seconds,
                unit="s",
                beside=f"{seconds / shares['all']:.0%}",
            )
        yield from _shares(budget, shares)
    if len(budgets) > 1:
        first, last = budgets[0], budgets[-1]
        ratio = totals[last] / totals[first]
        yield Row(section="suite", what=f"{last} over {first}", value=ratio, unit="x")


def _shares(budget: str, shares: dict[str, float]) -> Iterator[Row]:
    rest = shares["all"] - shares["answers"] - shares["judges"]
    named = {
        "all": shares["all"],
        "the reference": shares["answers"],
        "judges": shares["judges"],
        "generation": rest,
    }
    for name, seconds in named.items():
        yield Row(
            section=f"suite, {budget} budget, by part",
            what=name,
            value=seconds,
            unit="s",
            beside=f"{seconds / shares['all']:.0%}",
        )


def _spent(check: Check, budget: str) -> dict[str, float]:
    timed = _Timed()
    context = context_of(timed, budget=budget)
    judged = [0.0]
    watched = replace(check, judge=_watched(check, judged))
    started = time.process_time()
    examine(watched, timed, context, seed=DEFAULT_SEED, max_examples=examples_for(check, budget))
    total = time.process_time() - started
    return {"answers": timed.seconds, "judges": judged[0], "all": total}


def _watched(check: Check, spent: list[float]) -> object:
    def judge(context: Context, scenario: Scenario, observation: Observation, expect: object) -> list[object]:
        started = time.process_time()
        findings = list(check.judge(context, scenario, observation, expect))  # pyright: ignore
        spent[0] += time.process_time() - started
        return findings

    return judge
