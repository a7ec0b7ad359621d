"""Checks of affine quantization (AQ)."""

from __future__ import annotations

import base64
from typing import Any

from .. import judges
from ..checks import Check, Context
from ..invariants import numeric
from ..invariants.tensors import row_bytes
from ..scenario import QuantizeScenario, Scenario, Tensor
from ..strategies import declared, tensors

CONSTANTS = (0.0, 1.5, -2.0, 1e-9, -4e-8, 6e-8, 37.5)
"""Values of constant rows: zero, ordinary ones, and some on both sides of the smallest scale."""


def _reversed(_context: Context, scenario: Any) -> Scenario:
    data = base64.b64encode(b"".join(row_bytes(scenario.tensor)[::-1])).decode()
    return scenario.model_copy(update={"tensor": scenario.tensor.model_copy(update={"data": data})})


def _constants(context: Context) -> tuple[Scenario, ...]:
    size = min(declared.group_sizes(context))
    return tuple(
        QuantizeScenario(tensor=tensors.tensor([[value] * size], "float32"), bits=4, group_size=size)
        for value in CONSTANTS
    )


def _edges(context: Context) -> tuple[Scenario, ...]:
    """One row of each shape at every bit width, and in every dtype."""
    size = min(declared.group_sizes(context))
    made = [
        (tensors.tensor([make(1, size, bits, 1.0)], dtype), bits)
        for dtype in declared.dtypes(context)
        for bits in declared.bits(context)
        for make in tensors.SHAPES.values()
        if dtype == "float32" or bits == 4
    ]
    return tuple(QuantizeScenario(tensor=tensor, bits=bits, group_size=size) for tensor, bits in made)


UNROUNDED: dict[tuple[str, int], tuple[int, ...]] = {
    ("bfloat16", 3): (1102, 151, 73),
    ("bfloat16", 4): (1454,),
    ("bfloat16", 5): (73, 2),
    ("bfloat16", 6): (97,),
    ("bfloat16", 8): (29, 604),
    ("float16", 4): (2443, 527, 740, 5000),
    ("float16", 5): (68, 104, 122, 2430),
    ("float16", 6): (666, 157),
    ("float16", 8): (2274,),
}
"""Seeds of rows that tell on each step that rounds to the row's dtype instead of float32.

Which of a thousand rows those are was searched for: such a step moves a code only where it crosses a tie.
"""


def _unrounded(context: Context) -> tuple[Scenario, ...]:
    size = min(declared.group_sizes(context))
    return tuple(
        QuantizeScenario(tensor=unrounded(dtype, bits, size), bits=bits, group_size=size)
        for dtype, bits in UNROUNDED
        if dtype in declared.dtypes(context) and bits in declared.bits(context)
    )


def unrounded(dtype: str, bits: int, size: int) -> Tensor:
    """The rows of :data:`UNROUNDED` for a dtype and a bit width."""
    spread = tensors.SHAPES["spread"]
    return tensors.tensor([spread(seed, size, bits, 1.0) for seed in UNROUNDED[dtype, bits]], dtype)


CHECKS = (
    Check(
        requirement="AQ-1",
        name="exact",
        scenarios=tensors.scenarios,
        judge=judges.content(numeric.exact),
        explicit=lambda context: (*_edges(context), *_unrounded(context), *_constants(context)),
        weight=1.5,
    ),
    Check(
        requirement="AQ-2",
        name="rows",
        scenarios=lambda context: tensors.scenarios(context, least=2, most=3),
        judge=judges.relation(numeric.reversed_rows),
        oracle="relation",
        companion=_reversed,
        weight=0.5,
    ),
    Check(
        requirement="AQ-3",
        name="constant",
        scenarios=lambda context: tensors.scenarios(
            context, shapes=("constant",), dtypes=("float32",), most=1
        ),
        judge=judges.invariant(numeric.constant_rows),
        explicit=_constants,
        weight=0.5,
    ),
    Check(
        requirement="AQ-4",
        name="bound",
        scenarios=lambda context: tensors.scenarios(context, dtypes=("float32",), most=1),
        judge=judges.invariant(numeric.error_bound),
        weight=0.7,
    ),
)
