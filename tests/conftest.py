"""Options of our own tests."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--goldens-full``: every SmolLM2 stream, about ten minutes, instead of the few quick ones."""
    parser.addoption("--goldens-full", action="store_true", help="check every golden stream of SmolLM2")
