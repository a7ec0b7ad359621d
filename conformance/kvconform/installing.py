"""What to install where MLX is missing: one wording for every message."""

from __future__ import annotations

import sys

_MLX = "mlx" if sys.platform == "darwin" else '"mlx[cpu]"'  # without the extra, Linux gets no backend

INSTALL_MLX = f'pip install {_MLX} mlx-lm (in a clone of this project: pip install ".[mlx]")'
"""The advice, to stand at the end of a sentence."""
