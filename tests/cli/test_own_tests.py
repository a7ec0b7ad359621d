"""Finding our own tests: in the checkout that the package is installed from, or that one stands in."""

from __future__ import annotations

from pathlib import Path

import pytest
from kvconform import own_tests

TEST = '@pytest.mark.requirement("MQ-12")\ndef test_it() -> None: ...\n'


@pytest.fixture
def installed_as_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the installed module there is no checkout."""
    monkeypatch.setattr(own_tests, "ROOT", tmp_path / "lib")


def _checkout(folder: Path, name: str = "kvconform") -> Path:
    (folder / "tests" / "deeper").mkdir(parents=True)
    (folder / "tests" / "deeper" / "test_some.py").write_text(TEST)
    (folder / "pyproject.toml").write_text(f'[project]\nname = "{name}"\n')
    return folder


@pytest.mark.usefixtures("installed_as_a_wheel")
@pytest.mark.parametrize("below", ["", "docs", "tests/deeper"])
def test_they_are_found_from_anywhere_in_a_checkout(tmp_path: Path, below: str) -> None:
    root = _checkout(tmp_path / "checkout")
    (root / below).mkdir(exist_ok=True)
    assert own_tests.tests_folder(root / below) == root / "tests"
    assert own_tests.covering_tests("MQ-12", folder=root / "tests") == ["tests/deeper/test_some.py::test_it"]


@pytest.mark.usefixtures("installed_as_a_wheel")
def test_the_tests_of_another_project_are_not_ours(tmp_path: Path) -> None:
    assert own_tests.tests_folder(_checkout(tmp_path / "other", "other")) is None


@pytest.mark.usefixtures("installed_as_a_wheel")
@pytest.mark.parametrize("text", ["", "not [toml", "project = 3\n"])
def test_a_folder_whose_project_file_says_nothing_is_no_checkout(tmp_path: Path, text: str) -> None:
    root = _checkout(tmp_path / "odd")
    (root / "pyproject.toml").write_text(text)
    assert own_tests.tests_folder(root) is None


def test_the_checkout_that_the_package_is_part_of_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = _checkout(tmp_path / "mine"), _checkout(tmp_path / "other")
    monkeypatch.setattr(own_tests, "ROOT", mine)
    assert own_tests.tests_folder(other) == mine / "tests"
