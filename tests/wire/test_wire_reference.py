"""The reference answers the same through the pipe as in process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kvconform.implementation import Unsupported
from kvconform.implementations import reference
from kvconform.scenario import (
    Append,
    AppendStep,
    CacheScenario,
    ChunkedLayer,
    CompositeLayer,
    ContainerScenario,
    Convert,
    Copy,
    GenerateScenario,
    IterateScenario,
    Observe,
    Parameters,
    PassStep,
    PlainLayer,
    Prompt,
    QuantizedLayer,
    RecurrentLayer,
    ResolveScenario,
    RotatingLayer,
    SaveLoad,
    Scenario,
    ScriptedModel,
    Trim,
    TrimStep,
    Turn,
)
from kvconform.wire.process import PythonChild
from wire_helpers import QUICK

EVERYTHING = Observe(content=True, accounting=True, accesses=True)
LAYERS = (
    PlainLayer(length=40, heads=2, dtype="float16"),
    RotatingLayer(length=20, keep=2),
    CompositeLayer(children=(RecurrentLayer(), QuantizedLayer(length=3))),
    ChunkedLayer(length=20, drop_front=True),
)
PARAMETERS = Parameters(bits=4, prefill_step=7, max_tokens=3)

SCENARIOS: dict[str, Scenario] = {
    "resolve": ResolveScenario(requested=64, layer=PlainLayer(length=1, key_dim=96)),
    "refused": ResolveScenario(requested=0, key_dim=96, value_dim=96),
    "cache": CacheScenario(
        layer=PlainLayer(length=5, dtype="bfloat16"),
        operations=(Convert(bits=3), Append(rows=2), SaveLoad(), Copy(), Trim(rows=99)),
        observe=EVERYTHING,
    ),
    "container": ContainerScenario(
        layers=LAYERS,
        twin=True,
        steps=(PassStep(bits=4), AppendStep(rows=2), PassStep(bits=7), TrimStep(rows=1)),
        observe=EVERYTHING,
    ),
    "iterate": IterateScenario(
        layers=(PlainLayer(), RecurrentLayer()),
        model=ScriptedModel(state="alternate"),
        turns=(Turn(prompt=Prompt(length=20), parameters=PARAMETERS, nexts=5, processor="boost"),),
    ),
    "unsupported": GenerateScenario(model="none", prompt=(1,), parameters=Parameters(max_tokens=1)),
}


@pytest.fixture(scope="module")
def piped() -> Iterator[PythonChild]:
    """The reference behind the pipe."""
    with PythonChild("reference", limits=QUICK) as implementation:
        yield implementation


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_the_pipe_changes_no_answer(piped: PythonChild, scenario: Scenario) -> None:
    assert _answer(piped, scenario) == _answer(reference.factory(), scenario)


def test_the_pipe_changes_no_info(piped: PythonChild) -> None:
    assert piped.info == reference.factory().info


@pytest.mark.parametrize("dialect", ["mlx-lm", "proposal"])
def test_a_dialect_goes_along(dialect: str) -> None:
    with PythonChild(f"reference@{dialect}", limits=QUICK) as piped:
        assert piped.info == reference.factory(dialect).info


def _answer(implementation: PythonChild | reference.ReferenceImplementation, scenario: Scenario) -> object:
    try:
        observation = implementation.run(scenario)
    except Unsupported as error:
        return str(error)
    # Seconds of prefill are measured, never the same twice.
    data = observation.model_dump(mode="json")
    for turn in data.get("turns", ()):
        assert (turn.pop("prefill_times") is None) == (turn["error"] is not None)
    return data
