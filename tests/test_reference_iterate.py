"""`iterate` scenarios on the reference: the examples of specification sections 7 to 12, in the dialects."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from kvconform.implementations import reference, reference_layers, reference_looks
from kvconform.implementations.reference_iterate import logged_parameters
from kvconform.observation import IterateObservation, Refusal, TurnRecord, observation_from_data
from kvconform.pattern import chain_all
from kvconform.scenario import (
    Built,
    CompositeLayer,
    IterateScenario,
    Layer,
    Observe,
    Parameters,
    PlainLayer,
    Prompt,
    QuantizedLayer,
    RecurrentLayer,
    RotatingLayer,
    ScriptedModel,
    Turn,
    as_data,
)
from kvconform.scripted import arithmetic
from kvconform_reference import container, prefill
from kvconform_reference.dialect import DIALECTS, MLX_LM, MLX_LM_0_26, MLX_SWIFT_LM, PROPOSAL, Dialect
from kvconform_reference.iterator import TokenIterator
from kvconform_reference.parameters import GenerateParameters

PLAIN = (PlainLayer(), PlainLayer())
OWN_PREFILL = [
    name for name, d in DIALECTS.items() if d.prefill == "reserve-one" or d.quantize_between_chunks
]
PREPARING = [name for name in DIALECTS if name not in OWN_PREFILL]
CHUNK_BY_CHUNK = Dialect(prefill="reserve-one", quantize_between_chunks=True)


def run(
    *turns: Turn, layers: tuple[Layer, ...] = PLAIN, dialect: str | Dialect = "proposal", **fields: Any
) -> tuple[TurnRecord, ...]:
    """The records of a scenario."""
    chosen = DIALECTS[dialect] if isinstance(dialect, str) else dialect
    scenario = IterateScenario(layers=layers, turns=turns, **fields)
    observation = reference.factory(chosen).run(scenario)
    assert isinstance(observation, IterateObservation), observation
    return observation.turns


def turn(prompt: int = 10, nexts: int = 3, **fields: Any) -> Turn:
    """A turn; whatever is a parameter goes to the parameters."""
    parameters = {name: fields.pop(name) for name in tuple(fields) if name in Parameters.model_fields}
    return Turn(prompt=Prompt(length=prompt), nexts=nexts, parameters=Parameters(**parameters), **fields)


def events(record: TurnRecord, *names: str) -> list[Any]:
    return [event for event in record.trace if event.event in names]


def order(record: TurnRecord) -> list[str]:
    return [event.event for event in record.trace]


def calls(record: TurnRecord) -> list[tuple[int, str]]:
    """Each model call: how many tokens it got, and the first layer as it found it."""
    return [(len(call.tokens), call.caches[0][0]) for call in events(record, "call")]


def tokens(record: TurnRecord) -> list[int]:
    return [event.token for event in events(record, "token")]


def held(record: TurnRecord, holder: str) -> list[tuple[str, int | None]]:
    """Kind and offset of every layer of a holder."""
    views = [record.objects[number] for number in record.holders[holder]]
    return [(view.kind, view.offset) for view in views]


# ---------------------------------------------------------------- ST: when a call sees what


@pytest.mark.requirement("ST-1", "ST-2")
@pytest.mark.parametrize(
    ("dialect", "start", "seen"),
    [
        (PROPOSAL, 10, [(10, "S"), (1, "Q"), (1, "Q"), (1, "Q")]),
        (PROPOSAL, 11, [(10, "S"), (1, "S"), (1, "Q"), (1, "Q")]),
        (CHUNK_BY_CHUNK, 10, [(9, "S"), (1, "S"), (1, "Q"), (1, "Q"), (1, "Q")]),
        (CHUNK_BY_CHUNK, 9, [(9, "S"), (1, "Q"), (1, "Q"), (1, "Q"), (1, "Q")]),
        (MLX_LM, 10, [(9, "S"), (1, "S"), (1, "Q"), (1, "Q"), (1, "Q")]),
        (MLX_LM, 9, [(9, "S"), (1, "Q"), (1, "Q"), (1, "Q"), (1, "Q")]),
        (MLX_SWIFT_LM, 10, [(10, "S"), (1, "S"), (1, "Q"), (1, "Q")]),  # above the start, not at it
        (MLX_SWIFT_LM, 9, [(10, "S"), (1, "Q"), (1, "Q"), (1, "Q")]),
        (MLX_LM_0_26, 9, [(10, "S"), (1, "Q"), (1, "Q"), (1, "Q")]),
    ],
)
def test_the_first_call_on_quantized_caches_comes_after_the_step_that_reached_the_start(
    dialect: Dialect, start: int, seen: list[tuple[int, str]]
) -> None:
    (record,) = run(turn(bits=4, start=start), dialect=dialect)
    assert calls(record) == seen


@pytest.mark.requirement("ST-1")
@pytest.mark.parametrize(("dialect", "letter"), [("proposal", "Q"), ("mlx-lm", "S")])
def test_processors_see_the_layers_after_or_before_the_pass_of_their_step(dialect: str, letter: str) -> None:
    (record,) = run(turn(bits=4, start=11, nexts=1, processor="boost"), dialect=dialect)
    first, second = events(record, "process")
    assert first.caches[0][0] == "S"
    assert second.caches[0][0] == letter


@pytest.mark.requirement("ST-3")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_empty_list_reaches_the_model_as_none(dialect: str) -> None:
    (record,) = run(turn(prompt=20, prefill_step=8, bits=4), layers=(), dialect=dialect)
    assert record.error is None
    assert len(events(record, "call")) > 4
    assert all(call.no_cache for call in events(record, "call"))
    assert not any(call.no_cache for call in events(run(turn(), dialect=dialect)[0], "call"))


@pytest.mark.requirement("ST-4")
def test_a_call_gets_the_state_of_the_call_before_also_when_that_was_none() -> None:
    (record,) = run(turn(nexts=4), model=ScriptedModel(state="alternate"))
    states = [call.state for call in events(record, "call")]
    assert [state is None for state in states] == [True, False, True, False, True]
    (record,) = run(turn(nexts=4), model=ScriptedModel(state="always"))
    made = events(record, "call")
    for before, after in pairwise(made):
        assert after.state == arithmetic.next_state("always", 0, before.state, before.tokens[-1])


@pytest.mark.requirement("ST-5", "NX-2")
def test_a_token_is_the_peak_of_the_last_row_of_the_call_before_it() -> None:
    (record,) = run(turn(nexts=1))
    (first, _) = events(record, "call")
    seen = arithmetic.fold_state(fold_plain(0, [0, 0]), None)
    assert tokens(record) == [arithmetic.target(seen, first.tokens[-1], 9, 61)]


def fold_plain(seed: int, offsets: list[int]) -> int:
    seen = chain_all(seed)
    for offset in offsets:
        seen = arithmetic.fold_leaf(seen, "plain", offset)
    return seen


@pytest.mark.requirement("ST-6", "NX-3", "MQ-5")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("start", [0, 9, 11, 12, 100])
def test_every_call_finds_the_offset_where_the_call_before_left_it_conversion_or_not(
    start: int, dialect: str
) -> None:
    (record,) = run(turn(bits=4, start=start, nexts=6, prefill_step=4), dialect=dialect)
    expected = 0
    for call in events(record, "call"):
        assert call.offsets == (expected, expected)
        expected += len(call.tokens)
    assert held(record, "container")[0][1] == expected == 10 + 6


# ---------------------------------------------------------------- PR: prefill


@pytest.mark.requirement("PR-6")
@pytest.mark.parametrize(
    ("prefill_plan", "length", "chunks"),
    [
        ("window", 512, [512]),
        ("window", 513, [512, 1]),
        ("window", 1024, [512, 512]),
        ("window", 1025, [512, 512, 1]),
        ("balanced", 512, [512]),
        ("balanced", 513, [512, 1]),
        ("balanced", 600, [300, 299, 1]),
        ("balanced", 1024, [512, 511, 1]),
        ("reserve-one", 512, [511, 1]),
        ("reserve-one", 513, [512, 1]),
        ("reserve-one", 1024, [512, 511, 1]),
    ],
)
def test_the_prompt_reaches_the_model_in_the_chunks_of_the_declared_plan(
    prefill_plan: Any, length: int, chunks: list[int]
) -> None:
    (record,) = run(turn(prompt=length, nexts=0), dialect=Dialect(prefill=prefill_plan))
    assert [size for size, _ in calls(record)] == chunks
    prepared = [(event.length, event.window) for event in events(record, "prepare")]
    assert prepared == ([] if prefill_plan == "reserve-one" else [(length, 512)])


@pytest.mark.requirement("PR-7")
def test_without_passes_between_chunks_all_of_them_find_plain_caches() -> None:
    (record,) = run(turn(prompt=1300, start=600, bits=4, nexts=1))
    assert calls(record) == [(512, "S"), (512, "S"), (276, "S"), (1, "Q")]


@pytest.mark.requirement("PR-7")
def test_with_passes_between_chunks_the_final_prompt_token_already_reads_quantized_caches() -> None:
    (record,) = run(turn(prompt=23, prefill_step=8, bits=4, nexts=1), dialect="mlx-lm")
    assert calls(record) == [(8, "S"), (8, "Q"), (6, "Q"), (1, "Q"), (1, "Q")]
    (record,) = run(turn(prompt=1300, start=600, bits=4, nexts=0), dialect="mlx-lm")
    assert calls(record) == [(512, "S"), (512, "S"), (275, "Q"), (1, "Q")]
    (record,) = run(turn(prompt=23, prefill_step=8, bits=4, nexts=0), dialect="mlx-lm-0.26")
    assert calls(record) == [(8, "S"), (8, "Q"), (7, "Q")]


@pytest.mark.requirement("PR-4")
@pytest.mark.parametrize("dialect", ["proposal", "mlx-swift-lm-3.31.4"])
def test_bare_logits_cost_no_call_drop_their_state_and_run_no_pass_until_the_first_next(dialect: str) -> None:
    script = ScriptedModel(prepare="logits", state="always")
    (built,) = run(turn(nexts=0, bits=4, processor="boost"), model=script, dialect=dialect)
    assert order(built) == ["prompt", "prepare", "call", "process", "sample", "did-sample"]
    assert held(built, "container") == [("plain", 10)] * 2
    (record,) = run(turn(nexts=1, bits=4), model=script, dialect=dialect)
    assert events(record, "call")[-1].state is None
    assert calls(record) == [(10, "S"), (1, "S")]
    assert held(record, "container") == [("quantized", 11)] * 2


@pytest.mark.requirement("PR-4")
def test_bare_logits_with_max_tokens_zero_never_run_a_pass() -> None:
    (record,) = run(turn(nexts=2, bits=4, max_tokens=0), model=ScriptedModel(prepare="logits"))
    assert order(record)[-4:] == ["next", "end", "next", "end"]
    assert held(record, "container") == [("plain", 10)] * 2


@pytest.mark.requirement("PR-4")
def test_full_logits_keep_their_state_and_run_the_pass() -> None:
    script = ScriptedModel(prepare="logits", state="always")
    (record,) = run(turn(nexts=1, bits=4), model=script, dialect="mlx-swift-lm")
    first, second = events(record, "call")
    assert second.state == arithmetic.next_state("always", 0, None, first.tokens[-1])
    assert calls(record) == [(10, "S"), (1, "Q")]


@pytest.mark.requirement("PR-1")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("prepare", ["tokens", "logits"])
def test_prompt_comes_once_and_first_with_the_whole_prompt_also_on_warm_caches(
    prepare: Any, dialect: str
) -> None:
    warm = (PlainLayer(length=7), PlainLayer(length=7))
    (record,) = run(
        turn(prompt=20, prefill_step=8, processor="boost"),
        layers=warm,
        model=ScriptedModel(prepare=prepare),
        dialect=dialect,
    )
    (prompt,) = events(record, "prompt")
    assert record.trace[0] is prompt
    assert prompt.tokens == tuple(token for call in events(record, "call") for token in call.tokens)[:20]


@pytest.mark.requirement("PR-5")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_empty_prompt_is_refused_after_prompt_and_before_any_sample(dialect: str) -> None:
    (record,) = run(turn(prompt=0, processor="boost"), dialect=dialect)
    assert record.error is not None
    assert record.error.kind == "refused"
    assert [name for name in order(record) if name != "prepare"] == ["prompt"]
    assert record.count is None
    assert record.prefill_times is None


@pytest.mark.requirement("PR-5")
@pytest.mark.parametrize("dialect", PREPARING)
def test_a_prepare_that_leaves_nothing_is_refused_although_the_prompt_was_fed(dialect: str) -> None:
    (record,) = run(turn(), model=ScriptedModel(prepare="all"), dialect=dialect)
    assert record.error is not None
    assert record.error.kind == "refused"
    assert order(record) == ["prepare", "call"]


@pytest.mark.requirement("IT-1")
@pytest.mark.parametrize("dialect", PREPARING)
def test_the_models_own_error_in_prepare_reaches_the_caller(dialect: str) -> None:
    (record,) = run(turn(processor="boost"), model=ScriptedModel(prepare="raise"), dialect=dialect)
    assert record.error is not None
    assert (record.error.kind, record.error.message) == ("model", "scripted prepare failed")
    assert order(record) == ["prompt", "prepare"]
    assert set(record.holders) == {"caller"}


@pytest.mark.requirement("PR-6")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_prefill_step_below_one_is_refused_with_an_empty_trace(dialect: str) -> None:
    (record,) = run(turn(prefill_step=0, processor="boost"), given="model", dialect=dialect)
    assert record.error is not None
    assert record.error.kind == "refused"
    assert record.trace == ()


# ---------------------------------------------------------------- IT: building


@pytest.mark.requirement("MQ-0", "MQ-14")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("bits", [0, 7, 16])
def test_unsupported_bits_are_refused_before_the_model_is_touched(bits: int, dialect: str) -> None:
    (record,) = run(turn(bits=bits, start=10**6), given="model", dialect=dialect)
    assert record.error is not None
    assert record.error.kind == "refused"
    assert record.trace == ()


@pytest.mark.requirement("TH-3")
def test_a_negative_start_converts_everything_or_is_refused_as_the_dialect_says() -> None:
    (record,) = run(turn(bits=4, start=-1, nexts=1))
    assert calls(record) == [(10, "S"), (1, "Q")]
    (record,) = run(turn(bits=4, start=-1, nexts=1), dialect="mlx-swift-lm")
    assert record.error is not None
    assert record.trace == ()


@pytest.mark.requirement("IT-2", "CT-9")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_model_is_asked_for_a_list_exactly_when_none_was_given(dialect: str) -> None:
    for given, requests in (("model", 1), ("list", 0), ("container", 0)):
        first, second = run(turn(), turn(), given=given, dialect=dialect)
        assert order(first).count("new-cache") == requests
        assert order(second).count("new-cache") == 0
        assert ("caller" in first.holders) == (given != "model")


@pytest.mark.requirement("IT-2", "CT-2")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_given_container_is_the_one_that_the_iterator_works_on(dialect: str) -> None:
    (record,) = run(turn(bits=4), given="container", built=Built(bits=4), dialect=dialect)
    assert record.holders["container"] == record.holders["alias"]
    assert held(record, "alias") == [("quantized", 13)] * 2


@pytest.mark.requirement("IT-2")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_list_and_a_container_together_are_refused(dialect: str) -> None:
    first, second = run(turn(), turn(), given="both", dialect=dialect)
    for record in (first, second):
        assert record.error is not None
        assert record.error.kind == "refused"
        assert record.trace == ()


@pytest.mark.requirement("IT-3", "CT-5")
def test_bits_of_the_parameters_quantize_a_container_built_without_where_no_latch_forbids_it() -> None:
    (record,) = run(turn(bits=4), given="container")
    assert {letter for _, letter in calls(record)} == {"S"}
    (record,) = run(turn(bits=4), given="container", dialect="mlx-swift-lm")
    assert calls(record)[-1] == (1, "Q")


@pytest.mark.requirement("IT-3", "CT-6")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_parameters_bits_and_group_size_win_over_the_containers(dialect: str) -> None:
    built = Built(bits=4, group_size=32)
    (record,) = run(turn(bits=8, group_size=64), given="container", built=built, dialect=dialect)
    assert events(record, "call")[-1].caches == ("Q:64,8", "Q:64,8")
    (record,) = run(turn(), given="container", built=built, dialect=dialect)
    assert {letter for _, letter in calls(record)} == {"S"}


@pytest.mark.requirement("IT-4", "PS-1")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_explicit_processor_replaces_the_penalty_and_forces_its_tokens(dialect: str) -> None:
    (record,) = run(turn(processor="boost", repetition_penalty=1.5), dialect=dialect)
    assert tokens(record) == [arithmetic.boosted_token(k, 61) for k in range(3)]
    assert order(record).count("process") == 4
    assert order(record).count("prompt") == 1


@pytest.mark.requirement("IT-4", "PS-3")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_parameters_penalty_is_used_when_no_processor_is_explicit(dialect: str) -> None:
    script = ScriptedModel(vocab=7)
    (plain,) = run(turn(nexts=12), model=script, dialect=dialect)
    (penalised,) = run(turn(nexts=12, repetition_penalty=8.0), model=script, dialect=dialect)
    assert order(plain).count("process") == 0
    assert [order(penalised).count(name) for name in ("prompt", "process", "did-sample")] == [1, 13, 13]
    assert tokens(plain) != tokens(penalised)


@pytest.mark.requirement("IT-4")
def test_an_explicit_sampler_is_used_and_the_parameters_otherwise() -> None:
    def first_token(sampler: Any) -> int:
        return tokens(run(turn(sampler=sampler, nexts=1))[0])[0]

    assert first_token("parameters") == first_token("argmax")
    assert first_token("argmin") == (first_token("argmax") + 60) % 61, "the logits fall with the distance"


@pytest.mark.requirement("IT-5")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_sampler_first_form_never_quantizes(dialect: str) -> None:
    (record,) = run(
        turn(form="sampler-first", bits=4, nexts=5, max_tokens=4, prefill_step=4, repetition_penalty=2.0),
        given="container",
        built=Built(bits=4),
        dialect=dialect,
    )
    assert {letter for _, letter in calls(record)} == {"S"}
    assert order(record)[-2:] == ["next", "end"]
    assert max(size for size, _ in calls(record)) <= 4
    assert events(record, "process") == []


@pytest.mark.requirement("IT-6")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_prompt_array_form_warns_first_and_then_equals_the_general_form(dialect: str) -> None:
    fields: dict[str, Any] = {"bits": 4, "start": 11, "processor": "boost", "sampler": "argmin"}
    (old,) = run(turn(form="prompt-array", **fields), dialect=dialect)
    (new,) = run(turn(**fields), dialect=dialect)
    assert order(old)[0] == "deprecated"
    assert old.trace[1:] == new.trace
    assert old.objects == new.objects


@pytest.mark.requirement("IT-7")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_iterator_over_warm_caches_continues_at_their_offset(dialect: str) -> None:
    (record,) = run(turn(), layers=(PlainLayer(length=7), PlainLayer(length=7)), dialect=dialect)
    assert events(record, "call")[0].offsets == (7, 7)
    assert held(record, "container") == [("plain", 7 + 10 + 3)] * 2


# ---------------------------------------------------------------- NX: handing out


@pytest.mark.requirement("NX-1", "NX-2", "NX-3", "NX-5")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("limit", "asked", "given"), [(0, 2, 0), (1, 3, 1), (3, 3, 3), (None, 5, 5), (5, 2, 2)]
)
def test_as_many_tokens_come_out_as_asked_for_and_allowed_each_for_one_call(
    limit: int | None, asked: int, given: int, dialect: str
) -> None:
    (record,) = run(turn(max_tokens=limit, nexts=asked, processor="boost"), dialect=dialect)
    assert len(tokens(record)) == given
    assert record.count == given
    assert order(record).count("end") == asked - given
    after = order(record)[order(record).index("next") :]
    assert after.count("call") == given
    assert [order(record).count(name) for name in ("process", "sample", "did-sample")] == [given + 1] * 3
    assert held(record, "container")[0][1] == 10 + given
    assert tokens(record) == [event.token for event in events(record, "sample")][:given]


@pytest.mark.requirement("NX-1")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_negative_limit_gives_nothing_or_everything_as_the_dialect_says(dialect: str) -> None:
    (record,) = run(turn(max_tokens=-1), dialect=dialect)
    assert len(tokens(record)) == (3 if DIALECTS[dialect].negative_max_tokens == "unlimited" else 0)


@pytest.mark.requirement("NX-5")
def test_prefill_time_is_set_by_the_constructor_and_not_by_next() -> None:
    (record,) = run(turn())
    assert record.prefill_times is not None
    after_construction, after_nexts = record.prefill_times
    assert after_construction == after_nexts > 0


@pytest.mark.requirement("PS-2")
def test_of_two_tied_tokens_the_lower_index_is_taken() -> None:
    (record,) = run(turn(nexts=40), model=ScriptedModel(ties=True, vocab=2))
    assert set(tokens(record)) == {0}, "both tokens of the vocabulary tie in every step"


# ---------------------------------------------------------------- other layers


@pytest.mark.requirement("MQ-11", "MQ-13", "MQ-17")
@pytest.mark.parametrize("dialect", ["mlx-lm", "mlx-lm-0.29"])
def test_where_a_rotating_layer_is_an_error_the_turn_ends_with_it_and_the_list_is_as_before(
    dialect: str,
) -> None:
    layers = (PlainLayer(), RotatingLayer())
    (record,) = run(turn(bits=4, start=12), layers=layers, dialect=dialect)
    assert record.error is not None
    assert record.error.kind == "refused"
    assert len(tokens(record)) == 1
    assert record.count == 1
    assert [kind for kind, _ in held(record, "caller")] == ["plain", "rotating"]


@pytest.mark.requirement("MQ-3", "MQ-11")
def test_in_the_proposal_rotating_recurrent_and_incompatible_layers_pass_through() -> None:
    layers = (RotatingLayer(), RecurrentLayer(), PlainLayer(key_dim=80), PlainLayer(key_dim=96, value_dim=96))
    (record,) = run(turn(bits=4, nexts=2), layers=layers)
    assert events(record, "call")[-1].caches == ("R", "M", "S", "Q:32,4")
    assert record.holders["container"][:3] == record.holders["caller"][:3]


@pytest.mark.requirement("MQ-10")
def test_composites_stay_or_are_converted_inside_as_the_dialect_says() -> None:
    layers = (CompositeLayer(children=(RecurrentLayer(), PlainLayer())), PlainLayer())
    (record,) = run(turn(bits=4, nexts=1), layers=layers)
    assert events(record, "call")[-1].caches == ("L(M,S)", "Q:64,4")
    (record,) = run(turn(bits=4, nexts=1), layers=layers, dialect="mlx-swift-lm")
    assert events(record, "call")[-1].caches == ("L(M,Q:64,4)", "Q:64,4")
    assert record.objects[0].children == (1, 4), "the composite's own child slot was replaced"
    assert events(record, "call")[-1].offsets == (None, 10)


# ---------------------------------------------------------------- RF, CT: turns and holders


@pytest.mark.requirement("RF-1", "IT-7")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("given", ["model", "list", "container"])
@pytest.mark.parametrize("start", [0, 11, 18, 1000])
def test_a_second_turn_on_the_same_container_loses_no_position(start: int, given: Any, dialect: str) -> None:
    first, second = run(
        turn(bits=4, start=start),
        turn(prompt=5, bits=4, start=start),
        given=given,
        built=Built(bits=4),
        dialect=dialect,
    )
    assert held(first, "container")[0][1] == 10 + 3
    assert events(second, "call")[0].offsets == (13, 13)
    assert held(second, "container")[0][1] == 13 + 5 + 3


@pytest.mark.requirement("RF-2", "CT-3")
def test_a_turn_on_the_callers_old_list_loses_what_came_after_the_conversion() -> None:
    first, second = run(turn(bits=4), turn(prompt=5, bits=4, cache="caller-list"))
    assert held(first, "caller") == [("plain", 10)] * 2
    assert held(first, "container") == [("quantized", 13)] * 2
    assert events(second, "call")[0].offsets == (10, 10)
    assert held(second, "container") == [("quantized", 18)] * 2
    assert set(first.holders["container"]).isdisjoint(second.holders["container"])


@pytest.mark.requirement("CT-3")
@pytest.mark.parametrize("dialect", [name for name, d in DIALECTS.items() if d.owner == "caller-list"])
def test_where_the_callers_list_is_the_owner_its_old_list_is_up_to_date(dialect: str) -> None:
    first, second = run(turn(bits=4), turn(prompt=5, bits=4, cache="caller-list"), dialect=dialect)
    assert first.holders["caller"] == first.holders["container"]
    assert events(second, "call")[0].offsets == (13, 13)


@pytest.mark.requirement("CT-4", "CT-7", "MQ-12")
def test_a_first_trigger_container_converts_once_and_then_never_looks_again() -> None:
    layers = (PlainLayer(key_dim=80), PlainLayer())
    first, second = run(
        turn(nexts=1, bits=4),
        turn(prompt=4, nexts=1, bits=8, group_size=32),
        layers=layers,
        given="container",
        built=Built(bits=4),
    )
    assert events(first, "call")[-1].caches == ("S", "Q:64,4")
    assert events(second, "call")[-1].caches == ("S", "Q:64,4")


@pytest.mark.requirement("CT-12")
def test_a_when_settled_container_is_armed_again_by_a_new_iterator() -> None:
    armed: list[bool] = []  # at each call of the pass
    original = container.CacheContainer.maybe_quantize

    def watched(self: Any, *args: Any, **options: Any) -> None:
        armed.append(self.armed)
        original(self, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(container.CacheContainer, "maybe_quantize", watched)
        run(turn(bits=4, nexts=2), turn(bits=4, nexts=2), given="container", dialect="mlx-swift-lm")
    assert armed == [True, False, False, True, False, False]


@pytest.mark.requirement("CT-2", "RF-1")
def test_with_a_model_list_the_first_answer_plays_the_callers_old_list() -> None:
    first, second = run(turn(bits=4), turn(cache="caller-list", nexts=1), given="model")
    assert set(first.holders) == {"container", "alias"}
    assert order(second).count("new-cache") == 0
    assert events(second, "call")[0].offsets == (10, 10)


def test_a_turn_after_one_that_built_no_iterator_is_handed_the_same_again() -> None:
    for given, requests in (("list", [0, 0]), ("model", [0, 1])):
        records = run(turn(prefill_step=0), turn(), given=given)
        assert [order(record).count("new-cache") for record in records] == requests
        assert records[0].error is not None
        assert records[1].error is None
        assert len(tokens(records[1])) == 3


def test_a_container_that_a_dialect_refuses_to_build_is_a_refusal_of_the_scenario() -> None:
    scenario = IterateScenario(layers=PLAIN, given="container", built=Built(bits=7), turns=(turn(),))
    assert isinstance(reference.factory("mlx-swift-lm").run(scenario), Refusal)
    assert isinstance(reference.factory("proposal").run(scenario), IterateObservation)


def test_an_observation_survives_json_and_repeats_but_for_its_times() -> None:
    scenario = IterateScenario(
        layers=(
            PlainLayer(),
            QuantizedLayer(length=3),
            CompositeLayer(children=(RotatingLayer(), RecurrentLayer())),
        ),
        turns=(turn(bits=4, processor="boost", form="prompt-array"), turn(repetition_penalty=1.5, bits=4)),
        observe=Observe(content=True, accounting=True),
    )
    runs = [as_data(reference.factory().run(scenario)) for _ in range(2)]
    for data in runs:
        assert as_data(observation_from_data(data)) == data
        for record in data["turns"]:
            record.pop("prefill_times")
    assert runs[0] == runs[1]


@pytest.mark.requirement("MQ-5", "QC-2")
def test_content_is_the_rows_of_every_call_with_its_number_as_salt() -> None:
    (record,) = run(turn(prompt=6, prefill_step=4, nexts=2), observe=Observe(content=True))
    slots = reference_layers.number_layers(PLAIN)
    (expected,) = reference_layers.build_layers(slots[1:], PROPOSAL)
    for call, rows in enumerate((4, 2, 1, 1)):
        reference_layers.write_rows(slots[1], expected, rows, salt=call)
    assert record.objects[1].keys == reference_looks.content_of(expected)["keys"]
    (quantized,) = run(turn(prompt=6, prefill_step=4, nexts=2, bits=4), observe=Observe(content=True))
    converted = reference_looks.content_of(expected.to_quantized(group_size=64, bits=4))
    assert quantized.objects[quantized.holders["container"][1]].values == converted["values"]


def test_no_content_is_computed_unless_it_is_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any) -> Any:
        raise AssertionError("content was computed")

    monkeypatch.setattr(reference_layers.PatternRows, "row", fail)
    (record,) = run(turn(bits=4, nexts=5), observe=Observe(accounting=True))
    assert record.error is None


# ---------------------------------------------------------------- a wrong iterator is seen


def first_position(_self: Any, result: Any) -> Any:
    return result.logits[0][0]


def no_look_ahead(self: Any) -> int | None:
    if self._limit_reached():
        return None
    token = self._pending
    self._count_one()
    self._pending = self._step(self._ops.single(token)) if self._count < 3 else token
    return token


def pass_before_the_call(self: Any, tokens: Any) -> Any:
    self._run_pass()
    result = self._call_model(tokens, self._state)
    self._store_state(result)
    return self._sample(self._process(self._last_logits(result)))


def keep_state_when_none(self: Any, result: Any) -> None:
    self._state = self._state if result.state is None else result.state


def count_twice(self: Any) -> None:
    self._count += 2


def off_by_one_limit(self: Any) -> bool:
    return self._parameters.max_tokens is not None and self._count > self._parameters.max_tokens


def chain_processors(self: Any, explicit: Any) -> Any:
    own = self._parameters.processor()
    return explicit if own is None else own


WRONG = {
    "uses the first position": ("_last_logits", first_position),
    "stops looking ahead": ("next_token", no_look_ahead),
    "quantizes before the call": ("_step", pass_before_the_call),
    "keeps a state that was taken away": ("_store_state", keep_state_when_none),
    "counts twice": ("_count_one", count_twice),
    "gives one token more": ("_limit_reached", off_by_one_limit),
    "prefers the parameters' processor": ("_processor_for", chain_processors),
    "forgets to tell the processor": ("_sample", lambda self, logits: self._sampler.sample(logits)),
    "passes an empty list on": ("_cache_argument", lambda self: self.container.layers),
    "never passes": ("_run_pass", lambda self: None),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_decision_of_the_iterator_changes_the_observation(
    wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields: dict[str, Any] = {"model": ScriptedModel(state="alternate", prepare="tokens")}
    processor: Any = "boost" if "processor" in wrong else "none"  # boost hides the model's own tokens
    asked = turn(nexts=5, max_tokens=3, bits=4, start=11, processor=processor, repetition_penalty=2.0)
    fields["layers"] = () if wrong == "passes an empty list on" else PLAIN

    def observed() -> list[dict[str, Any]]:
        records = [as_data(record) for record in run(asked, **fields)]
        for record in records:
            record.pop("prefill_times")
        return records

    right = observed()
    name, replacement = WRONG[wrong]
    monkeypatch.setattr(TokenIterator, name, replacement)
    assert observed() != right


@pytest.mark.requirement("PR-6")
def test_a_wrong_plan_changes_what_the_model_is_called_with(monkeypatch: pytest.MonkeyPatch) -> None:
    right = calls(run(turn(prompt=20, prefill_step=8))[0])
    monkeypatch.setattr(prefill, "window_lengths", prefill.reserve_one_lengths)
    assert calls(run(turn(prompt=20, prefill_step=8))[0]) != right


def test_the_parameters_that_log_are_otherwise_the_references_own() -> None:
    logged = logged_parameters(Parameters(), [], lambda: ())
    for name in GenerateParameters.__dataclass_fields__:
        assert getattr(logged, name) == getattr(GenerateParameters(), name)
