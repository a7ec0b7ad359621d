"""Samplers and processors (PS): ties, draws, top-p, and the repetition penalty."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from kvconform_reference import arrays, sampling
from kvconform_reference.parameters import GenerateParameters


@pytest.mark.requirement("PS-2")
@pytest.mark.parametrize(
    ("logits", "token"),
    [([0, 3, 3, 1], 1), ([5, 5, 5], 0), ([-2, -1, -1], 1), ([0.5], 0), ([1, 2, 4, 3], 2), ((0, 1, 1), 1)],
)
def test_argmax_takes_the_lowest_index_of_a_tie(logits: list[float], token: int) -> None:
    assert sampling.ArgmaxSampler().sample(logits) == token


@pytest.mark.requirement("PS-4")
def test_temperature_zero_gives_argmax_and_any_other_a_draw() -> None:
    assert isinstance(GenerateParameters().sampler(), sampling.ArgmaxSampler)
    assert isinstance(GenerateParameters(temperature=0.7).sampler(), sampling.CategoricalSampler)


@pytest.mark.requirement("PS-4")
@pytest.mark.parametrize("temperature", [-0.1, math.inf, math.nan])
def test_a_temperature_that_is_no_positive_number_is_refused(temperature: float) -> None:
    with pytest.raises(ValueError, match=r"temperature .* is not a positive number"):
        GenerateParameters(temperature=temperature).sampler()


@pytest.mark.requirement("PS-4")
def test_draws_with_one_seed_repeat_and_with_another_differ() -> None:
    logits = [0.1 * token for token in range(20)]

    def draws(seed: int) -> list[int]:
        sampler = GenerateParameters(temperature=1.0, seed=seed).sampler()
        return [sampler.sample(logits) for _ in range(50)]

    assert draws(7) == draws(7)
    assert draws(7) != draws(8)


@pytest.mark.requirement("PS-4")
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_follow_the_softmax_of_the_tempered_logits(temperature: float) -> None:
    logits = [0.0, 1.0, 2.0, -1.0]
    sampler = sampling.CategoricalSampler(temperature, seed=3)
    seen = Counter(sampler.sample(logits) for _ in range(20_000))
    weights = [math.exp(logit / temperature) for logit in logits]
    for token, weight in enumerate(weights):
        # five standard deviations of a binomial share of 20,000 draws are below 0.018
        assert abs(seen[token] / 20_000 - weight / sum(weights)) < 0.018


@pytest.mark.requirement("PS-4")
def test_probabilities_are_a_softmax_that_no_large_logit_overflows() -> None:
    assert sampling.probabilities([1e6, 1e6], 1.0) == [0.5, 0.5]
    assert sampling.probabilities([0.0, math.log(3)], 1.0) == pytest.approx([0.25, 0.75])
    assert sampling.probabilities([0.0, -math.inf], 1.0) == [1.0, 0.0]


@pytest.mark.requirement("PS-4")
@pytest.mark.parametrize(
    ("top_p", "kept"),
    [
        (0.4, [0, 0.5, 0, 0]),
        (0.5, [0, 0.5, 0, 0]),  # reached exactly: no more are kept
        (0.51, [0, 0.5, 0.25, 0]),
        (0.75, [0, 0.5, 0.25, 0]),
        (0.8, [0.125, 0.5, 0.25, 0]),  # of two equally likely ones the lower index comes first
        (0.99, [0.125, 0.5, 0.25, 0.125]),
    ],
)
def test_top_p_keeps_the_smallest_set_of_most_likely_tokens_that_reaches_p(
    top_p: float, kept: list[float]
) -> None:
    assert sampling.top_p_cut([0.125, 0.5, 0.25, 0.125], top_p) == kept


@pytest.mark.requirement("PS-4")
@pytest.mark.parametrize(
    ("top_p", "possible"), [(0.3, {2}), (0.85, {1, 2}), (1.0, {0, 1, 2}), (0.0, {0, 1, 2})]
)
def test_only_tokens_inside_the_cut_are_drawn_and_p_of_zero_or_one_cuts_nothing(
    top_p: float, possible: set[int]
) -> None:
    logits = [math.log(share) for share in (0.1, 0.3, 0.6)]
    sampler = sampling.CategoricalSampler(1.0, top_p=top_p, seed=1)
    assert {sampler.sample(logits) for _ in range(400)} == possible


@pytest.mark.requirement("PS-4")
@pytest.mark.parametrize(
    ("fraction", "token"), [(0.0, 1), (0.2499, 1), (0.25, 2), (0.7499, 2), (0.75, 4), (1 - 2**-53, 4)]
)
def test_a_draw_is_the_token_whose_stretch_holds_the_fraction(fraction: float, token: int) -> None:
    assert sampling.draw([0, 0.25, 0.5, 0, 0.25, 0], fraction) == token


@pytest.mark.requirement("PS-4")
def test_a_draw_at_the_very_end_never_lands_behind_the_last_possible_token() -> None:
    weights = [0.1] * 11 + [0.0]
    assert sampling.draw(weights, math.nextafter(1.0, 0)) == 10


@pytest.mark.requirement("PS-3")
def test_no_penalty_gives_no_processor_and_a_penalty_gives_one_with_a_context_of_20() -> None:
    assert GenerateParameters().processor() is None
    assert GenerateParameters().repetition_context_size == 20
    assert isinstance(
        GenerateParameters(repetition_penalty=1.5).processor(), sampling.RepetitionPenaltyProcessor
    )


@pytest.mark.requirement("PS-3")
def test_process_divides_positive_logits_of_kept_tokens_and_multiplies_negative_ones_once_each() -> None:
    processor = sampling.RepetitionPenaltyProcessor(2.0)
    processor.prompt([0, 1, 1, 1, 3])
    logits = [8, -4, 6, 0, 1]
    assert processor.process(logits) == [4, -8, 6, 0, 1]
    assert logits == [8, -4, 6, 0, 1], "the model's logits are not written to"


@pytest.mark.requirement("PS-3")
def test_the_prompt_keeps_its_last_tokens_only() -> None:
    processor = sampling.RepetitionPenaltyProcessor(2.0, context_size=2)
    processor.prompt([0, 1, 2, 3])
    assert processor.process([8, 8, 8, 8]) == [8, 8, 4, 4]


@pytest.mark.requirement("PS-3")
def test_did_sample_appends_and_drops_the_oldest_beyond_the_context() -> None:
    processor = sampling.RepetitionPenaltyProcessor(2.0, context_size=2)
    processor.prompt([0])
    processor.did_sample(1)
    assert processor.process([8, 8, 8, 8]) == [4, 4, 8, 8]
    processor.did_sample(3)
    assert processor.process([8, 8, 8, 8]) == [8, 4, 8, 4]


@pytest.mark.requirement("PS-3")
def test_a_token_that_is_still_in_the_context_stays_penalised_when_an_older_copy_drops_out() -> None:
    processor = sampling.RepetitionPenaltyProcessor(2.0, context_size=2)
    processor.prompt([1, 1])
    processor.did_sample(0)
    assert processor.process([8, 8, 8]) == [4, 4, 8]


@pytest.mark.requirement("PS-3")
@pytest.mark.parametrize(
    ("penalty", "context_size", "message"),
    [(0.0, 20, "penalty 0.0"), (-1.0, 20, "penalty -1.0"), (math.nan, 20, "penalty nan"), (2.0, 0, "size 0")],
)
def test_a_penalty_or_context_that_makes_no_sense_is_refused(
    penalty: float, context_size: int, message: str
) -> None:
    parameters = GenerateParameters(repetition_penalty=penalty, repetition_context_size=context_size)
    with pytest.raises(ValueError, match=f"repetition .*{message}"):
        parameters.processor()


def test_an_array_type_that_nobody_registered_is_named_with_what_to_do() -> None:
    with pytest.raises(
        TypeError, match="no array operations are registered for set; give a list of token ids"
    ):
        arrays.ops_of({1, 2})


def test_another_array_type_takes_part_by_registering_itself() -> None:
    class Row(list[float]):
        pass

    class Reversed(arrays.ListOps):
        def argmax(self, logits: list[float]) -> int:
            return len(logits) - 1 - logits[::-1].index(max(logits))

    arrays.ops_of.register(Row, lambda _row: Reversed())
    assert sampling.ArgmaxSampler().sample(Row([1, 2, 2])) == 2
    assert sampling.ArgmaxSampler().sample([1, 2, 2]) == 1
