"""What an implementation must have to be asked a scenario, read off the scenario."""

from __future__ import annotations

from collections.abc import Iterator

from ..implementation import Capabilities
from ..requirements import missing
from ..scenario import (
    CacheScenario,
    CompositeLayer,
    ContainerScenario,
    IterateScenario,
    Layer,
    PassStep,
    QuantizedLayer,
    QuantizeScenario,
    RecurrentLayer,
    ResolveScenario,
    Scenario,
    Turn,
)

SUPPORTED_BITS = (2, 3, 4, 5, 6, 8)  # MQ-14
OPERATIONS = {"convert": "convert", "copy": "copy", "save-load": "save-load", "state": "state"}
"""Operations on a cache that are features."""


def needs_of(scenario: Scenario) -> tuple[str, ...]:
    """Kind, layers, features, bits and dtypes, each once, in this order."""
    needs = [f"kind:{scenario.kind}", *_of_layers(scenario), *_of_scenario(scenario)]
    order = ("kind", "layer", "feature", "bits", "dtype")
    return tuple(sorted(dict.fromkeys(needs), key=lambda need: order.index(need.partition(":")[0])))


def unmet(needs: tuple[str, ...], capabilities: Capabilities) -> str | None:
    """The first need that is not declared, as a reason; ``None`` when all are."""
    plain = [need for need in needs if not need.startswith(("bits:", "dtype:"))]
    if "container" not in capabilities.features:  # a design that declares neither form has a free pass
        plain = [need for need in plain if need != "feature:free-pass"]
    reason = missing(plain, capabilities)
    if reason is not None:
        return reason
    for need in needs:
        sort, _, name = need.partition(":")
        if sort == "bits" and int(name) not in capabilities.bits:
            return f"not declared: {name} bits"
        if sort == "dtype" and name not in capabilities.dtypes:
            return f"not declared: dtype {name}"
    return None


def _bits(*widths: int | None) -> Iterator[str]:
    """Widths that a design may lack; those that nobody has are asked of everybody, to be refused."""
    return (f"bits:{width}" for width in widths if width in SUPPORTED_BITS)


def _of_layers(scenario: Scenario) -> Iterator[str]:
    if isinstance(scenario, ContainerScenario | IterateScenario):
        layers: tuple[Layer, ...] = scenario.layers
    elif isinstance(scenario, CacheScenario):
        layers = (scenario.layer,)
    else:
        layers = (scenario.layer,) if isinstance(scenario, ResolveScenario) and scenario.layer else ()
    for layer in layers:
        yield from _of_layer(layer)


def _of_layer(layer: Layer) -> Iterator[str]:
    yield f"layer:{layer.kind}"
    if isinstance(layer, CompositeLayer):
        for child in layer.children:
            yield from _of_layer(child)
    elif not isinstance(layer, RecurrentLayer):
        yield f"dtype:{layer.dtype}"
        if layer.heads > 1:
            yield "feature:head-counts"
    if isinstance(layer, QuantizedLayer):
        yield from _bits(layer.bits)


def _of_scenario(scenario: Scenario) -> Iterator[str]:
    if isinstance(scenario, ResolveScenario):
        yield "feature:resolver" if scenario.layer is None else "feature:layer-queries"
    elif isinstance(scenario, QuantizeScenario):
        yield f"dtype:{scenario.tensor.dtype}"
        yield from _bits(scenario.bits)
    elif isinstance(scenario, CacheScenario):
        yield from (f"feature:{OPERATIONS[o.op]}" for o in scenario.operations if o.op in OPERATIONS)
        yield from _bits(*(o.bits for o in scenario.operations if o.op == "convert"))
        if scenario.observe.accounting:
            yield "feature:accounting"
    elif isinstance(scenario, ContainerScenario):
        yield from _of_container(scenario)
    elif isinstance(scenario, IterateScenario):
        yield from _of_iterate(scenario)


def _of_container(scenario: ContainerScenario) -> Iterator[str]:
    yield "feature:free-pass" if scenario.form == "free" else "feature:container"
    if scenario.given == "model":
        yield "feature:model-list"
    if scenario.observe.accesses:
        yield "feature:accesses"
    yield from _bits(scenario.built.bits, *(s.bits for s in scenario.steps if isinstance(s, PassStep)))


def _of_iterate(scenario: IterateScenario) -> Iterator[str]:
    yield from {"container": ["feature:container"], "both": ["feature:both-refused"]}.get(scenario.given, [])
    if scenario.given == "model":
        yield "feature:model-list"
    if scenario.model.state != "none":
        yield "feature:model-state"
    yield from {
        "logits": ["feature:logits-prefill"],
        "all": ["feature:prepare"],
        "raise": ["feature:prepare"],
    }.get(scenario.model.prepare, [])
    for turn in scenario.turns:
        yield from _of_turn(turn)


def _of_turn(turn: Turn) -> Iterator[str]:
    if turn.form != "general":
        yield f"feature:{turn.form}"
    if turn.nexts == 0:
        yield "feature:eager"
    if turn.processor != "none":
        yield "feature:processors|feature:process-only"
    if turn.sampler != "parameters":
        yield "feature:samplers"
    if turn.parameters.repetition_penalty is not None:
        yield "feature:penalty"
    yield from _bits(turn.parameters.bits)
