"""How a prompt is cut into chunks (PR-6): the specification's table, and the laws of each plan."""

from __future__ import annotations

import pytest
from kvconform_reference import prefill
from kvconform_reference.dialect import PARAMETERS

PLANS = ("window", "balanced", "reserve-one")

TABLE = [
    ("window", 512, 512, (512,)),
    ("window", 513, 512, (512, 1)),
    ("window", 1024, 512, (512, 512)),
    ("window", 1025, 512, (512, 512, 1)),
    ("window", 1300, 512, (512, 512, 276)),
    ("window", 23, 8, (8, 8, 7)),
    ("window", 1, 512, (1,)),
    ("reserve-one", 23, 8, (8, 8, 6, 1)),
    ("reserve-one", 17, 8, (8, 8, 1)),
    ("reserve-one", 10, 512, (9, 1)),
    ("reserve-one", 1, 512, (1,)),
    ("balanced", 512, 512, (512,)),
    ("balanced", 513, 512, (512, 1)),
    ("balanced", 600, 512, (300, 299, 1)),
    ("balanced", 1024, 512, (512, 511, 1)),
    ("balanced", 1, 1, (1,)),
    ("balanced", 3, 1, (1, 1, 1)),
]

SIZES = [(length, window) for length in range(60) for window in range(1, 20)]


@pytest.mark.requirement("PR-6")
@pytest.mark.parametrize(("plan", "length", "window", "expected"), TABLE)
def test_a_prompt_is_cut_as_the_specification_tabulates(
    plan: str, length: int, window: int, expected: tuple[int, ...]
) -> None:
    assert prefill.chunk_lengths(length, window, plan) == expected


@pytest.mark.requirement("PR-6")
@pytest.mark.parametrize("plan", PLANS)
def test_chunks_add_up_to_the_prompt_and_none_is_empty_or_above_the_window(plan: str) -> None:
    for length, window in SIZES:
        chunks = prefill.chunk_lengths(length, window, plan)
        assert sum(chunks) == length
        assert all(1 <= chunk <= window for chunk in chunks)


@pytest.mark.requirement("PR-6")
def test_window_chunks_are_whole_windows_but_for_the_last() -> None:
    for length, window in SIZES:
        assert all(chunk == window for chunk in prefill.chunk_lengths(length, window, "window")[:-1])


@pytest.mark.requirement("PR-6")
def test_reserve_one_keeps_the_last_prompt_token_for_a_call_of_its_own() -> None:
    for length, window in SIZES[19:]:
        *fed, last = prefill.chunk_lengths(length, window, "reserve-one")
        assert last == 1
        assert all(chunk == window for chunk in fed[:-1])


@pytest.mark.requirement("PR-6")
def test_balanced_chunks_are_as_few_and_as_equal_as_possible_with_longer_ones_first() -> None:
    for length, window in SIZES:
        if length > window:
            *fed, last = prefill.chunk_lengths(length, window, "balanced")
            assert last == 1
            assert len(fed) == -(-(length - 1) // window)
            assert max(fed) - min(fed) <= 1
            assert fed == sorted(fed, reverse=True)


@pytest.mark.requirement("PR-5", "PR-6")
@pytest.mark.parametrize("plan", PLANS)
def test_an_empty_prompt_has_no_chunks(plan: str) -> None:
    assert prefill.chunk_lengths(0, 512, plan) == ()


@pytest.mark.requirement("PR-6")
@pytest.mark.parametrize("window", [0, -1, -512])
@pytest.mark.parametrize("plan", PLANS)
def test_a_window_below_one_is_refused_with_its_value(plan: str, window: int) -> None:
    with pytest.raises(ValueError, match=f"prefill step {window} is below 1; give"):
        prefill.chunk_lengths(10, window, plan)


@pytest.mark.requirement("PR-6")
def test_every_plan_that_a_dialect_may_name_exists_and_no_other() -> None:
    assert set(prefill.PLANS) == set(PARAMETERS["prefill"])
    with pytest.raises(ValueError, match="prefill plan 'halves' is not known; use one of window"):
        prefill.chunk_lengths(10, 4, "halves")


@pytest.mark.requirement("PR-6")
def test_replacing_a_plan_in_the_module_replaces_it_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefill, "window_lengths", lambda length, _window: (length,))
    assert prefill.chunk_lengths(10, 4, "window") == (10,)
