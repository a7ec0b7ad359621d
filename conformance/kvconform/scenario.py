"""The scenario: one self-contained JSON document that says what is built, done and observed.

Everything the suite does is a scenario: what Hypothesis generates, what a vector or a replay file
holds, what goes over the wire. ``docs/scenarios.md`` defines the meaning of every field.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

VERSION = 1
"""Version of the scenario and observation format. A document of another version is refused."""

MAX_INTEGER = 2**53
"""Integers on the wire stay within this magnitude, so that every JSON reader keeps them exact."""

Int = Annotated[int, Field(ge=-MAX_INTEGER, le=MAX_INTEGER)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Positive = Annotated[int, Field(ge=1, le=1_000_000)]
DType = Literal["float32", "float16", "bfloat16"]


class Document(BaseModel):
    """Base of everything that crosses the wire: frozen, strict, no unknown fields, no NaN or infinity."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


# ---------------------------------------------------------------- layers


class PlainLayer(Document):
    """`S(key_dim, value_dim, length - trim)`; `E` when nothing was written, `Z` when all was trimmed."""

    kind: Literal["plain"] = "plain"
    length: Count = 0
    trim: Count = 0
    """Rows trimmed after the fill, at most ``length``."""
    key_dim: Positive = 64
    value_dim: Positive = 64
    heads: Positive = 1
    dtype: DType = "float32"


class ChunkedLayer(Document):
    """`C(length)`: a plain cache that can drop rows at its front."""

    kind: Literal["chunked"] = "chunked"
    length: Count = 0
    chunk_size: Positive = 16
    drop_front: bool = False
    """Drop the front once after the fill (keeps the newest ``chunk_size`` rows)."""
    key_dim: Positive = 64
    value_dim: Positive = 64
    heads: Positive = 1
    dtype: DType = "float32"


class RotatingLayer(Document):
    """`R(length)`: a sliding-window cache of ``max_size`` rows whose first ``keep`` rows stay."""

    kind: Literal["rotating"] = "rotating"
    length: Count = 0
    max_size: Positive = 16
    keep: Count = 0
    singly: bool = False
    """Fill row by row instead of with one append."""
    key_dim: Positive = 64
    value_dim: Positive = 64
    heads: Positive = 1
    dtype: DType = "float32"


class QuantizedLayer(Document):
    """`Q(length; group_size, bits)`, written from empty."""

    kind: Literal["quantized"] = "quantized"
    length: Count = 0
    group_size: Int = 64
    bits: Int = 4
    key_dim: Positive = 64
    value_dim: Positive = 64
    heads: Positive = 1
    dtype: DType = "float32"


class RecurrentLayer(Document):
    """`M`: whole state arrays, no offset."""

    kind: Literal["recurrent"] = "recurrent"
    slots: Positive = 2
    filled: bool = True


class CompositeLayer(Document):
    """`L(...)`: a layer that holds other caches."""

    kind: Literal["composite"] = "composite"
    children: Annotated[tuple[Layer, ...], Field(min_length=1, max_length=8)]


Layer = Annotated[
    PlainLayer | ChunkedLayer | RotatingLayer | QuantizedLayer | RecurrentLayer | CompositeLayer,
    Field(discriminator="kind"),
]
Layers = tuple[Layer, ...]


class Observe(Document):
    """What a look at a layer contains beyond kind, offset, rows and dims. Costs nothing when off."""

    content: bool = False
    """Bytes of the rows a reader gets."""
    accounting: bool = False
    """``nbytes``, ``size``, ``empty`` and ``trimmable``."""
    accesses: bool = False
    """How often a pass looked at a layer."""


class Built(Document):
    """What a container is constructed with."""

    bits: Int | None = None
    group_size: Int = 64


# ---------------------------------------------------------------- resolve, quantize


ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "uint32": 4}
"""Bytes of one element of a tensor on the wire."""

# Unused bits before the padding are zero (RFC 4648, 3.5), so that equal bytes are equal text.
_BASE64 = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"


class Tensor(Document):
    """Little-endian array: RFC 4648 base64 with padding; ``data`` holds the whole of ``shape``."""

    dtype: Literal["float32", "float16", "bfloat16", "uint32"]
    shape: tuple[Count, ...]
    data: Annotated[str, Field(pattern=_BASE64)]

    @model_validator(mode="after")
    def _data_fills_shape(self) -> Tensor:
        expected = math.prod(self.shape) * ITEM_BYTES[self.dtype]
        given = len(self.data) // 4 * 3 - self.data[-2:].count("=")
        if given != expected:
            raise ValueError(
                f"data holds {given} bytes, but shape {list(self.shape)} of {self.dtype} takes {expected}"
            )
        return self


class ResolveScenario(Document):
    """Which group size is used for these head dims, or for this layer."""

    version: Literal[1] = VERSION
    kind: Literal["resolve"] = "resolve"
    requested: Int
    key_dim: Int | None = None
    value_dim: Int | None = None
    layer: Layer | None = None
    """Asked about instead of a pair of dims; then the dims are absent."""


class QuantizeScenario(Document):
    """Affine quantization of a ``[rows, dim]`` tensor along its last axis."""

    version: Literal[1] = VERSION
    kind: Literal["quantize"] = "quantize"
    tensor: Tensor
    bits: Int
    group_size: Int


# ---------------------------------------------------------------- cache


class Append(Document):
    """Write ``rows`` rows of pattern content behind the offset."""

    op: Literal["append"] = "append"
    rows: Positive
    salt: Count = 0


class Trim(Document):
    """Take ``rows`` rows off the end."""

    op: Literal["trim"] = "trim"
    rows: Int


class Convert(Document):
    """Convert the current cache; the result becomes current, the source stays observed."""

    op: Literal["convert"] = "convert"
    bits: Int
    group_size: Int = 64


class Copy(Document):
    """Copy the current cache the way the language copies an object; the copy becomes current."""

    op: Literal["copy"] = "copy"


class SaveLoad(Document):
    """Write the current cache to a file and load it; what was loaded becomes current."""

    op: Literal["save-load"] = "save-load"


class StateRoundTrip(Document):
    """State (and metadata) out of the current cache into a new one, which becomes current."""

    op: Literal["state"] = "state"


class DropFront(Document):
    """A chunked cache drops the rows beyond its chunk size at the front."""

    op: Literal["drop-front"] = "drop-front"


class Select(Document):
    """Make an earlier cache current again (0 is the first)."""

    op: Literal["select"] = "select"
    cache: Count


Operation = Annotated[
    Append | Trim | Convert | Copy | SaveLoad | StateRoundTrip | DropFront | Select,
    Field(discriminator="op"),
]


class CacheScenario(Document):
    """Operations on one cache and what each cache object shows after each of them."""

    version: Literal[1] = VERSION
    kind: Literal["cache"] = "cache"
    layer: Layer
    operations: tuple[Operation, ...] = ()
    observe: Observe = Observe()


# ---------------------------------------------------------------- container


class AppendStep(Document):
    """Append to every layer (or to those at ``layers``) of the list that a holder has."""

    do: Literal["append"] = "append"
    rows: Positive
    salt: Count = 0
    layers: tuple[Count, ...] | None = None
    through: Literal["container", "caller"] = "container"


class TrimStep(Document):
    """Trim every layer (or those at ``layers``) that can be trimmed."""

    do: Literal["trim"] = "trim"
    rows: Int
    layers: tuple[Count, ...] | None = None


class DropFrontStep(Document):
    """Every chunked layer drops its front."""

    do: Literal["drop-front"] = "drop-front"


class PassStep(Document):
    """One maybe-quantize pass: `mq(bits, group_size, start)`."""

    do: Literal["pass"] = "pass"
    bits: Int | None = None
    group_size: Int = 64
    start: Int = 0


Step = Annotated[AppendStep | TrimStep | DropFrontStep | PassStep, Field(discriminator="do")]


class ContainerScenario(Document):
    """Layers behind one or more holders, a sequence of steps, and what every holder sees after each."""

    version: Literal[1] = VERSION
    kind: Literal["container"] = "container"
    layers: Layers
    form: Literal["container", "free"] = "container"
    """``free``: the pass without memory, on the caller's list; no container is built."""
    given: Literal["list", "model"] = "list"
    """Whether the container gets the caller's list, or asks the model for one."""
    built: Built = Built()
    twin: bool = False
    """Also build a second container over a second list of the same objects."""
    steps: tuple[Step, ...] = ()
    observe: Observe = Observe()


# ---------------------------------------------------------------- iterate


class Prompt(Document):
    """``length`` pseudo-random tokens below the model's vocabulary."""

    length: Count
    seed: Count = 0


class ScriptedModel(Document):
    """The integer-arithmetic model of ``docs/scenarios.md``."""

    seed: Count = 0
    vocab: Annotated[int, Field(ge=2, le=65536)] = 61
    prepare: Literal["tokens", "logits", "all", "raise"] = "tokens"
    """What prepare answers: the remaining tokens, logits, nothing at all, or an error."""
    state: Literal["none", "always", "alternate"] = "none"
    ties: bool = False


class Parameters(Document):
    """Generation parameters; scenarios pass every one."""

    max_tokens: Int | None = None
    bits: Int | None = None
    group_size: Int = 64
    start: Int = 0
    prefill_step: Int = 512
    repetition_penalty: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    repetition_context_size: Positive = 20


class Turn(Document):
    """One iterator: built, asked for ``nexts`` tokens."""

    prompt: Prompt
    parameters: Parameters = Parameters()
    form: Literal["general", "sampler-first", "prompt-array"] = "general"
    cache: Literal["same", "caller-list"] = "same"
    """From the second turn on: the container of the turn before, or the caller's old list."""
    processor: Literal["none", "boost"] = "none"
    """``boost``: an explicit processor that forces the token (``docs/scenarios.md``)."""
    sampler: Literal["parameters", "argmax", "argmin"] = "parameters"
    """``parameters``: no explicit sampler, the parameters' is used."""
    nexts: Count = 1
    """How often the iterator is asked for a token."""


class IterateScenario(Document):
    """A scripted model, layers, and turns of a token iterator over them: the whole trace."""

    version: Literal[1] = VERSION
    kind: Literal["iterate"] = "iterate"
    layers: Layers
    given: Literal["model", "list", "container", "both"] = "list"
    """What the first turn's iterator is handed: nothing, the caller's list, a container, or both."""
    built: Built = Built()
    """What the container is built with when ``given`` is ``container`` or ``both``."""
    model: ScriptedModel = ScriptedModel()
    turns: Annotated[tuple[Turn, ...], Field(min_length=1, max_length=4)]
    observe: Observe = Observe()


# ---------------------------------------------------------------- generate


class GenerateScenario(Document):
    """A real model, prompt tokens and parameters; greedy."""

    version: Literal[1] = VERSION
    kind: Literal["generate"] = "generate"
    model: Annotated[str, Field(min_length=1)]
    """A tiny model's name, ``smollm2``, a model folder, or a hub id."""
    prompt: Annotated[tuple[Count, ...], Field(min_length=1)]
    parameters: Parameters
    """``max_tokens`` is given and not negative: a real model never ends by itself."""
    force: tuple[Count, ...] | None = None
    """Teacher forcing: fed back instead of the sampled tokens, as far as they go."""

    @model_validator(mode="after")
    def _ends(self) -> GenerateScenario:
        if self.parameters.max_tokens is None or self.parameters.max_tokens < 0:
            raise ValueError(
                f"max_tokens {self.parameters.max_tokens} sets no end to the stream; give 0 or more"
            )
        return self


Scenario = Annotated[
    ResolveScenario
    | QuantizeScenario
    | CacheScenario
    | ContainerScenario
    | IterateScenario
    | GenerateScenario,
    Field(discriminator="kind"),
]

CompositeLayer.model_rebuild()
SCENARIO: TypeAdapter[Scenario] = TypeAdapter(Scenario)
"""Validates and dumps any scenario."""


def scenario_from_json(text: str | bytes) -> Scenario:
    """A scenario from its JSON text; pydantic's ``ValidationError`` says which field is wrong."""
    return SCENARIO.validate_json(text)


def as_data(document: Document) -> dict[str, Any]:
    """JSON-ready data of a document, defaults included."""
    return document.model_dump(mode="json")
