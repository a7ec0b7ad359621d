from __future__ import annotations

from pathlib import Path

import pytest
from kvconform.errors import STALE, USAGE, UserError
from kvconform.known import (
    KnownFailures,
    excuses,
    known_failures_for,
    load_known_failures,
    parse_known_failures,
    shipped_path,
)
from kvconform.report.log import Excuse

IDS = ("MQ-17", "MQ-17.raises", "GS-11.zero", "vector:gs/zero")

GOOD = """
version = 1

[[known]]
requirement = "MQ-17"
reason = "rotating layers raise"
url = "https://example.org/1"
message = "layer 1 raised"

[[known]]
check = "GS-11.zero"
reason = "division by zero"
outcome = "crash"
signal = "SIGFPE"
scenario = '{"version": 1, "kind": "resolve", "requested": 0, "key_dim": 64, "value_dim": 64}'
"""


def _parse(text: str) -> KnownFailures:
    return parse_known_failures(text, source="known.toml", ids=IDS)


def _entry(**fields: str) -> str:
    lines = {"check": "MQ-17.raises", "reason": "because", "message": "layer", **fields}
    return "version = 1\n[[known]]\n" + "\n".join(
        f"{name} = {value!r}" for name, value in lines.items() if value
    )


def test_a_good_file_gives_its_entries() -> None:
    first, second = _parse(GOOD).entries
    assert (first.key, first.message, first.url) == ("MQ-17", "layer 1 raised", "https://example.org/1")
    assert (second.outcome, second.signal) == ("crash", "SIGFPE")
    assert second.scenario is not None
    assert second.scenario["requested"] == 0


def test_an_entry_covers_a_check_by_its_id_and_by_its_requirement() -> None:
    known = _parse(GOOD)
    assert known.covering("MQ-17.raises") == (0,)
    assert known.covering("GS-11.zero") == (1,)
    assert known.covering("GS-11.other") == ()
    assert known.covering("MQ-1.raises") == ()


@pytest.mark.parametrize(
    ("outcome", "message", "signal", "excused"),
    [
        ("fail", "layer 1 raised ValueError", "", True),
        ("error", "layer 1 raised ValueError", "", True),
        ("fail", "layer 2 raised", "", False),
        ("crash", "layer 1 raised", "SIGFPE", False),
        ("timeout", "layer 1 raised", "", False),
        ("protocol", "layer 1 raised", "", False),
    ],
)
def test_a_failure_is_excused_by_the_beginning_of_its_message(
    outcome: str, message: str, signal: str, excused: bool
) -> None:
    entry = Excuse(key="MQ-17", reason="known", message="layer 1 raised")
    assert excuses(entry, outcome=outcome, message=message, signal=signal) is excused


@pytest.mark.parametrize(
    ("message", "excused"),
    [
        ("[2].objects[0].state is [2, 3]", True),
        ("[1].objects[10].state is\nNone", True),
        ("[2].objects[0].offset is 3", False),
        ("once more: [2].objects[0].state is", False),
    ],
)
def test_a_star_stands_for_any_text_and_brackets_for_themselves(message: str, excused: bool) -> None:
    entry = Excuse(key="KC-1", reason="known", message="[*].objects[*].state is")
    assert excuses(entry, outcome="fail", message=message, signal="") is excused


@pytest.mark.parametrize(
    ("outcome", "signal", "excused"),
    [
        ("crash", "SIGFPE", True),
        ("crash", "SIGSEGV", False),
        ("crash", "", False),
        ("fail", "", False),
        ("error", "", False),
    ],
)
def test_a_crash_is_excused_by_its_signal_alone(outcome: str, signal: str, excused: bool) -> None:
    entry = Excuse(key="GS-11", reason="known", outcome="crash", signal="SIGFPE")
    assert excuses(entry, outcome=outcome, message="died", signal=signal) is excused


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("version = ", "known.toml: not TOML"),
        ("[[known]]", "version is None, must be 1"),
        ("version = 2", "version is 2, must be 1"),
        ("version = 1\nknwon = []", "field 'knwon' is not known"),
        ("version = 1\nknown = 3", "known is not a list"),
        ("version = 1\nknown = [3]", "entry 1: not a table"),
        (_entry(reason=""), "entry 1: no reason"),
        (_entry(message=""), "entry 1: no message"),
        (_entry(mesage="x"), "entry 1: field 'mesage' is not known; near are message"),
        (_entry(check=""), "entry 1: names nothing"),
        (_entry(requirement="MQ-17"), "entry 1: names requirement and check"),
        (_entry(outcome="timeout"), "outcome 'timeout' is neither"),
        (_entry(outcome="crash"), "together with its signal"),
        (_entry(signal="SIGFPE"), "together with its signal"),
        (_entry(check="", requirement="MQ-17", scenario="{}"), "a scenario needs to know its judge"),
        (
            _entry(scenario='{"version": 1, "kind": "resolve"}'),
            "entry 1: scenario: resolve.requested: Field required",
        ),
        (_entry(scenario="nonsense"), "entry 1: scenario: not JSON"),
        ("version = 1\n[[known]]\ncheck = 3\nreason = 'x'\nmessage = 'y'", "check is 3, must be a string"),
    ],
)
def test_a_bad_file_is_refused_with_its_place_and_what_to_do(text: str, told: str) -> None:
    with pytest.raises(UserError) as raised:
        _parse(text)
    assert raised.value.code == USAGE
    assert "known-failures file known.toml" in str(raised.value)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("key", "near"), [("MQ-17.rises", "MQ-17.raises"), ("GS-11.zeros", "GS-11.zero")])
def test_an_entry_that_names_what_does_not_exist_counts_as_stale(key: str, near: str) -> None:
    with pytest.raises(UserError, match=near) as raised:
        _parse(_entry(check=key))
    assert raised.value.code == STALE


def test_a_vector_is_named_by_its_id() -> None:
    (entry,) = _parse(_entry(check="", vector="gs/zero")).entries
    assert entry.key == "vector:gs/zero"


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        load_known_failures(tmp_path / "missing.toml")


def test_none_switches_known_failures_off() -> None:
    assert known_failures_for("mlx-lm", "none") == KnownFailures()


def test_a_shipped_implementation_has_its_reviewed_file_by_default() -> None:
    path = shipped_path("mlx-lm")
    assert path is not None
    assert known_failures_for("mlx-lm", None).source == str(path)


@pytest.mark.parametrize("spec", ["reference", "my.module:factory", "exec:./driver", "../mlx-lm"])
def test_others_have_none_by_default(spec: str) -> None:
    assert known_failures_for(spec, None) == KnownFailures()
