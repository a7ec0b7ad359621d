"""What is recorded comes from the reference: with any other implementation under test nothing is."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def only_the_reference_records(pytestconfig: pytest.Config) -> None:
    subject: str = pytestconfig.getoption("--kvconform", None) or "reference"
    if pytestconfig.getoption("--snapshot-update", False) and subject.partition("@")[0] != "reference":
        pytest.fail(
            f"vectors are recorded from the reference only, but {subject} is under test. "
            "Run without --kvconform, or without --snapshot-update.",
            pytrace=False,
        )
