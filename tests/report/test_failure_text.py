from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from kvconform.report.columns import MOST_LINES, side_by_side
from kvconform.report.compact import compact_layer, compact_scenario
from kvconform.report.failure import WIDTH, render_failure
from kvconform.samples import SAMPLES
from kvconform.scenario import (
    Built,
    ChunkedLayer,
    CompositeLayer,
    ContainerScenario,
    IterateScenario,
    Parameters,
    PassStep,
    PlainLayer,
    Prompt,
    QuantizedLayer,
    RecurrentLayer,
    RotatingLayer,
    Turn,
    as_data,
)
from log_samples import failed, listed


def _tensor(*values: float) -> dict[str, Any]:
    data = base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
    return {"dtype": "float32", "shape": [1, len(values)], "data": data}


def test_a_failure_says_all_that_one_needs() -> None:
    text = render_failure(failed("MQ-1.only", detail="stderr says\nboom"), listed("MQ-1"))
    for part in (
        "MQ-1 (U) fail: Statement of MQ-1.",
        "MQ-1.only",
        "layer 0: offset 13, must be 12",
        "container [S(80,80,12)]",
        "pass(bits=4, group_size=64, start=10)",
        "kvconform replay .kvconform/failures/ab.json",
        "boom",
    ):
        assert part in text
    assert all(len(line) <= WIDTH for line in text.splitlines())


def test_layers_read_as_in_the_specification() -> None:
    assert compact_layer(as_data(PlainLayer())) == "E"
    assert compact_layer(as_data(PlainLayer(length=12))) == "S(12)"
    assert compact_layer(as_data(PlainLayer(length=12, key_dim=80, value_dim=96))) == "S(80,96,12)"
    assert compact_layer(as_data(PlainLayer(length=5, trim=5))) == "Z(5 rows trimmed)"
    assert compact_layer(as_data(PlainLayer(length=5, trim=2, heads=3))) == "S(3; 2 rows trimmed, heads=3)"
    assert compact_layer(as_data(RotatingLayer(length=50, keep=2))) == "R(50; max 16, keep 2)"
    assert compact_layer(as_data(ChunkedLayer(length=9, drop_front=True))) == "C(9; chunk 16, drop front)"
    assert (
        compact_layer(as_data(QuantizedLayer(length=9, dtype="float16")))
        == "Q(9; g64, 4 bits, dtype=float16)"
    )
    inner = CompositeLayer(children=(RecurrentLayer(filled=False), PlainLayer(length=50)))
    assert compact_layer(as_data(inner)) == "L(M(filled=false), S(50))"


def test_what_has_no_effect_without_bits_is_left_out() -> None:
    container = ContainerScenario(layers=(PlainLayer(),), steps=(PassStep(),))
    assert compact_scenario(as_data(container)) == [
        "container [E]",
        "built without bits",
        "1. pass without bits",
    ]
    turns = IterateScenario(layers=(PlainLayer(),), turns=(Turn(prompt=Prompt(length=1)),))
    assert compact_scenario(as_data(turns)) == [
        "iterate over [E], given list",
        "1. prompt of 1 token, 1 next",
    ]


def test_what_would_have_no_effect_is_shown_where_it_is_not_the_default() -> None:
    container = ContainerScenario(layers=(), steps=(PassStep(group_size=7),), built=Built(group_size=32))
    assert compact_scenario(as_data(container))[1:] == [
        "built(group_size=32)",
        "1. pass without bits(group_size=7)",
    ]


@pytest.mark.parametrize(("length", "shown"), [(512, False), (513, True)])
def test_the_prefill_step_is_shown_where_a_prompt_is_longer(length: int, shown: bool) -> None:
    turns = IterateScenario(layers=(), turns=(Turn(prompt=Prompt(length=length)),))
    assert ("prefill_step=512" in compact_scenario(as_data(turns))[-1]) is shown


def test_another_prefill_step_is_shown() -> None:
    turn = Turn(prompt=Prompt(length=3), parameters=Parameters(prefill_step=0))
    assert "prefill_step=0" in compact_scenario(as_data(IterateScenario(layers=(), turns=(turn,))))[-1]


def test_a_catch_all_is_called_one() -> None:
    text = render_failure(failed("ST-1.everything", oracle="reference", catch_all=True), listed("ST-1"))
    assert "ST-1.everything (reference; a catch-all" in text
    assert "catch-all" not in render_failure(failed("ST-1.only", oracle="reference"), listed("ST-1"))


def test_every_kind_of_scenario_is_short() -> None:
    for kind, scenario in SAMPLES.items():
        lines = compact_scenario(as_data(scenario))
        assert len(lines) <= 5
        assert all("{" not in line for line in lines), kind


def test_lines_that_differ_are_marked_and_the_others_are_not() -> None:
    lines = side_by_side(
        {"offset": 12, "kinds": ["plain"] * 9}, {"offset": 13, "kinds": ["plain"] * 9}, width=70
    )
    marked = [line for line in lines if "|" in line]
    assert len(marked) == 1
    assert "12" in marked[0]
    assert "13" in marked[0]


def test_tensors_show_the_numbers_that_differ() -> None:
    left, right = side_by_side(_tensor(*range(100)), _tensor(*range(99), 7.5), width=200)[1].split("|")
    assert "1 of 100 differ, at 99: 99" in left
    assert "7.5" in right


def test_a_long_comparison_is_cut_around_its_difference() -> None:
    left = [{"event": "call", "n": n, "tokens": list(range(12))} for n in range(200)]
    right = [*left[:150], {"event": "end"}, *left[151:]]
    lines = side_by_side(left, right)
    assert len(lines) <= MOST_LINES + 2
    assert any("end" in line for line in lines)


def test_one_side_missing_is_shown() -> None:
    assert "null" in "\n".join(side_by_side(None, 64))
