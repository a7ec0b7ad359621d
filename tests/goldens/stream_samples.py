"""Streams made by hand, for the tests of what judges streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kvconform.generate import golden as goldens
from kvconform.generate.golden import Golden, Recorded
from kvconform.observation import ConversionEvent, GenerateObservation, StepError
from kvconform.scenario import GenerateScenario, Parameters

STREAMS = Path(__file__).parents[2] / "goldens" / "streams"
"""The golden files of this checkout."""

HERE = "cpu linux x86_64"
ELSEWHERE = "metal darwin arm64"
TOKENS = (7, 3, 9, 4, 12)
MARGINS = (1.5, 0.014, 2.1, 0.4, 0.9)
CONVERTED = ConversionEvent(
    position=24, step=0, layers=(0, 1), group_sizes=(64, 64), nbytes_before=524288, nbytes=81920
)


def observation(
    tokens: Sequence[int] = TOKENS,
    margins: Sequence[float] = MARGINS,
    *,
    conversions: Sequence[ConversionEvent] = (),
    position: int = 29,
    nbytes: int = 81920,
    error: str | None = None,
) -> GenerateObservation:
    """A stream of five steps; step 1 is nearly a tie, step 2 is clear."""
    return GenerateObservation(
        tokens=tuple(tokens),
        margins=tuple(margins),
        conversions=tuple(conversions),
        position=position,
        nbytes=nbytes,
        error=None if error is None else StepError(kind="internal", message=error),
    )


def golden(
    expected: GenerateObservation | None = None,
    *,
    platform: str = HERE,
    dtype: str = "float32",
    bits: int | None = None,
    force: Sequence[int] | None = None,
    **changes: Any,
) -> Golden:
    """A golden of a model called ``some-model``, sealed."""
    expected = observation() if expected is None else expected
    fields: Mapping[str, Any] = {
        "id": "short-full",
        "comment": "Made by hand.",
        "implementation": "reference",
        "dialect": {"chunked": "keep"},
        "scenario": GenerateScenario(
            model="some-model",
            prompt=(1, 2, 3),
            parameters=Parameters(max_tokens=5, bits=bits),
            force=None if force is None else tuple(force),
        ),
        "prompt_text": ("t1 t2 t3",),
        "text": (" ".join(f"t{token}" for token in expected.tokens),),
        "expected": expected,
        "recorded": Recorded(
            platform=platform, dtype=dtype, fingerprint="f00d", versions={"mlx": "1", "mlx-lm": "2"}
        ),
        **changes,
    }
    return goldens.sealed(Golden(**fields))
