"""Every golden stream comes out as recorded. ``--snapshot-update`` records what changed."""

from __future__ import annotations

import pytest
from kvconform.errors import UserError
from kvconform.generate import check, golden
from kvconform.generate.cases import Case
from kvconform.generate.golden import Golden
from kvconform.generate.snapshot import StreamFiles
from stream_samples import STREAMS
from syrupy.assertion import SnapshotAssertion

pytestmark = [pytest.mark.goldens, pytest.mark.mlx]


class CheckoutFiles(StreamFiles):
    """The files of this checkout, even when the package was installed from a wheel."""

    folder = STREAMS


@pytest.fixture
def streams(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """The golden files as snapshots."""
    return snapshot.use_extension(CheckoutFiles)


def as_recorded(case: Case, *, update: bool) -> Golden:
    """The stream run so that it can be compared; when recording, as it comes out."""
    if update:
        return check.run_case(case)
    try:
        return check.run_as_recorded(case, golden.read(STREAMS / f"{case.key}.json"))
    except UserError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.mark.requirement("NX-2", "NX-3", "ST-1", "ST-2", "ST-6", "MQ-5", "MQ-12", "PR-3", "PR-7")
def test_a_tiny_model_streams_as_recorded(
    mlx: None, tiny_case: Case, streams: SnapshotAssertion, pytestconfig: pytest.Config
) -> None:
    found = as_recorded(tiny_case, update=pytestconfig.option.update_snapshots)
    assert found == streams(name=tiny_case.key)


@pytest.mark.smollm2
def test_smollm2_streams_as_recorded(
    smollm2: None, smollm2_case: Case, streams: SnapshotAssertion, pytestconfig: pytest.Config
) -> None:
    found = as_recorded(smollm2_case, update=pytestconfig.option.update_snapshots)
    assert found == streams(name=smollm2_case.key)
