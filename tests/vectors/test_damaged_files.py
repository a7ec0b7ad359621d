"""Files of vectors that were renamed, copied, cut or edited are told as such: nobody else gets the blame."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kvconform.cli import main
from kvconform.errors import UserError
from kvconform.generate import golden
from kvconform.implementations import mlx_lm
from kvconform.installing import INSTALL_MLX
from kvconform.vectors import checking, library
from kvconform_reference.dialect import DIALECTS

pytestmark = pytest.mark.goldens

TABLE = "gs/gs-table-64-64-64.json"


@pytest.fixture
def goldens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of one area, in the place of the shipped vectors."""
    shipped, copied = library.goldens_folder() / "vectors", tmp_path / "goldens" / "vectors"
    shutil.copytree(shipped / "gs", copied / "gs")
    ids = sorted(path.stem for path in (copied / "gs").iterdir())
    (copied / "ids.txt").write_text("\n".join(ids) + "\n", encoding="utf-8")
    monkeypatch.setattr(library, "goldens_folder", lambda: tmp_path / "goldens")
    library.all_vectors.cache_clear()
    yield copied
    library.all_vectors.cache_clear()


def edited(path: Path, change: Callable[[Any], object]) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:300])


def add_id(folder: Path, name: str) -> None:
    with (folder / "ids.txt").open("a", encoding="utf-8") as file:
        file.write(f"{name}\n")


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a renamed file": (
        lambda folder: (folder / TABLE).rename(folder / "gs" / "gs-table.json"),
        "gs/gs-table.json: holds vector gs-table-64-64-64, which belongs into gs/gs-table-64-64-64.json, "
        "so it would not be found. Rename it, or take it away.",
    ),
    "a copy under another name": (
        lambda folder: shutil.copy(folder / TABLE, folder / "gs" / "gs-table-copy.json"),
        "gs-table-copy.json: holds vector gs-table-64-64-64, which belongs into gs/gs-table-64-64-64.json, "
        "so two files hold it.",
    ),
    "a file in another folder": (
        lambda folder: shutil.copytree(folder / "gs", folder / "hd"),
        "so two files hold it",
    ),
    "a file beside the folders": (
        lambda folder: shutil.copy(folder / TABLE, folder),
        "so two files hold it",
    ),
    "an id of its own that was never recorded": (
        lambda folder: edited(
            Path(shutil.copy(folder / TABLE, folder / "gs" / "gs-mine.json")),
            lambda data: data.update(id="gs-mine"),
        ),
        "gs-mine.json: gs-mine was never recorded; ids.txt lacks it.",
    ),
    "a file that is gone": (
        lambda folder: (folder / TABLE).unlink(),
        "vectors: gs-table-64-64-64 has no file below",
    ),
    "a file that breaks off": (
        lambda folder: cut(folder / TABLE),
        "gs-table-64-64-64.json: not JSON",
    ),
    "an empty file": (
        lambda folder: (folder / TABLE).write_text(""),
        "gs-table-64-64-64.json: not JSON",
    ),
    "an unknown field": (
        lambda folder: edited(folder / TABLE, lambda data: data["scenario"].update(pancake=1)),
        "gs-table-64-64-64.json: scenario.resolve.pancake: there is no such field",
    ),
    "another answer": (
        lambda folder: edited(folder / TABLE, lambda data: data["expected"].update(group_size=32)),
        "vector file gs/gs-table-64-64-64.json: contradicts the reference in dialect proposal: ",
    ),
    "no list of ids": (
        lambda folder: (folder / "ids.txt").unlink(),
        "ids.txt is missing. Install kvconform again, or bring it back.",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("implementation", ["reference", "driver"])
def test_a_damaged_file_is_named_whoever_is_checked(
    goldens: Path, capsys: pytest.CaptureFixture[str], damage: str, implementation: str
) -> None:
    do, told = DAMAGES[damage]
    do(goldens)
    spec = (
        "reference"
        if implementation == "reference"
        else f"exec:{sys.executable} -m kvconform serve reference"
    )
    assert main(["vectors", "check", spec]) == 2
    said = capsys.readouterr()
    assert told in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_an_undamaged_copy_passes(goldens: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", "check", "reference"]) == 0
    assert " 0 failed, 0 errors, " in capsys.readouterr().out


def test_no_vector_contradicts_the_reference_in_any_of_its_dialects() -> None:
    for vector in library.all_vectors().values():
        for name in vector.dialects:
            checking.check_recorded(vector, DIALECTS[name])


def test_check_reads_everything_that_ships(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    vectors = len(library.vector_ids())
    streams = len(list(golden.streams_folder().glob("*/*.json")))
    assert f"goldens: {vectors} vectors, {streams} streams, all readable" in capsys.readouterr().out
    assert streams > 100


def test_check_names_a_damaged_vector(goldens: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut(goldens / TABLE)
    assert main(["check"]) == 3
    assert "FAILED  goldens: UserError: vector file" in capsys.readouterr().out


def test_check_names_a_damaged_or_misplaced_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = tmp_path / "streams"
    shutil.copytree(golden.streams_folder() / "llama-d64", copied / "llama-d64")
    assert len(golden.read_all(copied)) > 3
    monkeypatch.setattr(golden, "streams_folder", lambda: copied)
    (copied / "llama-d64" / "short-full.json").rename(copied / "llama-d64" / "short.json")
    assert main(["check"]) == 3
    assert "short.json: it holds llama-d64/short-full, whose file has that name" in capsys.readouterr().out
    edited(copied / "llama-d64" / "short.json", lambda data: data.update(comment="mine"))
    with pytest.raises(UserError, match="its content does not belong to its checksum"):
        golden.read_all(copied)
    shutil.rmtree(copied)
    assert main(["check"]) == 3
    assert "FAILED  goldens: RuntimeError: no streams below" in capsys.readouterr().out


def test_what_mlx_lm_needs_is_told_where_it_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mlx_lm, "missing_packages", lambda: ("mlx", "mlx-lm"))
    assert main(["vectors", "check", "mlx-lm"]) == 3
    said = capsys.readouterr().err
    assert f"this Python has no mlx and no mlx-lm; {INSTALL_MLX}" in " ".join(said.split())


@pytest.mark.parametrize(
    ("command", "what"), [(("vectors", "export"), "file of vectors"), (("record",), "file of requests")]
)
def test_a_file_that_cannot_be_written_is_called_what_it_is(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...], what: str
) -> None:
    assert main([*command, "-o", "/no/such/folder/file"]) == 2
    assert capsys.readouterr().err.startswith(f"kvconform: {what} /no/such/folder/file: cannot be written")
