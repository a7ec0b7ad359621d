"""What each dialect parameter decides and what each of its values means, in a sentence: for documentation.

Nothing is decided here; the decisions are in :mod:`.dialect`. Source: specification section 0.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Meaning:
    """A parameter: what it decides, which requirements are about it, and what its values mean."""

    decides: str
    requirements: tuple[str, ...]
    values: Mapping[Any, str]


MEANINGS: Mapping[str, Meaning] = {
    "threshold": Meaning(
        "When a layer is over the line.",
        ("TH-1", "TH-2", "TH-5", "MQ-2", "CT-8", "ST-2"),
        {
            "at-least": "Its offset has reached the start.",
            "above": "Its offset has passed the start.",
            "none": "Always: the design has no start.",
        },
    ),
    "scope": Meaning(
        "Which layers a pass converts, once some layer is over the line.",
        ("TH-4", "TH-5", "MQ-7", "MQ-15"),
        {
            "any-then-all": "One quantizable layer over the line converts every layer that can be converted.",
            "first-then-all": "Layer 0, of whatever kind, decides for all layers.",
            "per-layer": "Each layer decides for itself.",
        },
    ),
    "nested": Meaning(
        "What a pass does with composite caches, which hold other caches.",
        ("MQ-10",),
        {
            "opaque": "They stay as they are.",
            "recurse": "Their children are converted in place, like layers of the list.",
        },
    ),
    "resolver": Meaning(
        "Which group size is used for a request, of 32, 64 and 128; it has to divide both head dims.",
        ("GS-1", "GS-2", "GS-3", "GS-4", "GS-6", "GS-7", "GS-9", "GS-10", "MQ-5"),
        {
            "nearest": "The compatible size nearest to the request, the smaller one of two equally near.",
            "largest-below": "The largest compatible size that is not above the request.",
            "ordered-64-32-128": "The request if it is compatible, else the first of 64, 32, 128 that is.",
            "exact": "The request itself, or none.",
        },
    ),
    "incompatible": Meaning(
        "What a pass does with a plain layer that has no usable group size.",
        ("MQ-3", "MQ-9", "MQ-17"),
        {
            "keep": "It stays as it is.",
            "error": "The pass raises.",
        },
    ),
    "empty_layer": Meaning(
        "What a pass does with a selected layer that was never written.",
        ("MQ-8", "CT-7", "CT-12"),
        {
            "keep": "It stays a plain cache.",
            "convert": "It becomes an empty quantized cache of the requested group size.",
            "wait": "It stays a plain cache, and the container stays armed for it.",
        },
    ),
    "rotating": Meaning(
        "What a pass does with a selected rotating (sliding-window) cache.",
        ("MQ-11", "QP-1", "MQ-17"),
        {
            "keep": "It stays as it is.",
            "error": "The pass raises.",
            "convert": "It is converted.",
        },
    ),
    "chunked": Meaning(
        "What a pass does with a chunked cache, which can drop rows at its front.",
        ("QP-2",),
        {
            "as-plain": "It counts as a plain cache; one that dropped rows triggers, but is not converted.",
            "keep": "It is not quantizable and stays as it is.",
        },
    ),
    "latch": Meaning(
        "When a container's passes stop doing anything.",
        ("CT-4", "CT-5", "CT-6", "CT-7", "CT-11", "CT-12", "IT-3"),
        {
            "first-trigger": "After the first pass that triggers; built without bits it never starts.",
            "when-settled": "Once every plain layer is converted, or over the line and incompatible.",
            "first-layer": "While layer 0 is quantized.",
            "none": "Never.",
        },
    ),
    "owner": Meaning(
        "Where converted layers appear.",
        ("CT-3", "CT-10", "RF-2"),
        {
            "container": "In the container; the list that the caller gave keeps the old objects.",
            "caller-list": "In the list that the caller gave, which is changed in place.",
            "new-list": "In a new list that is returned; the caller's is unchanged.",
        },
    ),
    "prefill": Meaning(
        "Into which chunks a prompt is cut, for a prefill step.",
        ("PR-6",),
        {
            "window": "Full steps while more than one step remains, then the remainder.",
            "balanced": "Chunks of almost equal length and a last one of a single token.",
            "reserve-one": "Full steps and a remainder over all but the last token, then that one.",
        },
    ),
    "quantize_between_chunks": Meaning(
        "Whether the pass also runs between the chunks of a prefill.",
        ("PR-7", "ST-2"),
        {
            False: "Only after the prefill.",
            True: "After every chunk, so that the last prompt token may read quantized caches.",
        },
    ),
    "pass_position": Meaning(
        "Where the pass has its place in a step, after the model call and before sampling.",
        ("ST-1",),
        {
            "before-processors": "Before the logits processors.",
            "after-processors": "After the logits processors.",
        },
    ),
    "logits_prefill": Meaning(
        "What the iterator does when the model's prepare answers with logits.",
        ("PR-4",),
        {
            "bare": "Samples the first token from them, drops their state, runs no pass.",
            "full": "Samples the first token from them, keeps their state, runs the pass.",
            "none": "There is no such path.",
        },
    ),
    "bad_options": Meaning(
        "When bits that do not exist, a start below 0 and a group size below 1 are refused.",
        ("GS-9", "TH-3", "MQ-14"),
        {
            "per-call": "By the pass that would use the bits; start and group size are taken as they are.",
            "refuse": "When the options are given.",
        },
    ),
    "negative_max_tokens": Meaning(
        "What a token limit below 0 means.",
        ("NX-1",),
        {
            "none": "No token at all.",
            "unlimited": "No limit.",
        },
    ),
}
"""Every parameter of :data:`.dialect.PARAMETERS`, in its order."""
