"""What trying a model gave: its layers and how the two loops went. Crosses a process boundary as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asks about."""

    model: str
    bits: int
    group_size: int = 64
    start: int = 0
    context: int = 4096
    """Positions at which memory is compared."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The model that was tried, and with what."""

    name: str
    source: str
    dtype: str
    architecture: str
    versions: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One cache of the model's list after a few positions; children of composites stand for themselves."""

    path: str
    kind: str
    dims: tuple[int, int] | None
    """Key and value head dim; none for caches without rows of keys and values."""
    heads: int
    """Key/value heads; 0 without dims."""
    itemsize: int
    """Bytes of one stored number; 0 without dims."""
    limit: int | None
    """Positions that a sliding window or a chunk holds; none for a cache that holds all."""
    fixed_bytes: int
    """Bytes of a cache without rows, whatever the length."""
    group_size: int | None
    """The group size that it is quantized with; none when it stays full precision."""
    reason: str | None
    """Why it stays full precision."""


@dataclass(frozen=True, kw_only=True)
class LoopRun:
    """How a few steps with quantization went in one loop."""

    converted: int = 0
    """Layers that became quantized."""
    error: str | None = None
    """What it raised, or how it ended the process."""
    died: bool = False
    """Whether it took its process down."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Everything that was found out."""

    subject: Subject
    layers: tuple[Layer, ...]
    reference: LoopRun
    mlx_lm: LoopRun
    mlx_lm_sizes: tuple[int, ...] = ()
    """Other group sizes with which mlx-lm's loop quantizes and runs; looked for only where it raises."""

    @property
    def settled_layers(self) -> tuple[Layer, ...]:
        """The layers as they end up: all in full precision when the model cannot go on once they are not."""
        if self.reference.error is None:
            return self.layers
        return tuple(
            layer if layer.group_size is None else replace(layer, group_size=None, reason=UNREADABLE)
            for layer in self.layers
        )


UNREADABLE = "the model cannot read it quantized"


def line_of(name: str, part: Subject | LoopRun | tuple[Layer, ...] | tuple[int, ...]) -> str:
    """One line of JSON: ``name`` says which part of the trial it is."""
    return json.dumps({name: _data(part)})


def _data(part: Any) -> Any:
    if isinstance(part, tuple):
        return [_data(each) for each in part]  # pyright: ignore[reportUnknownVariableType]
    return part if isinstance(part, int) else asdict(part)


def subject_from(data: Mapping[str, Any]) -> Subject:
    return Subject(**data)


def layers_from(data: list[dict[str, Any]]) -> tuple[Layer, ...]:
    return tuple(_layer_from(layer) for layer in data)


def _layer_from(data: dict[str, Any]) -> Layer:
    data["dims"] = None if data["dims"] is None else tuple(data["dims"])
    return Layer(**data)


def run_from(data: Mapping[str, Any]) -> LoopRun:
    return LoopRun(**data)
