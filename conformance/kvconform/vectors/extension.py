"""The vector files as syrupy snapshots: recorded with ``--snapshot-update``, compared by meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation

from . import compare
from .document import VECTOR, Vector
from .formatting import compact_data, json_text
from .library import commit_id, goldens_folder
from .recording import reference_context


class VectorFiles(SingleFileSnapshotExtension):
    """One JSON file a vector, named by its id; use as ``snapshot(name=vector.id)``."""

    file_extension = "json"
    _write_mode = WriteMode.TEXT

    def serialize(self, data: Any, **_options: Any) -> str:
        """The text of the file."""
        return json_text(compact_data(data))

    @classmethod
    def write_snapshot(cls, *, snapshot_location: str, snapshots: Any, **_options: Any) -> None:
        """Written as it is: the base class insists on names that follow the test's."""
        ((text, _location, _index),) = snapshots
        path = Path(snapshot_location)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        commit_id(path.stem)

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        """The same vector: everything alike but the wording of messages."""
        new, old = (VECTOR.validate_json(text) for text in (serialized_data, snapshot_data))
        return same_vector(new, old)

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: Any = 0) -> str:
        """The id."""
        return str(index)

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder of all vectors."""
        return str(goldens_folder() / "vectors")

    @classmethod
    def get_location(cls, *, test_location: PyTestLocation, index: Any) -> str:
        """``<area>/<id>.json``."""
        area = str(index).partition("-")[0]
        return str(goldens_folder() / "vectors" / area / f"{index}.json")

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        """The name is the id, whatever the test is called."""
        return True

    def discover_snapshots(self, **_options: Any) -> Any:
        """None: an update never deletes a vector, since ids are permanent."""
        from syrupy.data import SnapshotCollections

        return SnapshotCollections()


def same_vector(new: Vector, old: Vector) -> bool:
    """Whether two vectors say the same."""
    head = {"expected"}
    if new.model_dump(exclude=head) != old.model_dump(exclude=head):
        return False
    contexts = [reference_context(name) for name in new.dialects]
    return all(compare.same(context, new.scenario, old.expected, new.expected) for context in contexts)
