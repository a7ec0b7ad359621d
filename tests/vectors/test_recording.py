"""The vector files are what the sources say and the reference answers. Record with --snapshot-update."""

from __future__ import annotations

from typing import Any

import pytest
from kvconform.vectors import extension, recording
from kvconform.vectors.source import all_sources
from kvconform.vectors.source.words import Source

pytestmark = pytest.mark.goldens


@pytest.mark.parametrize("source", all_sources(), ids=lambda source: source.id)
def test_a_vector_is_what_the_reference_answers(source: Source, snapshot: Any) -> None:
    vectors = recording.recorded(source)
    assert vectors
    for vector in vectors:
        assert vector == snapshot(name=vector.id, extension_class=extension.VectorFiles)
