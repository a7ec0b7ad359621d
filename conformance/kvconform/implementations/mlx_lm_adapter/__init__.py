"""The mlx-lm adapter. Importing this is cheap; :func:`factory` imports MLX and mlx-lm (2-3 seconds)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .adapter import MlxLmAdapter


def factory() -> MlxLmAdapter:
    """The adapter in this process. A group size of 0 takes the process down: run it in a child."""
    from .adapter import MlxLmAdapter

    return MlxLmAdapter()
