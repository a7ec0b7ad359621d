"""The vector files are what the sources say and the reference answers. Record with --snapshot-update."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kvconform.vectors import extension, library, recording
from kvconform.vectors.formatting import WIDTH, compact_data, json_text
from kvconform.vectors.source import all_sources
from kvconform.vectors.source.words import Source

pytestmark = pytest.mark.goldens


@pytest.mark.parametrize("source", all_sources(), ids=lambda source: source.id)
def test_a_vector_is_what_the_reference_answers(source: Source, snapshot: Any) -> None:
    vectors = recording.recorded(source)
    assert vectors
    for vector in vectors:
        assert vector == snapshot(name=vector.id, extension_class=extension.VectorFiles)


def test_every_file_has_a_source_and_every_id_is_kept_for_good() -> None:
    sourced = [vector.id for source in all_sources() for vector in recording.recorded(source)]
    assert len(set(sourced)) == len(sourced)
    assert set(library.vector_ids()) == set(sourced)
    assert set(library.committed_ids()) == set(sourced), "an id is permanent: do not take it away"


def test_a_file_lies_where_its_id_says_in_its_canonical_form() -> None:
    for vector in library.all_vectors().values():
        path = library.vector_path(vector)
        assert path.read_text(encoding="utf-8") == json_text(compact_data(vector)), path


def test_lines_are_short_but_for_what_cannot_be_broken() -> None:
    for vector in library.all_vectors().values():
        for line in library.vector_path(vector).read_text(encoding="utf-8").splitlines():
            whole = '"data"' in line or '"comment"' in line or '"message"' in line
            assert len(line) <= WIDTH + 1 or whole, (vector.id, line)


def changed(vector: Any, **fields: Any) -> Any:
    return vector.model_copy(update=fields)


def test_another_wording_is_the_same_vector_and_another_answer_is_not() -> None:
    vector = library.all_vectors()["gs-dims-0-64"]
    reworded = changed(vector, expected=changed(vector.expected, message="put otherwise"))
    assert extension.same_vector(reworded, vector)
    other = library.all_vectors()["gs-table-64-64-64"]
    wrong = changed(other, expected=changed(other.expected, group_size=32))
    assert not extension.same_vector(wrong, other)
    assert not extension.same_vector(changed(vector, comment="another bug"), vector)
    assert not extension.same_vector(changed(vector, dialects=("proposal",)), vector)


def test_recording_another_implementation_is_refused(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parent, tmp_path / "vectors", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]
    command += [f"--rootdir={tmp_path}", "-o", "markers=goldens", "-k", "gs-table-64-64-64"]
    command += [
        "--kvconform",
        "kvconform.faults:faulty@tie-goes-high",
        "--snapshot-update",
        "vectors/test_recording.py",
    ]
    before = library.vector_path(library.all_vectors()["gs-table-64-64-64"]).stat().st_mtime_ns
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode != 0
    assert "recorded from the reference only" in done.stdout + done.stderr
    assert library.vector_path(library.all_vectors()["gs-table-64-64-64"]).stat().st_mtime_ns == before


def test_a_file_holds_every_field_of_its_scenario_and_no_null_in_its_answer() -> None:
    for vector in library.all_vectors().values():
        data = json.loads(library.vector_path(vector).read_text(encoding="utf-8"))
        assert data["scenario"] == vector.scenario.model_dump(mode="json")
        nulls = [name for name in null_fields(data["expected"]) if name != "group_size"]
        assert not nulls, vector.id


def null_fields(data: Any) -> list[str]:
    if isinstance(data, list):
        return [name for item in data for name in null_fields(item)]
    if not isinstance(data, dict):
        return []
    here = [name for name, value in data.items() if value is None]
    return here + [name for value in data.values() for name in null_fields(value)]
