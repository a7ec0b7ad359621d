"""What an answer to a quantize scenario must satisfy (AQ, QC-6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..checks import Finding
from ..observation import QuantizeObservation
from ..scenario import QuantizeScenario
from . import affine
from .affine import Quantized
from .ledger import RowJudge
from .tensors import row_bytes


class QuantizedRow(NamedTuple):
    """One row: what went in and what came out."""

    number: int
    values: tuple[float, ...]
    row: Quantized


def rows(scenario: QuantizeScenario, observation: QuantizeObservation) -> Iterator[QuantizedRow]:
    """Every row of the tensor with its answer."""
    dtype = scenario.tensor.dtype
    parts = [row_bytes(part) for part in (observation.packed, observation.scales, observation.biases)]
    for index, (source, *answer) in enumerate(zip(row_bytes(scenario.tensor), *parts, strict=True)):
        yield QuantizedRow(index, tuple(affine.decode(source, dtype)), Quantized(*answer))


def _finding(what: str, scenario: QuantizeScenario, index: int, expected: Any, observed: Any) -> Finding:
    where = f"row {index}, {scenario.bits} bits, group size {scenario.group_size}, {scenario.tensor.dtype}"
    return Finding(message=f"{what}: {where}", expected=expected, observed=observed)


def shapes(scenario: QuantizeScenario, observation: QuantizeObservation) -> Iterator[Finding]:
    """QC-6: d * b / 32 words of 32 bits a row, d / g scales and biases in the tensor's dtype."""
    count, dim = scenario.tensor.shape
    groups, dtype = dim // scenario.group_size, scenario.tensor.dtype
    expected = [
        ("uint32", (count, dim * scenario.bits // 32)),
        (dtype, (count, groups)),
        (dtype, (count, groups)),
    ]
    parts = (observation.packed, observation.scales, observation.biases)
    observed = [(part.dtype, part.shape) for part in parts]
    if expected != observed:
        yield _finding("words, scales or biases of another shape", scenario, 0, expected, observed)


def exact(
    scenario: QuantizeScenario, observation: QuantizeObservation, accepts: RowJudge
) -> Iterator[Finding]:
    """AQ-1: every row is what the written rules give, bit for bit (or an accepted branch off the CPU)."""
    if any(shapes(scenario, observation)):
        return
    options = {"bits": scenario.bits, "group_size": scenario.group_size, "dtype": scenario.tensor.dtype}
    for index, values, row in rows(scenario, observation):
        why = accepts(values, row, **options)
        if why is not None:
            expected = affine.quantize_row(values, **options)  # pyright: ignore[reportArgumentType]
            shown = [_shown(one, scenario) for one in (expected, row)]
            yield _finding(f"not the affine quantization, {why}", scenario, index, *shown)


def _shown(row: Quantized, scenario: QuantizeScenario) -> dict[str, Any]:
    dtype, count = scenario.tensor.dtype, scenario.tensor.shape[-1]
    return {
        "scales": affine.decode(row.scales, dtype),
        "biases": affine.decode(row.biases, dtype),
        "codes": affine.unpack(row.packed, scenario.bits, count),
    }


def constant_rows(scenario: QuantizeScenario, observation: QuantizeObservation) -> Iterator[Finding]:
    """AQ-3: a constant group decodes to its value when its edge code is not zero, else to 0."""
    bits, size, dtype = scenario.bits, scenario.group_size, scenario.tensor.dtype
    for index, values, row in rows(scenario, observation):
        decoded = affine.dequantize_row(row, bits=bits, group_size=size, dtype=dtype)
        expected = [_constant(value, bits) for value in values]
        if decoded != expected:
            yield _finding(
                "a constant row does not decode to its value", scenario, index, expected[0], decoded[0]
            )


def _constant(value: float, bits: int) -> float:
    return value if affine.quantize_group([value], bits).edge_code != 0 else 0.0


def error_bound(scenario: QuantizeScenario, observation: QuantizeObservation) -> Iterator[Finding]:
    """AQ-4: |x - decoded| <= |scale| * (1 + 2^-10) in float32."""
    bits, size, dtype = scenario.bits, scenario.group_size, scenario.tensor.dtype
    for index, values, row in rows(scenario, observation):
        decoded = affine.dequantize_row(row, bits=bits, group_size=size, dtype=dtype)
        scales = affine.decode(row.scales, dtype)
        for i, (value, back) in enumerate(zip(values, decoded, strict=True)):
            bound = abs(scales[i // size]) * (1 + 2**-10)
            if not abs(value - back) <= bound:
                yield _finding(f"value {i} is off by more than its scale", scenario, index, value, back)
                return


def reversed_rows(
    scenario: QuantizeScenario, observation: QuantizeObservation, other: QuantizeObservation
) -> Iterator[Finding]:
    """AQ-2: with the rows in reverse order the answer is reversed, bit for bit."""
    for name in ("packed", "scales", "biases"):
        here, there = row_bytes(getattr(observation, name)), row_bytes(getattr(other, name))
        if here != there[::-1]:
            index = next((i for i, (a, b) in enumerate(zip(here, there[::-1], strict=False)) if a != b), 0)
            expected, observed = there[::-1][index].hex(), here[index].hex()
            yield _finding(f"{name} depend on the other rows", scenario, index, expected, observed)
