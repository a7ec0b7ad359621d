"""The tiny models: what they cover, that their weights are ours, and that their streams pin something."""

from __future__ import annotations

import dataclasses
import importlib
import re
import subprocess
import sys
from types import MappingProxyType
from typing import Any

import pytest

mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")

from kvconform.models import layers, seeded, tiny  # noqa: E402
from kvconform.models.errors import ModelError  # noqa: E402
from kvconform.models.load import load_model  # noqa: E402

SPECS = list(tiny.catalogue().values())
each_model = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)


def all_dims() -> set[tuple[int, int]]:
    found = re.findall(r"(\d+)/(\d+)", " ".join(layer for spec in SPECS for layer in spec.layers))
    return {(int(key), int(value)) for key, value in found}


def kinds(spec: tiny.TinySpec) -> set[str]:
    return {re.split(r"[ (]", layer)[0] for layer in spec.layers}


def test_the_catalogue_can_be_read_without_mlx() -> None:
    program = (
        "import sys\nfrom kvconform.models import tiny, load, layers, smollm2\n"
        "assert len(load.model_names()) > 20\n"
        "print([name for name in sys.modules if name.partition('.')[0] in ('mlx', 'mlx_lm', 'transformers')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_models_cover_the_head_dims_from_32_to_256() -> None:
    assert {32, 64, 80, 96, 128, 256} <= {key for key, value in all_dims() if key == value}


def test_some_models_have_a_key_dim_unlike_the_value_dim() -> None:
    assert len({(key, value) for key, value in all_dims() if key != value}) >= 3


@pytest.mark.parametrize(
    "needed",
    [
        {"plain", "rotating"},
        {"plain", "recurrent"},
        {"plain", "chunked"},
        {"composite"},
        {"recurrent"},
        {"plain"},
    ],
    ids=lambda needed: "+".join(sorted(needed)),
)
def test_the_models_cover_each_mixture_of_layers(needed: set[str]) -> None:
    assert any(kinds(spec) == needed for spec in SPECS)


def test_some_models_group_their_queries() -> None:
    grouped = [
        spec
        for spec in SPECS
        if spec.config.get("num_key_value_heads", 0) < spec.config.get("num_attention_heads", 0)
    ]
    assert len(grouped) >= 5


def test_there_are_at_least_14_architectures() -> None:
    assert len({spec.architecture for spec in SPECS}) >= 14


def test_the_prompts_are_within_the_vocabulary() -> None:
    for spec in SPECS:
        assert {name: len(tokens) for name, tokens in spec.prompts.items()} == {"short": 24, "long": 72}
        assert all(0 <= token < 256 for tokens in spec.prompts.values() for token in tokens)


@each_model
def test_a_model_has_the_caches_that_its_entry_names(spec: tiny.TinySpec) -> None:
    from mlx_lm.models.cache import make_prompt_cache

    model = load_model(spec.name).model
    cache = make_prompt_cache(model)
    logits = model(mx.array([list(spec.prompts["short"])]), cache=cache)
    assert tuple(layers.describe_layer(layer) for layer in cache) == spec.layers
    assert logits.shape == (1, 24, 256)


@each_model
def test_a_model_is_tiny_and_float32(spec: tiny.TinySpec) -> None:
    loaded = load_model(spec.name)
    weights = seeded.parameters(loaded.model)
    assert sum(array.size for _, array in weights) < 700_000
    assert {array.dtype for _, array in weights} == {mx.float32}
    assert loaded.dtype == "float32"


@each_model
def test_weights_depend_on_nothing_but_the_entry(spec: tiny.TinySpec) -> None:
    """Neither on the global random state, which module initialisers draw from, nor on an earlier build."""
    mx.random.seed(7)
    rebuilt = seeded.fingerprint(tiny.build_tiny(spec))
    assert rebuilt == load_model(spec.name).fingerprint


def test_models_that_differ_in_the_seed_alone_have_different_weights() -> None:
    spec = tiny.tiny_spec("llama-d64")
    other = tiny.build_tiny(dataclasses.replace(spec, seed=spec.seed + 1))
    assert seeded.fingerprint(other) != load_model("llama-d64").fingerprint


STREAM = [[25524, 21722, 22073, -11886], [15897, -8243, 21441, 5620]]
LLAMA_D64 = "a2518f8b6a1b20c6a92206c5a7e9e8afec7173f787822b5a0d8e8670b7629a34"


def test_the_weight_stream_is_the_one_the_goldens_were_recorded_with() -> None:
    values = seeded.seeded_array("model.layers.0.mlp.up_proj.weight", (2, 4), seed=1, gain=2.0)
    # gain / sqrt(fan in) is 1 here: the values are the stream itself, in units of 2^-15.
    assert (values * 2**15).tolist() == STREAM
    assert load_model("llama-d64").fingerprint == LLAMA_D64


def test_weight_matrices_have_the_spread_of_their_gain_and_fan_in() -> None:
    dense = seeded.seeded_array("a.weight", (64, 100), seed=3, gain=3.0)
    assert 0.29 < mx.abs(dense).max().item() <= 0.3
    taps = seeded.seeded_array("conv1d.weight", (64, 4, 1), seed=3, gain=1.0)
    assert 0.48 < mx.abs(taps).max().item() <= 0.5


def test_norm_weights_are_around_one_whatever_the_gain() -> None:
    for gain in (1.0, 4.0):
        norm = seeded.seeded_array("model.norm.weight", (256,), seed=3, gain=gain)
        assert norm.min().item() >= 0.9
        assert norm.max().item() <= 1.1


def test_a_parameter_without_a_rule_is_an_error_that_names_it() -> None:
    with pytest.raises(ModelError, match=r"parameter model\.mystery: no rule"):
        seeded.find_rule("model.mystery")


@pytest.mark.parametrize(
    "change",
    [{"model_type": "no_such_architecture"}, {"hidden_size": "wide"}],
    ids=["architecture", "config"],
)
def test_a_model_that_mlx_lm_cannot_build_is_an_error_that_names_it(change: dict[str, Any]) -> None:
    spec = tiny.tiny_spec("llama-d64")
    broken = dataclasses.replace(spec, config=MappingProxyType({**spec.config, **change}))
    with pytest.raises(ModelError, match=r"tiny model llama-d64.*mlx-lm cannot build it"):
        tiny.build_tiny(broken)


@each_model
def test_a_stream_has_a_dozen_distinct_tokens_and_repeats(spec: tiny.TinySpec, stream: Any) -> None:
    model = load_model(spec.name).model
    for prompt in spec.prompts.values():
        tokens = stream(model, prompt)
        assert len(set(tokens)) >= 12
        assert stream(model, prompt) == tokens


@pytest.mark.parametrize(
    "spec", [s for s in SPECS if s.convertible and s.reads_packed], ids=lambda spec: spec.name
)
def test_quantizing_the_cache_changes_the_stream(spec: tiny.TinySpec, stream: Any) -> None:
    model = load_model(spec.name).model
    full, four, two = (stream(model, spec.prompts["short"], bits=bits) for bits in (None, 4, 2))
    assert full != four
    assert full != two
    assert four != two


@pytest.mark.parametrize("spec", [s for s in SPECS if not s.convertible], ids=lambda spec: spec.name)
def test_where_nothing_can_be_converted_the_stream_stays(spec: tiny.TinySpec, stream: Any) -> None:
    model = load_model(spec.name).model
    full, two = (stream(model, spec.prompts["short"], bits=bits) for bits in (None, 2))
    assert full == two


@pytest.mark.parametrize("spec", [s for s in SPECS if not s.reads_packed], ids=lambda spec: spec.name)
def test_an_attention_that_cannot_read_packed_caches_fails_at_the_next_step(
    spec: tiny.TinySpec, stream: Any
) -> None:
    model = load_model(spec.name).model
    assert len(stream(model, spec.prompts["short"], bits=4, tokens=1)) == 1
    with pytest.raises(ValueError, match=r"(?i)sink"):
        stream(model, spec.prompts["short"], bits=4, tokens=2)


@each_model
@pytest.mark.parametrize("group_size", [64, 32])
def test_mlx_lms_own_loop_does_what_the_entry_says(spec: tiny.TinySpec, group_size: int) -> None:
    assert outcome_in_mlx_lm(spec, group_size) == spec.mlx_lm[group_size]


def outcome_in_mlx_lm(spec: tiny.TinySpec, group_size: int) -> str:
    """Three tokens of mlx-lm's own loop at 4 bits from the start: what became of it."""
    from mlx_lm.models.cache import make_prompt_cache

    # mlx_lm.generate is a function as well as a module.
    generate_step = importlib.import_module("mlx_lm.generate").generate_step
    model = load_model(spec.name).model
    cache = make_prompt_cache(model)
    prompt = mx.array(spec.prompts["short"])
    options = {"kv_bits": 4, "kv_group_size": group_size, "quantized_kv_start": 0, "max_tokens": 3}
    try:
        list(generate_step(prompt, model, prompt_cache=cache, **options))
    except NotImplementedError:
        return "rotating error"
    except ValueError as error:
        return "size error" if "divisible" in str(error) else f"another error: {error}"
    return "quantized" if "quantized" in map(layers.layer_kind, cache) else "unchanged"
