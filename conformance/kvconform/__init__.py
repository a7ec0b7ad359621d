"""kvconform: does an implementation of dynamic KV-cache quantization behave?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import NonConforming, run_conformance
    from .errors import UserError
    from .implementation import StartFailed

__version__ = "0.1.0"

__all__ = ["NonConforming", "StartFailed", "UserError", "__version__", "run_conformance"]


def __getattr__(name: str) -> Any:
    """The one call and its errors, imported when used: every pytest session imports this for its plugin."""
    if name in __all__:
        from . import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
