"""The distance between two next-token distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


def divergence(expected: npt.ArrayLike, observed: npt.ArrayLike) -> float:
    """KL(expected || observed) of two rows of logits, in nats, computed in float64.

    How many nats a text sampled from the expected distribution costs more under the observed one. The sum
    is at least 0 but for rounding, which is cut off. Logits of -inf are tokens that cannot come; where only
    the observed row excludes a token, the divergence is infinite.
    """
    wanted, found = log_probabilities(expected), log_probabilities(observed)
    weights = np.exp(wanted)
    terms = weights * (np.where(weights > 0, wanted, 0.0) - np.where(weights > 0, found, 0.0))
    return max(0.0, float(terms.sum()))


def log_probabilities(logits: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """log softmax of a row of logits."""
    row: npt.NDArray[np.float64] = np.asarray(logits, dtype=np.float64)
    shifted = row - row.max()
    return shifted - np.log(np.exp(shifted).sum())


def as_row(logits: Any) -> Floats:
    """A row of logits of MLX, computed, as float32 of numpy (which has no bfloat16)."""
    import mlx.core as mx

    return np.array(logits.astype(mx.float32))
