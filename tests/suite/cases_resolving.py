"""Cases of resolve scenarios."""

from __future__ import annotations

from typing import Any

from kvconform.invariants import resolving
from kvconform.observation import ResolveObservation
from suite_answers import put, scenario
from suite_cases import Case


def asked(requested: int, key: int, value: int) -> Any:
    return scenario("resolve", requested=requested, key_dim=key, value_dim=value)


def of(layer: dict[str, Any], requested: int = 64) -> Any:
    return scenario("resolve", requested=requested, layer=layer)


def quantizable(asked_of: Any, observation: Any) -> Any:
    return resolving.quantizable(asked_of, observation, "keep")


quantizable.judged = resolving.quantizable  # pyright: ignore

SIZE = "group_size"
PLAIN = {"kind": "plain", "length": 1}

CASES = (
    Case(
        name="a size that is none of the three",
        statement=resolving.only_the_three,
        scenario=asked(256, 256, 256),
        wrong=put(SIZE, 256),
        says="group size is none of the compatible ones: 256",
    ),
    Case(
        name="no size where there is one",
        statement=resolving.only_the_three,
        scenario=asked(64, 96, 96),
        wrong=put(SIZE, None),
        says="group size is none of the compatible ones: None",
    ),
    Case(
        name="one of the three that is never given",
        statement=resolving.only_the_three,
        scenario=asked(128, 128, 128),
        wrong=put(SIZE, 64),
        says="group size is none of the compatible ones: 64",
    ),
    Case(
        name="a size for incompatible dims",
        statement=resolving.none_when_incompatible,
        scenario=asked(64, 128, 80),
        wrong=put(SIZE, 32),
        says="a result without a compatible size",
    ),
    Case(
        name="the farther size",
        statement=resolving.nearest,
        scenario=asked(49, 64, 64),
        wrong=put(SIZE, 32),
        says="group size is not the nearest",
    ),
    Case(
        name="the larger of a tie",
        statement=resolving.lower_of_tie,
        scenario=asked(48, 64, 64),
        wrong=put(SIZE, 64),
        says="a tie went to the larger size",
    ),
    Case(
        name="a size that divides one dim only",
        statement=resolving.divides,
        scenario=asked(64, 64, 96),
        wrong=put(SIZE, 64),
        says="a group size that cannot be used",
    ),
    Case(
        name="a compatible request that is changed",
        statement=resolving.compatible_unchanged,
        scenario=asked(32, 64, 64),
        wrong=put(SIZE, 64),
        says="a compatible request was changed",
    ),
    Case(
        name="a negative request that is taken by its size",
        statement=resolving.extremes,
        scenario=asked(-128, 128, 128),
        wrong=put(SIZE, 128),
        says="a request below 2 did not give the smallest size",
    ),
    Case(
        name="a huge request without result",
        statement=resolving.extremes,
        scenario=asked(10**6, 256, 256),
        wrong=put(SIZE, None),
        says="a huge request did not give the largest size",
    ),
    Case(
        name="head dims of a layer that was never written",
        statement=resolving.head_dims,
        scenario=of({"kind": "plain"}),
        wrong=put("head_dims", [64, 64]),
        says="wrong head dims",
    ),
    Case(
        name="swapped head dims",
        statement=resolving.head_dims,
        scenario=of({"kind": "chunked", "length": 1, "key_dim": 96}),
        wrong=put("head_dims", [64, 96]),
        says="wrong head dims",
    ),
    Case(
        name="a size for a layer without head dims",
        statement=resolving.no_result_without_dims,
        scenario=of({"kind": "quantized", "length": 1}),
        wrong=put(SIZE, 64),
        says="a result for a layer without head dims",
    ),
    Case(
        name="compatible by the requested size",
        statement=resolving.compatibility,
        scenario=of({**PLAIN, "key_dim": 96, "value_dim": 96}),
        wrong=put("compatible", False),
        says="wrong answer to whether it can be quantized",
    ),
    Case(
        name="a rotating layer that is quantizable",
        statement=quantizable,
        scenario=of({"kind": "rotating", "length": 1}),
        wrong=put("quantizable", True),
        says="wrong answer to whether it is quantizable",
    ),
    Case(
        name="an empty plain layer that is not",
        statement=quantizable,
        scenario=of({"kind": "plain"}),
        wrong=put("quantizable", False),
        says="wrong answer to whether it is quantizable",
    ),
    Case(
        name="two recurrent arrays taken for key and value",
        statement=resolving.two_arrays_are_no_trap,
        scenario=of({"kind": "recurrent", "slots": 2}),
        wrong=put(SIZE, 32),
        says="a recurrent layer was taken",
    ),
)

ACCEPTED_DIMS = (asked(64, 0, 64), ResolveObservation(group_size=32))
"""Of GS-12, whose right answer is a refusal and no observation to edit."""
