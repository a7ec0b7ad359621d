"""Lists of numbers on the command line, and their combinations."""

from __future__ import annotations

import pytest
from kvconform.drift.settings import Setting, numbers, settings_of
from kvconform.errors import UserError


def test_settings_are_all_combinations_in_the_order_given() -> None:
    found = settings_of((8, 4), (32, 64), (0, 9))
    assert [(each.bits, each.group_size, each.start) for each in found] == [
        (8, 32, 0), (8, 32, 9), (8, 64, 0), (8, 64, 9), (4, 32, 0), (4, 32, 9), (4, 64, 0), (4, 64, 9),
    ]  # fmt: skip


def test_a_list_of_numbers_is_read_in_order_and_each_once() -> None:
    assert numbers("8, 4,8,2", option="--bits") == (8, 4, 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("8,", r"--bits 8,: '' is not a number"),
        ("four", r"--bits four: 'four' is not a number"),
        ("4 8", r"--bits 4 8: '4 8' is not a number"),
        ("8,7", r"--bits 8,7: 7 is not supported. Give some of 2, 4, 8"),
    ],
)
def test_anything_else_is_an_error_that_names_the_option_and_the_value(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        numbers(text, option="--bits", allowed=(8, 4, 2))


def test_a_number_below_the_least_is_an_error() -> None:
    with pytest.raises(UserError, match=r"--group-size 0: 0 is below 1\. Give 1 or more\."):
        numbers("0", option="--group-size", minimum=1)


def test_a_setting_says_what_it_is() -> None:
    assert str(Setting(bits=4, group_size=32)) == "4 bits, group size 32"
    assert str(Setting(bits=4, group_size=32, start=9)) == "4 bits, group size 32, start 9"
