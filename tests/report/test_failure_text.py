from __future__ import annotations

import base64
import struct
from typing import Any

from kvconform.report.columns import MOST_LINES, side_by_side
from kvconform.report.compact import compact_layer, compact_scenario
from kvconform.report.failure import WIDTH, render_failure
from kvconform.samples import SAMPLES
from kvconform.scenario import (
    ChunkedLayer,
    CompositeLayer,
    PlainLayer,
    QuantizedLayer,
    RecurrentLayer,
    RotatingLayer,
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
