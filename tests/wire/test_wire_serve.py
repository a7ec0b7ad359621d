"""Any Python implementation behind the pipe: same answers, same refusals, same errors as in process."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import wire_served as served
from kvconform.implementation import Crash, ProtocolBroken, StartFailed, Trouble, Unsupported
from kvconform.observation import QuantizeObservation, Refusal, ResolveObservation
from kvconform.scenario import QuantizeScenario, Tensor
from kvconform.wire import messages
from kvconform.wire.process import PythonChild
from kvconform.wire.record import record_requests
from wire_helpers import QUICK, resolve, size_for


@pytest.fixture(scope="module")
def child() -> Iterator[PythonChild]:
    """``wire_served`` behind the pipe; its tests leave it in working order."""
    with PythonChild("wire_served:make", limits=QUICK) as implementation:
        yield implementation


def test_the_info_is_that_of_the_implementation(child: PythonChild) -> None:
    assert child.info == served.Served.info


def test_an_observation_arrives_as_it_was_made(child: PythonChild) -> None:
    for scenario in (resolve(64), resolve(96)):
        assert child.run(scenario) == served.Served().run(scenario)


@pytest.mark.parametrize(
    "requested", [served.PRINT, served.CHILD_PRINTS, served.NATIVE_PRINT, served.READ_STDIN]
)
def test_stdin_and_stdout_are_out_of_the_implementations_reach(child: PythonChild, requested: int) -> None:
    assert size_for(child, requested) == requested
    assert size_for(child, 64) == 64


REFUSALS = {
    served.VALUE: "bits 7 is not one of 2, 3, 4",
    served.TYPE: "what is this",
    served.NOT_IMPLEMENTED: "not yet",
    served.EMPTY: "ValueError",
    served.REFUSAL: "refused as an observation",
    served.SURROGATE: r"half a pair: \ud800",
}


@pytest.mark.parametrize(("requested", "message"), REFUSALS.items())
def test_refusals_are_refusals(child: PythonChild, requested: int, message: str) -> None:
    assert child.run(resolve(requested)) == Refusal(message=message)


def test_unsupported_is_unsupported(child: PythonChild) -> None:
    with pytest.raises(Unsupported, match="no such concept"):
        child.run(resolve(served.UNSUPPORTED))


@pytest.mark.parametrize(
    ("requested", "message"),
    [(served.KEY, "the implementation raised KeyError: 'missing'"), (served.EXIT, "raised SystemExit: 0")],
)
def test_every_other_exception_is_an_internal_error_with_its_traceback(
    child: PythonChild, requested: int, message: str
) -> None:
    with pytest.raises(Trouble, match=message) as trouble:
        child.run(resolve(requested))
    assert type(trouble.value) is Trouble
    assert 'wire_served.py", line' in trouble.value.detail


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        (served.MALFORMED, "group_size"),
        (served.NOTHING, r"run\(\) returned int; return a kvconform.ResolveObservation"),
        (served.NO_FIELD, "resolve.group_size: Field required; return a kvconform.ResolveObservation"),
    ],
)
def test_an_answer_that_is_no_observation_is_a_protocol_error_not_a_refusal(
    child: PythonChild, requested: int, message: str
) -> None:
    with pytest.raises(ProtocolBroken, match=f"the answer is no observation: (.|\n)*{message}"):
        child.run(resolve(requested))


def test_an_answer_may_be_given_in_its_json_form(child: PythonChild) -> None:
    assert child.run(resolve(served.JSON_FORM)) == ResolveObservation(group_size=64)


def test_a_crash_in_native_code_leaves_the_python_stack() -> None:
    with PythonChild("wire_served:make", limits=QUICK) as child:
        with pytest.raises(Crash) as trouble:
            child.run(resolve(served.ABORT))
        assert trouble.value.signal == "SIGABRT"
        assert "in _misbehave" in trouble.value.detail
        assert "printed while it is made" in trouble.value.detail
        assert size_for(child, 64) == 64


def test_a_python_child_does_not_compile_kernels_and_takes_an_environment(child: PythonChild) -> None:
    assert size_for(child, served.ENVIRONMENT) == 1
    with PythonChild("wire_served:make", limits=QUICK, env={"MLX_DISABLE_COMPILE": "0"}) as other:
        assert size_for(other, served.ENVIRONMENT) == 0


def test_megabytes_go_through_in_both_directions(child: PythonChild) -> None:
    data = base64.b64encode(bytes(range(256)) * 4096).decode()
    tensor = Tensor(dtype="float32", shape=(1, 262144), data=data)
    answer = child.run(QuantizeScenario(tensor=tensor, bits=4, group_size=64))
    assert isinstance(answer, QuantizeObservation)
    assert answer.biases == tensor


START_MISTAKES = {
    "no_such_module_at_all:make": "there is no module no_such_module_at_all; install it",
    "wire_served:missing": "module wire_served has no missing; check the name",
    "wire_served:not_callable": "is a int and cannot be called",
    "wire_served:broken": "does not start: OSError: no such device",
    "wire_served": "implementation 'wire_served' is not known; the names are ",
}


@pytest.mark.parametrize(("spec", "message"), START_MISTAKES.items(), ids=START_MISTAKES.keys())
def test_what_cannot_be_served_fails_at_the_start_and_says_why(spec: str, message: str) -> None:
    with pytest.raises(StartFailed, match=rf"stderr:\n(.|\n)*{message}"):
        PythonChild(spec, limits=QUICK)


def test_serving_nothing_is_a_usage_error() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kvconform.wire.serve"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: ")


BEFORE_INITIALIZE = {
    "run before initialize": (messages.run_line(5, resolve(64)), "5", -32600),
    "newer protocol": (messages.initialize_line(5, messages.ProtocolRange(min=7, max=9)), "5", -32602),
    "older protocol": (messages.initialize_line(5, messages.ProtocolRange(min=0, max=0)), "5", -32602),
}
AFTER_INITIALIZE = {
    "not JSON": (b"hello\n", "null", -32700),
    "a blank line": (b"\n", "null", -32700),
    "NaN": (b'{"jsonrpc":"2.0","id":NaN,"method":"shutdown"}\n', "null", -32700),
    "not UTF-8": (b'{"jsonrpc":"2.0","id":5,"method":"\xff"}\n', "null", -32700),
    "a list": (b"[]\n", "null", -32600),
    "no method": (b'{"jsonrpc":"2.0","id":5}\n', "5", -32600),
    "unknown method": (b'{"jsonrpc":"2.0","id":5,"method":"stop"}\n', "5", -32601),
    "unknown field": (b'{"jsonrpc":"2.0","id":5,"method":"shutdown","params":{},"x":1}\n', "5", -32602),
    "bad scenario": (
        b'{"jsonrpc":"2.0","id":5,"method":"run","params":{"scenario":{"kind":"x"}}}\n',
        "5",
        -32602,
    ),
    "another version of the scenario": (
        messages.run_line(5, resolve(64)).replace(b'"version":1', b'"version":2'),
        "5",
        -32602,
    ),
}
BAD_REQUESTS = {**BEFORE_INITIALIZE, **AFTER_INITIALIZE}


@pytest.fixture(scope="module")
def answers() -> list[str]:
    """The answers of one server to every bad request, with a good one after each."""
    good = messages.run_line(6, resolve(32))
    before = b"".join(line + messages.initialize_line(6) for line, _, _ in BEFORE_INITIALIZE.values())
    return _serve(before + b"".join(line + good for line, _, _ in AFTER_INITIALIZE.values()))


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_a_bad_request_is_answered_with_an_error_and_the_next_one_is_answered(
    answers: list[str], name: str
) -> None:
    _, number, code = BAD_REQUESTS[name]
    place = 2 * list(BAD_REQUESTS).index(name)
    assert answers[place].startswith(f'{{"jsonrpc":"2.0","id":{number},"error":{{"code":{code},')
    assert answers[place + 1].startswith('{"jsonrpc":"2.0","id":6,"result":{')
    assert len(answers) == 2 * len(BAD_REQUESTS)


def test_the_newest_version_both_sides_speak_is_taken() -> None:
    (answer,) = _serve(messages.initialize_line(1, messages.ProtocolRange(min=0, max=9)))
    assert '"result":{"protocol":1,' in answer


def _serve(lines: bytes) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "kvconform.wire.serve", "wire_served:make"],
        input=lines,
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return done.stdout.decode().splitlines()


def test_a_recorded_file_runs_alone(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    record_requests([resolve(32), resolve(served.VALUE)], path)
    answers = _serve(path.read_bytes())
    assert ['"result"' in answer for answer in answers] == [True, True, False, True]
