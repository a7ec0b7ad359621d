"""Deliberately broken iterators: each gives a stream that differs from its golden, on any platform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

mx: Any = pytest.importorskip("mlx.core", reason="MLX is not installed")
pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")

from kvconform.generate import cases, check, compare, golden, mlx_caches, platforms  # noqa: E402
from kvconform.generate.golden import Golden  # noqa: E402
from kvconform_reference import protocol  # noqa: E402
from kvconform_reference.container import CacheContainer  # noqa: E402
from kvconform_reference.iterator import TokenIterator  # noqa: E402
from stream_samples import ELSEWHERE, HERE, STREAMS  # noqa: E402

pytestmark = [pytest.mark.mlx, pytest.mark.goldens]

Plant = Callable[[pytest.MonkeyPatch], None]

QUANTIZED = [
    "llama-d64/short-4bit-g64",
    "llama-d64/short-4bit-g64-start40",
    "llama-sliding/short-8bit-g64",
    "nemotron_h-d64/long-4bit-g32-step32",
]


def recorded(key: str) -> Golden:
    return golden.read(STREAMS / f"{key}.json")


def judged(key: str, platform: str, monkeypatch: pytest.MonkeyPatch) -> compare.Verdict:
    """The verdict on the stream as it comes out now, on the recording platform or as if on another."""
    monkeypatch.setattr(platforms, "platform_class", lambda: platform)
    return check.check_case(cases.all_cases()[key], folder=STREAMS)


# ---------------------------------------------------------------- the faults


def no_look_ahead(patch: pytest.MonkeyPatch) -> None:
    """A token is computed when it is asked for: no position is ever ahead."""

    def next_token(self: Any) -> int | None:
        if self._limit_reached():
            return None
        if self._count:
            self._look_ahead(self._pending)
        self._count_one()
        return int(self._pending)

    patch.setattr(TokenIterator, "next_token", next_token)


def look_ahead_is_returned(patch: pytest.MonkeyPatch) -> None:
    """The token just computed is returned instead of the one before it: the first is lost."""

    def next_token(self: Any) -> int | None:
        if self._limit_reached():
            return None
        self._look_ahead(self._pending)
        self._count_one()
        return int(self._pending)

    patch.setattr(TokenIterator, "next_token", next_token)


def pass_before_the_call(patch: pytest.MonkeyPatch) -> None:
    """The pass comes before the model call of a step, not after it."""

    def step(self: Any, tokens: Any) -> Any:
        self._run_pass()
        result = self._call_model(tokens, self._state)
        self._store_state(result)
        return self._sample(self._process(self._last_logits(result)))

    patch.setattr(TokenIterator, "_step", step)


def quantizing_each_step(patch: pytest.MonkeyPatch) -> None:
    """Nothing remembers that a layer is quantized already: each pass quantizes what it finds, again."""
    pass_once = CacheContainer.maybe_quantize

    def maybe_quantize(self: Any, bits: int | None, group_size: int = 64, start: int = 0) -> None:
        self._layers = [dequantized(layer) for layer in self._layers]
        self._armed = True
        pass_once(self, bits, group_size, start)

    patch.setattr(CacheContainer, "maybe_quantize", maybe_quantize)


def dequantized(layer: Any) -> Any:
    if protocol.kind_of(layer) != protocol.QUANTIZED:
        return layer
    plain = mlx_caches.PLAIN()
    sides = (
        mx.dequantize(*side, group_size=layer.group_size, bits=layer.bits)
        for side in (layer.keys, layer.values)
    )
    plain.keys, plain.values = sides
    plain.offset = layer.offset
    return plain


FAULTS = [no_look_ahead, look_ahead_is_returned, pass_before_the_call, quantizing_each_step]


@pytest.mark.requirement("NX-2", "NX-3", "ST-1", "ST-6", "MQ-12")
@pytest.mark.parametrize("platform", [HERE, ELSEWHERE], ids=["here", "elsewhere"])
@pytest.mark.parametrize("key", QUANTIZED)
@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_broken_iterator_differs_from_the_golden(
    plant: Plant, key: str, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    verdict = judged(key, platform, monkeypatch)
    assert not verdict.accepted, verdict.text
    assert "differs" in verdict.text


@pytest.mark.parametrize("platform", [HERE, ELSEWHERE], ids=["here", "elsewhere"])
@pytest.mark.parametrize("key", QUANTIZED)
def test_the_same_goldens_accept_the_iterator_as_it_is(
    key: str, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert judged(key, platform, monkeypatch).text == "equal"


@pytest.mark.parametrize("plant", [no_look_ahead, look_ahead_is_returned], ids=lambda plant: plant.__name__)
def test_a_missing_look_ahead_shows_without_quantization_too(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert not judged("llama-d96/short-full", HERE, monkeypatch).accepted


@pytest.mark.requirement("MQ-12")
def test_quantizing_each_step_changes_the_values_too_and_not_only_what_is_seen_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quantizing_each_step(monkeypatch)
    expected = recorded("llama-d64/short-4bit-g64").expected
    found = check.run_case(cases.all_cases()["llama-d64/short-4bit-g64"]).expected
    assert found.margins != expected.margins


@pytest.mark.requirement("ST-1")
def test_a_pass_before_the_call_is_seen_a_step_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """In mid-generation the tokens are the same: the pass after one call is the one before the next."""
    key = "llama-d64/short-4bit-g64-start40"
    pass_before_the_call(monkeypatch)
    found = check.run_case(cases.all_cases()[key]).expected
    assert found.tokens == recorded(key).expected.tokens
    steps = [run.conversions[0].step for run in (recorded(key).expected, found)]
    assert steps == [16, 17]
