"""Fixtures of the golden streams.

MLX runs on the main thread only. On the CPU it would compile each fused kernel with g++, 11-17 seconds
each: switched off. A model is loaded once a process, by ``load_model`` itself.
"""

from __future__ import annotations

import os
from typing import NoReturn

import pytest
from kvconform.generate import answers, cases
from kvconform.generate.cases import Case
from kvconform.installing import INSTALL_MLX

os.environ.setdefault("MLX_DISABLE_COMPILE", "1")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``tiny_case``: every stream of a tiny model; ``smollm2_case``: the quick ones, or all of them."""
    if "tiny_case" in metafunc.fixturenames:
        _parametrize(metafunc, "tiny_case", cases.tiny_cases())
    if "smollm2_case" in metafunc.fixturenames:
        full = bool(metafunc.config.getoption("--goldens-full"))
        _parametrize(metafunc, "smollm2_case", cases.smollm2_cases(full=full))


def _parametrize(metafunc: pytest.Metafunc, name: str, chosen: list[Case]) -> None:
    metafunc.parametrize(name, [pytest.param(case, id=case.key) for case in chosen])


@pytest.fixture(scope="session")
def mlx(pytestconfig: pytest.Config) -> None:
    """The test runs real models. Without MLX it is skipped; on CI, and when recording, it fails."""
    if not answers.can_run():
        _do_without(pytestconfig, f"mlx and mlx-lm are not installed: {INSTALL_MLX}")


@pytest.fixture(scope="session")
def smollm2(mlx: None, pytestconfig: pytest.Config) -> None:
    """The test runs SmolLM2. Without its package it is skipped; on CI, and when recording, it fails."""
    from kvconform.models import smollm2
    from kvconform.models.errors import ModelError

    try:
        smollm2.find_gguf()
    except ModelError as error:
        _do_without(pytestconfig, str(error))


def _do_without(config: pytest.Config, why: str) -> NoReturn:
    if config.option.update_snapshots:
        pytest.fail(f"golden streams are recorded from real MLX only; {why}", pytrace=False)
    if os.environ.get("CI"):
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


@pytest.fixture(scope="session")
def goldens_full(pytestconfig: pytest.Config) -> None:
    """The test takes minutes and runs with ``--goldens-full`` only."""
    if not pytestconfig.getoption("--goldens-full"):
        pytest.skip("takes minutes: runs with --goldens-full (tox -e goldens)")
