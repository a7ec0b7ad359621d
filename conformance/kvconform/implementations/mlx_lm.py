"""Real mlx-lm, in a child process: a group size of 0 takes the process down, and imports take seconds.

Neither mlx nor mlx-lm is imported here; ``mlx_lm_adapter`` does that, in the child.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution

from ..implementation import StartFailed
from ..installing import INSTALL_MLX
from ..wire.process import PythonChild

ADAPTER = "kvconform.implementations.mlx_lm_adapter:factory"


def factory() -> PythonChild:
    """The installed mlx-lm as an implementation; ``StartFailed`` says what to install when it is missing."""
    if missing := missing_packages():
        raise StartFailed(
            f"mlx-lm cannot be run: this Python has no {' and no '.join(missing)}; {INSTALL_MLX}"
        )
    # A spare child, because a scenario may end the process and starting one takes 2-3 seconds.
    return PythonChild(ADAPTER, spare=True, env={"MLX_DISABLE_COMPILE": "1"})


def missing_packages() -> tuple[str, ...]:
    """What the adapter needs and this Python has not, by its distribution's name."""
    return tuple(name for name in ("mlx", "mlx-lm") if not _installed(name))


def _installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
