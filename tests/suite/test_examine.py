"""The loop that examines an implementation by a check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from kvconform import examine as examining
from kvconform.checks import Check, Context, Finding
from kvconform.examine import Result, examine, examples_for, judge_scenario
from kvconform.implementation import Crash, Info, ProtocolBroken, TimedOut, Unsupported
from kvconform.observation import CacheObservation, Observation, Refusal, ResolveObservation
from kvconform.scenario import CacheScenario, ContainerScenario, PlainLayer, ResolveScenario, Scenario
from suite_answers import context


class Scripted:
    """An implementation that answers resolve scenarios as told, and counts."""

    def __init__(self, answer: Callable[[ResolveScenario], Observation]) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    @property
    def info(self) -> Info:
        return context().info

    def run(self, scenario: Scenario) -> Observation:
        self.asked.append(scenario)
        return self.answer(scenario)  # pyright: ignore[reportArgumentType]


def echo(scenario: ResolveScenario) -> ResolveObservation:
    """Answers the request itself."""
    return ResolveObservation(group_size=scenario.requested)


def scenarios(_context: Context) -> Any:
    return st.builds(ResolveScenario, requested=st.integers(0, 1000))


def at_most(limit: int) -> Any:
    def judge(_context: Any, _scenario: Any, observation: Any, _expect: Any) -> Any:
        if observation.group_size > limit:
            yield Finding(
                message=f"too large: {observation.group_size}",
                expected=limit,
                observed=observation.group_size,
            )

    return judge


def check(**fields: Any) -> Check:
    whole: dict[str, Any] = {
        "requirement": "GS-3",
        "name": "made-up",
        "scenarios": scenarios,
        "judge": at_most(500),
    }
    return Check(**{**whole, **fields})


def run(
    made: Check, implementation: Any, *, seed: int = 1, max_examples: int = 60, shrink: bool = True
) -> Result:
    return examine(made, implementation, context(), seed=seed, max_examples=max_examples, shrink=shrink)


def raising(error: Exception, *, above: int = -1) -> Any:
    def answer(scenario: ResolveScenario) -> ResolveObservation:
        if scenario.requested > above:
            raise error
        return echo(scenario)

    return answer


def test_a_check_that_finds_nothing_passes_and_says_how_much_it_judged():
    result = run(check(judge=at_most(1000)), Scripted(echo), max_examples=30)
    assert (result.outcome, result.message, result.examples) == ("pass", "", 30)
    assert result.check == "GS-3.made-up"
    assert result.seconds > 0


def test_a_failure_is_shrunk_to_the_smallest_scenario():
    result = run(check(), Scripted(echo))
    assert result.outcome == "fail"
    assert result.scenario == ResolveScenario(requested=501)
    assert (result.message, result.expected, result.observed) == ("too large: 501", 500, 501)
    assert result.observation == ResolveObservation(group_size=501)


def test_without_shrinking_the_search_ends_at_the_first_failure():
    implementation = Scripted(echo)
    result = run(check(), implementation, shrink=False)
    assert result.outcome == "fail"
    failing = [scenario for scenario in implementation.asked if scenario.requested > 500]
    assert len(failing) <= 2  # Hypothesis may replay it once


def test_the_same_seed_asks_the_same_and_another_seed_asks_otherwise():
    asked = []
    for seed in (1, 1, 2):
        implementation = Scripted(echo)
        run(check(judge=at_most(1000)), implementation, seed=seed)
        asked.append(implementation.asked)
    assert asked[0] == asked[1] != asked[2]


def test_what_is_asked_depends_on_the_check_and_not_on_what_ran_before():
    first, second = Scripted(echo), Scripted(echo)
    run(check(judge=at_most(1000), name="one"), first)
    run(check(judge=at_most(1000), name="two"), second)
    assert first.asked != second.asked


def test_explicit_scenarios_come_first():
    implementation = Scripted(echo)
    explicit = (ResolveScenario(requested=7), ResolveScenario(requested=8))
    run(check(judge=at_most(1000), explicit=lambda _context: explicit), implementation)
    assert tuple(implementation.asked[:2]) == explicit


def test_an_explicit_failure_is_searched_for_a_smaller_one():
    explicit = (ResolveScenario(requested=900, key_dim=64, value_dim=64),)
    result = run(check(explicit=lambda _context: explicit), Scripted(echo))
    assert result.scenario == ResolveScenario(requested=501)


def test_an_explicit_failure_that_generation_does_not_find_is_the_result():
    explicit = (ResolveScenario(requested=2000),)
    result = run(check(explicit=lambda _context: explicit, judge=at_most(1000)), Scripted(echo))
    assert result.scenario == explicit[0]


def test_without_shrinking_an_explicit_failure_ends_the_examination():
    implementation = Scripted(echo)
    explicit = (ResolveScenario(requested=900), ResolveScenario(requested=901))
    result = run(check(explicit=lambda _context: explicit), implementation, shrink=False)
    assert result.scenario == explicit[0]
    assert implementation.asked == [explicit[0]]


def test_a_check_without_generator_runs_its_explicit_scenarios():
    explicit = (ResolveScenario(requested=1),)
    result = run(check(scenarios=None, explicit=lambda _context: explicit), Scripted(echo))
    assert (result.outcome, result.examples) == ("pass", 1)


def test_answers_of_unsupported_are_discarded():
    answer = raising(Unsupported("no such size"), above=300)
    result = run(check(), Scripted(answer))
    assert result.outcome == "pass"
    assert result.examples > 0


def test_nothing_but_unsupported_is_unsupported_and_soon_given_up():
    implementation = Scripted(raising(Unsupported("no such concept")))
    result = run(check(), implementation, max_examples=1000)
    assert (result.outcome, result.message) == ("unsupported", "no such concept")
    assert len(implementation.asked) <= examining.HOPELESS + 1


def test_what_is_not_declared_is_unsupported_without_asking():
    implementation = Scripted(echo)
    result = run(check(needs=("feature:process-only",)), implementation)
    assert (result.outcome, result.message) == ("unsupported", "not declared: feature process-only")
    assert implementation.asked == []


def test_a_dialect_outside_the_check_is_unsupported():
    result = run(check(dialects={"latch": ("none",)}), Scripted(echo))
    assert result.outcome == "unsupported"
    assert "latch is first-trigger" in result.message


def test_refusals_of_sizes_are_not_judged_but_refusing_all_of_them_fails():
    some = run(check(), Scripted(raising(ValueError("cannot be used"), above=300)))
    every = run(check(), Scripted(raising(ValueError("cannot be used"))))
    assert some.outcome == "pass"
    assert every.outcome == "fail"
    assert every.message.startswith("every scenario was refused")
    assert every.message.endswith("cannot be used")


@pytest.mark.parametrize("error", [ValueError("no"), TypeError("no"), NotImplementedError("no")])
def test_a_refused_scenario_with_nothing_wrong_in_it_is_a_failure(error: Exception):
    made = check(scenarios=lambda _context: st.just(ContainerScenario(layers=(PlainLayer(),))))
    result = run(made, Scripted(raising_always(error)))
    assert result.outcome == "fail"
    assert result.message == "a scenario with nothing wrong in it was refused: no"


def raising_always(error: Exception) -> Any:
    def answer(_scenario: Any) -> Any:
        raise error

    return answer


def test_a_judge_that_asks_for_refusals_sees_them():
    def refused(_context: Any, _scenario: Any, observation: Any, _expect: Any) -> Any:
        if not isinstance(observation, Refusal):
            yield Finding(message="accepted")

    made = check(judge=refused, judges_refusals=True)
    assert run(made, Scripted(raising_always(ValueError("no")))).outcome == "pass"
    assert run(made, Scripted(echo)).outcome == "fail"


def test_another_exception_is_an_error_with_its_traceback():
    result = run(check(), Scripted(raising(ZeroDivisionError("oops"), above=10)))
    assert (result.outcome, result.scenario) == ("error", ResolveScenario(requested=11))
    assert result.message == "the implementation raised ZeroDivisionError: oops"
    assert "ZeroDivisionError" in result.detail


def test_a_crash_carries_its_signal_and_is_shrunk_a_few_times_only():
    implementation = Scripted(raising(Crash("died", signal="SIGFPE", detail="last words"), above=10))
    result = run(check(), implementation)
    crashes = [scenario for scenario in implementation.asked if scenario.requested > 10]
    assert (result.outcome, result.signal, result.detail) == ("crash", "SIGFPE", "last words")
    assert 1 < len(crashes) <= examining.CRASHES_WHILE_SHRINKING + 1
    assert result.scenario == min(
        crashes, key=lambda scenario: (len(str(scenario.requested)), scenario.requested)
    )


def test_a_timeout_is_not_tried_again_and_again():
    implementation = Scripted(raising(TimedOut("10 s"), above=10))
    result = run(check(), implementation)
    late = [scenario for scenario in implementation.asked if scenario.requested > 10]
    assert result.outcome == "timeout"
    assert len(late) <= examining.TIMEOUTS_WHILE_SHRINKING + 1


def test_a_broken_protocol_is_an_outcome_of_its_own():
    assert run(check(), Scripted(raising(ProtocolBroken("noise")))).outcome == "protocol"


def test_an_answer_of_the_wrong_kind_is_a_broken_protocol():
    result = run(check(), Scripted(lambda _scenario: CacheObservation(records=())))
    assert result.outcome == "protocol"
    assert result.message == "the answer is of kind cache, the scenario of kind resolve"


def test_an_answer_that_is_no_observation_is_a_broken_protocol():
    result = run(check(), Scripted(lambda _scenario: 64))  # pyright: ignore
    assert result.outcome == "protocol"
    assert result.message == (
        "the answer is no observation: run() returned int; "
        "return a kvconform.ResolveObservation, or its JSON form (docs/wire.md) as a dict"
    )


def test_an_observation_that_cannot_be_built_is_a_broken_protocol():
    result = run(check(), Scripted(lambda _scenario: ResolveObservation(group_size="64")))  # pyright: ignore
    assert result.outcome == "protocol"
    assert "group_size" in result.message


def test_an_answer_that_cannot_be_judged_is_an_error_and_no_pass():
    def judge(*_arguments: Any) -> Any:
        raise IndexError("no such layer")
        yield

    result = run(check(judge=judge), Scripted(echo))
    assert (result.outcome, result.scenario) == ("error", ResolveScenario(requested=0))
    assert result.message == "the answer could not be judged: IndexError: no such layer"
    assert "no such layer" in result.detail


def test_a_companion_that_cannot_be_answered_discards_the_scenario():
    def companion(_context: Any, scenario: Any) -> Any:
        return scenario.model_copy(update={"requested": 5000})

    def same(_context: Any, _scenario: Any, _observation: Any, expect: Any) -> Any:
        expect()
        yield from ()

    made = check(judge=same, oracle="relation", companion=companion)
    assert run(made, Scripted(raising(Unsupported("too large"), above=1000))).outcome == "unsupported"


def test_shrinking_does_not_slip_from_one_outcome_to_another():
    def answer(scenario: ResolveScenario) -> ResolveObservation:
        if scenario.requested > 500:
            raise ZeroDivisionError
        return echo(scenario)

    result = run(check(judge=at_most(400)), Scripted(answer), seed=3)
    assert result.outcome in ("fail", "error")
    assert result.scenario == ResolveScenario(requested=401 if result.outcome == "fail" else 501)


def test_an_answer_that_changes_from_run_to_run_is_reported_as_seen():
    answers = iter([ResolveObservation(group_size=1000)])
    result = run(check(), Scripted(lambda scenario: next(answers, ResolveObservation(group_size=0))))
    assert (result.outcome, result.observed) == ("fail", 1000)


def test_a_relation_is_judged_against_the_answer_to_the_companion():
    def larger(_context: Any, scenario: Any) -> Any:
        return scenario.model_copy(update={"requested": scenario.requested + 1})

    def grows(_context: Any, _scenario: Any, observation: Any, expect: Any) -> Any:
        if expect().group_size <= observation.group_size:
            yield Finding(message="does not grow")

    made = check(judge=grows, oracle="relation", companion=larger)
    assert run(made, Scripted(echo)).outcome == "pass"
    assert run(made, Scripted(lambda _scenario: ResolveObservation(group_size=3))).outcome == "fail"


def test_one_scenario_can_be_judged_alone():
    small = judge_scenario(check(), Scripted(echo), context(), ResolveScenario(requested=5))
    large = judge_scenario(check(), Scripted(echo), context(), ResolveScenario(requested=505))
    assert (small.outcome, large.outcome) == ("pass", "fail")
    assert large.scenario == ResolveScenario(requested=505)


def test_budgets_multiply_with_the_weight_of_a_check():
    assert examples_for(check(), "default") == examining.EXAMPLES["default"]
    assert examples_for(check(weight=0.5), "default") == examining.EXAMPLES["default"] / 2
    assert examples_for(check(weight=0.001), "quick") == 1


def test_a_cache_answer_with_too_few_records_is_malformed():
    made = check(scenarios=lambda _context: st.just(CacheScenario(layer=PlainLayer())))
    result = run(made, Scripted(lambda _scenario: CacheObservation(records=())))
    assert (result.outcome, result.message) == ("protocol", "0 records for 0 operations; one more is right")
