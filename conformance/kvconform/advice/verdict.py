"""What a trial means, in a word and a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kvconform_reference import protocol

from .fates import why_nothing
from .trial import Layer, LoopRun, Request, Trial

Word = Literal["works", "works partly", "has no effect", "fails"]

STATES = (protocol.RECURRENT,)
"""Kinds whose memory does not grow with the context: that they stay as they are costs nothing."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer to "will kv-bits work for my model?"."""

    word: Word
    line: str
    """One line, mlx-lm's own loop included."""


def verdict_of(trial: Trial, request: Request) -> Verdict:
    """The answer for a trial."""
    word, why = _word(trial, request)
    on = "on" if word == "has no effect" else "for"
    line = f"kv-bits {request.bits} {word} {on} {trial.subject.name}: {why}"
    return Verdict(word=word, line=f"{line}." if not_reached(request) else f"{line}; {mlx_lm_text(trial)}.")


def not_reached(request: Request) -> bool:
    """Whether no context of this length is ever quantized."""
    return request.context < request.start


def _word(trial: Trial, request: Request) -> tuple[Word, str]:
    converted = [layer for layer in trial.layers if layer.group_size is not None]
    if trial.reference.error is not None:
        return "fails", _failure(trial.reference, converted)
    if not converted:
        return "has no effect", why_nothing([layer.reason for layer in trial.layers])
    if not_reached(request):
        return "has no effect", f"start {request.start} is not reached in a context of {request.context}"
    growing = [layer for layer in trial.layers if layer.kind not in STATES]
    if len(converted) < len(growing):
        return (
            "works partly",
            f"{_count(converted, trial.layers)} are quantized, the others stay as they are",
        )
    return "works", _all_text(converted, trial.layers)


def _failure(run: LoopRun, converted: Sequence[Layer]) -> str:
    if run.died or not run.converted:
        return str(run.error)
    layers = "one layer" if len(converted) == 1 else f"{len(converted)} layers"
    return f"{layers} can be quantized, but then the model cannot go on ({run.error})"


def _all_text(converted: Sequence[Layer], layers: Sequence[Layer]) -> str:
    others = "" if len(converted) == len(layers) else ", the others have no keys and values"
    return f"{_count(converted, layers)} are quantized{others}"


def _count(converted: Sequence[Layer], layers: Sequence[Layer]) -> str:
    return f"{len(converted)} of {len(layers)} layers"


def mlx_lm_text(trial: Trial) -> str:
    """Half a sentence: what mlx-lm's own loop does with the model today."""
    name = f"mlx-lm {trial.subject.versions['mlx-lm']}"
    run = trial.mlx_lm
    if run.died:
        return f"in {name} {run.error}"
    if run.error is not None:
        return f"{name} raises an error{_instead(trial.mlx_lm_sizes)}"
    if run.converted == 0:
        return f"{name} leaves every layer as it is"
    if run.converted == sum(layer.group_size is not None for layer in trial.layers):
        return f"{name} does it today"
    return f"{name} quantizes {run.converted}"


def _instead(sizes: Sequence[int]) -> str:
    return f" (it runs with group size {' or '.join(map(str, sizes))})" if sizes else ""
