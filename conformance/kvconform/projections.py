"""The parts of an observation that one requirement speaks of, in a form that can be compared and shown.

A comparison with the reference looks at a projection only, so that a failure is put down to the
requirement that it breaks, and error messages, byte counts and clocks are never compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

from .checks import Context
from .implementation import Capabilities
from .observation import (
    CacheObservation,
    CallEvent,
    ContainerObservation,
    Event,
    IterateObservation,
    ObjectView,
    Observation,
    Refusal,
    ResolveObservation,
    StepError,
    StepRecord,
    TurnRecord,
)
from .places import made_of

Projection = Callable[[Context, Any], Any]
"""(context, observation) -> JSON-ready data."""

LETTERS = {
    "plain": "S",
    "chunked": "C",
    "rotating": "R",
    "recurrent": "M",
    "quantized": "Q",
    "composite": "L",
}


def projected(projection: Projection, context: Context, observation: Observation) -> Any:
    """The projection; of a refused scenario only that it was refused."""
    return "refused" if isinstance(observation, Refusal) else projection(context, observation)


# ---------------------------------------------------------------- layers


def kind_text(objects: Sequence[ObjectView], number: int) -> str:
    """``S``, ``Q``, ``L(M,Q)``."""
    view = objects[number]
    children = f"({','.join(kind_text(objects, child) for child in view.children)})" if view.children else ""
    return LETTERS.get(view.kind, view.kind) + children


def layer_text(objects: Sequence[ObjectView], number: int) -> str:
    """Kind with offset, and group size and bits of a quantized one: ``Q:64,4@12``."""
    view = objects[number]
    inner = [layer_text(objects, child) for child in view.children or ()]
    text = LETTERS.get(view.kind, view.kind) + (f"({','.join(inner)})" if inner else "")
    text += f":{view.group_size},{view.bits}" if view.kind == "quantized" else ""
    return text + ("" if view.offset is None else f"@{view.offset}")


def _error(error: StepError | None) -> bool:
    return error is not None


# ---------------------------------------------------------------- container


def _listed(record: StepRecord | TurnRecord, text: Callable[[Sequence[ObjectView], int], str]) -> list[str]:
    return [text(record.objects, number) for number in record.holders.get("container", ())]


@made_of("record", "layer")
def kinds(_context: Context, observation: ContainerObservation) -> Any:
    """Per step the kinds that the container lists."""
    return [_listed(record, kind_text) for record in observation.steps]


@made_of("record", "layer")
def outcomes(context: Context, observation: ContainerObservation) -> Any:
    """Per step the kinds, or that it raised."""
    listed = kinds(context, observation)
    return ["error" if record.error else text for record, text in zip(observation.steps, listed, strict=True)]


@made_of("record", "layer")
def layers(_context: Context, observation: ContainerObservation) -> Any:
    """Per step the layers with offset, group size and bits, or that it raised."""
    return ["error" if record.error else _listed(record, layer_text) for record in observation.steps]


@made_of("quantized layer")
def groups(_context: Context, observation: ContainerObservation) -> Any:
    """The group sizes of what is quantized at the end, or that the last step raised."""
    if observation.steps[-1].error is not None:
        return "error"
    return [view.group_size for view in observation.steps[-1].objects if view.kind == "quantized"]


@made_of("record")
def answers(_context: Context, observation: ContainerObservation) -> Any:
    """What each step answered: whether the free pass triggered, or that it raised."""
    return ["error" if record.error else record.returned for record in observation.steps]


def outcomes_and_answers(context: Context, observation: ContainerObservation) -> Any:
    """Per step the kinds or that it raised, and what the free pass answered where MQ-15 compares it."""
    return {
        "layers": outcomes(context, observation),
        "answers": answers(context, observation) if context.dialect.scope == "any-then-all" else None,
    }


@made_of("record")
def structure(_context: Context, observation: ContainerObservation) -> Any:
    """Per step which objects there are, where each stands, and who lists them."""
    return [
        "error"
        if record.error
        else {
            "container": list(record.holders["container"]),
            "children": [list(view.children) for view in record.objects if view.children],
            "objects": [layer_text(record.objects, number) for number in range(len(record.objects))],
        }
        for record in observation.steps
    ]


@made_of("record")
def caller_view(_context: Context, observation: ContainerObservation) -> Any:
    """Per step which objects container and caller list, and where each object stands."""
    return [
        {
            "container": list(record.holders["container"]),
            "caller": list(record.holders.get("caller", ())),
            "objects": [layer_text(record.objects, number) for number in range(len(record.objects))],
        }
        for record in observation.steps
    ]


def everything_in_container(context: Context, observation: ContainerObservation) -> Any:
    """All that can be compared: holders, every object, answers, trims, up to the first error.

    What errors are due, and what they must leave, is other requirements' business (MQ-9, MQ-11 to MQ-14).
    """
    return {
        "list requests": observation.list_requests if _has(context, "model-list") else None,
        "steps": [
            {
                "returned": record.returned if context.dialect.scope == "any-then-all" else None,
                "trimmed": None if record.trimmed is None else list(record.trimmed),
                "holders": {name: list(numbers) for name, numbers in record.holders.items()},
                "objects": [_object(view) for view in record.objects],
            }
            for record in takewhile(lambda record: record.error is None, observation.steps)
        ],
        "error after": next((i for i, record in enumerate(observation.steps) if record.error), None),
    }


UNCOMPARED = {"errors", "nbytes", "size", "empty", "keys", "values"}
"""Fields of a look that a comparison leaves out: designs account differently; content has its own judge."""


def _object(view: ObjectView) -> dict[str, Any]:
    return view.model_dump(mode="json", exclude=UNCOMPARED)


# ---------------------------------------------------------------- resolve, cache


def resolved(_context: Context, observation: ResolveObservation) -> Any:
    """The group size."""
    return observation.group_size


def layer_answers(_context: Context, observation: ResolveObservation) -> Any:
    """Everything that was answered about a layer."""
    return observation.model_dump(mode="json")


@made_of("record")
def direct_groups(_context: Context, observation: CacheObservation) -> Any:
    """Per operation the group size of the current cache, or that it raised."""
    return [
        "error" if record.error else record.objects[record.current].group_size
        for record in observation.records
    ]


@made_of("record")
def everything_in_cache(_context: Context, observation: CacheObservation) -> Any:
    """Per operation: error, current cache, every object. Rows that an export holds are QC-11's business."""
    return [
        {
            "error": _error(record.error),
            "current": record.current,
            "objects": [_object(view) for view in record.objects],
        }
        for record in observation.records
    ]


# ---------------------------------------------------------------- iterate


def known_events(trace: Sequence[Event], capabilities: Capabilities) -> list[Event]:
    """The trace without the events that the implementation has no concept of (contract, section 6)."""
    concepts = {
        "prompt": ("processors",),
        "did-sample": ("processors",),
        "process": ("processors", "process-only"),
        "prepare": ("prepare",),
        "deprecated": ("prompt-array",),
        "new-cache": ("model-list",),
    }
    features = set(capabilities.features)
    return [event for event in trace if event.event not in concepts or features & set(concepts[event.event])]


def _trace(context: Context, record: TurnRecord) -> list[Event]:
    return known_events(record.trace, context.info.capabilities)


def _calls(record: TurnRecord) -> list[CallEvent]:
    return [event for event in record.trace if isinstance(event, CallEvent)]


@made_of("record", "call", "layer")
def call_caches(_context: Context, observation: IterateObservation) -> Any:
    """Per turn the kinds of cache that each call found (without their sizes), or that it raised."""
    return [
        "error" if record.error else [[_letter(cache) for cache in call.caches] for call in _calls(record)]
        for record in observation.turns
    ]


def _letter(signature: str) -> str:
    return signature.partition(":")[0]


@made_of("record", "call")
def call_lengths(_context: Context, observation: IterateObservation) -> Any:
    """Per turn the number of tokens of each call, or that it raised."""
    return [
        "error" if record.error else [len(call.tokens) for call in _calls(record)]
        for record in observation.turns
    ]


@made_of("record", "process", "layer")
def process_caches(_context: Context, observation: IterateObservation) -> Any:
    """Per turn the kinds of cache that stood there when each process was called."""
    return [
        [[_letter(cache) for cache in event.caches] for event in record.trace if event.event == "process"]
        for record in observation.turns
    ]


@made_of("record", "sample")
def sampled(_context: Context, observation: IterateObservation) -> Any:
    """Per turn the tokens that were sampled, or that it raised."""
    return [
        "error" if record.error else [event.token for event in record.trace if event.event == "sample"]
        for record in observation.turns
    ]


@made_of("record", "event")
def event_names(context: Context, observation: IterateObservation) -> Any:
    """Per turn what happened, one word an event, and whether it raised."""
    return [
        [event.event for event in _trace(context, record)] + ["error"] * _error(record.error)
        for record in observation.turns
    ]


@made_of("record", "call")
def states(_context: Context, observation: IterateObservation) -> Any:
    """Per turn the state that each call was handed."""
    return [[call.state for call in _calls(record)] for record in observation.turns]


def logits_path(context: Context, observation: IterateObservation) -> Any:
    """What the path of logits from prepare decides: events, states, and kinds of cache."""
    return {
        "events": event_names(context, observation),
        "states": states(context, observation),
        "kinds": call_caches(context, observation),
    }


@made_of("record")
def turn_offsets(_context: Context, observation: IterateObservation) -> Any:
    """Per turn the offsets that the calls found, and where container and caller stand afterwards."""
    return [
        {
            "calls": [list(call.offsets) for call in _calls(record)],
            **{
                f"{name} offsets": [record.objects[number].offset for number in record.holders.get(name, ())]
                for name in ("container", "caller")
            },
        }
        for record in observation.turns
    ]


@made_of("record")
def everything_in_turns(context: Context, observation: IterateObservation) -> Any:
    """All that can be compared: traces, counts, holders, objects.

    Of the first turn that raises only its trace; what an error must leave is MQ-13's business.
    """
    turns: list[Any] = []
    for record in observation.turns:
        trace = [event.model_dump(mode="json") for event in _trace(context, record)]
        if record.error is not None:
            return [*turns, {"error": True, "trace": trace}]
        turns.append({"trace": trace, **_state_of(context, record)})
    return turns


def _state_of(context: Context, record: TurnRecord) -> dict[str, Any]:
    return {
        "count": record.count if _has(context, "count") else None,
        "holders": {name: list(numbers) for name, numbers in record.holders.items()},
        "objects": [_object(view) for view in record.objects],
    }


def _has(context: Context, feature: str) -> bool:
    return feature in context.info.capabilities.features
