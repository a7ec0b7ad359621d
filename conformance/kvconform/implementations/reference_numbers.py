"""`resolve` and `quantize` scenarios on the reference."""

from __future__ import annotations

import base64
from typing import Any

from kvconform_reference import affine, floats, policy, protocol
from kvconform_reference.dialect import Dialect

from ..observation import QuantizeObservation, ResolveObservation
from ..scenario import Layer, QuantizeScenario, ResolveScenario, Tensor
from . import reference_layers as layers
from . import reference_looks as looks


def run_resolve(scenario: ResolveScenario, dialect: Dialect) -> ResolveObservation:
    """The group size for head dims, or all that can be asked of a layer."""
    if scenario.layer is not None:
        return resolve_layer(scenario, scenario.layer, dialect)
    if scenario.key_dim is None or scenario.value_dim is None:
        raise ValueError(f"head dims {scenario.key_dim} and {scenario.value_dim}; give both, or a layer")
    return ResolveObservation(
        group_size=resolve_dims(scenario.requested, scenario.key_dim, scenario.value_dim, dialect)
    )


def resolve_dims(requested: int, key_dim: int, value_dim: int, dialect: Dialect) -> int | None:
    """None, or a refusal where the design takes the request itself and fails (`exact` with `error`)."""
    size = policy.resolve(requested, key_dim, value_dim, dialect)
    if size is None and dialect.resolver == "exact" and dialect.incompatible == "error":
        raise ValueError(
            f"group size {requested} cannot be used for head dims {key_dim} and {value_dim}; "
            f"request a supported size that divides both. MQ-3"
        )
    return size


def resolve_layer(scenario: ResolveScenario, asked: Layer, dialect: Dialect) -> ResolveObservation:
    """Group size, head dims, quantizable and compatible of one layer (GS-10, HD, QP)."""
    if scenario.key_dim is not None or scenario.value_dim is not None:
        raise ValueError("head dims and a layer are both given; give one of them")
    (slot,) = layers.number_layers((asked,))
    layer: Any = layers.build_layer(slot, dialect)
    dims, quantizable = protocol.head_dims(layer), policy.is_quantizable(layer, dialect)
    return ResolveObservation(
        group_size=policy.resolve(scenario.requested, *dims, dialect) if quantizable and dims else None,
        head_dims=dims,
        quantizable=quantizable,
        compatible=quantizable and policy.is_compatible(layer),  # HD-3: of quantizable layers only
    )


def run_quantize(scenario: QuantizeScenario, dialect: Dialect) -> QuantizeObservation:
    """The rows of a tensor, quantized one by one; the same in every dialect."""
    del dialect
    rows, dtype = rows_of(scenario.tensor), scenario.tensor.dtype
    count, dim = scenario.tensor.shape
    affine.check_parameters(dim, bits=scenario.bits, group_size=scenario.group_size)
    options: dict[str, Any] = {"bits": scenario.bits, "group_size": scenario.group_size, "dtype": dtype}
    quantized = [affine.quantize_row(row, **options) for row in rows]
    groups = dim // scenario.group_size
    return QuantizeObservation(
        packed=looks.encoded("uint32", (count, dim * scenario.bits // 32), _joined(quantized, "packed")),
        scales=looks.encoded(dtype, (count, groups), _joined(quantized, "scales")),
        biases=looks.encoded(dtype, (count, groups), _joined(quantized, "biases")),
    )


def rows_of(tensor: Tensor) -> list[list[float]]:
    """The rows of a 2-d tensor; ValueError for another shape or for words."""
    if len(tensor.shape) != 2:
        raise ValueError(f"a tensor of shape {list(tensor.shape)} is not 2-d; give [rows, dim]")
    count, dim = tensor.shape
    values = floats.decode(base64.b64decode(tensor.data), tensor.dtype)
    return [values[start * dim : (start + 1) * dim] for start in range(count)]


def _joined(rows: list[affine.QuantizedRow], part: str) -> bytes:
    return b"".join([getattr(row, part) for row in rows])
