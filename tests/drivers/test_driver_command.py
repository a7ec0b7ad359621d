"""``kvconform driver``: a copy of a driver, ready to run, or one clear line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kvconform.cli import main
from kvconform.drivers import FOLDER, copy_driver, first_commands, languages
from kvconform.errors import USAGE, UserError


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_there_is_a_driver_for_each_of_the_four_languages() -> None:
    assert languages() == ("cpp", "javascript", "rust", "swift")


@pytest.mark.parametrize("language", languages())
def test_a_copy_holds_every_file_of_the_driver_and_nothing_that_tools_left(
    tmp_path: Path, language: str
) -> None:
    copied = copy_driver(language, tmp_path / "deep" / "driver")
    ignored = {".build", "build", "target", "node_modules", "__pycache__", "Cargo.lock"}
    wanted = {n: data for n, data in files(FOLDER / language).items() if ignored.isdisjoint(Path(n).parts)}
    assert files(copied) == wanted
    assert wanted


@pytest.mark.parametrize("name", ["C++", "TypeScript", "ts", "JS", "Rust"])
def test_a_language_may_be_called_by_its_other_names(tmp_path: Path, name: str) -> None:
    assert (copy_driver(name, tmp_path) / "README.md").exists()


@pytest.mark.parametrize("language", languages())
def test_the_readme_begins_with_the_commands_that_build_and_judge(language: str) -> None:
    assert first_commands(language)[-1].startswith('kvconform run "exec:')


def test_an_unknown_language_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"'rusty': there is no driver .* cpp, javascript, rust, swift; near are rust"
    ):
        copy_driver("rusty", tmp_path / "driver")
    assert not (tmp_path / "driver").exists()


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match=r"not empty, it holds mine\.txt"):
        copy_driver("rust", tmp_path)
    assert os.listdir(tmp_path) == ["mine.txt"]


def test_a_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "driver").write_text("mine")
    with pytest.raises(UserError, match="there is a file of this name"):
        copy_driver("rust", tmp_path / "driver")
    assert (tmp_path / "driver").read_text() == "mine"


def test_a_path_below_a_file_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        copy_driver("rust", tmp_path / "file" / "driver")


def test_the_command_copies_and_says_what_to_type_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "my driver"
    assert main(["driver", "new", "javascript", str(path)]) == 0
    said = capsys.readouterr().out
    assert f"    cd '{path}'\n" in said
    assert '    kvconform run "exec:node main.mjs"\n' in said
    assert (path / "driver.mjs").exists()


def test_the_command_says_a_mistake_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["driver", "new", "cobol", str(tmp_path / "x")]) == USAGE
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("kvconform: driver language 'cobol': there is no driver for it")
    assert said.err.count("\n") == 1


def test_the_languages_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["driver", "list"]) == 0
    assert capsys.readouterr().out.split() == list(languages())
