"""The page about the wire says what is so: its examples validate, its answers are the reference's."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from kvconform.implementation import Unsupported
from kvconform.implementations import reference
from kvconform.scenario import Document
from kvconform.wire import messages, serve
from kvconform.wire.limits import Limits
from kvconform.wire.process import ProcessImplementation
from kvconform.wire.starter import accepted
from wire_helpers import QUICK, resolve

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)


def _examples(title: str) -> list[bytes]:
    return [text.rstrip("\n").encode() for name, text in EXAMPLES if name == title]


def test_every_example_is_known_to_these_tests() -> None:
    titles = [title for title, _ in EXAMPLES]
    assert set(titles) == {"request", "answer", "answer to initialize", "answer to shutdown", "driver"}
    assert titles.count("request") == 6
    assert all("\n" not in text.strip() for title, text in EXAMPLES if title != "driver")


@pytest.mark.parametrize("line", _examples("request"))
def test_a_request_is_what_the_suite_would_write(line: bytes) -> None:
    request = messages.read_request(line)
    assert isinstance(request, Document)
    assert json.loads(line) == request.model_dump(mode="json")


def test_the_answers_are_those_of_the_reference() -> None:
    implementation = reference.factory()
    requests = [
        request
        for line in _examples("request")
        if isinstance(request := messages.read_request(line), messages.Run)
    ]
    answers = {json.loads(line)["id"]: line for line in _examples("answer")}
    assert set(answers) == {request.id for request in requests} | {None}
    for request in requests:
        given = serve.answer_run(implementation, request.id, request.params.scenario)
        assert _read(answers[request.id], request.id) == _read(given, request.id)


def _read(line: bytes, number: int) -> tuple[object, ...]:
    answer = messages.read_answer(line, messages.OBSERVED, id=number)
    return (answer.result,) if answer.error is None else (answer.error.code, answer.error.message)


def test_the_answer_to_initialize_is_accepted() -> None:
    (line,) = _examples("answer to initialize")
    info = accepted(messages.read_answer(line, messages.INITIALIZED, id=1), line)
    assert (info.name, info.capabilities.features) == ("my-cache", ("resolver", "convert"))


def test_the_answer_to_shutdown_and_the_answer_without_id_are_valid() -> None:
    (line,) = _examples("answer to shutdown")
    assert messages.read_answer(line, messages.CLOSING, id=6).result == messages.Closing()
    (line,) = [line for line in _examples("answer") if b'"id":null' in line]
    answer = messages.read_answer(line, messages.OBSERVED, id=7)
    assert answer.error is not None
    assert answer.error.code == messages.NOT_JSON


def test_the_smallest_driver_runs(tmp_path: Path) -> None:
    (text,) = _examples("driver")
    script = tmp_path / "driver.py"
    script.write_bytes(text + b"\n")
    with ProcessImplementation([sys.executable, str(script)], limits=QUICK) as driver:
        with pytest.raises(Unsupported, match="no resolve scenarios here"):
            driver.run(resolve(64))
        driver.close()
        assert driver.late == ()


def test_the_table_of_codes_is_complete() -> None:
    rows = re.findall(r"^\| (-32.*?) \| `(\w+)` \|", PAGE, re.MULTILINE)
    assert {int(code): kind for codes, kind in rows for code in codes.split(", ")} == messages.KINDS


def test_the_table_of_limits_is_right() -> None:
    rows = dict(re.findall(r"^\| (\w+) \| (\d+)(?: s| MiB)? \|", PAGE, re.MULTILINE))
    limits = Limits()
    told = {name: float(value) for name, value in rows.items()}
    assert told == {
        "start": limits.start,
        "call": limits.call,
        "shutdown": limits.shutdown,
        "answer": limits.answer_bytes / 2**20,
        "restarts": limits.restarts,
    }
    assert len(told) == len(fields(limits))
