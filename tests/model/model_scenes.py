"""Layers of a trial, as the probe writes them down."""

from __future__ import annotations

from kvconform.advice.trial import Layer


def layer(path: str, *, group_size: int | None = 64, reason: str | None = None) -> Layer:
    """A plain layer of head dims 64, two heads, in bfloat16."""
    return Layer(
        path=path,
        kind="plain",
        dims=(64, 64),
        heads=2,
        itemsize=2,
        limit=None,
        fixed_bytes=0,
        group_size=group_size,
        reason=reason,
    )


def sliding(path: str) -> Layer:
    """A layer with a window of 16 positions."""
    return Layer(
        path=path,
        kind="rotating",
        dims=(64, 64),
        heads=2,
        itemsize=2,
        limit=16,
        fixed_bytes=0,
        group_size=None,
        reason="sliding window: its rows lose their order",
    )


def state(path: str) -> Layer:
    """A layer with a recurrent state of 1000 bytes."""
    return Layer(
        path=path,
        kind="recurrent",
        dims=None,
        heads=0,
        itemsize=0,
        limit=None,
        fixed_bytes=1000,
        group_size=None,
        reason="recurrent state, no keys and values",
    )
