"""Tiny models of real mlx-lm architectures: under 0.7 M parameters, hundreds of tokens a second on a CPU.

The catalogue is ``tiny.toml``; this module reads it (no MLX needed) and builds its models with
``mlx_lm.models.*`` and weights of our own (``seeded``). Between them they cover the head dims 32 to 256, a
key dim unlike the value dim, grouped queries, sliding and full layers, recurrent and attention layers,
composite and chunked caches, and a model without keys and values.
"""

from __future__ import annotations

import functools
import importlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import Any

from kvconform.models.errors import ModelError


@dataclass(frozen=True)
class TinySpec:
    """One entry of the catalogue: how the model is built, and what is expected of it."""

    name: str
    config: Mapping[str, Any]
    """What the architecture's ``ModelArgs.from_dict`` takes; ``model_type`` names the mlx-lm module."""
    gain: float
    """Factor on the weight matrices: at 1 most of these models repeat one token for ever."""
    seed: int
    prompts: Mapping[str, tuple[int, ...]]
    """``short`` (24 tokens) and ``long`` (72 tokens)."""
    layers: tuple[str, ...]
    """The layers a fresh cache list of the model has, as ``layers.describe_layer`` writes them."""
    mlx_lm: Mapping[int, str]
    """What mlx-lm's own loop does at 4 bits from the start, by requested group size."""
    reads_packed: bool = True
    """Whether the model's attention can read quantized caches."""

    @property
    def architecture(self) -> str:
        """The module of ``mlx_lm.models`` that the model is built with."""
        return str(self.config["model_type"])

    @property
    def convertible(self) -> tuple[int, ...]:
        """Indices of the layers a pass can convert: plain, and a group size divides both dims (GS-2).

        Chunked layers are not among them: mlx-lm's has no conversion.
        """
        return tuple(i for i, layer in enumerate(self.layers) if _convertible(layer))


def _convertible(layer: str) -> bool:
    kind, _, dims = layer.partition(" ")
    # 64 and 128 divide nothing that 32 does not.
    return kind == "plain" and all(int(dim) % 32 == 0 for dim in dims.split("/"))


@functools.cache
def catalogue() -> Mapping[str, TinySpec]:
    """All entries by name, in the file's order."""
    text = resources.files("kvconform.models").joinpath("tiny.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    prompts = {name: tuple(tokens) for name, tokens in document["prompts"].items()}
    return MappingProxyType(
        {name: _spec(name, entry, prompts) for name, entry in document["models"].items()},
    )


def _spec(name: str, entry: dict[str, Any], prompts: dict[str, tuple[int, ...]]) -> TinySpec:
    return TinySpec(
        name=name,
        config=MappingProxyType(entry["config"]),
        gain=entry["gain"],
        seed=entry["seed"],
        prompts=MappingProxyType(prompts),
        layers=tuple(entry["layers"]),
        mlx_lm=MappingProxyType({int(size): outcome for size, outcome in entry["mlx_lm"].items()}),
        reads_packed=entry.get("reads_packed", True),
    )


def tiny_spec(name: str) -> TinySpec:
    """The entry of that name; KeyError when there is none."""
    return catalogue()[name]


def build_tiny(spec: TinySpec) -> Any:
    """The model of this entry, with its weights in place.

    Raises ModelError when the installed mlx-lm does not have the architecture or does not take the config.
    """
    from kvconform.models import seeded

    model = _instantiate(spec)
    seeded.fill_weights(model, seed=spec.seed, gain=spec.gain)
    model.eval()
    return model


def _instantiate(spec: TinySpec) -> Any:
    try:
        module = importlib.import_module(f"mlx_lm.models.{spec.architecture}")
        return module.Model(module.ModelArgs.from_dict(dict(spec.config)))
    except (ImportError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"the installed mlx-lm cannot build it ({type(error).__name__}: {error})",
            where=f"tiny model {spec.name}, mlx_lm.models.{spec.architecture}",
            advice="These models were made with mlx-lm 0.32.2; install that one, or leave this model out.",
        ) from error
