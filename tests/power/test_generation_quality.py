"""How good generation is: chosen faults are found soon, without explicit cases, and shrink as stated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from kvconform.examine import examine
from kvconform.faults import faulty
from kvconform.session import DEFAULT_SEED, context_of
from kvconform.suite import all_checks

SEEDS = (DEFAULT_SEED, 1)
FOUR = {"bits": 4}


class Stated(NamedTuple):
    """A fault, the check that hunts it, how soon it must be found, and what that must shrink to."""

    fault: str
    check: str
    within: int
    """Generated scenarios."""
    smallest: dict[str, Any]
    """The scenario without what is default; fields that only tell kinds apart are default too."""


STATED = (
    Stated("tie-goes-high", "GS-4.tie", 15, {"requested": 48, "key_dim": 64, "value_dim": 64}),
    Stated(
        "next-position-counts",
        "TH-1.line",
        80,
        {"layers": [{"length": 1}], "built": FOUR, "steps": [{"bits": 4, "start": 2}]},
    ),
    Stated(
        "last-layer-decides",
        "MQ-7.scope",
        30,
        {"layers": [{"length": 15}, {"length": 3}], "built": FOUR, "steps": [{"bits": 4, "start": 9}]},
    ),
    Stated(
        "misfit-holds-up-the-others",
        "MQ-9.odd",
        20,
        {
            "layers": [{"length": 1, "key_dim": 80, "value_dim": 80}, {"length": 1}],
            "built": FOUR,
            "steps": [FOUR],
        },
    ),
    Stated(
        "requantizes-at-other-bits",
        "MQ-12.once",
        20,
        {"layers": [{"key_dim": 128, "value_dim": 128}] * 2, "built": FOUR, "steps": [{"bits": 8}]},
    ),
    Stated(
        "offset-lost-in-conversion",
        "MQ-5.offset",
        5,
        {"layers": [{"length": 1}], "built": FOUR, "steps": [FOUR]},
    ),
    Stated(
        "composite-is-rebuilt",
        "MQ-10.composite",
        10,
        {"layers": [{"children": [{"length": 12}]}], "built": FOUR, "steps": [FOUR]},
    ),
    Stated(
        "call-without-bits-disarms",
        "CT-6.call-bits",
        10,
        {"layers": [{"length": 1}], "built": FOUR, "steps": [{}, FOUR]},
    ),
    Stated(
        "containers-share-a-list",
        "CT-10.twins",
        10,
        {"layers": [{"length": 1}], "built": FOUR, "twin": True, "steps": [FOUR]},
    ),
    Stated(
        "growth-starts-over", "QC-3.from-empty", 20, {"layer": {}, "operations": [{"rows": 1}, {"rows": 256}]}
    ),
    Stated("trim-below-zero", "QC-4.trim", 30, {"layer": {}, "operations": [{"rows": -1}]}),
    Stated(
        "copy-shares-the-buffer",
        "QC-9.copy",
        10,
        {
            "layer": {},
            "operations": [{}, {"rows": 1, "salt": 1}, {"cache": 0}, {"rows": 1, "salt": 2}],
            "observe": {"content": True},
        },
    ),
    Stated(
        "one-token-too-many",
        "NX-1.limit",
        60,
        {
            "layers": [{"key_dim": 128, "value_dim": 128}],
            "turns": [{"prompt": {"length": 1}, "parameters": {"max_tokens": 0}}],
        },
    ),
    Stated(
        "old-state-survives-none",
        "ST-4.state",
        60,
        {
            "layers": [{"key_dim": 128, "value_dim": 128}],
            "model": {"state": "alternate"},
            "turns": [{"prompt": {"length": 1}, "nexts": 2}],
        },
    ),
    Stated(
        "pass-before-the-call",
        "ST-1.first-call",
        10,
        {
            "layers": [{"length": 3, "key_dim": 128, "value_dim": 128}],
            "turns": [{"prompt": {"length": 1}, "parameters": FOUR, "nexts": 0}],
        },
    ),
    Stated(
        "warm-caches-are-cleared",
        "IT-7.warm",
        10,
        {
            "layers": [{"length": 3, "key_dim": 128, "value_dim": 128}],
            "turns": [{"prompt": {"length": 1}, "nexts": 0}],
        },
    ),
)


def test_there_are_at_least_fifteen() -> None:
    assert len(STATED) >= 15


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("stated", STATED, ids=lambda stated: stated.fault)
def test_a_fault_is_found_soon_and_shrinks_to_the_stated_scenario(stated: Stated, seed: int) -> None:
    implementation = faulty(stated.fault)
    context = context_of(implementation, budget="default")
    (check,) = [check for check in all_checks() if check.id == stated.check]
    generated = replace(check, explicit=lambda _context: ())
    result = examine(generated, implementation, context, seed=seed, max_examples=stated.within)
    assert result.outcome == "fail"
    assert result.scenario is not None
    assert result.scenario.model_dump(mode="json", exclude_defaults=True) == stated.smallest
