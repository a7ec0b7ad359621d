"""The observation: the JSON answer of an implementation to one scenario.

Identity is expressed with ids: every object a scenario builds or meets gets the next number, in the
order of ``docs/scenarios.md``, and keeps it. ``objects[id]`` is what a look at that object shows.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from .scenario import Document, Int, Tensor


class Packed(Document):
    """Quantized rows: ``packed`` uint32 words, ``scales`` and ``biases`` in the stored dtype."""

    packed: Tensor
    scales: Tensor
    biases: Tensor


class ObjectView(Document):
    """What a look at one cache object shows. Absent (null) means: it has no such thing."""

    kind: str
    """``plain``, ``chunked``, ``rotating``, ``quantized``, ``recurrent``, ``composite``; else free text."""
    offset: Int | None = None
    rows: Int | None = None
    """Rows a reader gets."""
    key_dim: Int | None = None
    value_dim: Int | None = None
    group_size: Int | None = None
    bits: Int | None = None
    start_position: Int | None = None
    """Chunked only: the position of the first row held."""
    children: tuple[int, ...] | None = None
    """Composite only: the ids of the children."""
    state: tuple[Int, ...] | None = None
    """Recurrent only: the first value of each slot; null when never filled."""
    keys: Tensor | Packed | None = None
    values: Tensor | Packed | None = None
    nbytes: Int | None = None
    size: Int | None = None
    empty: bool | None = None
    trimmable: bool | None = None
    errors: dict[str, str] | None = None
    """Looks that raised: field name to message."""


class StepError(Document):
    """An error of one step or turn; the scenario goes on after it."""

    kind: Literal["refused", "model", "internal"]
    """``refused``: a clear refusal; ``model``: the scripted model's own error; else ``internal``."""
    message: str


class Refusal(Document):
    """The whole scenario was refused with a clear error: a legitimate answer to bad input."""

    kind: Literal["refused"] = "refused"
    message: str


class ResolveObservation(Document):
    """Answer to ``resolve``. The last three only when a layer was asked about."""

    kind: Literal["resolve"] = "resolve"
    group_size: Int | None
    head_dims: tuple[Int, Int] | None = None
    quantizable: bool | None = None
    compatible: bool | None = None


class QuantizeObservation(Document):
    """Answer to ``quantize``."""

    kind: Literal["quantize"] = "quantize"
    packed: Tensor
    scales: Tensor
    biases: Tensor


class OperationRecord(Document):
    """What one operation gave and what every cache object shows after it."""

    error: StepError | None = None
    result: Int | None = None
    """Append: rows the reader gets back. Trim: rows trimmed. Save and state: rows per exported array."""
    current: int
    objects: tuple[ObjectView, ...]


class CacheObservation(Document):
    """Answer to ``cache``: one record for the fresh cache, then one per operation."""

    kind: Literal["cache"] = "cache"
    records: tuple[OperationRecord, ...]


class StepRecord(Document):
    """What one container step gave and what every holder sees after it."""

    error: StepError | None = None
    returned: bool | None = None
    """The free pass's answer; null where it returns none."""
    trimmed: tuple[Int, ...] | None = None
    """Per top-level layer named by a trim step: rows trimmed."""
    accesses: Int | None = None
    """Looks at layers during a pass, when observed and measurable."""
    holders: dict[str, tuple[int, ...]]
    """Holder name (``container``, ``alias``, ``caller``, ``twin``) to the ids of its layers."""
    objects: tuple[ObjectView, ...]


class ContainerObservation(Document):
    """Answer to ``container``: one record after building, then one per step."""

    kind: Literal["container"] = "container"
    list_requests: Int = 0
    """How often the model was asked for a new list."""
    steps: tuple[StepRecord, ...]


class NewCacheEvent(Document):
    """The model was asked for a new cache list."""

    event: Literal["new-cache"] = "new-cache"


class DeprecationEvent(Document):
    """A deprecated form warned."""

    event: Literal["deprecated"] = "deprecated"


class PromptEvent(Document):
    """A processor's ``prompt`` got these tokens."""

    event: Literal["prompt"] = "prompt"
    tokens: tuple[Int, ...]


class PrepareEvent(Document):
    """The model's prepare was called with ``length`` tokens and this window."""

    event: Literal["prepare"] = "prepare"
    length: Int
    window: Int


class CallEvent(Document):
    """One model call: tokens, and the offsets and signatures of the caches as the call found them."""

    event: Literal["call"] = "call"
    tokens: tuple[Int, ...]
    offsets: tuple[Int | None, ...]
    caches: tuple[str, ...]
    state: Int | None = None
    no_cache: bool = False


class ProcessEvent(Document):
    """A processor's ``process`` was called; the signatures of the caches at that moment."""

    event: Literal["process"] = "process"
    caches: tuple[str, ...]


class SampleEvent(Document):
    """The sampler picked ``token``."""

    event: Literal["sample"] = "sample"
    token: Int


class DidSampleEvent(Document):
    """A processor's ``did_sample`` got ``token``."""

    event: Literal["did-sample"] = "did-sample"
    token: Int


class NextEvent(Document):
    """The iterator was asked for a token. What stands before the first one is construction."""

    event: Literal["next"] = "next"


class TokenEvent(Document):
    """The iterator answered with ``token``."""

    event: Literal["token"] = "token"
    token: Int


class EndEvent(Document):
    """The iterator answered that it is done."""

    event: Literal["end"] = "end"


Event = Annotated[
    NewCacheEvent
    | DeprecationEvent
    | PromptEvent
    | PrepareEvent
    | CallEvent
    | ProcessEvent
    | SampleEvent
    | DidSampleEvent
    | NextEvent
    | TokenEvent
    | EndEvent,
    Field(discriminator="event"),
]


class TurnRecord(Document):
    """The trace of one turn and what every holder sees after it."""

    error: StepError | None = None
    trace: tuple[Event, ...]
    count: Int | None = None
    prefill_times: tuple[float, float] | None = None
    """Seconds of prefill, reported after construction and after the last ``next``; never compared exactly."""
    holders: dict[str, tuple[int, ...]]
    objects: tuple[ObjectView, ...]


class IterateObservation(Document):
    """Answer to ``iterate``: one record a turn."""

    kind: Literal["iterate"] = "iterate"
    turns: tuple[TurnRecord, ...]


class ConversionEvent(Document):
    """Layers that became quantized between two looks at the cache list (before each call, at each sample)."""

    position: Int
    """Positions that had gone through the model: the largest offset of any layer."""
    step: Int
    """Which of ``tokens`` was sampled next: the first one that was sampled over the converted caches."""
    layers: tuple[int, ...]
    """Their numbers, depth first, a composite before its children."""
    group_sizes: tuple[int, ...]
    """The group size that each of them has: the resolved one, not the requested one."""
    nbytes_before: Int
    """Bytes of all caches, spare capacity included, with the objects that were replaced."""
    nbytes: Int
    """Bytes of all caches right after."""


class GenerateObservation(Document):
    """Answer to ``generate``: what was handed out, how clear each choice was, and what became quantized."""

    kind: Literal["generate"] = "generate"
    tokens: tuple[Int, ...]
    """As handed out; with ``force`` the most likely token of each step, whatever was fed back."""
    margins: tuple[float, ...]
    """How far the logit of the token fed back lay above the highest other one, for each of ``tokens``.

    Without ``force`` the margin between the top two; with it negative where another token was more likely.
    """
    conversions: tuple[ConversionEvent, ...] = ()
    position: Int | None = None
    """Positions that had gone through the model at the end; null when no layer counts them."""
    nbytes: Int | None = None
    """Bytes of all caches at the end, spare capacity included."""
    error: StepError | None = None
    """What ended the stream early, after the tokens above."""


Observation = Annotated[
    ResolveObservation
    | QuantizeObservation
    | CacheObservation
    | ContainerObservation
    | IterateObservation
    | GenerateObservation
    | Refusal,
    Field(discriminator="kind"),
]

OBSERVATION: TypeAdapter[Observation] = TypeAdapter(Observation)
"""Validates and dumps any observation."""


def observation_from_data(data: Any) -> Observation:
    """An observation from decoded JSON; pydantic's ``ValidationError`` says which field is wrong."""
    return OBSERVATION.validate_python(data, strict=False)
