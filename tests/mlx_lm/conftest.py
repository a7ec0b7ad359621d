"""Fixtures of the tests of the mlx-lm adapter: the adapter in this process, and a way to ask it.

These tests pin what mlx-lm does today, faults included. A release that mends one turns a test red: then the
known failures and the dialect table change too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from kvconform.installing import INSTALL_MLX

if TYPE_CHECKING:
    from kvconform.implementations.mlx_lm_adapter.adapter import MlxLmAdapter

os.environ.setdefault(
    "MLX_DISABLE_COMPILE", "1"
)  # otherwise each fused kernel calls a compiler, 11-17 s each


@pytest.fixture(scope="session")
def adapter() -> MlxLmAdapter:
    """The adapter in this process. Never hand it a group size of 0: that ends the process."""
    from kvconform.implementations import mlx_lm, mlx_lm_adapter

    if missing := mlx_lm.missing_packages():
        why = f"{' and '.join(missing)} not installed: {INSTALL_MLX}"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    return mlx_lm_adapter.factory()


@pytest.fixture(scope="session")
def ask(adapter: MlxLmAdapter) -> Callable[..., Any]:
    """``ask(kind, **fields)``: the adapter's observation of that scenario."""
    from kvconform.scenario import SCENARIO

    return lambda kind, **fields: adapter.run(
        SCENARIO.validate_python({"kind": kind, **fields}, strict=False)
    )
