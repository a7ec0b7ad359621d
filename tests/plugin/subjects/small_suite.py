"""A suite of a few checks, so that the plugin can be tested by itself."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st
from kvconform.checks import Check, Context, Expect, Finding
from kvconform.observation import Observation
from kvconform.scenario import CacheScenario, PlainLayer, ResolveScenario, Scenario


def same_as_reference(
    _context: Context, scenario: Scenario, observation: Observation, expect: Expect
) -> Iterable[Finding]:
    expected = expect()
    if observation != expected:
        yield Finding(
            message=f"resolved to {observation.group_size}",  # pyright: ignore
            expected=expected.model_dump(mode="json"),
            observed=observation.model_dump(mode="json"),
        )


def never_right(
    _context: Context, _scenario: Scenario, _observation: Observation, _expect: Expect
) -> Iterable[Finding]:
    yield Finding(message="nobody passes this", expected=1, observed=2)


def _resolves(_context: Context) -> st.SearchStrategy[Scenario]:
    return st.builds(
        ResolveScenario,
        requested=st.integers(1, 300),
        key_dim=st.just(128),
        value_dim=st.sampled_from([64, 128]),
    )


def _zero(_context: Context) -> tuple[Scenario, ...]:
    return (ResolveScenario(requested=0, key_dim=128, value_dim=128),)


def _tie(_context: Context) -> tuple[Scenario, ...]:
    return (ResolveScenario(requested=96, key_dim=128, value_dim=128),)


def _one_cache(_context: Context) -> tuple[Scenario, ...]:
    return (CacheScenario(layer=PlainLayer(length=1)),)


CHECKS = (
    Check(
        requirement="GS-3", name="nearest", scenarios=_resolves, judge=same_as_reference, oracle="reference"
    ),
    Check(
        requirement="GS-4",
        name="tie",
        scenarios=None,
        explicit=_tie,
        judge=same_as_reference,
        oracle="reference",
    ),
    Check(
        requirement="GS-11",
        name="zero",
        scenarios=None,
        explicit=_zero,
        judge=same_as_reference,
        oracle="reference",
    ),
    Check(requirement="QC-11", name="should", scenarios=None, explicit=_one_cache, judge=never_right),
)
