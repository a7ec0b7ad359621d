"""The simulated platform: moves activations by one ulp, repeats exactly, and leaves the model as it was."""

from __future__ import annotations

from typing import Any

import pytest

mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")

from kvconform.models import tiny  # noqa: E402
from kvconform.models.load import load_model  # noqa: E402
from kvconform.models.perturb import nudge, perturbed  # noqa: E402

INTEGERS = {"float32": mx.uint32, "float16": mx.uint16, "bfloat16": mx.uint16}


def logits(name: str) -> Any:
    tokens = mx.array([list(tiny.tiny_spec(name).prompts["short"])])
    result = load_model(name).model(tokens)
    mx.eval(result)
    return result


@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_nudged_value_is_itself_or_the_next_larger_magnitude(dtype: str) -> None:
    values = mx.random.normal((4000,), key=mx.random.key(1)).astype(getattr(mx, dtype))
    before = values.view(INTEGERS[dtype]).astype(mx.int32)
    after = nudge(values).view(INTEGERS[dtype]).astype(mx.int32)
    steps = after - before
    assert set(steps.tolist()) == {0, 1}
    assert 0.4 < steps.astype(mx.float32).mean().item() < 0.6


@pytest.mark.parametrize("dtype", INTEGERS)
def test_zeros_infinities_nan_and_the_largest_value_stay(dtype: str) -> None:
    kind = getattr(mx, dtype)
    largest = mx.finfo(kind).max
    special = mx.array([0.0, -0.0, float("inf"), -float("inf"), float("nan"), largest, -largest], dtype=kind)
    assert nudge(special).view(INTEGERS[dtype]).tolist() == special.view(INTEGERS[dtype]).tolist()


@pytest.mark.parametrize("name", tiny.catalogue())
def test_perturbed_logits_differ_by_rounding_and_repeat(name: str) -> None:
    plain = logits(name)
    with perturbed(load_model(name).model):
        first, second = logits(name), logits(name)
    assert mx.array_equal(first, second)
    assert not mx.array_equal(first, plain)
    # Logits are of magnitude 10; 1e-3 is 1000 ulps of that, and well below any margin that decides a token.
    assert mx.abs(first - plain).max().item() < 1e-3


@pytest.mark.parametrize("name", tiny.catalogue())
def test_the_model_is_as_before_afterwards(name: str) -> None:
    plain = logits(name)
    model = load_model(name).model
    types = [type(module) for module in model.modules()]
    with pytest.raises(RuntimeError, match="stop"), perturbed(model):
        raise RuntimeError("stop")
    assert [type(module) for module in model.modules()] == types
    assert mx.array_equal(logits(name), plain)


def test_only_the_chosen_modules_are_perturbed() -> None:
    plain = logits("llama-d64")
    model = load_model("llama-d64").model
    with perturbed(model, where=lambda path, _: path.endswith("lm_head")):
        last_layer_only = logits("llama-d64")
    assert mx.array_equal(last_layer_only, nudge(plain))


def test_perturbing_nothing_is_refused() -> None:
    model = load_model("llama-d64").model
    with pytest.raises(ValueError, match="no module to perturb"), perturbed(model, where=lambda *_: False):
        pass
