"""Numeric vectors against the second implementation of the rules, and their numbers against each other."""

from __future__ import annotations

from typing import Any

import pytest
from kvconform.invariants import affine, numeric
from kvconform.invariants.tensors import row_bytes
from kvconform.vectors import library

pytestmark = pytest.mark.goldens

NUMERIC = [v for v in library.all_vectors().values() if v.expected.kind == "quantize"]


@pytest.mark.requirement("AQ-1", "AQ-3", "AQ-4", "QC-6")
@pytest.mark.parametrize("vector", NUMERIC, ids=lambda vector: vector.id)
def test_a_numeric_vector_follows_the_rules_written_down_a_second_time(vector: Any) -> None:
    answer = (vector.scenario, vector.expected)
    assert list(numeric.exact(*answer, affine.accepts_exactly)) == []
    if vector.scenario.tensor.dtype == "float32":
        assert list(numeric.error_bound(*answer)) == []


@pytest.mark.parametrize("vector", NUMERIC, ids=lambda vector: vector.id)
def test_the_numbers_on_the_way_lead_to_the_answer(vector: Any) -> None:
    scenario, dtype = vector.scenario, vector.scenario.tensor.dtype
    size, bits = scenario.group_size, scenario.bits
    per_row = scenario.tensor.shape[-1] // size
    assert len(vector.intermediate) == scenario.tensor.shape[0] * per_row
    for number, values, row in numeric.rows(scenario, vector.expected):
        groups = vector.intermediate[number * per_row : (number + 1) * per_row]
        assert affine.pack([code for group in groups for code in group.codes], bits) == row.packed
        assert affine.encode([group.stored_scale for group in groups], dtype) == row.scales
        assert affine.encode([group.stored_bias for group in groups], dtype) == row.biases
        for place, group in enumerate(groups):
            part = values[place * size : (place + 1) * size]
            assert (group.min, group.max) == (min(part), max(part))
            assert group.edge == (group.min if abs(group.min) > abs(group.max) else group.max)
            assert group.bias == (group.edge if group.edge_code else 0)


def test_edges_that_lie_half_way_are_rounded_to_even() -> None:
    codes = {name: groups(name)[0].edge_code for name in ("aq-edge-code-half", "aq-edge-code-half-other-way")}
    assert codes == {"aq-edge-code-half": -8, "aq-edge-code-half-other-way": -10}


def test_values_half_way_between_two_codes_are_rounded_to_even() -> None:
    (group,) = groups("aq-codes-half")
    halves = group.codes[2:]
    assert all(code % 2 == 0 for code in halves)
    assert len(set(halves)) > 4


def test_constants_below_the_smallest_scale_decode_to_nothing() -> None:
    assert [groups(f"aq-constant-{name}")[0].edge_code for name in ("tiny", "just-large-enough")] == [0, -1]
    assert groups("aq-zeros")[0].bias == 0


def groups(name: str) -> Any:
    return library.all_vectors()[name].intermediate


def test_every_width_group_size_and_dtype_occurs() -> None:
    scenarios = [vector.scenario for vector in NUMERIC]
    assert {s.bits for s in scenarios} == {2, 3, 4, 5, 6, 8}  # pyright: ignore
    assert {s.group_size for s in scenarios} == {32, 64, 128}  # pyright: ignore
    assert {s.tensor.dtype for s in scenarios} == {"float32", "float16", "bfloat16"}  # pyright: ignore
    assert all(len(row_bytes(s.tensor)) == s.tensor.shape[0] for s in scenarios)  # pyright: ignore
