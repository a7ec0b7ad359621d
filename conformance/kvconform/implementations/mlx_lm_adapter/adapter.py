"""The adapter: real mlx-lm behind the suite's protocol. Runs in a child process.

It repairs nothing. Where mlx-lm has no such concept it answers *unsupported* or declares no feature.
"""

from __future__ import annotations

from functools import cached_property

from pydantic import ValidationError

from ...generate import answers
from ...implementation import Capabilities, Info, Unsupported
from ...observation import Observation, QuantizeObservation, Refusal, ResolveObservation
from ...scenario import (
    CacheScenario,
    ContainerScenario,
    GenerateScenario,
    IterateScenario,
    QuantizeScenario,
    ResolveScenario,
    Scenario,
)
from ..refusals import REFUSALS
from . import cache, container, content, iterate, package
from .package import mx

KINDS = ("resolve", "quantize", "cache", "container", "iterate", "generate")

FEATURES = (
    "free-pass",
    "model-list",
    "accounting",
    "copy",
    "convert",
    "save-load",
    "state",
    "head-counts",
    "process-only",
    "samplers",
    "penalty",
)


class MlxLmAdapter:
    """Answers every kind with what the installed mlx-lm does."""

    @property
    def info(self) -> Info:
        """Name, versions, the dialect of this version, and what was found to work."""
        return self._info

    @cached_property
    def _info(self) -> Info:
        return Info(
            name="mlx-lm",
            version=package.MLX_LM_VERSION,
            backend=f"mlx {package.MLX_VERSION} {mx.default_device().type.name}",
            dialect=dialect_of(package.MLX_LM_VERSION),
            capabilities=Capabilities(
                kinds=KINDS,
                bits=tuple(bits for bits in range(1, 9) if _quantizes(bits, 64)),
                group_sizes=tuple(size for size in (16, 32, 64, 128, 256) if _quantizes(4, size)),
                layers=_layers(),
                features=FEATURES,
            ),
        )

    def run(self, scenario: Scenario) -> Observation:
        """The observation of one scenario; a refusal of the whole of it is a ``Refusal``."""
        try:
            return _answer(scenario)
        except ValidationError as error:  # a ValueError, but ours: the answer does not fit the data model
            raise RuntimeError(f"the adapter's own answer is invalid: {error}") from error
        except REFUSALS as error:
            return Refusal(message=str(error))


def _answer(scenario: Scenario) -> Observation:
    match scenario:
        case ResolveScenario():
            return resolve(scenario)
        case QuantizeScenario():
            return quantize(scenario)
        case CacheScenario():
            return cache.run(scenario)
        case ContainerScenario():
            return container.run(scenario)
        case IterateScenario():
            return iterate.run(scenario)
        case GenerateScenario():
            return answers.by_mlx_lm(scenario)


def resolve(scenario: ResolveScenario) -> ResolveObservation:
    """The group size that converting a one-row cache of these dims ends up with."""
    if scenario.layer is not None:
        raise Unsupported("mlx-lm cannot be asked about a layer's head dims or whether it can be quantized")
    if scenario.key_dim is None or scenario.value_dim is None:
        raise ValueError(f"head dims {scenario.key_dim} and {scenario.value_dim}: give both")
    source = package.KVCache()
    source.update_and_fetch(mx.zeros((1, 1, 1, scenario.key_dim)), mx.zeros((1, 1, 1, scenario.value_dim)))
    return ResolveObservation(
        group_size=source.to_quantized(group_size=scenario.requested, bits=4).group_size
    )


def quantize(scenario: QuantizeScenario) -> QuantizeObservation:
    """``mx.quantize`` of the tensor: what every conversion and every write of mlx-lm calls."""
    array = content.to_mlx(scenario.tensor)
    parts = mx.quantize(array, group_size=scenario.group_size, bits=scenario.bits)
    mx.eval(parts)
    packed, scales, biases = (content.to_tensor(part) for part in parts)
    return QuantizeObservation(packed=packed, scales=scales, biases=biases)


def dialect_of(version: str) -> str:
    """The named dialect of an mlx-lm version, by the specification's table (section 0.1)."""
    release = tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
    if release >= (0, 30):
        return "mlx-lm"
    if release >= (0, 28, 1):
        return "mlx-lm-0.29"
    return "mlx-lm-0.28" if release >= (0, 27) else "mlx-lm-0.26"


def _quantizes(bits: int, group_size: int) -> bool:
    try:
        mx.quantize(mx.zeros((1, 256)), group_size=group_size, bits=bits)
    except ValueError:
        return False
    return True


def _layers() -> tuple[str, ...]:
    classes = {
        "plain": package.KVCache,
        "chunked": package.ChunkedKVCache,
        "rotating": package.RotatingKVCache,
        "quantized": package.QuantizedKVCache,
        "recurrent": package.ArraysCache,
        "composite": package.CacheList,
    }
    return tuple(kind for kind, cache_class in classes.items() if cache_class is not None)
