"""What the golden files between them show. Reads files only; no model runs."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import pytest
from kvconform.generate import cases, golden
from kvconform.generate.cases import SMOLLM2
from kvconform.generate.golden import Golden
from kvconform.models import tiny
from stream_samples import STREAMS

pytestmark = pytest.mark.goldens

SPECS = list(tiny.catalogue().values())
each_model = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
READING = [spec for spec in SPECS if spec.reads_packed]
UNREADING = [spec for spec in SPECS if not spec.reads_packed]
FAILING = [spec for spec in READING if "error" in spec.mlx_lm[64]]


@functools.cache
def streams() -> Mapping[str, Golden]:
    """Every golden by its key."""
    return {key: golden.read(STREAMS / f"{key}.json") for key in cases.all_cases()}


def stream(model: str, name: str) -> Golden:
    return streams()[f"{model}/{name}"]


def finished() -> list[Golden]:
    """The goldens whose stream did not die."""
    return [one for one in streams().values() if one.expected.error is None]


def of_model(model: str) -> dict[str, Golden]:
    return {one.id: one for one in streams().values() if one.scenario.model == model}


def converts(model: str) -> bool:
    return model == SMOLLM2 or bool(tiny.tiny_spec(model).convertible)


# ---------------------------------------------------------------- the set


def test_every_file_belongs_to_a_case_and_every_case_has_a_file() -> None:
    files = {f"{path.parent.name}/{path.stem}" for path in STREAMS.glob("*/*")}
    assert files == set(cases.all_cases())


def test_every_file_asks_what_its_case_asks() -> None:
    for key, case in cases.all_cases().items():
        one = streams()[key]
        assert (one.key, one.implementation, one.dialect) == (key, case.implementation, case.dialect)
        assert one.scenario.parameters == case.parameters
        assert one.scenario.force is None


def test_at_least_40_streams_of_at_least_8_architectures_come_from_tiny_models() -> None:
    own = [one for one in streams().values() if one.scenario.model != SMOLLM2]
    architectures = {tiny.tiny_spec(one.scenario.model).architecture for one in own}
    assert len(own) >= 40
    assert len(architectures) >= 8


def test_at_least_12_streams_come_from_smollm2_with_four_prompts_one_of_them_long() -> None:
    own = of_model(SMOLLM2)
    assert len(own) >= 12
    prompts = {one.scenario.prompt for one in own.values()}
    assert len(prompts) == 4
    assert max(len(prompt) for prompt in prompts) > 300


def test_smollm2_is_covered_at_full_precision_8_6_and_4_bits_with_both_group_sizes() -> None:
    settings = [one.scenario.parameters for one in of_model(SMOLLM2).values()]
    assert {setting.bits for setting in settings} >= {None, 8, 6, 4}
    assert {setting.group_size for setting in settings if setting.bits} == {32, 64}


def test_at_most_four_smollm2_streams_are_checked_by_default() -> None:
    quick = cases.smollm2_cases(full=False)
    assert 1 <= len(quick) <= 4
    assert all(len(stream(SMOLLM2, case.id).scenario.prompt) < 100 for case in quick)


@pytest.mark.requirement("TH-1", "ST-2", "CT-8")
def test_streams_that_cross_the_start_in_mid_generation_are_converted_there() -> None:
    crossing = [
        one
        for one in finished()
        if one.scenario.parameters.start > len(one.scenario.prompt) and converts(one.scenario.model)
    ]
    assert {SMOLLM2} < {one.scenario.model for one in crossing}
    for one in crossing:
        assert [event.position for event in one.expected.conversions] == [one.scenario.parameters.start]


def test_a_stream_is_recorded_on_the_cpu_in_float32_with_its_versions_and_weights() -> None:
    for one in streams().values():
        assert one.recorded.platform == "cpu linux x86_64"
        assert one.recorded.dtype == "float32"
        assert one.recorded.fingerprint
        assert set(one.recorded.versions) == {"mlx", "mlx-lm"}


def test_a_stream_that_did_not_die_has_every_token_and_a_margin_for_each() -> None:
    for one in finished():
        assert len(one.expected.tokens) == len(one.expected.margins) == one.scenario.parameters.max_tokens
        assert min(one.expected.margins) >= 0


@pytest.mark.requirement("NX-2", "NX-3")
def test_after_k_tokens_the_model_has_seen_the_prompt_and_k_positions() -> None:
    for one in finished():
        if one.expected.position is not None:  # no layer counts positions: a model without keys and values
            assert one.expected.position == len(one.scenario.prompt) + len(one.expected.tokens)


# ---------------------------------------------------------------- none pins nothing


def test_no_stream_is_degenerate() -> None:
    """A dozen distinct tokens in 40; a shorter stream in proportion."""
    for one in finished():
        needed = 12 * len(one.expected.tokens) / 40
        assert len(set(one.expected.tokens)) >= needed, one.key


@pytest.mark.parametrize("spec", READING, ids=lambda spec: spec.name)
def test_streams_differ_with_the_bits_where_something_converts_and_are_identical_elsewhere(
    spec: tiny.TinySpec,
) -> None:
    found = [stream(spec.name, f"short-{name}").expected.tokens for name in ("full", "4bit-g64", "2bit-g64")]
    assert len(set(found)) == (3 if spec.convertible else 1)


def test_smollm2_differs_between_full_precision_4_and_2_bits() -> None:
    names = ("sea-full", "sea-4bit-g32-start48", "sea-2bit-g32-start48")
    assert len({stream(SMOLLM2, name).expected.tokens for name in names}) == 3


def test_smollm2_has_other_margins_with_every_setting() -> None:
    """Where 8 bits give the tokens of full precision, at least the margins say which is which."""
    own = of_model(SMOLLM2).values()
    assert len({one.expected.margins for one in own}) == len(own)


@pytest.mark.requirement("MQ-3", "QP-1")
@each_model
def test_exactly_the_convertible_layers_become_quantized(spec: tiny.TinySpec) -> None:
    for one in of_model(spec.name).values():
        if one.scenario.parameters.bits is None or one.implementation == "mlx-lm":
            assert one.implementation == "mlx-lm" or not one.expected.conversions
            continue
        converted = [event.layers for event in one.expected.conversions]
        assert converted == ([_numbers(spec)] if spec.convertible else [])


def _numbers(spec: tiny.TinySpec) -> tuple[int, ...]:
    """Layer numbers, depth first: no catalogue model has a composite before a convertible layer."""
    assert not (spec.convertible and any("composite" in layer for layer in spec.layers))
    return spec.convertible


@pytest.mark.requirement("GS-3", "QC-8")
def test_a_head_dim_of_96_gets_group_size_32_and_takes_fewer_bytes() -> None:
    (event,) = stream("llama-d96", "short-4bit-g64").expected.conversions
    assert event.group_sizes == (32, 32)
    assert event.nbytes < event.nbytes_before


# ---------------------------------------------------------------- where mlx-lm dies


@pytest.mark.requirement("MQ-17")
@pytest.mark.parametrize("spec", FAILING, ids=lambda spec: spec.name)
@pytest.mark.parametrize("name", ["short-4bit-g64", "short-4bit-g64-start40"])
def test_where_mlx_lm_dies_its_failure_is_recorded_and_the_reference_goes_on(
    spec: tiny.TinySpec, name: str
) -> None:
    dead = stream(spec.name, f"mlx-lm-{name}").expected
    assert dead.error is not None
    assert len(dead.tokens) < 40
    alive = stream(spec.name, name).expected
    assert alive.error is None
    assert len(alive.tokens) == 40
    assert alive.tokens[: len(dead.tokens)] == dead.tokens


def test_mlx_lm_dies_for_both_of_its_reasons() -> None:
    assert {spec.mlx_lm[64] for spec in FAILING} == {"size error", "rotating error"}


@pytest.mark.requirement("MQ-13")
def test_mlx_lm_leaves_a_list_half_converted_where_it_dies() -> None:
    """[plain, rotating, plain]: the first is converted, the second raises. The reference converts both."""
    (half,) = stream("llama-sliding", "mlx-lm-short-4bit-g64").expected.conversions
    (whole,) = stream("llama-sliding", "short-4bit-g64").expected.conversions
    assert (half.layers, whole.layers) == ((0,), (0, 2))


def test_a_model_that_cannot_read_packed_rows_dies_one_step_after_the_conversion() -> None:
    assert UNREADING
    for spec in UNREADING:
        died = stream(spec.name, "short-4bit-g64-start40").expected
        (event,) = died.conversions
        assert died.error is not None
        assert 24 + len(died.tokens) == event.position
