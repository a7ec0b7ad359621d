"""Short words for what vectors are made of, as the specification writes them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvconform_reference import floats

from ...scenario import (
    SCENARIO,
    CacheScenario,
    ChunkedLayer,
    CompositeLayer,
    ContainerScenario,
    IterateScenario,
    Layer,
    PlainLayer,
    QuantizedLayer,
    QuantizeScenario,
    RecurrentLayer,
    ResolveScenario,
    RotatingLayer,
    Scenario,
    Tensor,
)

Data = dict[str, Any]

NEAREST = "proposal mlx-swift-lm mlx-swift-lm-3.31.4"
"""Dialects that resolve a group size."""
EXACT = "mlx-lm mlx-lm-0.29 mlx-lm-0.28 mlx-lm-0.26"
"""Dialects that use the requested one or refuse."""
CURRENT = "proposal mlx-lm mlx-lm-0.29 mlx-swift-lm mlx-swift-lm-3.31.4"
"""Without old versions, where how they differ is another vector's business."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A vector before it is recorded: the reference adds what is expected, dialect by dialect.

    Dialects that answer alike share a file; the first file has the ``id`` itself, each further one the name
    of its first dialect behind it.
    """

    id: str
    requirements: tuple[str, ...]
    comment: str
    scenario: Scenario
    dialects: tuple[str, ...] | None = None
    """Named dialects to record; all that can be asked when not given."""
    reports: tuple[str, ...] = ()
    """Keys of ``reports.REPORTS``."""


def vector(
    id: str,
    requirements: str,
    comment: str,
    scenario: Scenario,
    *,
    dialects: str | None = None,
    reports: str = "",
) -> Source:
    """A source; requirements, dialects and reports as words with spaces between them."""
    return Source(
        id=id,
        requirements=tuple(requirements.split()),
        comment=comment,
        scenario=scenario,
        dialects=tuple(dialects.split()) if dialects else None,
        reports=tuple(reports.split()),
    )


# ---------------------------------------------------------------- layers


def S(length: int, key_dim: int = 64, value_dim: int | None = None, **more: Any) -> PlainLayer:  # noqa: N802
    """Plain, with ``length`` positions."""
    return PlainLayer(length=length, key_dim=key_dim, value_dim=value_dim or key_dim, **more)


E = S(0)
Z = S(5, trim=5)
M = RecurrentLayer()


def C(length: int, chunk_size: int = 16, **more: Any) -> ChunkedLayer:  # noqa: N802
    """Chunked."""
    return ChunkedLayer(length=length, chunk_size=chunk_size, **more)


def R(length: int, max_size: int = 64, **more: Any) -> RotatingLayer:  # noqa: N802
    """Rotating."""
    return RotatingLayer(length=length, max_size=max_size, **more)


def Q(length: int, group_size: int = 64, bits: int = 4, key_dim: int = 64, **more: Any) -> QuantizedLayer:  # noqa: N802
    """Quantized, written from empty."""
    more.setdefault("value_dim", key_dim)
    return QuantizedLayer(length=length, group_size=group_size, bits=bits, key_dim=key_dim, **more)


def L(*children: Layer) -> CompositeLayer:  # noqa: N802
    """Composite."""
    return CompositeLayer(children=children)


# ---------------------------------------------------------------- scenarios


def resolve(requested: int, key_dim: int, value_dim: int) -> ResolveScenario:
    """A pair of dims."""
    return ResolveScenario(requested=requested, key_dim=key_dim, value_dim=value_dim)


def resolve_layer(requested: int, layer: Layer) -> ResolveScenario:
    """A layer."""
    return ResolveScenario(requested=requested, layer=layer)


def quantize(
    *rows: Sequence[float], bits: int, group_size: int = 32, dtype: str = "float32", dim: int = 32
) -> QuantizeScenario:
    """Rows, rounded to the dtype; ``dim`` is their length where there are none."""
    data = b"".join(floats.encode(floats.round_values(row, dtype), dtype) for row in rows)
    shape = (len(rows), len(rows[0]) if rows else dim)
    tensor = Tensor.model_validate(
        {"dtype": dtype, "shape": shape, "data": base64.b64encode(data).decode()}, strict=False
    )
    return QuantizeScenario(tensor=tensor, bits=bits, group_size=group_size)


def _validated(data: Data) -> Any:
    return SCENARIO.validate_python(data, strict=False)


def cache(layer: Layer, *operations: Data, **observe: bool) -> CacheScenario:
    """Operations on one cache; what is observed by name."""
    return _validated(
        {"kind": "cache", "layer": layer.model_dump(), "operations": operations, "observe": observe}
    )


def op(name: str, **more: Any) -> Data:
    """One operation on a cache."""
    return {"op": name, **more}


def container(*layers: Layer, steps: Sequence[Data] = (), **fields: Any) -> ContainerScenario:
    """A container built with 4 bits unless said, and steps."""
    fields.setdefault("built", {"bits": 4})
    return _validated(
        {"kind": "container", "layers": [layer.model_dump() for layer in layers], "steps": steps, **fields}
    )


def free(*layers: Layer, steps: Sequence[Data] = (), **fields: Any) -> ContainerScenario:
    """The pass without memory over the caller's list."""
    return container(*layers, steps=steps, form="free", built={}, **fields)


def mq(bits: int | None = 4, group_size: int = 64, start: int = 0) -> Data:
    """One pass."""
    return {"do": "pass", "bits": bits, "group_size": group_size, "start": start}


def append(rows: int, **more: Any) -> Data:
    """Rows written to the container's layers."""
    return {"do": "append", "rows": rows, **more}


def trim(rows: int, **more: Any) -> Data:
    """Rows trimmed off the container's layers."""
    return {"do": "trim", "rows": rows, **more}


DROP_FRONT: Data = {"do": "drop-front"}


def iterate(*layers: Layer, turns: Sequence[Data], **fields: Any) -> IterateScenario:
    """Turns over a list that the caller made, unless said."""
    return _validated(
        {"kind": "iterate", "layers": [layer.model_dump() for layer in layers], "turns": turns, **fields}
    )


TURN_FIELDS = {"form", "cache", "processor", "sampler"}


def turn(prompt: int = 10, nexts: int = 2, *, seed: int = 0, **options: Any) -> Data:
    """A turn; options that are no fields of one are parameters."""
    fields = {name: options.pop(name) for name in list(options) if name in TURN_FIELDS}
    return {"prompt": {"length": prompt, "seed": seed}, "nexts": nexts, "parameters": options, **fields}
