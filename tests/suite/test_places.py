"""Where two answers differ, in words that need no knowledge of how answers are stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kvconform import places, projections
from kvconform.jsondata import is_list, is_object
from suite_answers import context, edited, put, right, scenario

ONE = {"kind": "plain", "length": 1}
TWO = scenario(
    "container",
    layers=[ONE, ONE],
    built={"bits": 4},
    steps=[{"do": "append", "rows": 2}, {"do": "pass", "bits": 4}],
)
CACHE = scenario(
    "cache", layer={"kind": "recurrent", "filled": True}, operations=[{"op": "append", "rows": 1}]
)
TURN = {"prompt": {"length": 2}, "nexts": 2}
TURNS = scenario("iterate", layers=[ONE], turns=[TURN, TURN], model={"state": "always"})


def trace_of(turn: int) -> list[Any]:
    """The events of a turn of the right answer."""
    answer: Any = right(TURNS)
    return list(answer.turns[turn].trace)


def told(projection: Any, asked: Any, *edits: Any) -> str:
    """What is said when the answer differs from the right one by these edits."""
    other = right(asked)
    for edit in edits:
        other = edited(other, edit)
    one, two = (projections.projected(projection, context(), each) for each in (right(asked), other))
    return places.difference(one, two, scenario=asked, units=places.units_of(projection))


def test_a_step_is_named_with_its_number_and_what_it_does() -> None:
    said = told(projections.layers, TWO, put("steps.2.objects.3.offset", 9))
    assert said == 'after step 2 (pass), layer 1 is "Q:64,4@9", expected "Q:64,4@3"'


def test_what_stands_before_the_first_step_is_called_so() -> None:
    said = told(projections.layers, TWO, put("steps.0.objects.1.offset", 9))
    assert said == 'before step 1, layer 1 is "S@9", expected "S@1"'


def test_a_step_that_raises_is_told_as_such() -> None:
    said = told(projections.layers, TWO, put("steps.2.error", {"kind": "refused", "message": "no"}))
    assert said == 'step 2 (pass) raised, expected ["Q:64,4@3", "Q:64,4@3"]'


def test_a_step_that_should_have_raised_is_told_as_such() -> None:
    bad = scenario("container", layers=[ONE], built={"bits": 4}, steps=[{"do": "pass", "bits": 7}])
    assert told(projections.layers, bad, put("steps.1.error", None)) == (
        "step 1 (pass) raised nothing, expected an error"
    )


def test_the_object_in_a_layers_place_is_named_as_an_object() -> None:
    said = told(projections.everything_in_container, TWO, put("steps.2.holders.container", [2, 1]))
    assert said == "after step 2 (pass), container, layer 1 is object 1, expected object 3"


def test_a_field_of_an_object_is_named() -> None:
    said = told(projections.everything_in_cache, CACHE, put("records.1.objects.0.state.0", 5))
    answer: Any = right(CACHE)
    expected = answer.records[1].objects[0].state[0]
    assert said == f"after operation 1 (append), object 0, state, entry 0 is 5, expected {expected}"


def test_a_model_call_of_a_turn_is_counted_among_the_calls() -> None:
    trace = trace_of(1)
    calls = [place for place, event in enumerate(trace) if event.event == "call"]
    said = told(projections.everything_in_turns, TURNS, put(f"turns.1.trace.{calls[1]}.state", 77))
    assert said == f"turn 2, call 2, state is 77, expected {trace[calls[1]].state}"


def test_another_event_is_told_by_its_name() -> None:
    trace = trace_of(0)
    said = told(projections.everything_in_turns, TURNS, put("turns.0.trace.0", {"event": "end"}))
    assert said == f'turn 1, event 1 is "end", expected "{trace[0].event}"'


def test_an_event_too_few_is_told_as_the_first_that_is_missing() -> None:
    trace = trace_of(0)
    shorter = [event.model_dump(mode="json") for event in trace[:-1]]
    said = told(projections.everything_in_turns, TURNS, put("turns.0.trace", shorter))
    assert said == f"turn 1, event {len(trace)} is nothing, expected {trace[-1].event}"


def test_a_list_of_another_length_is_told_by_what_it_lists() -> None:
    trace = trace_of(1)
    without = [event.model_dump(mode="json") for event in trace if event.event != "call"]
    said = told(projections.call_caches, TURNS, put("turns.1.trace", without))
    calls = sum(event.event == "call" for event in trace)
    assert said == f"turn 2, the number of calls is 0, expected {calls}"


def test_an_answer_without_parts_is_called_the_answer() -> None:
    asked = scenario("resolve", requested=64, key_dim=64, value_dim=64)
    assert told(projections.resolved, asked, put("group_size", 32)) == "the answer is 32, expected 64"


def _projections_of(kind: str) -> list[Any]:
    """Every projection of an answer of this kind."""
    answer = f"{kind.title()}Observation"
    declared = [(each, getattr(each, "__annotations__", {})) for each in vars(projections).values()]
    return [each for each, types in declared if types.get("observation") == answer]


@pytest.mark.parametrize("asked", [TWO, CACHE, TURNS], ids=lambda asked: asked.kind)
def test_no_place_of_any_projection_is_told_in_brackets(asked: Any) -> None:
    told = 0
    for projection in _projections_of(asked.kind):
        data = projection(context(), right(asked))
        for changed in _changed(data):
            said = places.difference(data, changed, scenario=asked, units=places.units_of(projection))
            assert "[" not in said.partition(" is ")[0], said
            assert "record" not in said, said
            assert "entry" not in said or "state" in said or "trimmed" in said, said
            told += 1
    assert told > 1


def _changed(data: Any) -> Iterator[Any]:
    """The data with one leaf changed, for every leaf."""
    if is_object(data):
        for key, value in data.items():
            yield from ({**data, key: other} for other in _changed(value))
    elif is_list(data):
        for place, value in enumerate(data):
            yield from ([*data[:place], other, *data[place + 1 :]] for other in _changed(value))
    else:
        yield "something else"
