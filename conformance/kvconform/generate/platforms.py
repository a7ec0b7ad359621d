"""Where a stream was recorded: versions, and the class of platforms on which it repeats bit for bit."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version
from typing import Any


def platform_class() -> str:
    """Device, operating system and processor, e.g. ``cpu linux x86_64``.

    Streams are bit-identical within the CPU class of Linux on x86-64: over releases of MLX 0.29.4 to 0.32.4,
    thread settings, processes and machines (its BLAS does not choose kernels by processor model).
    """
    return f"{device_name()} {sys.platform} {machine_name()}"


def device_name() -> str:
    """``cpu``, ``metal`` or ``cuda``: what MLX computes on unless told otherwise."""
    import mlx.core as mx

    backend: Any = mx
    if backend.default_device() == backend.Device(backend.cpu):
        return "cpu"
    return "metal" if backend.metal.is_available() else "cuda"


def machine_name() -> str:
    """The processor's architecture, one name for each."""
    names = {"amd64": "x86_64", "aarch64": "arm64"}
    machine = platform.machine().lower()
    return names.get(machine, machine)


def versions() -> dict[str, str]:
    """The versions of what produces a stream."""
    return {package: version(package) for package in ("mlx", "mlx-lm")}
