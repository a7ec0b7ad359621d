"""What is said about each layer, against what really becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")

from kvconform.advice import fates  # noqa: E402
from kvconform.advice.memory import bytes_at, full_bytes  # noqa: E402
from kvconform.generate import mlx_model, reference_run  # noqa: E402
from kvconform.models import tiny  # noqa: E402
from kvconform.models.load import load_model  # noqa: E402
from kvconform.scenario import GenerateScenario, Parameters  # noqa: E402

PROMPT = tuple(range(1, 9))


def written_layers(name: str) -> list[Any]:
    """The cache list of a model after the prompt."""
    model = load_model(name).model
    layers = list(mlx_model.make_prompt_cache(model))
    model(mx.array([PROMPT]), cache=layers)
    return layers


def generated(name: str, prompt: tuple[int, ...], **parameters: Any) -> Any:
    """The observation of the reference's loop."""
    scenario = GenerateScenario(model=name, prompt=prompt, parameters=Parameters(**parameters))
    return reference_run.run(scenario, load_model(name), dialect=fates.DIALECT)


@pytest.mark.parametrize("name", tiny.catalogue())
@pytest.mark.parametrize("group_size", [32, 64, 48, 128])
@pytest.mark.requirement("GS-3", "GS-10", "QP-1", "MQ-3")
def test_exactly_the_layers_that_are_said_to_be_quantized_become_so(name: str, group_size: int) -> None:
    said = fates.converted(fates.fates(written_layers(name), group_size))
    (*events,) = generated(name, PROMPT, bits=4, group_size=group_size, max_tokens=1).conversions
    assert len(events) == (1 if said else 0)
    sizes = [size for event in events for size in event.group_sizes]
    assert sizes == [fate.group_size for fate in said]
    assert len(said) == len(tiny.tiny_spec(name).convertible)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("llama-d80", "no group size (32, 64, 128) divides head dim 80"),
        ("mamba", "recurrent state, no keys and values"),
        ("falcon_h1-d64", "inside a composite cache, which passes through as a whole"),
        ("gemma3_text-d64", "sliding window: its rows lose their order"),
        ("llama4-d64", "chunked attention: mlx-lm's cache for it has no conversion"),
    ],
)
def test_a_layer_that_stays_as_it_is_has_the_reason_beside_it(name: str, reason: str) -> None:
    assert reason in {fate.reason for fate in fates.fates(written_layers(name), 64)}


def test_a_layer_that_was_never_written_says_so() -> None:
    layers = mlx_model.make_prompt_cache(load_model("llama-d64").model)
    assert {fate.reason for fate in fates.fates(layers, 64)} == {"the model never wrote to it"}


def test_unequal_head_dims_that_no_size_divides_are_both_named() -> None:
    from mlx_lm.models.cache import KVCache

    cache = KVCache()
    cache.update_and_fetch(mx.zeros((1, 1, 3, 96)), mx.zeros((1, 1, 3, 80)))
    (fate,) = fates.fates([cache], 64)
    assert fate.reason == "no group size (32, 64, 128) divides both head dims, 96 and 80"


def test_a_class_that_nobody_knows_is_named_and_left_alone() -> None:
    class OtherCache:
        offset = 3

    (fate,) = fates.fates([OtherCache()], 64)
    assert (fate.kind, fate.group_size) == ("OtherCache", None)
    assert fate.reason == "a cache class that is not known to be quantizable"


EACH_KIND = ["llama-d64", "phi3-d96", "llama-sliding", "mimo_v2_flash-k128v64", "jamba-d64", "llama4-d64"]


@pytest.mark.parametrize("name", [*EACH_KIND, "falcon_h1-d64"])
@pytest.mark.parametrize(("bits", "context"), [(4, 40), (3, 300), (8, 300)])
@pytest.mark.requirement("QC-8")
def test_memory_that_is_computed_is_what_the_caches_take(
    try_model: Any, name: str, bits: int, context: int
) -> None:
    layers = try_model(name, bits=bits).layers
    prompt = tuple(i % 200 for i in range(context - 20))
    full = generated(name, prompt, max_tokens=20).nbytes
    quantized = generated(name, prompt, bits=bits, max_tokens=20).nbytes
    assert sum(full_bytes(layer, context) for layer in layers) == full
    assert sum(bytes_at(layer, context, bits=bits, start=0) for layer in layers) == quantized


def test_memory_is_full_precision_until_the_start_is_reached(try_model: Any) -> None:
    (layer, _) = try_model("llama-d64").layers
    assert bytes_at(layer, 99, bits=4, start=100) == full_bytes(layer, 99)
    assert bytes_at(layer, 100, bits=4, start=100) < full_bytes(layer, 100)
