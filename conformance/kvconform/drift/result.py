"""What was measured. Frozen, JSON-ready through ``as_json``; documented in ``docs/drift.md``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .settings import Setting


@dataclass(frozen=True, kw_only=True)
class Drift:
    """One setting against full precision, token by token along the full-precision stream."""

    setting: Setting
    group_sizes: tuple[int, ...]
    """The group sizes that converted layers have, each once, ascending: resolved, not requested."""
    converted: int
    """Layers that became quantized."""
    first_quantized: int | None
    """The first token, from 0, whose step reads a quantized cache; none when the start is not reached."""
    tokens: tuple[int, ...]
    """The most likely token of each step, with the full-precision tokens fed back."""
    divergences: tuple[float, ...]
    """KL divergence of each step's distribution from the full-precision one, in nats."""
    differs: tuple[bool, ...]
    """Whether the most likely token of a step is another one than in full precision."""
    nbytes: int
    """Bytes that the caches take at the end, spare capacity included."""
    error: str | None = None
    """What ended the run before all tokens were compared."""

    @property
    def compared(self) -> int:
        """Steps that read a quantized cache: what share and mean are taken over."""
        return 0 if self.first_quantized is None else max(0, len(self.tokens) - self.first_quantized)

    @property
    def first_difference(self) -> int | None:
        """Index of the first token that a free-running answer has otherwise; none when it is the same.

        Up to there the fed-back tokens are those the setting would have picked itself.
        """
        return next((step for step, differs in enumerate(self.differs) if differs), None)

    @property
    def equal_share(self) -> float | None:
        """Share of the compared steps with the same most likely token; none without any."""
        return 1 - sum(self.differs) / self.compared if self.compared else None

    @property
    def mean_divergence(self) -> float | None:
        """Mean KL divergence over the compared steps, nats."""
        return math.fsum(self.divergences) / self.compared if self.compared else None

    @property
    def worst_divergence(self) -> float | None:
        """The largest KL divergence of a compared step, nats."""
        return max(self.divergences) if self.compared else None


@dataclass(frozen=True, kw_only=True)
class DriftReport:
    """All settings on one prompt of one model."""

    model: str
    source: str
    dtype: str
    layers: int
    """Caches in the model's list, composites taken apart."""
    prompt: str
    prompt_tokens: tuple[int, ...]
    tokens: tuple[int, ...]
    """The full-precision answer, greedy."""
    words: tuple[str, ...]
    """Each of these tokens as text."""
    text: str
    ended: bool
    """Whether the answer ends with the model's end-of-sequence token."""
    nbytes: int
    """Bytes of the full-precision caches at the end, spare capacity included."""
    drifts: tuple[Drift, ...]
    versions: Mapping[str, str]

    def saved(self, drift: Drift) -> int:
        """Bytes that a setting saves at the end of the answer."""
        return self.nbytes - drift.nbytes

    def as_json(self) -> dict[str, Any]:
        """JSON-ready data, what is derived included."""
        return asdict(self) | {"drifts": [self._drift_json(drift) for drift in self.drifts]}

    def _drift_json(self, drift: Drift) -> dict[str, Any]:
        return asdict(drift) | {
            "compared": drift.compared,
            "first_difference": drift.first_difference,
            "equal_share": drift.equal_share,
            "mean_divergence": drift.mean_divergence,
            "worst_divergence": drift.worst_divergence,
            "bytes_saved": self.saved(drift),
        }
