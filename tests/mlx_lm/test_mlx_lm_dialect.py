"""The `mlx-lm` column of the dialect table, cell by cell, as the installed package behaves."""

from __future__ import annotations

from typing import Any

import pytest
from kvconform_reference import dialect as dialects
from mlx_lm_scenes import C, E, L, M, Q, R, S, Z, append, calls, kinds, mq, op, turn, words

pytestmark = pytest.mark.mlx


def after(ask: Any, layers: list[Any], *steps: Any, **more: Any) -> Any:
    """The last record of a container scenario."""
    return ask("container", layers=layers, steps=list(steps), **more).steps[-1]


def test_the_declared_dialect_is_the_one_of_the_installed_version(adapter: Any) -> None:
    assert adapter.info.dialect == "mlx-lm"
    assert adapter.info.dialect in dialects.DIALECTS


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("0.32.2", "mlx-lm"),
        ("0.30.0", "mlx-lm"),
        ("0.29.1", "mlx-lm-0.29"),
        ("0.28.1", "mlx-lm-0.29"),
        ("0.28.0", "mlx-lm-0.28"),
        ("0.27.1", "mlx-lm-0.28"),
        ("0.26.4", "mlx-lm-0.26"),
        ("1.0", "mlx-lm"),
    ],
)
def test_every_version_has_its_dialect(adapter: Any, version: str, name: str) -> None:
    from kvconform.implementations.mlx_lm_adapter.adapter import dialect_of

    assert dialect_of(version) == name
    assert name in dialects.DIALECTS


@pytest.mark.requirement("TH-1", "TH-2", "TH-3")
@pytest.mark.parametrize(
    ("length", "start", "converts"),
    [(10, 9, True), (10, 10, True), (10, 11, False), (0, 0, True), (0, -1, True)],
)
def test_threshold_is_at_least(ask: Any, length: int, start: int, converts: bool) -> None:
    assert kinds(after(ask, [S(length)], mq(start=start))) == [
        f"Q{length}:64,4" if converts else f"S{length}"
    ]


@pytest.mark.requirement("MQ-7", "MQ-8")
def test_scope_is_per_layer(ask: Any) -> None:
    assert kinds(after(ask, [S(12), S(3), E], mq(start=10))) == ["Q12:64,4", "S3", "S0"]
    assert kinds(after(ask, [S(3), S(12)], mq(start=10))) == ["S3", "Q12:64,4"]


@pytest.mark.requirement("MQ-10")
def test_nested_caches_stay_opaque(ask: Any) -> None:
    record = after(ask, [L(M, S(50)), S(50)], mq())
    assert kinds(record) == ["L", "Q50:64,4"]
    assert [record.objects[child].kind for child in record.objects[0].children] == ["recurrent", "plain"]


@pytest.mark.requirement("GS-5", "GS-8")
@pytest.mark.parametrize("size", [32, 64, 128])
def test_the_resolver_takes_exactly_the_request(ask: Any, size: int) -> None:
    assert ask("resolve", requested=size, key_dim=128, value_dim=256).group_size == size
    assert kinds(after(ask, [S(5, 128, 256)], mq(group_size=size))) == [f"Q5:{size},4"]


@pytest.mark.requirement("GS-5")
@pytest.mark.parametrize("requested", [-1, 1, 16, 48, 96, 256, 10**6, 2**53])
def test_an_unsupported_request_is_refused(ask: Any, requested: int) -> None:
    assert ask("resolve", requested=requested, key_dim=768, value_dim=768).kind == "refused"


@pytest.mark.parametrize(("key_dim", "value_dim"), [(80, 80), (64, 80), (80, 64), (96, 96)])
def test_an_incompatible_layer_is_an_error(ask: Any, key_dim: int, value_dim: int) -> None:
    assert ask("resolve", requested=64, key_dim=key_dim, value_dim=value_dim).kind == "refused"
    assert after(ask, [S(5, key_dim, value_dim)], mq()).error.kind == "refused"


@pytest.mark.requirement("TH-2")
def test_an_empty_layer_converts_at_the_requested_size_and_uses_it_exactly(ask: Any) -> None:
    assert kinds(after(ask, [E], mq(group_size=128))) == ["Q0:128,4"]
    wide = after(ask, [S(0, 128, 128)], mq(group_size=128), append(3))
    assert (wide.error, kinds(wide)) == (None, ["Q3:128,4"])
    narrow = after(ask, [E], mq(group_size=128), append(3))
    assert narrow.error.kind == "refused"
    assert kinds(narrow) == ["Q3:128,4"], "the offset has moved although nothing was written"


@pytest.mark.parametrize("length", [0, 5, 50])
def test_a_rotating_layer_over_the_line_is_an_error(ask: Any, length: int) -> None:
    record = after(ask, [R(length)], mq(start=length))
    assert record.error.kind == "refused"
    assert "Rotating" in record.error.message
    assert after(ask, [R(length)], mq(start=length + 1)).error is None


@pytest.mark.requirement("MQ-3", "QP-1")
@pytest.mark.parametrize("layer", [C(40), C(0), C(40, drop_front=True), M, Q(5), L(S(5), S(5))])
def test_chunked_recurrent_quantized_and_composite_layers_are_kept(ask: Any, layer: Any) -> None:
    record = after(ask, [layer], mq(bits=8, group_size=32))
    assert record.error is None
    assert record.holders["container"] == (0,)


@pytest.mark.requirement("MQ-12", "CT-12")
def test_there_is_no_latch_and_a_quantized_layer_is_left_alone(ask: Any) -> None:
    steps = [mq(start=10), append(7), mq(bits=8, group_size=32, start=10)]
    assert kinds(after(ask, [S(12), S(3)], *steps)) == ["Q19:64,4", "Q10:32,8"]


@pytest.mark.requirement("CT-2", "CT-3")
@pytest.mark.parametrize("form", ["container", "free"])
def test_the_callers_list_is_changed_in_place(ask: Any, form: str) -> None:
    record = after(ask, [S(12), S(3)], mq(start=10), form=form, twin=True)
    assert record.holders["container"] == record.holders["alias"] == record.holders["caller"] == (2, 1)
    assert record.holders["twin"] == (0, 1)
    assert record.returned is None


@pytest.mark.requirement("CT-9")
def test_the_model_is_asked_for_a_list_once(ask: Any) -> None:
    answer = ask("container", layers=[S(12)], given="model", steps=[mq()])
    assert answer.list_requests == 1
    assert "caller" not in answer.steps[0].holders
    assert kinds(answer.steps[-1]) == ["Q12:64,4"]


@pytest.mark.requirement("PR-6")
@pytest.mark.parametrize(
    ("prompt", "window", "lengths"),
    [(23, 8, [8, 8, 6, 1]), (1, 8, [1]), (8, 8, [7, 1]), (9, 8, [8, 1]), (10, 8, [8, 1, 1])],
)
def test_prefill_reserves_one_token(ask: Any, prompt: int, window: int, lengths: list[int]) -> None:
    (record,) = ask("iterate", layers=[E], turns=[turn(prompt, prefill_step=window, max_tokens=0)]).turns
    assert [length for length, _ in calls(record)] == lengths


@pytest.mark.requirement("PR-7", "ST-2")
def test_the_pass_runs_between_the_chunks_and_before_the_last_prompt_token(ask: Any) -> None:
    (record,) = ask("iterate", layers=[E], turns=[turn(23, 2, prefill_step=8, bits=4, start=16)]).turns
    assert calls(record) == [(8, "S"), (8, "S"), (6, "Q:64,4"), (1, "Q:64,4"), (1, "Q:64,4"), (1, "Q:64,4")]
    (record,) = ask("iterate", layers=[E], turns=[turn(10, 2, bits=4, start=9)]).turns
    assert calls(record) == [(9, "S"), (1, "Q:64,4"), (1, "Q:64,4"), (1, "Q:64,4")]
    (record,) = ask("iterate", layers=[E], turns=[turn(10, 2, bits=4, start=10)]).turns
    assert calls(record) == [(9, "S"), (1, "S"), (1, "Q:64,4"), (1, "Q:64,4")]


@pytest.mark.requirement("ST-1")
def test_the_pass_stands_after_the_processors(ask: Any) -> None:
    boosted = turn(10, 1, bits=4, start=10, more={"processor": "boost"})
    (record,) = ask("iterate", layers=[E], turns=[boosted]).turns
    assert words(record) == "call call process sample next call process sample token"
    assert [e.caches for e in record.trace if e.event == "process"] == [("S",), ("Q:64,4",)]


@pytest.mark.requirement("NX-1")
def test_negative_max_tokens_are_unlimited_and_zero_yields_nothing(ask: Any) -> None:
    for limit, tokens in ((None, 30), (-1, 30), (-7, 30), (5, 5), (0, 0)):
        (record,) = ask("iterate", layers=[E], turns=[turn(3, 30, max_tokens=limit)]).turns
        assert words(record).split().count("token") == tokens


def test_bad_bits_are_noticed_only_at_the_first_conversion(ask: Any) -> None:
    (record,) = ask("iterate", layers=[E], turns=[turn(10, 9, bits=7, start=12)]).turns
    assert record.error.kind == "refused"
    assert words(record) == "call call sample next call sample token next call"
    (record,) = ask("iterate", layers=[E], turns=[turn(10, 2, bits=7, start=1000)]).turns
    assert record.error is None


@pytest.mark.requirement("MQ-16")
def test_a_trimmed_layer_converts_to_no_rows_and_takes_later_writes(ask: Any) -> None:
    assert kinds(after(ask, [Z], mq())) == ["Q0:64,4"]
    assert kinds(after(ask, [Z], mq(), append(3))) == ["Q3:64,4"]


def test_versions_and_what_works_are_declared_as_found(adapter: Any) -> None:
    capabilities = adapter.info.capabilities
    assert capabilities.bits == (1, 2, 3, 4, 5, 6, 8)
    assert capabilities.group_sizes == (32, 64, 128)
    assert "container" not in capabilities.features
    assert "resolver" not in capabilities.features


def test_what_generate_step_has_no_words_for_is_unsupported(ask: Any) -> None:
    from kvconform.implementation import Unsupported

    for fields in (
        {"given": "both"},
        {"model": {"state": "always"}},
        {"model": {"prepare": "logits"}},
        {"turns": [turn(3, 0)]},
        {"turns": [turn(3, more={"form": "sampler-first"})]},
        {"turns": [turn(3, more={"form": "prompt-array"})]},
    ):
        with pytest.raises(Unsupported, match="generate_step has no"):
            ask("iterate", layers=[E], **{"turns": [turn(3)], **fields})
    with pytest.raises(Unsupported):
        ask("resolve", requested=64, layer=S(5))


def test_converting_what_cannot_be_converted_is_refused(ask: Any) -> None:
    for layer in (C(5), M, L(S(5)), Q(5), R(5)):
        record = ask("cache", layer=layer, operations=[op("convert", bits=4)]).records[1]
        assert (record.error.kind, record.current) == ("refused", 0)
