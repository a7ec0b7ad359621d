"""The KL divergence against values that one can work out by hand."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("numpy", reason="numpy is not installed")

from kvconform.drift.divergence import divergence, log_probabilities


def logits(*probabilities: float) -> list[float]:
    """Logits of a distribution, shifted by 5, which must not matter."""
    return [math.log(p) + 5 if p else -math.inf for p in probabilities]


def test_a_half_and_half_against_a_quarter() -> None:
    expected = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    assert divergence(logits(0.5, 0.5), logits(0.25, 0.75)) == pytest.approx(expected, rel=1e-12)


def test_it_is_taken_from_the_first_row_to_the_second_and_not_back() -> None:
    expected = 0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5)
    assert divergence(logits(0.25, 0.75), logits(0.5, 0.5)) == pytest.approx(expected, rel=1e-12)


def test_a_row_does_not_diverge_from_itself() -> None:
    row = [0.1 * number for number in range(-300, 300)]
    assert divergence(row, row) == 0.0


def test_rows_that_differ_by_a_constant_are_the_same_distribution() -> None:
    assert divergence([1.0, 2.0, 3.0], [11.0, 12.0, 13.0]) == pytest.approx(0.0, abs=1e-15)


def test_rounding_never_makes_it_negative() -> None:
    row = [math.sin(number) for number in range(5000)]
    assert 0.0 <= divergence(row, [value + 1e-9 for value in row]) < 1e-12


def test_a_token_that_neither_row_allows_counts_nothing() -> None:
    assert divergence(logits(0.5, 0.5, 0), logits(0.5, 0.5, 0)) == 0.0


def test_a_token_that_only_the_second_row_excludes_is_infinitely_far() -> None:
    assert divergence(logits(0.5, 0.5), logits(1, 0)) == math.inf


def test_a_token_that_only_the_first_row_excludes_costs_its_share() -> None:
    assert divergence(logits(1, 0), logits(0.5, 0.5)) == pytest.approx(math.log(2), rel=1e-12)


def test_log_probabilities_of_large_logits_do_not_overflow() -> None:
    assert log_probabilities([1e4, 1e4]).tolist() == pytest.approx([-math.log(2)] * 2)
