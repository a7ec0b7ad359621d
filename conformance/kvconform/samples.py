"""One small scenario of each kind that every implementation of the suite's own can answer: the smoke test."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping

from .scenario import (
    Append,
    Built,
    CacheScenario,
    ContainerScenario,
    Convert,
    IterateScenario,
    Observe,
    Parameters,
    PassStep,
    PlainLayer,
    Prompt,
    QuantizeScenario,
    ResolveScenario,
    Scenario,
    Tensor,
    Turn,
)

_RAMP = Tensor(
    dtype="float32",
    shape=(1, 32),
    data=base64.b64encode(struct.pack("<32f", *(n / 8 for n in range(32)))).decode(),
)

SAMPLES: Mapping[str, Scenario] = {
    "resolve": ResolveScenario(requested=64, key_dim=96, value_dim=96),
    "quantize": QuantizeScenario(tensor=_RAMP, bits=4, group_size=32),
    "cache": CacheScenario(
        layer=PlainLayer(length=3),
        operations=(Convert(bits=4), Append(rows=2)),
        observe=Observe(content=True),
    ),
    "container": ContainerScenario(
        layers=(PlainLayer(length=12), PlainLayer(length=3)),
        built=Built(bits=4),
        steps=(PassStep(bits=4, start=10),),
    ),
    "iterate": IterateScenario(
        layers=(PlainLayer(),),
        turns=(Turn(prompt=Prompt(length=5), parameters=Parameters(bits=4, start=6, max_tokens=4), nexts=5),),
    ),
}
