"""kvconform: does an implementation of dynamic KV-cache quantization behave?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import NonConforming, run_conformance
    from .errors import UserError
    from .implementation import Capabilities, Implementation, Info, StartFailed, Unsupported
    from .observation import (
        CacheObservation,
        ContainerObservation,
        GenerateObservation,
        IterateObservation,
        QuantizeObservation,
        Refusal,
        ResolveObservation,
    )

__version__ = "0.1.0"

__all__ = [
    "CacheObservation",
    "Capabilities",
    "ContainerObservation",
    "GenerateObservation",
    "Implementation",
    "Info",
    "IterateObservation",
    "NonConforming",
    "QuantizeObservation",
    "Refusal",
    "ResolveObservation",
    "StartFailed",
    "Unsupported",
    "UserError",
    "__version__",
    "run_conformance",
]

_HOMES = {
    "api": ("NonConforming", "run_conformance"),
    "errors": ("UserError",),
    "implementation": ("Capabilities", "Implementation", "Info", "StartFailed", "Unsupported"),
}
"""The module of each name; the others are observations."""


def __getattr__(name: str) -> Any:
    """A judge and what an implementation needs, imported when used: every pytest session imports this."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((module for module, names in _HOMES.items() if name in names), "observation")
    return getattr(import_module(f"{__name__}.{home}"), name)
