"""What is asked at every seed: explicit scenarios of what generation would have to be lucky for."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from kvconform import suite
from kvconform.areas import aq
from kvconform.faults import faulty
from kvconform.implementations import reference
from kvconform.scenario import QuantizedLayer, QuantizeScenario, Scenario
from kvconform.session import BUDGETS
from suite_answers import context

CHECKS = {check.id: check for check in suite.all_checks()}
CASES: dict[str, dict[str, Any]] = {
    "equal dims": {"key_dim": 32, "value_dim": 32, "dtype": "float32"},
    "other values": {"key_dim": 32, "value_dim": 64, "dtype": "float32"},
    "other keys": {"key_dim": 64, "value_dim": 32, "dtype": "float32"},
    "float16": {"key_dim": 32, "value_dim": 32, "dtype": "float16"},
    "bfloat16": {"key_dim": 32, "value_dim": 32, "dtype": "bfloat16"},
}
BITS = (2, 3, 4, 5, 6, 8)
ROUNDED_STEPS = {
    "bfloat16": ("range-in-bfloat16", "scale-in-the-rows-dtype", "edge-quotient-in-the-rows-dtype"),
    "float16": ("range-in-float16", "scale-in-the-rows-dtype", "edge-quotient-in-the-rows-dtype"),
}
ALWAYS_ROUNDED = ("differences-in-the-rows-dtype", "quotients-in-the-rows-dtype")


def explicit(check: str, budget: str) -> tuple[Any, ...]:
    return CHECKS[check].explicit(replace(context(), budget=budget))


def grown(budget: str) -> set[tuple[str, int, int, int]]:
    """(case, bits, length before, rows after) of every growth whose bytes are looked at."""
    found: set[tuple[str, int, int, int]] = set()
    for scenario in explicit("QC-3.content", budget):
        layer = scenario.layer
        assert isinstance(layer, QuantizedLayer)
        fields = {"key_dim": layer.key_dim, "value_dim": layer.value_dim, "dtype": layer.dtype}
        (case,) = [name for name, wanted in CASES.items() if wanted == fields]
        rows = layer.length
        for append in scenario.operations:
            if rows // 256 != (rows + append.rows - 1) // 256 or rows % 256 == 0:
                found.add((case, layer.bits, rows, rows + append.rows))
            rows += append.rows
    return found


@pytest.mark.requirement("QC-3")
@pytest.mark.parametrize("budget", ["default", "thorough"])
def test_each_bit_width_grows_in_every_case_from_an_unaligned_and_from_a_full_buffer(budget: str) -> None:
    ways = ((250, 260), (512, 513))
    assert {(case, bits, *way) for case, bits, way in product(CASES, BITS, ways)} <= grown(budget)
    assert {("equal dims", bits, *way) for bits in BITS for way in ((256, 257), (255, 257))} <= grown(budget)


@pytest.mark.requirement("QC-3")
def test_the_quick_budget_grows_each_bit_width_and_each_case_in_every_way() -> None:
    found = grown("quick")
    for way in ((250, 260), (512, 513)):
        assert {bits for _, bits, *rows in found if tuple(rows) == way} == set(BITS)
        assert {case for case, _, *rows in found if tuple(rows) == way} == set(CASES)


@pytest.mark.requirement("GS-9")
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("requested", [2**31 - 1, 2**31, 2**32, 2**53, -(2**31), -(2**31) - 1])
def test_requests_at_the_ends_of_integers_are_asked_at_every_budget(requested: int, budget: str) -> None:
    assert requested in {scenario.requested for scenario in explicit("GS-9.extremes", budget)}


@pytest.mark.requirement("AQ-1")
@pytest.mark.parametrize(("dtype", "bits"), aq.UNROUNDED)
def test_the_rows_of_a_dtype_tell_on_steps_that_are_rounded_to_it(dtype: str, bits: int) -> None:
    scenario = QuantizeScenario(tensor=aq.unrounded(dtype, bits, 32), bits=bits, group_size=32)
    asked: tuple[Scenario, ...] = explicit("AQ-1.exact", "quick")
    assert scenario in asked
    right = reference.factory().run(scenario)
    unnoticed = [
        name for name in (*ROUNDED_STEPS[dtype], *ALWAYS_ROUNDED) if faulty(name).run(scenario) == right
    ]
    assert unnoticed == []


@pytest.mark.requirement("CT-1")
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_container_is_given_every_kind_of_layer(budget: str) -> None:
    kinds = {layer.kind for scenario in explicit("CT-1.identity", budget) for layer in scenario.layers}
    assert kinds == {"plain", "chunked", "rotating", "quantized", "recurrent", "composite"}
