"""What the strategies generate: what they promise, within what is declared, the simplest first."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import Phase, find, settings
from kvconform import suite
from kvconform.checks import Check, Context
from kvconform.examine import UNHELPFUL, why_not
from kvconform.implementation import Capabilities
from kvconform.implementations import reference
from kvconform.scenario import ContainerScenario, IterateScenario, PassStep, PlainLayer, Scenario
from kvconform.strategies import caches, containers, declared, iterations, numbers, resolving, tensors
from suite_answers import context, dialect
from suite_samples import found, generated, layers_of, sample, share

CHECKS = {check.id: check for check in suite.all_checks()}
DATA_KINDS = ("plain", "recurrent", "composite")
POOR = Capabilities(
    kinds=("quantize", "cache", "container", "iterate"),
    bits=(4, 8),
    dtypes=("float32",),
    layers=("plain", "quantized", "recurrent"),
    features=("free-pass", "convert", "process-only"),
)
"""Declares little: most that a check could ask for is not there."""
FEATURES_OF_TURNS = {
    "form": {"sampler-first": "sampler-first", "prompt-array": "prompt-array"},
    "processor": {"boost": "processors|feature:process-only"},
    "sampler": {"argmax": "samplers", "argmin": "samplers"},
}


def check(name: str) -> Check:
    return CHECKS[name]


@cache
def scenarios_of(name: str, declared_dialect: str = "proposal") -> tuple[Scenario, ...]:
    return tuple(generated(check(name), context(declared_dialect), 150))


@cache
def a_few(name: str) -> tuple[Scenario, ...]:
    """Some scenarios of a check for the reference."""
    return tuple(generated(check(name), context(), 12))


def data_of(scenario: Scenario) -> Any:
    return scenario.model_dump(mode="json")


def poor_context() -> Context:
    return context(dialect(owner="caller-list", latch="none"), capabilities=POOR)


def applicable(asked: Context) -> list[Check]:
    return [one for one in suite.all_checks() if why_not(one, asked) is None]


# ---------------------------------------------------------------- never, and only what is declared


@pytest.mark.parametrize("one", suite.all_checks(), ids=lambda one: one.id)
def test_a_group_size_of_0_is_never_generated(one: Check):
    for scenario in a_few(one.id):
        data = data_of(scenario)
        assert 0 not in [*found(data, "group_size"), *found(data, "requested")]


def test_a_group_size_of_0_is_asked_once_explicitly_and_once_of_the_resolver_by_the_table():
    asked = [
        one.id
        for one in suite.all_checks()
        for scenario in one.explicit(context())
        if 0 in [*found(data_of(scenario), "group_size"), *found(data_of(scenario), "requested")]
    ]
    assert asked == ["GS-9.extremes", "GS-11.zero"]


@pytest.mark.parametrize("one", applicable(poor_context()), ids=lambda one: one.id)
def test_a_check_asks_for_nothing_that_is_not_declared(one: Check):
    asked = poor_context()
    for scenario in (*one.explicit(asked), *generated(one, asked, 20)):
        assert scenario.kind in POOR.kinds
        assert {layer.kind for layer in layers_of(scenario)} <= set(POOR.layers)
        assert {layer.dtype for layer in layers_of(scenario) if hasattr(layer, "dtype")} <= {"float32"}
        assert all(getattr(layer, "heads", 1) == 1 for layer in layers_of(scenario))
        _assert_declared_holders(scenario)
        _assert_declared_turns(scenario)


def _assert_declared_holders(scenario: Any) -> None:
    if isinstance(scenario, ContainerScenario):
        assert (scenario.form, scenario.twin, scenario.given) == ("free", False, "list")
        assert not scenario.observe.accesses
        assert not scenario.observe.accounting


def _assert_declared_turns(scenario: Any) -> None:
    if not isinstance(scenario, IterateScenario):
        return
    assert scenario.given == "list"
    assert scenario.model.prepare == "tokens"
    assert scenario.model.state == "none"
    for turn in scenario.turns:
        assert turn.nexts > 0
        assert turn.parameters.repetition_penalty is None
        for field, features in FEATURES_OF_TURNS.items():
            feature = features.get(getattr(turn, field))
            assert feature is None or declared.has(poor_context(), f"feature:{feature}")


@pytest.mark.parametrize("one", applicable(poor_context()), ids=lambda one: one.id)
def test_bits_are_declared_or_meant_to_be_refused(one: Check):
    good, refused = set(POOR.bits), {7, 0, 9, 16, -1, -4, 32, 64}
    for scenario in generated(one, poor_context(), 20):
        assert {bits for bits in found(data_of(scenario), "bits") if bits is not None} <= good | refused


# ---------------------------------------------------------------- aims


def converted(scenario: Scenario, declared_dialect: str = "proposal") -> bool:
    observation: Any = reference.factory(declared_dialect).run(scenario)
    records = getattr(observation, "steps", None) or observation.turns
    first, last = records[0], records[-1]
    before = {number for number, view in enumerate(first.objects) if view.kind == "quantized"}
    after = {number for number, view in enumerate(last.objects) if view.kind == "quantized"}
    return bool(after - before) or any(
        cache.startswith("Q")
        for turn in getattr(observation, "turns", ())
        for e in turn.trace
        for cache in getattr(e, "caches", ())
    )


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("MQ-5.offset", 0.6),
        ("MQ-5.content", 0.9),
        ("MQ-6.sources", 0.8),
        ("MQ-3.untouched", 0.6),
        ("MQ-4.order", 0.7),
        ("MQ-12.once", 0.4),
        ("CT-4.latch", 0.3),
        ("CT-10.twins", 0.3),
        ("ST-2.crossing", 0.6),
        ("ST-6.offsets", 0.4),
        ("RF-1.turns", 0.4),
        ("RF-3.trim", 0.9),
        ("MQ-0.everything", 0.15),
        ("ST-1.everything", 0.15),
    ],
)
def test_most_scenarios_about_conversions_convert_something(name: str, least: float):
    assert share(list(scenarios_of(name)), converted) >= least


def _distances(scenario: Any) -> set[int]:
    start = scenario.steps[0].start
    return {layer.length - layer.trim - start for layer in scenario.layers}


@pytest.mark.parametrize("distance", [-1, 0, 1])
def test_offsets_lie_right_at_the_line(distance: int):
    assert share(list(scenarios_of("TH-1.line")), lambda scenario: distance in _distances(scenario)) >= 0.08


@pytest.mark.parametrize("rows", [255, 256, 257, 511, 512, 513])
def test_rows_lie_at_the_edges_of_growth(rows: int):
    assert rows in sample(numbers.rows_around_growth(), 300)


@pytest.mark.parametrize("dim", [48, 80, 96, 112, 192, 256, 576, 31, 33, 63, 65, 127, 129])
def test_head_dims_are_those_where_sizes_differ(dim: int):
    pairs = sample(numbers.head_dims(), 600)
    assert any(dim in pair for pair in pairs)


def test_head_dims_often_differ_and_can_often_be_quantized():
    pairs = sample(numbers.head_dims(), 300)
    assert 0.2 <= share(pairs, lambda pair: pair[0] != pair[1]) <= 0.8
    assert 0.4 <= share(pairs, lambda pair: pair[0] % 32 == 0 == pair[1] % 32) <= 0.9


@pytest.mark.parametrize("requested", [-1, 16, 48, 96, 10**6])
def test_requests_are_nonsense_too(requested: int):
    assert requested in sample(numbers.requests(), 300)


def test_ties_are_generated_for_what_is_about_ties():
    values = list(scenarios_of("GS-4.tie"))
    assert share(values, lambda s: s.key_dim % 64 == 0 == s.value_dim % 64) >= 0.2  # pyright: ignore


def test_incompatible_dims_are_incompatible():
    for scenario in sample(resolving.incompatible(), 200):
        assert scenario.key_dim % 32 or scenario.value_dim % 32


def test_bits_are_of_the_supported_set_or_not_as_asked():
    assert set(sample(numbers.good_bits(context()), 100)) == {2, 3, 4, 5, 6, 8}
    assert not set(sample(numbers.bad_bits(context()), 100)) & {1, 2, 3, 4, 5, 6, 8}


@pytest.mark.parametrize("kind", ["plain", "chunked", "rotating", "quantized", "recurrent", "composite"])
def test_every_kind_of_layer_is_in_lists_of_any_layers(kind: str):
    lists = scenarios_of("MQ-0.everything")
    assert share(list(lists), lambda s: kind in {layer.kind for layer in layers_of(s)}) >= 0.05


@pytest.mark.parametrize(
    ("what", "holds"),
    [
        ("empty", lambda layer: layer.kind == "plain" and layer.length == 0),
        ("trimmed to zero", lambda layer: layer.kind == "plain" and layer.length == layer.trim > 0),
        ("trimmed", lambda layer: layer.kind == "plain" and 0 < layer.trim < layer.length),
        ("with dropped rows", lambda layer: layer.kind == "chunked" and layer.drop_front),
        ("filled row by row", lambda layer: layer.kind == "rotating" and layer.singly),
    ],
)
def test_layers_come_in_every_state(what: str, holds: Any):
    many = generated(check("MQ-0.everything"), context(), 500)
    assert share(list(many), lambda s: any(map(holds, layers_of(s)))) >= 0.01, what


def test_step_sequences_have_several_passes_that_differ():
    def several(scenario: Any) -> bool:
        passes = {step for step in scenario.steps if isinstance(step, PassStep)}
        return len(passes) > 1

    assert share(list(scenarios_of("CT-4.latch")), several) >= 0.4


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_prompts_lie_around_multiples_of_the_prefill_step(extra: int):
    pairs = sample(iterations.prompts_and_windows(), 300)
    near = share(pairs, lambda pair: pair[0] > 1 and (pair[0] - extra) % pair[1] == 0 and pair[1] > 2)
    assert near >= 0.05


@pytest.mark.parametrize("limit", [0, 1, None, 3])
def test_limits_of_tokens_are_asked_for(limit: int | None):
    limits = {turn.parameters.max_tokens for s in scenarios_of("NX-1.limit") for turn in s.turns}  # pyright: ignore
    assert limit in limits


def test_negative_limits_are_asked_for():
    limits = {turn.parameters.max_tokens for s in scenarios_of("NX-1.negative") for turn in s.turns}  # pyright: ignore
    assert max(limits) == -1


def test_several_turns_share_a_container():
    counts = [len(scenario.turns) for scenario in scenarios_of("RF-1.turns")]  # pyright: ignore
    assert set(counts) == {2, 3}


def test_rows_to_quantize_have_every_shape():
    values = sample(tensors.scenarios(context(), most=1), 200)
    assert len({scenario.tensor.data for scenario in values}) > 150
    assert {scenario.tensor.dtype for scenario in values} == {"float32", "float16", "bfloat16"}


@pytest.mark.parametrize("shape", tensors.SHAPES)
@pytest.mark.parametrize("bits", [2, 3, 8])
def test_a_row_shape_gives_finite_values_of_its_dim(shape: str, bits: int):
    for seed in (0, 1, 17):
        values = tensors.SHAPES[shape](seed, 64, bits, 1.0)
        assert len(values) == 64
        assert all(abs(value) < 1e30 for value in values)


def test_an_edge_tie_ties():
    values = tensors.SHAPES["edge tie"](3, 32, 4, 1.0)
    low, high = min(values), max(values)
    scale = (high - low) / 15
    assert abs(low) > abs(high)
    assert (abs(low) / scale) % 1 == 0.5


def test_content_is_looked_at_only_where_a_check_is_about_it():
    with_content = {
        one.id
        for one in suite.all_checks()
        for scenario in a_few(one.id)
        if getattr(getattr(scenario, "observe", None), "content", False)
    }
    about = {
        "content",
        "sources",
        "commute",
        "overwrite",
        "round-trip",
        "cache",
        "uneven",
        "copy",
        "export",
        "read",
    }
    about |= {"window", "chunk", "save"}
    assert {name.partition(".")[2] for name in with_content} <= about


def test_scenarios_that_look_at_bytes_are_small():
    for one in suite.all_checks():
        for scenario in a_few(one.id):
            if getattr(getattr(scenario, "observe", None), "content", False):
                assert all(getattr(layer, "key_dim", 1) <= 128 for layer in layers_of(scenario)), one.id


# ---------------------------------------------------------------- the simplest first


def smallest(strategy: Any, holds: Any) -> Any:
    return find(
        strategy,
        holds,
        settings=settings(
            max_examples=500,
            database=None,
            deadline=None,
            derandomize=True,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=UNHELPFUL,
        ),
    )


def test_the_simplest_pass_is_one_plain_layer_and_one_pass():
    scenario = smallest(check("MQ-5.offset").scenarios(context()), lambda _scenario: True)  # pyright: ignore
    assert scenario == ContainerScenario(
        layers=(PlainLayer(length=1),), built=containers.ARMED, steps=(PassStep(bits=4),)
    )


def test_the_simplest_of_anything_has_no_layers_and_one_pass():
    scenario = smallest(containers.anything(context()), lambda _scenario: True)
    assert scenario == ContainerScenario(layers=(), built=containers.ARMED, steps=(PassStep(bits=4),))


def test_a_list_shrinks_to_the_layer_that_matters():
    rotating = smallest(
        containers.anything(context()), lambda s: any(layer.kind == "rotating" for layer in s.layers)
    )
    assert [layer.kind for layer in rotating.layers] == ["rotating"]
    assert len(rotating.steps) == 1


def test_steps_shrink_to_those_that_matter():
    scenario = smallest(
        containers.anything(context()),
        lambda s: sum(isinstance(step, PassStep) and step.bits == 8 for step in s.steps) == 2,
    )
    assert scenario.layers == ()
    assert scenario.steps == (PassStep(bits=8), PassStep(bits=8))


def test_the_simplest_turn_is_a_short_prompt_over_one_empty_layer():
    scenario = smallest(iterations.scenarios(context()), lambda _scenario: True)
    assert [layer.length for layer in scenario.layers] == [0]
    (turn,) = scenario.turns
    assert (turn.prompt.length, turn.nexts, turn.parameters.bits) == (1, 0, None)


def test_a_turn_shrinks_to_the_prompt_that_matters():
    scenario = smallest(
        iterations.scenarios(context()),
        lambda s: s.turns[0].prompt.length > 2 * s.turns[0].parameters.prefill_step,
    )
    turn = scenario.turns[0]
    assert turn.prompt.length <= 5
    assert (turn.parameters.prefill_step, turn.parameters.bits, turn.nexts) == (1, None, 0)


def test_the_simplest_cache_has_one_operation_or_none():
    scenario = smallest(check("QC-3.from-empty").scenarios(context()), lambda _scenario: True)  # pyright: ignore
    assert scenario.operations == (caches.Append(rows=1),)
    assert scenario.layer.length == 0
