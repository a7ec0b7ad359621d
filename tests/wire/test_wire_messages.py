"""Messages are validated in both directions, and texts of any kind survive them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kvconform.observation import ResolveObservation
from kvconform.scenario import CacheScenario, PlainLayer, scenario_from_json
from kvconform.wire import messages
from kvconform.wire.record import record_requests
from wire_helpers import resolve


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_any_text_makes_an_error_line_that_can_be_read(message: str, detail: str) -> None:
    line = messages.error_line(3, messages.REFUSED, message, detail=detail)
    assert line.count(b"\n") == 1
    answer = messages.read_answer(line.rstrip(b"\n"), messages.OBSERVED, id=3)
    assert answer.error is not None
    assert answer.error.data is not None
    assert answer.error.kind == "refused"
    assert answer.error.message == message.encode("utf-8", "backslashreplace").decode()
    assert answer.error.data.detail == detail.encode("utf-8", "backslashreplace").decode()


@pytest.mark.parametrize("code", messages.KINDS)
def test_the_code_alone_says_the_kind(code: int) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": 3, "error": {"code": code, "message": "m"}}).encode()
    answer = messages.read_answer(line, messages.OBSERVED, id=3)
    assert answer.error is not None
    assert answer.error.kind == messages.KINDS[code]


@pytest.mark.parametrize(
    "scenario", [resolve(64), CacheScenario(layer=PlainLayer(length=3))], ids=["resolve", "cache"]
)
def test_a_run_line_is_the_request_it_was_made_of(scenario: CacheScenario) -> None:
    request = messages.read_request(messages.run_line(7, scenario))
    assert request == messages.Run(id=7, params=messages.RunParams(scenario=scenario))


def test_a_result_line_is_the_answer_it_was_made_of() -> None:
    observation = ResolveObservation(group_size=64, head_dims=(64, 128))
    answer = messages.read_answer(messages.result_line(7, observation), messages.OBSERVED, id=7)
    assert answer.result == observation


def test_the_word_nan_in_a_text_is_no_nan_token() -> None:
    line = messages.error_line(3, messages.REFUSED, "NaN and Infinity are refused")
    answer = messages.read_answer(line, messages.OBSERVED, id=3)
    assert answer.error is not None
    assert answer.error.message == "NaN and Infinity are refused"


@given(st.binary(max_size=60))
def test_no_line_of_bytes_does_more_than_be_a_bad_line(line: bytes) -> None:
    with pytest.raises(messages.BadLine):
        messages.read_answer(line, messages.OBSERVED, id=3)
    with pytest.raises(messages.BadLine):
        messages.read_request(line)


@pytest.mark.parametrize("depth", [200, 100_000])
def test_deep_nesting_is_a_bad_line(depth: int) -> None:
    with pytest.raises(messages.BadLine):
        messages.read_answer(b"[" * depth + b"]" * depth, messages.OBSERVED, id=3)


def test_a_recorded_file_is_a_whole_connection(tmp_path: Path) -> None:
    scenarios = [resolve(size) for size in (32, 64)]
    path = tmp_path / "requests.jsonl"
    assert record_requests(scenarios, path) == 2
    first, *runs, last = path.read_bytes().splitlines()
    assert json.loads(first)["method"] == "initialize"
    assert json.loads(last)["method"] == "shutdown"
    asked = [scenario_from_json(json.dumps(json.loads(run)["params"]["scenario"])) for run in runs]
    assert asked == scenarios
    assert [json.loads(line)["id"] for line in (first, *runs, last)] == [1, 2, 3, 4]
