"""The real mlx-lm against the vectors: what it gets wrong is known, each with its reason."""

from __future__ import annotations

import os

import pytest
from kvconform.cli import main
from kvconform.implementations import mlx_lm
from kvconform.installing import INSTALL_MLX
from kvconform.known import known_failures_for

pytestmark = [pytest.mark.goldens, pytest.mark.mlx]


@pytest.fixture(autouse=True)
def installed() -> None:
    if missing := mlx_lm.missing_packages():
        why = f"{' and '.join(missing)} not installed: {INSTALL_MLX}"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)


def test_what_mlx_lm_gets_wrong_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", "check", "mlx-lm"]) == 0
    out = capsys.readouterr().out
    entries = [e for e in known_failures_for("mlx-lm", None).entries if e.key.startswith("vector:")]
    assert f" 0 failed, 0 errors, {len(entries)} known failures, " in out
    assert "stale" not in out
