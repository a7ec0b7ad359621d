"""Is a stream as it was recorded? How exactly that can be asked depends on where it was recorded.

exact
    On the platform class that recorded it: tokens, margins, conversions, bytes and error, all of it.
free
    Elsewhere, and nothing became quantized: tokens are equal up to the first step at which another token
    comes out; that is a tie when the recorded margin there lies below the tolerance.
forced
    Elsewhere, quantized: the recorded tokens are fed back, so that every step sees the same past, and the
    margins move by no more than the bounds for the bits, at any step and on average.

What became quantized, when, at which group size, in how many bytes, how many positions went through the
model, and whether and where the stream died is compared exactly everywhere.

Pure functions of recorded and found; no MLX.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from ..observation import GenerateObservation
from . import golden as goldens
from . import tolerances
from .golden import Golden
from .tolerances import Bound

Mode = Literal["exact", "free", "forced"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a comparison says."""

    accepted: bool
    text: str
    """``equal``, or ``equal to step 41, tie there (margin 0.014)``, or ``differs at step 12 where the margin
    was 2.1``, or what else differs. Steps count from 0, as the tokens do.
    """


EQUAL = Verdict(accepted=True, text="equal")


def mode_for(recorded: Golden, platform: str) -> Mode:
    """How a stream can be compared on this platform class."""
    if recorded.recorded.platform == platform:
        return "exact"
    return "forced" if recorded.expected.conversions else "free"


def judge(recorded: Golden, found: Golden) -> Verdict:
    """The verdict on a stream that was run as ``recorded`` asks, on the platform that ``found`` names."""
    if (problem := different_question(recorded, found)) is not None:
        return Verdict(accepted=False, text=problem)
    mode = mode_for(recorded, found.recorded.platform)
    if mode == "exact":
        return exact(recorded.expected, found.expected)
    dtype = recorded.recorded.dtype
    if mode == "free":
        return free(recorded.expected, found.expected, tolerance=tolerances.tie_tolerance(dtype))
    if found.scenario.force is None:
        return Verdict(
            accepted=False, text="not comparable: on another platform a quantized stream is forced"
        )
    return forced(recorded.expected, found.expected, bound=tolerances.bound_for(recorded))


def different_question(recorded: Golden, found: Golden) -> str | None:
    """What makes the two streams answers to different questions; none when they can be compared."""
    same = {"force": None}
    if recorded.scenario.model_copy(update=same) != found.scenario.model_copy(update=same):
        return "not comparable: it was recorded for another scenario (prompt, model or parameters)"
    if (recorded.implementation, recorded.dialect) != (found.implementation, found.dialect):
        return f"not comparable: it was recorded from {recorded.implementation} in another dialect"
    if recorded.recorded.dtype != found.recorded.dtype:
        return f"not comparable: it was recorded in {recorded.recorded.dtype}, not {found.recorded.dtype}"
    if recorded.recorded.fingerprint != found.recorded.fingerprint:
        return "not comparable: it was recorded with other weights (the model's fingerprint differs)"
    same_tokens = recorded.expected.tokens == found.expected.tokens
    if recorded.prompt_text != found.prompt_text or (same_tokens and recorded.text != found.text):
        return "differs in text: the same tokens decode to other words than recorded"
    return None


# ---------------------------------------------------------------- the three ways


def exact(recorded: GenerateObservation, found: GenerateObservation) -> Verdict:
    """Equal in everything; margins as rounded in the file."""
    if (step := first_difference(recorded.tokens, found.tokens)) is not None:
        return _differs(recorded, step)
    if (problem := other_fate(recorded, found)) is not None:
        return Verdict(accepted=False, text=problem)
    margins = goldens.rounded(recorded).margins, goldens.rounded(found).margins
    if (step := first_difference(*margins)) is not None:
        return _shifted(step, margins[0][step], margins[1][step], "exactly the same is expected here")
    return EQUAL


def free(recorded: GenerateObservation, found: GenerateObservation, *, tolerance: float) -> Verdict:
    """Equal tokens up to a tie: a step whose recorded margin lies below the tolerance."""
    step = first_difference(recorded.tokens, found.tokens)
    if step is None:
        problem = other_fate(recorded, found)
        return EQUAL if problem is None else Verdict(accepted=False, text=problem)
    if step < min(len(recorded.tokens), len(found.tokens)) and recorded.margins[step] < tolerance:
        return _tie(recorded, step)  # two pasts from here on: nothing more can be compared
    return _differs(recorded, step)


def forced(recorded: GenerateObservation, found: GenerateObservation, *, bound: Bound) -> Verdict:
    """The same past at each step: the margins within the bound, whatever the picks."""
    if len(recorded.tokens) != len(found.tokens):
        return _differs(recorded, min(len(recorded.tokens), len(found.tokens)))
    if (problem := other_fate(recorded, found)) is not None:
        return Verdict(accepted=False, text=problem)
    shifts = [abs(before - now) for before, now in zip(recorded.margins, found.margins, strict=True)]
    for step, shift in enumerate(shifts):
        if shift > bound.step:
            allowed = f"{_short(bound.step)} apart is allowed"
            return _shifted(step, recorded.margins[step], found.margins[step], allowed)
    if shifts and fmean(shifts) > bound.mean:
        return _moved(fmean(shifts), bound.mean)
    unequal = [
        step for step, pair in enumerate(zip(recorded.tokens, found.tokens, strict=True)) if len({*pair}) > 1
    ]
    for step in unequal:
        if found.margins[step] > 0:  # the recorded token was the most likely one, and another came out
            return _differs(recorded, step)
    return _tie(recorded, unequal[0]) if unequal else EQUAL


# ---------------------------------------------------------------- parts


def first_difference(recorded: tuple[float, ...], found: tuple[float, ...]) -> int | None:
    """The first step at which two sequences differ, their end included; none when they are equal."""
    pairs = zip(recorded, found, strict=False)
    unequal = next((step for step, (before, now) in enumerate(pairs) if before != now), None)
    if unequal is None and len(recorded) != len(found):
        return min(len(recorded), len(found))
    return unequal


def other_fate(recorded: GenerateObservation, found: GenerateObservation) -> str | None:
    """What differs in how the stream ended and in what became quantized; none when nothing does.

    The message of an error is another package's and not compared.
    """
    ends = [None if run.error is None else run.error.kind for run in (recorded, found)]
    if ends[0] != ends[1]:
        was, now = (f"an error ({end})" if end else "no error" for end in ends)
        return f"differs at its end: it ended with {was}, here with {now}"
    if recorded.conversions != found.conversions:
        return f"differs in conversions: {_conversions(recorded)} recorded, {_conversions(found)} here"
    if recorded.position != found.position:
        return f"differs in positions: {recorded.position} at the end were recorded, {found.position} here"
    if recorded.nbytes != found.nbytes:
        return f"differs in bytes: the caches took {recorded.nbytes} at the end, here {found.nbytes}"
    return None


def _conversions(run: GenerateObservation) -> str:
    parts = [
        f"layers {_list(event.layers)} at position {event.position}, step {event.step} "
        f"(group sizes {_list(event.group_sizes)}; bytes {event.nbytes_before} -> {event.nbytes})"
        for event in run.conversions[:3]
    ]
    more = [f"{len(run.conversions) - 3} more"] if len(run.conversions) > 3 else []
    return "; ".join(parts + more) or "none"


def _list(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


def _tie(recorded: GenerateObservation, step: int) -> Verdict:
    margin = _short(recorded.margins[step])
    return Verdict(accepted=True, text=f"equal to step {step}, tie there (margin {margin})")


def _differs(recorded: GenerateObservation, step: int) -> Verdict:
    if step >= len(recorded.margins):
        return Verdict(accepted=False, text=f"differs at step {step}, where the recorded stream ended")
    margin = _short(recorded.margins[step])
    return Verdict(accepted=False, text=f"differs at step {step} where the margin was {margin}")


def _shifted(step: int, before: float, now: float, allowed: str) -> Verdict:
    text = f"differs at step {step} where the margin was {_short(before)} and is {_short(now)}; {allowed}"
    return Verdict(accepted=False, text=text)


def _moved(mean: float, allowed: float) -> Verdict:
    text = f"differs all along: the margins moved by {_short(mean)} a step; {_short(allowed)} is allowed"
    return Verdict(accepted=False, text=text)


def _short(number: float) -> str:
    return f"{number:.2g}" if abs(number) < 1 else f"{number:.4g}"
