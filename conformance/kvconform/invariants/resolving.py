"""What an answer to a resolve scenario must satisfy (GS, HD)."""

from __future__ import annotations

from collections.abc import Iterator

from ..checks import Finding
from ..observation import Observation, Refusal, ResolveObservation
from ..scenario import (
    ChunkedLayer,
    CompositeLayer,
    Layer,
    PlainLayer,
    RecurrentLayer,
    ResolveScenario,
    RotatingLayer,
)
from . import sizes


def _asked(scenario: ResolveScenario) -> str:
    dims = (
        f"{scenario.key_dim}, {scenario.value_dim}"
        if scenario.layer is None
        else f"a {scenario.layer.kind} layer"
    )
    return f"requested {scenario.requested} for {dims}"


def _dims(scenario: ResolveScenario) -> tuple[int, int]:
    assert scenario.key_dim is not None
    assert scenario.value_dim is not None
    return scenario.key_dim, scenario.value_dim


def _wrong(what: str, scenario: ResolveScenario, expected: object, observed: object) -> Finding:
    return Finding(
        message=f"{what}: {observed} for {_asked(scenario)}, where {expected} is right",
        expected=expected,
        observed=observed,
    )


def only_the_three(scenario: ResolveScenario, observation: ResolveObservation) -> Iterator[Finding]:
    """GS-1: a result is a compatible one of the three, each of which can be had by asking for it."""
    allowed: tuple[int | None, ...] = sizes.compatible(*_dims(scenario)) or (None,)
    allowed = (scenario.requested,) if scenario.requested in allowed else allowed
    if observation.group_size not in allowed:
        yield _wrong("group size is none of the compatible ones", scenario, allowed, observation.group_size)


def none_when_incompatible(scenario: ResolveScenario, observation: ResolveObservation) -> Iterator[Finding]:
    """GS-2."""
    if not sizes.compatible(*_dims(scenario)) and observation.group_size is not None:
        yield _wrong("a result without a compatible size", scenario, None, observation.group_size)


def nearest(scenario: ResolveScenario, observation: ResolveObservation) -> Iterator[Finding]:
    """GS-3: nearest by brute force; which one of a tie is GS-4's business."""
    allowed = sizes.nearest(scenario.requested, *_dims(scenario))
    if allowed and observation.group_size not in allowed:
        yield _wrong("group size is not the nearest", scenario, allowed[0], observation.group_size)


def lower_of_tie(scenario: ResolveScenario, observation: ResolveObservation) -> Iterator[Finding]:
    """GS-4."""
    tied = sizes.nearest(scenario.requested, *_dims(scenario))
    if len(tied) > 1 and observation.group_size != min(tied):
        yield _wrong("a tie went to the larger size", scenario, min(tied), observation.group_size)


def divides(scenario: ResolveScenario, observation: ResolveObservation) -> Iterator[Finding]:
    """GS-5: whatever the resolver."""
    size, dims = observation.group_size, _dims(scenario)
    if size is not None and size not in sizes.compatible(*dims):
        yield _wrong("a group size that cannot be used", scenario, sizes.compatible(*dims), size)


def compatible_unchanged(scenario: ResolveScenario, observation: ResolveObservation) -> Iterator[Finding]:
    """GS-8: whatever the resolver."""
    if (
        scenario.requested in sizes.compatible(*_dims(scenario))
        and observation.group_size != scenario.requested
    ):
        yield _wrong("a compatible request was changed", scenario, scenario.requested, observation.group_size)


def extremes(scenario: ResolveScenario, observation: ResolveObservation) -> Iterator[Finding]:
    """GS-9: at most 1 gives the smallest compatible size, 10^3 and more the largest."""
    allowed = sizes.compatible(*_dims(scenario))
    if allowed and scenario.requested <= 1 and observation.group_size != min(allowed):
        yield _wrong(
            "a request below 2 did not give the smallest size", scenario, min(allowed), observation.group_size
        )
    if allowed and scenario.requested >= 1000 and observation.group_size != max(allowed):
        yield _wrong(
            "a huge request did not give the largest size", scenario, max(allowed), observation.group_size
        )


def bad_dims_refused(scenario: ResolveScenario, observation: Observation) -> Iterator[Finding]:
    """GS-12: head dims of 0 or below are rejected."""
    if min(_dims(scenario)) <= 0 and not isinstance(observation, Refusal):
        yield Finding(
            message=f"head dims that no array has were accepted: {_asked(scenario)}",
            expected="refused",
            observed=observation.model_dump(mode="json"),
        )


# ---------------------------------------------------------------- asked about a layer


def stored_dims(layer: Layer) -> tuple[int, int] | None:
    """The head dims of a layer that holds exactly one key and one value array (HD-1)."""
    if isinstance(layer, PlainLayer | ChunkedLayer | RotatingLayer) and layer.length:
        return layer.key_dim, layer.value_dim
    return None


def _two_arrays(layer: Layer | None) -> bool:
    """A recurrent layer with two slots: whether those are a key and a value array is left open."""
    return isinstance(layer, RecurrentLayer) and layer.slots == 2


def head_dims(scenario: ResolveScenario, observation: ResolveObservation) -> Iterator[Finding]:
    """HD-1: the stored dims, or absent."""
    assert scenario.layer is not None
    expected = stored_dims(scenario.layer)
    if not _two_arrays(scenario.layer) and observation.head_dims != expected:
        yield _wrong("wrong head dims", scenario, expected, observation.head_dims)


def no_result_without_dims(scenario: ResolveScenario, observation: ResolveObservation) -> Iterator[Finding]:
    """GS-10: no head dims, no result."""
    assert scenario.layer is not None
    if stored_dims(scenario.layer) is None and observation.group_size is not None:
        yield _wrong("a result for a layer without head dims", scenario, None, observation.group_size)


def compatibility(scenario: ResolveScenario, observation: ResolveObservation) -> Iterator[Finding]:
    """HD-2: some size divides both dims of a written plain layer, whatever is requested."""
    layer = scenario.layer
    assert isinstance(layer, PlainLayer)
    expected = bool(layer.length) and bool(sizes.compatible(layer.key_dim, layer.value_dim))
    if observation.compatible != expected:
        yield _wrong(
            "wrong answer to whether it can be quantized", scenario, expected, observation.compatible
        )


def quantizable(
    scenario: ResolveScenario, observation: ResolveObservation, rotating: str
) -> Iterator[Finding]:
    """QP-1; ``rotating`` is the dialect's value. Chunked layers are QP-2's business."""
    layer = scenario.layer
    assert layer is not None
    if layer.kind == "chunked":
        return
    expected = layer.kind == "plain" or (layer.kind == "rotating" and rotating == "convert")
    if observation.quantizable != expected:
        yield _wrong("wrong answer to whether it is quantizable", scenario, expected, observation.quantizable)


def two_arrays_are_no_trap(scenario: ResolveScenario, observation: ResolveObservation) -> Iterator[Finding]:
    """HD-3: a recurrent layer is neither quantizable nor compatible nor resolved, whatever it holds."""
    assert isinstance(scenario.layer, RecurrentLayer | CompositeLayer)
    answer = (observation.quantizable, bool(observation.compatible), observation.group_size)
    if answer != (False, False, None):
        yield _wrong(
            "a recurrent layer was taken for one with a key and a value array",
            scenario,
            (False, False, None),
            answer,
        )
