"""The golden streams as syrupy snapshots: compared by meaning, recorded with ``--snapshot-update``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation

from ..errors import UserError
from . import compare
from . import golden as goldens
from .golden import Golden


class StreamFiles(SingleFileSnapshotExtension):
    """One JSON file a stream: ``found == snapshot.use_extension(StreamFiles)(name=case.key)``, a ``Golden``.

    (Passed as ``snapshot(extension_class=...)`` it compares the same, but syrupy then shows its own diff.)
    ``folder`` is where the files are, ``goldens.streams_folder()`` when it is none.
    """

    file_extension = "json"
    _write_mode = WriteMode.TEXT
    folder: Path | None = None

    # ------------------------------------------------------------ where

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder of all streams, whichever test asks."""
        return str(cls.folder or goldens.streams_folder())

    @classmethod
    def get_file_basename(cls, *, test_location: PyTestLocation, index: Any) -> str:
        """``<model>/<id>``."""
        return str(index)

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: Any = 0) -> str:
        """The same, as the name in reports."""
        return str(index)

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        """A file belongs to its case, whatever the test is called."""
        return True

    def discover_snapshots(self, **_options: Any) -> SnapshotCollections:
        """None: a run of some cases must neither flag nor delete the files of the others.

        That every file has a case, and every case a file, is a test of its own.
        """
        return SnapshotCollections()

    # ------------------------------------------------------------ what

    def serialize(self, data: Any, **_options: Any) -> str:
        """The text of the file."""
        if not isinstance(data, Golden):
            raise TypeError(f"a {type(data).__name__} is no golden stream; run a case with generate.check")
        return goldens.to_text(data)

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        """Whether the stream is as recorded, as far as this platform can tell; a broken file is not."""
        return _verdict(serialized_data, snapshot_data).accepted

    def diff_lines(self, serialized_data: Any, snapshot_data: Any) -> Iterator[str]:
        """The verdict, and both texts when they differ."""
        yield _verdict(serialized_data, snapshot_data).text
        found = goldens.from_text(serialized_data, where="the new stream")
        yield f"recorded by {_source(snapshot_data)}"
        yield f"found    by {_source(serialized_data)}"
        yield f"found text: {''.join(found.text)!r}"

    # ------------------------------------------------------------ recording

    @classmethod
    def write_snapshot(cls, *, snapshot_location: str, snapshots: Any, **_options: Any) -> None:
        """Write a file, if it is a recording that may replace what is there (``require_recordable``)."""
        ((text, _location, _index),) = snapshots
        path = Path(snapshot_location)
        require_recordable(goldens.from_text(text, where="the new stream"), path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def require_recordable(found: Golden, path: Path) -> None:
    """UserError when ``found`` must not be recorded in this file.

    A forced run is no stream of its own, and a golden of one platform class is not silently replaced by
    that of another: everybody else would then compare with a tolerance.
    """
    if found.scenario.force is not None:
        raise UserError(
            f"golden stream {path}: a teacher-forced run cannot be recorded. Run it without force"
        )
    try:
        old = goldens.read(path).recorded.platform
    except UserError:
        return  # missing or broken: nothing to protect
    if old != found.recorded.platform:
        raise UserError(
            f"golden stream {path}: it was recorded on {old}, this is {found.recorded.platform}. "
            "Record it there, or delete the file first if it is to change its platform"
        )


def _verdict(serialized_data: Any, snapshot_data: Any) -> compare.Verdict:
    try:
        recorded = goldens.from_text(snapshot_data, where="the recorded one")
    except UserError as error:
        return compare.Verdict(accepted=False, text=str(error))
    return compare.judge(recorded, goldens.from_text(serialized_data, where="the new stream"))


def _source(text: str) -> str:
    try:
        golden = goldens.from_text(text, where="the stream")
    except UserError:
        return "something that cannot be read"
    versions = ", ".join(f"{name} {version}" for name, version in golden.recorded.versions.items())
    return f"{versions} on {golden.recorded.platform}, {golden.recorded.dtype}"
