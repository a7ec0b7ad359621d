"""The syrupy side: what a run of pytest writes, leaves alone, and says. The streams are made by hand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kvconform.generate import golden
from stream_samples import ELSEWHERE, TOKENS, observation
from stream_samples import golden as sample

pytestmark = pytest.mark.goldens

NAMES = ("alpha", "beta", "gamma")

MODULE = """
import json, os
from pathlib import Path
import pytest
from kvconform.generate import golden
from kvconform.generate.snapshot import StreamFiles

class Files(StreamFiles):
    folder = Path(__file__).parent / "streams"

@pytest.mark.parametrize("name", ["alpha", "beta", "gamma"])
def test_stream(name, snapshot):
    text = (Path(__file__).parent / f"{name}.found").read_text()
    streams = snapshot.use_extension(Files)
    assert golden.from_text(text, where=name) == streams(name=f"some-model/{name}")
"""


@pytest.fixture(scope="module")
def new_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with three streams and no golden file yet."""
    project = tmp_path_factory.mktemp("project")
    (project / "test_them.py").write_text(MODULE)
    (project / "pytest.ini").write_text("[pytest]\n")
    for name in NAMES:
        found(project, name)
    return project


@pytest.fixture(scope="module")
def recorded_project(new_project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, after its three streams were recorded."""
    project = Path(shutil.copytree(new_project, tmp_path_factory.mktemp("recorded") / "project"))
    done = run(project, "--snapshot-update")
    assert done.returncode == 0, done.stdout + done.stderr
    return project


@pytest.fixture
def project(recorded_project: Path, tmp_path: Path) -> Path:
    """A copy of the recorded project, to work on."""
    return Path(shutil.copytree(recorded_project, tmp_path / "project"))


def found(project: Path, name: str, text: str | None = None) -> None:
    """What comes out when the stream of that name is run."""
    (project / f"{name}.found").write_text(text or golden.to_text(sample(id=name)))


def file(project: Path, name: str) -> Path:
    return project / "streams" / "some-model" / f"{name}.json"


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "syrupy",
            "-p",
            "no:cacheprovider",
            "-W",
            "error",
            *arguments,
        ],
        cwd=project,
        env={**os.environ, "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_the_files_the_streams_fail(new_project: Path) -> None:
    done = run(new_project)
    assert done.returncode == 1
    assert "does not exist" in done.stdout


def test_an_update_writes_the_files_and_a_plain_run_accepts_them(project: Path) -> None:
    assert [golden.read(file(project, name)).id for name in NAMES] == list(NAMES)
    assert run(project).returncode == 0


def test_the_files_are_those_that_the_streams_were(project: Path) -> None:
    assert file(project, "beta").read_text() == (project / "beta.found").read_text()


@pytest.mark.parametrize("update", [(), ("--snapshot-update",)], ids=["plain", "update"])
def test_a_run_of_some_neither_flags_nor_deletes_the_others(project: Path, update: tuple[str, ...]) -> None:
    before = {name: file(project, name).read_text() for name in NAMES}
    for selection in (("-k", "beta"), ("test_them.py::test_stream[beta]",)):
        done = run(project, *selection, *update)
        assert done.returncode == 0, done.stdout
        assert "unused" not in done.stdout
        assert "deleted" not in done.stdout
    assert {name: file(project, name).read_text() for name in NAMES} == before


def test_an_update_leaves_alone_what_matches_within_the_comparison(project: Path) -> None:
    """The platform named in the stream is another one, and its difference a tie."""
    before = file(project, "alpha").read_text()
    tie = observation((*TOKENS[:1], 99, *TOKENS[2:]))
    found(project, "alpha", golden.to_text(sample(tie, id="alpha", platform=ELSEWHERE)))
    assert run(project, "--snapshot-update").returncode == 0
    assert file(project, "alpha").read_text() == before


def test_an_update_replaces_what_changed_and_nothing_else(project: Path) -> None:
    other = sample(observation((8, *TOKENS[1:])), id="alpha")
    found(project, "alpha", golden.to_text(other))
    assert run(project, "--snapshot-update").returncode == 0
    assert golden.read(file(project, "alpha")) == other
    assert golden.read(file(project, "beta")) == sample(id="beta")


def test_a_difference_is_shown_as_the_verdict_with_who_recorded_it(project: Path) -> None:
    found(project, "alpha", golden.to_text(sample(observation((*TOKENS[:2], 8, *TOKENS[3:])), id="alpha")))
    done = run(project)
    assert done.returncode == 1
    assert "differs at step 2 where the margin was 2.1" in done.stdout
    assert "recorded by mlx 1, mlx-lm 2 on cpu linux x86_64, float32" in done.stdout


def test_a_tampered_file_is_named_as_such_and_an_update_repairs_it(project: Path) -> None:
    path = file(project, "alpha")
    path.write_text(path.read_text().replace("Made by hand.", "Made by somebody else."))
    done = run(project)
    assert done.returncode == 1
    assert "its content does not belong to its checksum" in done.stdout
    assert run(project, "--snapshot-update").returncode == 0
    assert golden.read(path) == sample(id="alpha")


def test_a_forced_stream_and_one_of_another_platform_are_not_written(project: Path) -> None:
    other = observation((8, *TOKENS[1:]))
    found(project, "alpha", golden.to_text(sample(other, id="alpha", platform=ELSEWHERE)))
    found(project, "beta", golden.to_text(sample(other, id="beta", force=TOKENS)))
    before = [file(project, name).read_text() for name in NAMES]
    done = run(project, "--snapshot-update")
    assert done.returncode == 1
    assert "it was recorded on cpu linux x86_64, this is metal darwin arm64" in done.stdout
    assert "a teacher-forced run cannot be recorded" in done.stdout
    assert [file(project, name).read_text() for name in NAMES] == before
