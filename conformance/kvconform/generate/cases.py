"""Which golden streams there are: models by settings. The files say what comes out."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal

from kvconform_reference import dialect as dialects
from kvconform_reference.dialect import Dialect

from ..models import tiny
from ..scenario import Parameters

SMOLLM2 = "smollm2"

DIALECT: Mapping[str, Any] = MappingProxyType({"chunked": "keep"})
"""The proposal, but for chunked caches: mlx-lm's own is no plain cache and has no conversion."""


def golden_dialect() -> Dialect:
    """The dialect that the reference's streams are recorded in."""
    return dialects.dialect_from(DIALECT)


TINY_TOKENS, SMOLLM2_TOKENS = 40, 24


@dataclass(frozen=True, kw_only=True)
class Case:
    """One golden stream, before it is run."""

    model: str
    id: str
    comment: str
    prompt: str
    """Name of the prompt: of the tiny models' or in ``prompts.toml``."""
    parameters: Parameters
    implementation: Literal["reference", "mlx-lm"] = "reference"
    quick: bool = True
    """Whether it is checked by default, not only with all goldens."""

    @property
    def key(self) -> str:
        """``<model>/<id>``: the place of its file."""
        return f"{self.model}/{self.id}"

    @property
    def dialect(self) -> str | dict[str, Any]:
        """The dialect it is recorded in."""
        return "mlx-lm" if self.implementation == "mlx-lm" else dict(DIALECT)


@functools.cache
def all_cases() -> Mapping[str, Case]:
    """Every case by its key, model by model."""
    cases = [case for spec in tiny.catalogue().values() for case in _tiny_cases(spec)]
    cases += _smollm2_cases()
    return MappingProxyType({case.key: case for case in cases})


def tiny_cases() -> list[Case]:
    """The cases of the tiny models."""
    return [case for case in all_cases().values() if case.model != SMOLLM2]


def smollm2_cases(*, full: bool) -> list[Case]:
    """The cases of SmolLM2: all of them, or the few short ones that are checked by default."""
    return [case for case in all_cases().values() if case.model == SMOLLM2 and (full or case.quick)]


# ---------------------------------------------------------------- settings


def _case(
    model: str,
    prompt: str,
    *,
    bits: int | None = None,
    group_size: int = 64,
    start: int = 0,
    prefill_step: int = 512,
    implementation: Literal["reference", "mlx-lm"] = "reference",
    tokens: int = TINY_TOKENS,
    quick: bool = True,
) -> Case:
    """The id and the comment say the settings."""
    name = "full" if bits is None else f"{bits}bit-g{group_size}" + (f"-start{start}" if start else "")
    step = "" if prefill_step == 512 else f"-step{prefill_step}"
    return Case(
        model=model,
        id=f"{'mlx-lm-' if implementation == 'mlx-lm' else ''}{prompt}-{name}{step}",
        comment=_comment(bits, group_size, start, implementation),
        prompt=prompt,
        parameters=Parameters(
            max_tokens=tokens, bits=bits, group_size=group_size, start=start, prefill_step=prefill_step
        ),
        implementation=implementation,
        quick=quick,
    )


def _comment(bits: int | None, group_size: int, start: int, implementation: str) -> str:
    loop = "What mlx-lm's own loop does" if implementation == "mlx-lm" else "The proposal's loop"
    if bits is None:
        return f"{loop} at full precision."
    when = f"from position {start} on" if start else "from the first pass on"
    return f"{loop} with {bits} bits {when}, group size {group_size} asked for."


def _tiny_cases(spec: tiny.TinySpec) -> Iterator[Case]:
    yield _case(spec.name, "short")
    if not spec.reads_packed:
        yield from _unreadable(spec)
        return
    if spec.convertible:
        yield _case(spec.name, "short", bits=8)
    yield _case(spec.name, "short", bits=4)
    yield _case(spec.name, "short", bits=2)
    yield _case(spec.name, "short", bits=4, implementation="mlx-lm")
    dies = "error" in spec.mlx_lm[64]
    if spec.convertible or dies:
        yield _case(spec.name, "short", bits=4, start=_MIDDLE)
    if spec.convertible:
        yield _case(spec.name, "long", bits=4, group_size=32, prefill_step=32)
    if dies:
        yield _case(spec.name, "short", bits=4, start=_MIDDLE, implementation="mlx-lm")


_MIDDLE = 40
"""A start in mid-generation: the short prompt has 24 tokens, 40 are generated."""


def _unreadable(spec: tiny.TinySpec) -> Iterator[Case]:
    """A model whose attention cannot read packed rows: the stream ends at the step after the conversion."""
    yield _case(spec.name, "short", bits=4, start=_MIDDLE)
    yield _case(spec.name, "short", bits=4, start=_MIDDLE, implementation="mlx-lm")


_SMOLLM2: tuple[tuple[str, int | None, int, int, bool], ...] = (
    # prompt, bits, group size, start, quick
    ("capital", None, 64, 0, False),
    ("capital", 8, 64, 0, True),
    ("capital", 6, 64, 0, False),
    ("capital", 4, 64, 0, False),
    ("capital", 4, 32, 0, False),
    ("code", None, 64, 0, True),
    ("code", 8, 32, 0, False),
    ("code", 6, 32, 0, False),
    ("code", 4, 32, 0, True),
    ("sea", None, 64, 0, False),
    ("sea", 8, 64, 48, False),
    ("sea", 6, 64, 48, False),
    ("sea", 4, 32, 48, True),
    ("sea", 2, 32, 48, False),
    ("long", None, 64, 0, False),
    ("long", 8, 64, 0, False),
    ("long", 4, 32, 0, False),
)


def _smollm2_cases() -> list[Case]:
    return [
        _case(SMOLLM2, prompt, bits=bits, group_size=size, start=start, tokens=SMOLLM2_TOKENS, quick=quick)
        for prompt, bits, size, start, quick in _SMOLLM2
    ]


# ---------------------------------------------------------------- prompts


@functools.cache
def texts() -> Mapping[str, Mapping[str, Any]]:
    """SmolLM2's prompts by name: ``text``, and ``chat`` when it goes through the chat template."""
    text = resources.files(__package__ or "").joinpath("prompts.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))
