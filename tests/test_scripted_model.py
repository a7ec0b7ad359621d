"""The scripted model does what ``docs/scenarios.md`` says, recomputed here from that text in plain steps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kvconform.implementations import reference_layers
from kvconform.observation import CallEvent
from kvconform.pattern import chain, chain_all
from kvconform.scenario import (
    ChunkedLayer,
    CompositeLayer,
    Layer,
    PlainLayer,
    QuantizedLayer,
    RecurrentLayer,
    RotatingLayer,
    ScriptedModel,
)
from kvconform.scripted import arithmetic, looks, model, players
from kvconform_reference.dialect import PROPOSAL
from kvconform_reference.iterator import RemainingTokens

ALL_KINDS = (
    PlainLayer(length=5),
    RotatingLayer(length=7, max_size=4),
    QuantizedLayer(length=3, group_size=32, bits=8),
    RecurrentLayer(filled=True),
    RecurrentLayer(filled=False),
    CompositeLayer(children=(RecurrentLayer(), PlainLayer(length=2))),
    ChunkedLayer(length=20, chunk_size=8, drop_front=True),
)
words = st.integers(0, 2**32 - 1)
vocabularies = st.sampled_from((2, 3, 7, 61, 256))


def scripted(
    *layers: Layer, plan: Any = lambda length, _window: (length,), **script: Any
) -> tuple[model.ScriptedModel, list[Any]]:
    """A scripted model and the built layers."""
    slots = reference_layers.number_layers(layers)
    built = reference_layers.build_layers(slots, PROPOSAL)
    return model.ScriptedModel(ScriptedModel(**script), slots=slots, layers=built, plan=plan), built


def calls(made: model.ScriptedModel) -> list[CallEvent]:
    return [event for event in made.trace if isinstance(event, CallEvent)]


def row_of(
    made: model.ScriptedModel, layers: list[Any], tokens: tuple[int, ...], state: int | None
) -> list[int]:
    return list(made((tokens,), cache=layers, state=state).logits[0][-1])


# ---------------------------------------------------------------- logits


@given(seen=words, token=st.integers(0, 300), row=st.integers(0, 2000), vocab=vocabularies)
def test_the_target_of_a_row_is_the_hash_of_what_was_seen_the_token_and_the_row(
    seen: int, token: int, row: int, vocab: int
) -> None:
    mask = 0xFFFFFFFF

    def mix(h: int) -> int:
        h = ((h ^ (h >> 16)) * 0x85EBCA6B) & mask
        h = ((h ^ (h >> 13)) * 0xC2B2AE35) & mask
        return h ^ (h >> 16)

    h = mix((seen * 31 + token + 0x9E3779B9) & mask)
    h = mix((h * 31 + row + 0x9E3779B9) & mask)
    assert arithmetic.target(seen, token, row, vocab) == h % vocab


@given(data=st.data(), vocab=vocabularies)
def test_logits_fall_by_one_with_the_distance_from_their_peak(data: st.DataObject, vocab: int) -> None:
    peak = data.draw(st.integers(0, vocab - 1))
    logits = arithmetic.logits_around(peak, vocab)
    assert logits == [vocab // 2 - (token - peak) % vocab for token in range(vocab)]


@given(data=st.data(), vocab=vocabularies)
def test_with_ties_the_distance_is_halved_so_that_the_peak_and_the_next_token_tie(
    data: st.DataObject, vocab: int
) -> None:
    peak = data.draw(st.integers(0, vocab - 1))
    logits = arithmetic.logits_around(peak, vocab, ties=True)
    assert logits == [vocab // 2 - (token - peak) % vocab // 2 for token in range(vocab)]
    assert logits[peak] == logits[(peak + 1) % vocab] == max(logits)


def test_each_row_of_a_call_has_its_own_logits_and_slices_work() -> None:
    made, built = scripted(PlainLayer(), vocab=61)
    (rows,) = made(((4, 9, 4),), cache=built, state=None).logits
    assert len(rows) == 3
    assert rows[-1] == rows[2] != rows[0]
    assert rows[0:3] == [rows[0], rows[1], rows[2]]
    with pytest.raises(IndexError):
        rows[3]


# ---------------------------------------------------------------- what it sees


def test_what_it_saw_is_folded_depth_first_with_code_and_number() -> None:
    _, built = scripted(*ALL_KINDS)
    filled = [chain_all(stream) % 251 for stream in range(9)]
    expected = chain_all(
        *(17,),  # the seed
        *(1, 5),
        *(2, 7),
        *(3, 32, 8, 3),
        *(4, filled[3]),
        *(4, 0),
        *(5, 2, 4, filled[6], 1, 2),
        *(6, 20),
    )
    assert looks.fold_layers(chain_all(17), built) == expected
    assert arithmetic.fold_state(expected, None) == chain_all_from(expected, 0)
    assert arithmetic.fold_state(expected, 0) == chain_all_from(expected, 1)


def chain_all_from(h: int, *parts: int) -> int:
    for part in parts:
        h = chain(h, part)
    return h


@pytest.mark.parametrize(
    "changed",
    [
        PlainLayer(length=6),
        RotatingLayer(length=5),
        ChunkedLayer(length=5),
        QuantizedLayer(length=5),
        QuantizedLayer(length=5, group_size=32),
        QuantizedLayer(length=5, bits=8),
        RecurrentLayer(),
        RecurrentLayer(filled=False),
        CompositeLayer(children=(PlainLayer(length=5),)),
    ],
)
def test_another_kind_offset_group_size_or_bits_changes_what_it_answers(changed: Layer) -> None:
    def answers(layer: Layer) -> list[list[int]]:
        made, built = scripted(layer, vocab=251)
        return [row_of(made, built, (token,), None) for token in range(3)]

    assert answers(PlainLayer(length=5)) == answers(PlainLayer(length=9, trim=4))
    assert answers(changed) != answers(PlainLayer(length=5))


def test_the_seed_the_state_and_the_token_change_what_it_answers() -> None:
    def answer(token: int = 3, state: int | None = None, **script: Any) -> list[int]:
        made, built = scripted(PlainLayer(), vocab=251, **script)
        return row_of(made, built, (token,), state)

    assert (
        len({tuple(row) for row in (answer(), answer(4), answer(state=0), answer(state=1), answer(seed=1))})
        == 5
    )


def test_a_call_logs_the_layers_as_it_found_them() -> None:
    made, built = scripted(*ALL_KINDS)
    made(((1, 2),), cache=built, state=7)
    made(((3,),), cache=None, state=None)
    first, second = calls(made)
    assert first.tokens == (1, 2)
    assert first.offsets == (5, 7, 3, None, None, None, 20)
    assert first.caches == ("S", "R", "Q:32,8", "M", "M", "L(M,S)", "C")
    assert (first.state, first.no_cache) == (7, False)
    assert (second.offsets, second.caches, second.state, second.no_cache) == ((), (), None, True)


@pytest.mark.requirement("ST-3")
@pytest.mark.parametrize("tokens", [(1, 2, 3), ((1,), (2,)), ()])
def test_a_call_without_a_batch_axis_of_one_is_misuse(tokens: Any) -> None:
    made, built = scripted(PlainLayer())
    with pytest.raises(model.ModelMisused, match="a leading batch axis of 1 is due"):
        made(tokens, cache=built, state=None)


# ---------------------------------------------------------------- what it writes


def test_a_call_writes_its_rows_to_every_layer_composites_included() -> None:
    made, built = scripted(*ALL_KINDS)
    made(((1, 2, 3),), cache=built, state=None)
    plain, rotating, quantized, filled, unfilled, composite, chunked = built
    assert [cache.offset for cache in (plain, rotating, quantized, chunked)] == [8, 10, 6, 23]
    assert composite.children[1].offset == 5
    assert looks.fold_layers(0, [filled]) == chain_all_from(
        0, 4, (31 * (chain_all(3) % 251) + 3 + 0 + 1) % 251
    )
    assert looks.fold_layers(0, [unfilled]) == chain_all_from(0, 4, 3 + 0 + 1)


def test_the_call_number_is_the_salt_of_the_rows_and_runs_on() -> None:
    made, built = scripted(RecurrentLayer(filled=False))
    numbers = []
    for _ in range(3):
        made(((1, 2),), cache=built, state=None)
        numbers.append(int(built[0].arrays[0][0]))
    assert numbers == [3, (31 * 3 + 2 + 1 + 1) % 251, (31 * 97 + 2 + 2 + 1) % 251]


def test_nothing_of_the_content_is_computed_unless_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any) -> Any:
        raise AssertionError("content was computed")

    monkeypatch.setattr(reference_layers.PatternRows, "row", fail)
    made, built = scripted(PlainLayer(length=5), QuantizedLayer(length=5), RotatingLayer(length=5))
    made((tuple(range(40)),), cache=built, state=None)
    with pytest.raises(AssertionError, match="content was computed"):
        built[0].fetch().segments[0].block.values(0, 0, 0)


# ---------------------------------------------------------------- its state


@pytest.mark.parametrize(
    ("mode", "states"),
    [
        ("none", [None, None, None]),
        ("always", [chain_all(0, 9) % 251, chain_all(5, 9) % 251, chain_all(0, 9) % 251]),
        ("alternate", [chain_all(0, 9) % 251, None, chain_all(0, 9) % 251]),
    ],
)
def test_the_state_of_a_result_follows_the_scripts_mode(mode: str, states: list[int | None]) -> None:
    made, built = scripted(PlainLayer(), state=mode)
    handed = [None, 5, 0]
    assert [made(((3, 9),), cache=built, state=state).state for state in handed] == states


# ---------------------------------------------------------------- prepare and new lists


def two_and_two_and_one(length: int, _window: int) -> tuple[int, ...]:
    assert length in (0, 5)
    return (2, 2, 1) if length else ()


@pytest.mark.parametrize(
    ("how", "fed", "states"),
    [
        ("tokens", [(1, 2), (3, 4)], [None, None]),
        ("all", [(1, 2), (3, 4), (5,)], [None, None, None]),
        ("logits", [(1, 2), (3, 4), (5,)], [None, chain_all(0, 2) % 251, None]),
    ],
)
def test_prepare_calls_itself_on_the_chunks_of_the_plan(
    how: str, fed: list[tuple[int, ...]], states: list[int | None]
) -> None:
    made, built = scripted(PlainLayer(), prepare=how, state="always", plan=two_and_two_and_one)
    if how == "logits":
        states[2] = chain_all(states[1] or 0, 4) % 251
    answer = made.prepare((1, 2, 3, 4, 5), built, 2)
    assert [event.tokens for event in calls(made)] == fed
    assert [event.state for event in calls(made)] == states
    assert made.trace[0].model_dump() == {"event": "prepare", "length": 5, "window": 2}
    if how == "logits":
        assert answer.state == chain_all(states[2] or 0, 5) % 251
        assert len(answer.logits[0]) == 1
    else:
        assert answer == RemainingTokens((5,) if how == "tokens" else ())


@pytest.mark.parametrize("how", ["tokens", "all", "logits"])
def test_prepare_of_an_empty_prompt_makes_no_call_and_leaves_no_tokens(how: str) -> None:
    made, built = scripted(PlainLayer(), prepare=how, plan=two_and_two_and_one)
    assert made.prepare((), built, 2) == RemainingTokens(())
    assert calls(made) == []


def test_a_failing_prepare_logs_first_and_calls_nothing() -> None:
    made, built = scripted(PlainLayer(), prepare="raise")
    with pytest.raises(model.PrepareFailed, match="scripted prepare failed"):
        made.prepare((1, 2), built, 2)
    assert [event.event for event in made.trace] == ["prepare"]


def test_prepare_calls_itself_without_a_list_when_it_was_handed_an_empty_one() -> None:
    made, _ = scripted(prepare="all")
    made.prepare((1, 2), [], 512)
    assert [event.no_cache for event in calls(made)] == [True]


def test_every_request_for_a_list_is_logged_and_gets_a_new_list_of_the_same_objects() -> None:
    made, built = scripted(PlainLayer(), RecurrentLayer())
    first, second = made.new_cache(None), made.new_cache(None)
    assert first == second == built
    assert first is not second
    assert made.answered is first
    assert [event.event for event in made.trace] == ["new-cache", "new-cache"]


# ---------------------------------------------------------------- players


def test_boost_forces_another_token_at_each_process_call() -> None:
    boost = players.BoostProcessor()
    logits = arithmetic.logits_around(5, 61)
    forced = [processed.index(max(processed)) for processed in (boost.process(logits) for _ in range(4))]
    assert forced == [chain_all(99, k) % 61 for k in range(4)]
    assert logits == arithmetic.logits_around(5, 61), "the model's logits are not written to"


@pytest.mark.parametrize(("logits", "token"), [([3, 1, 1, 2], 1), ([0, 0], 0), ([5, 4, -3], 2)])
def test_argmin_takes_the_lowest_index_of_the_lowest_logit(logits: list[int], token: int) -> None:
    assert players.ArgminSampler().sample(logits) == token


def test_a_golden_stream_of_the_arithmetic_pins_it_for_ports() -> None:
    made, built = scripted(PlainLayer(), seed=3, vocab=61, state="always")
    tokens, state = [7], None
    for _ in range(8):
        result = made(((tokens[-1],),), cache=built, state=state)
        state, row = result.state, result.logits[0][-1]
        tokens.append(row.index(max(row)))
    assert tokens == [7, 48, 2, 56, 19, 35, 55, 51, 32]
