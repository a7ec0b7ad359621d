"""`generate_step` over the scripted model: the trace is what the contract says it is."""

from __future__ import annotations

from typing import Any

import pytest
from kvconform.pattern import chain_all, prompt_tokens
from kvconform.scripted import arithmetic
from mlx_lm_scenes import E, L, M, Q, R, S, calls, turn, words

pytestmark = pytest.mark.mlx

VOCAB, SEED = 61, 3


def tokens_of(record: Any, event: str = "token") -> list[int]:
    return [one.token for one in record.trace if one.event == event]


def last_call_target(offset: int, token: int, row: int) -> int:
    """The token that one plain layer at ``offset`` makes likely."""
    seen = arithmetic.fold_state(arithmetic.fold_leaf(chain_all(SEED), "plain", offset), None)
    return arithmetic.target(seen, token, row, VOCAB)


@pytest.mark.requirement("NX-2", "NX-3", "ST-5")
def test_tokens_are_those_of_the_integer_arithmetic(ask: Any) -> None:
    (record,) = ask("iterate", layers=[E], model={"seed": SEED}, turns=[turn(7, 5)]).turns
    expected: list[int] = []
    token, offset = prompt_tokens(7, 0, VOCAB)[-1], 6
    for _ in range(6):
        token = last_call_target(offset, token, 0)
        expected.append(token)
        offset += 1
    assert tokens_of(record) == expected[:5]
    assert tokens_of(record, "sample") == expected
    assert record.objects[0].offset == 7 + 5


@pytest.mark.requirement("PS-2")
def test_argmin_and_ties_take_the_lowest_index(ask: Any) -> None:
    for ties in (False, True):
        model = {"seed": SEED, "ties": ties}
        greedy, lowest = (
            ask("iterate", layers=[E], model=model, turns=[turn(1, 1, more={"sampler": sampler})]).turns[0]
            for sampler in ("argmax", "argmin")
        )
        logits = arithmetic.logits_around(
            last_call_target(0, prompt_tokens(1, 0, VOCAB)[0], 0), VOCAB, ties=ties
        )
        assert tokens_of(greedy)[0] == logits.index(max(logits))
        assert tokens_of(lowest)[0] == logits.index(min(logits))


@pytest.mark.requirement("PS-1", "IT-4")
def test_the_explicit_processor_replaces_the_penalty_and_forces_its_tokens(ask: Any) -> None:
    boosted = turn(5, 3, repetition_penalty=1.5, more={"processor": "boost"})
    (record,) = ask("iterate", layers=[E], turns=[boosted]).turns
    assert tokens_of(record) == [arithmetic.boosted_token(k, VOCAB) for k in range(3)]
    assert words(record).count("process") == 4


@pytest.mark.requirement("PS-3")
def test_a_penalty_is_logged_and_changes_repeated_tokens(ask: Any) -> None:
    free, fined = (
        ask("iterate", layers=[M], model={"vocab": 5}, turns=[turn(4, 30, **more)]).turns[0]
        for more in ({}, {"repetition_penalty": 5.0, "repetition_context_size": 1})
    )
    assert words(free).count("process") == 0
    assert words(fined).count("process") == 31
    assert tokens_of(free) != tokens_of(fined)


def test_the_first_next_stands_behind_the_first_sample(ask: Any) -> None:
    (record,) = ask("iterate", layers=[E], turns=[turn(3, 2, max_tokens=1)]).turns
    assert words(record) == "call call sample next call sample token next end"


@pytest.mark.requirement("PR-5")
def test_an_empty_prompt_is_refused_before_any_call(ask: Any) -> None:
    (record,) = ask("iterate", layers=[E], turns=[turn(0)]).turns
    assert (record.error.kind, record.trace) == ("refused", ())


@pytest.mark.requirement("RF-1", "IT-7")
@pytest.mark.parametrize("given", ["list", "model", "container"])
def test_a_second_turn_goes_on_where_the_first_one_stopped(ask: Any, given: str) -> None:
    first, second = ask(
        "iterate", layers=[E], given=given, turns=[turn(5, 2, bits=4, start=6), turn(3, 1)]
    ).turns
    assert second.objects[-1].offset == 5 + 2 + 3 + 1
    assert next(event.offsets for event in second.trace if event.event == "call") == (7,)
    assert words(first).startswith("new-cache") == (given == "model")
    assert "new-cache" not in words(second)
    assert ("caller" in first.holders) == (given != "model")


@pytest.mark.requirement("IT-2", "RF-2")
def test_the_callers_list_is_the_one_that_generation_works_on(ask: Any) -> None:
    first, second = ask(
        "iterate", layers=[E], turns=[turn(5, 2, bits=4), turn(3, 1, more={"cache": "caller-list"})]
    ).turns
    assert first.holders["caller"] == first.holders["container"] == second.holders["caller"]
    assert second.objects[-1].offset == 5 + 2 + 3 + 1


def test_the_call_number_runs_on_over_the_turns_and_salts_the_rows(ask: Any) -> None:
    once = ask("iterate", layers=[E], turns=[turn(4, 1)], observe={"content": True}).turns[-1]
    again = ask("iterate", layers=[E], turns=[turn(4, 1), turn(4, 1)], observe={"content": True}).turns[-1]
    assert once.objects[0].rows == 5
    assert again.objects[0].rows == 10
    assert again.objects[0].keys.data[:100] == once.objects[0].keys.data[:100]


def test_the_model_tells_every_kind_of_cache_apart(ask: Any) -> None:
    lists = [
        [E],
        [Q(0)],
        [R(0)],
        [{"kind": "chunked"}],
        [M],
        [L(E)],
        [E, E],
        [Q(0, bits=8)],
        [Q(0, group_size=32)],
    ]
    streams = {
        tuple(tokens_of(ask("iterate", layers=layers, turns=[turn(5, 6)]).turns[0])) for layers in lists
    }
    assert len(streams) == len(lists)


@pytest.mark.requirement("PR-6")
def test_chunks_see_the_offsets_of_the_chunks_before(ask: Any) -> None:
    (record,) = ask("iterate", layers=[S(10), L(M, E)], turns=[turn(6, 1, prefill_step=2)]).turns
    assert calls(record)[:4] == [(2, "S L(M,S)"), (2, "S L(M,S)"), (1, "S L(M,S)"), (1, "S L(M,S)")]
    assert [event.offsets[0] for event in record.trace if event.event == "call"] == [10, 12, 14, 15, 16]
    assert record.trace[0].offsets == (10, None)
