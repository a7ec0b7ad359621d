"""Reports written down by hand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from kvconform.drift.result import Drift, DriftReport
from kvconform.drift.settings import Setting


def drift(
    bits: int,
    *,
    divergences: Sequence[float],
    differs: Collection[int] = (),
    first_quantized: int | None = 1,
    nbytes: int = 500,
    error: str | None = None,
    setting: Setting | None = None,
) -> Drift:
    """Two converted layers; as many tokens as divergences."""
    return Drift(
        setting=setting or Setting(bits=bits),
        group_sizes=(64,),
        converted=2,
        first_quantized=first_quantized,
        tokens=tuple(range(len(divergences))),
        divergences=tuple(map(float, divergences)),
        differs=tuple(step in differs for step in range(len(divergences))),
        nbytes=nbytes,
        error=error,
    )


def report(*drifts: Drift, tokens: int = 6) -> DriftReport:
    """An answer of ``tokens`` words, a cache of 1000 bytes."""
    words = tuple(f" w{number}" for number in range(tokens))
    return DriftReport(
        model="some-model",
        source="folder some",
        dtype="float32",
        layers=2,
        prompt="Say <this> & that.",
        prompt_tokens=(7, 8, 9),
        tokens=tuple(range(tokens)),
        words=words,
        text="".join(words),
        ended=False,
        nbytes=1000,
        drifts=drifts,
        versions={"mlx": "0.32.4"},
    )


def with_words(found: DriftReport, words: Sequence[str]) -> DriftReport:
    """The same report with other words."""
    return replace(found, words=tuple(words), text="".join(words))
