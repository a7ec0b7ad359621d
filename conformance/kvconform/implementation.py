"""What the suite knows of an implementation: who it is, what it can do, and how to run a scenario."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from pydantic import Field

from .observation import Observation
from .scenario import Document, Int, Scenario


class Capabilities(Document):
    """What an implementation declares; what it does not declare is reported as not judged."""

    kinds: tuple[str, ...] = ("resolve", "quantize", "cache", "container", "iterate")
    """Scenario kinds it answers."""
    bits: tuple[Int, ...] = (2, 3, 4, 5, 6, 8)
    group_sizes: tuple[Int, ...] = (32, 64, 128)
    dtypes: tuple[str, ...] = ("float32", "float16", "bfloat16")
    layers: tuple[str, ...] = ("plain", "chunked", "rotating", "quantized", "recurrent", "composite")
    features: tuple[str, ...] = ()
    """Concepts it has, out of those that docs/dialects.md lists."""


FEATURES: dict[str, str] = {
    "container": "a container object that owns the layers and the latch",
    "free-pass": "a pass without memory over a list, answering whether it triggered",
    "resolver": "a group-size resolver that can be asked directly",
    "layer-queries": "head dims, quantizable and compatible can be asked of a layer",
    "model-list": "the model is asked for a new cache list when none is given",
    "accesses": "looks at layers can be counted",
    "accounting": "nbytes, size, empty and trimmable of a cache",
    "copy": "cache objects can be copied",
    "convert": "a single cache can be converted directly",
    "save-load": "a cache can be written to a file and read back",
    "state": "a cache's state can be taken out and put into a new cache",
    "head-counts": "layers with more than one key/value head",
    "prepare": "the model's prepare does the prefill",
    "logits-prefill": "prepare may answer with logits",
    "model-state": "the model hands a state from call to call",
    "processors": "a processor with prompt, process and did-sample",
    "process-only": "logits processors that are only called with logits",
    "samplers": "an explicit sampler can be given",
    "penalty": "parameters with a repetition penalty give a processor",
    "sampler-first": "the iterator form with a mandatory sampler and no parameters",
    "prompt-array": "the deprecated iterator form over a bare prompt array",
    "both-refused": "a list and a container can both be given (and are refused)",
    "eager": "construction of an iterator runs the prefill (without it: the first next does)",
    "count": "the iterator reports how many tokens it returned",
    "prefill-time": "the iterator reports how long prefill took",
}
"""Every feature that can be declared, with what it means."""


KNOWN: dict[str, tuple[object, ...]] = {
    "kinds": ("resolve", "quantize", "cache", "container", "iterate", "generate"),
    "bits": (1, 2, 3, 4, 5, 6, 8),  # MLX takes 1 as well (MQ-14)
    "group_sizes": (32, 64, 128),
    "dtypes": ("float32", "float16", "bfloat16"),
    "layers": ("plain", "chunked", "rotating", "quantized", "recurrent", "composite"),
    "features": tuple(FEATURES),
}
"""Everything that can be declared."""


def unknown_capability(capabilities: Capabilities) -> str:
    """What is declared that nobody knows: a misspelt feature would silently never be judged."""
    for name, values in KNOWN.items():
        for value in getattr(capabilities, name):
            if value not in values:
                return f"unknown {name} {value!r} (known: {', '.join(map(str, values))})"
    return ""


class Info(Document):
    """Who the implementation is and which dialect it declares."""

    name: str
    version: str
    language: str = "Python"
    backend: str = "cpu"
    dialect: str | dict[str, Any] = "proposal"
    """A named dialect, or parameters spelled out; those left out are the proposal's (docs/dialects.md)."""
    capabilities: Capabilities = Field(default_factory=Capabilities)


@runtime_checkable
class Implementation(Protocol):
    """What a factory returns. ``run`` answers one scenario and keeps nothing from it."""

    @property
    def info(self) -> Info:
        """Who this is; constant over the object's life."""
        ...

    def run(self, scenario: Scenario) -> Observation:
        """The observation of ``scenario``.

        ``ValueError``, ``TypeError`` and ``NotImplementedError`` raised before anything changed are
        refusals; :class:`Unsupported` says that the scenario cannot be expressed here; every other
        exception is an internal error of the implementation.
        """
        ...


class Unsupported(Exception):  # noqa: N818 - it is an answer, not an error
    """The implementation has no such concept; the message says which."""


class Trouble(Exception):  # noqa: N818
    """An implementation failed to answer: base of crash, timeout, protocol and internal errors.

    ``outcome`` is the outcome string of the report; ``detail`` holds stderr's last lines or a traceback.
    """

    outcome = "error"

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class Crash(Trouble):
    """The process died. ``signal`` names the signal, or is empty for a plain exit."""

    outcome = "crash"

    def __init__(self, message: str, *, signal: str = "", detail: str = "") -> None:
        super().__init__(message, detail=detail)
        self.signal = signal


class TimedOut(Trouble):
    """No answer within the time limit."""

    outcome = "timeout"


class ProtocolBroken(Trouble):
    """An answer that is not one: not JSON, a wrong id, an unknown field."""

    outcome = "protocol"


class StartFailed(Exception):  # noqa: N818
    """The implementation could not be started or imported; the message says why and what to do."""
