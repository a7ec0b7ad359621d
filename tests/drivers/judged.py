"""A driver under the suite, and the wire by hand: what holds for the driver of every language."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Command = Sequence[str]
RUN = (sys.executable, "-m", "kvconform", "run")


def report_of(command: Command, folder: Path, *options: str, plant: str = "") -> dict[str, Any]:
    """The JSON report of a quick run, with its exit code checked; ``plant`` is a fault of the example."""
    report = folder / "report.json"
    spec = "exec:" + " ".join(command)
    run = subprocess.run(
        [*RUN, spec, "--budget", "quick", "--json", str(report), *options],
        cwd=folder,
        env={**os.environ, "KVCONFORM_PLANT": plant},
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), run.stdout + run.stderr
    data: dict[str, Any] = json.loads(report.read_text())
    assert data["exit_code"] == run.returncode
    return data


def check_conforms(report: dict[str, Any]) -> None:
    """Everything passed, and all was judged but what is about another dialect."""
    others = [entry for entry in report["requirements"] if entry["outcome"] != "pass"]
    assert [entry["id"] for entry in others if not entry["message"].startswith("dialect: ")] == []
    assert report["exit_code"] == 0
    assert report["universal"]["judged"] == report["universal"]["of"] > 0


# ---------------------------------------------------------------- faults planted in the examples


@dataclass(frozen=True)
class Planted:
    """A fault of the examples, the requirement that names it, and how small its scenario gets."""

    fault: str
    requirement: str
    is_minimal: Callable[[dict[str, Any]], bool]


def _one_tie(scenario: dict[str, Any]) -> bool:
    return scenario["requested"] in (48, 96) and max(scenario["key_dim"], scenario["value_dim"]) <= 128


def _one_rotating_layer(scenario: dict[str, Any]) -> bool:
    kinds = [layer["kind"] for layer in scenario["layers"]]
    return kinds.count("rotating") == 1 and len(kinds) <= 2 and len(scenario["steps"]) == 1


def _two_conversions(scenario: dict[str, Any]) -> bool:
    quantized = sum(layer["kind"] == "quantized" for layer in scenario["layers"])
    return len(scenario["layers"]) <= 2 and quantized + len(scenario["steps"]) <= 2


def _one_token_too_many(scenario: dict[str, Any]) -> bool:
    (turn,) = scenario["turns"]
    return turn["nexts"] == turn["parameters"]["max_tokens"] + 1 and turn["prompt"]["length"] == 1


PLANTED = (
    Planted("tie-high", "GS-4", _one_tie),
    Planted("convert-rotating", "MQ-11", _one_rotating_layer),
    Planted("quantize-twice", "MQ-12", _two_conversions),
    Planted("limit-off-by-one", "NX-1", _one_token_too_many),
)


def check_planted(command: Command, folder: Path, planted: Planted) -> None:
    """The requirement fails with the fault, on a minimal scenario."""
    report = report_of(command, folder, "--requirement", planted.requirement, plant=planted.fault)
    (failed,) = report["requirements"]
    assert (report["exit_code"], failed["outcome"]) == (1, "fail"), failed["message"]
    assert planted.is_minimal(failed["scenario"]), failed["scenario"]


# ---------------------------------------------------------------- the wire by hand

INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":{"min":1,"max":1}}}'
RESOLVE = '{"version":1,"kind":"resolve","requested":48,"key_dim":128,"value_dim":128,"layer":null}'


def run_line(scenario: str, number: int = 2) -> str:
    """The request for a scenario."""
    return f'{{"jsonrpc":"2.0","id":{number},"method":"run","params":{{"scenario":{scenario}}}}}'


BAD_REQUESTS = {
    "half a line": ('{"jsonrpc":"2.0","id":2,', -32700),
    "no JSON": ("loading weights", -32700),
    "a list": ("[1,2]", -32600),
    "no method": ('{"jsonrpc":"2.0","id":2}', -32600),
    "unknown method": ('{"jsonrpc":"2.0","id":2,"method":"walk","params":{}}', -32601),
    "no scenario": ('{"jsonrpc":"2.0","id":2,"method":"run","params":{}}', -32602),
    "unknown field": (run_line(RESOLVE.replace('"layer"', '"levels"')), -32602),
    "text for a number": (run_line(RESOLVE.replace("48", '"48"')), -32602),
    "newer version": (run_line(RESOLVE.replace('"version":1', '"version":2')), -32602),
    "unknown layer": (
        run_line('{"version":1,"kind":"resolve","requested":48,"layer":{"kind":"pancake"}}'),
        -32602,
    ),
    "unsupported kind": (run_line('{"version":1,"kind":"generate","model":"smollm2","prompt":[1]}'), -32002),
    "refused": (run_line(RESOLVE.replace("128", "0")), -32001),
}
"""Request lines with the code of the error that answers each."""


def answers(command: Command, *lines: str) -> list[dict[str, Any]]:
    """What a driver answers to these lines, when stdin ends behind them; it exits with status 0."""
    text = "".join(f"{line}\n" for line in lines)
    run = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def check_bad_request(command: Command, line: str, code: int) -> None:
    """The line gets an error of this code, and the next request its answer."""
    _, error, answer = answers(command, INITIALIZE, line, run_line(RESOLVE, 3))
    assert error["error"]["code"] == code
    assert error["error"]["message"]
    assert answer == {"jsonrpc": "2.0", "id": 3, "result": {"kind": "resolve", "group_size": 32}}


def check_connection(command: Command) -> None:
    """Versions are agreed on, nothing runs before that, and ``shutdown`` ends the process."""
    too_new = INITIALIZE.replace('"min":1,"max":1', '"min":2,"max":3')
    shutdown = '{"jsonrpc":"2.0","id":4,"method":"shutdown","params":{}}'
    got = answers(command, run_line(RESOLVE), too_new, INITIALIZE, shutdown, run_line(RESOLVE))
    assert [answer.get("error", {}).get("code") for answer in got] == [-32600, -32602, None, None]
    assert got[3]["result"] == {}


def check_first_driver(command: Command) -> None:
    """A driver that has a resolver only (one that says 32) answers that, and nothing else."""
    layer = '{"version":1,"kind":"resolve","requested":48,"layer":{"kind":"plain"}}'
    scenarios = (RESOLVE, layer, '{"version":1,"kind":"cache","layer":{"kind":"plain"}}')
    introduction, *got = answers(command, INITIALIZE, *map(run_line, scenarios))
    assert introduction["result"]["capabilities"]["kinds"] == ["resolve"]
    assert got[0]["result"]["group_size"] == 32
    assert [answer["error"]["data"]["kind"] for answer in got[1:]] == ["unsupported"] * 2
