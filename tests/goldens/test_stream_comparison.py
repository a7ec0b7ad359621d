"""The margin-aware comparison, on streams made by hand: what each way accepts, and what it rejects."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kvconform.generate import compare, tolerances
from kvconform.generate.tolerances import Bound
from kvconform.observation import ConversionEvent
from stream_samples import CONVERTED, ELSEWHERE, HERE, MARGINS, TOKENS, golden, observation

WIDE = Bound(9.0, 9.0)
LONGER = tuple(range(41)), tuple([1.0] * 41)


def changed(values: Sequence[float], step: int, value: float) -> tuple[float, ...]:
    return (*values[:step], value, *values[step + 1 :])


def with_token(step: int, token: int = 99) -> tuple[int, ...]:
    return (*TOKENS[:step], token, *TOKENS[step + 1 :])


# ---------------------------------------------------------------- exact


def test_the_same_stream_is_equal() -> None:
    assert compare.exact(observation(), observation()) == compare.EQUAL
    assert compare.EQUAL.text == "equal"


def test_on_the_recording_platform_another_token_is_a_difference_even_where_it_was_nearly_a_tie() -> None:
    verdict = compare.exact(observation(), observation(with_token(1)))
    assert not verdict.accepted
    assert verdict.text == "differs at step 1 where the margin was 0.014"


def test_a_difference_names_the_step_and_the_margin() -> None:
    assert compare.exact(observation(), observation(with_token(2))).text == (
        "differs at step 2 where the margin was 2.1"
    )


def test_margins_are_compared_as_rounded_in_the_file() -> None:
    assert compare.exact(observation(), observation(margins=changed(MARGINS, 3, 0.400004))).accepted


def test_on_the_recording_platform_a_moved_margin_is_a_difference() -> None:
    verdict = compare.exact(observation(), observation(margins=changed(MARGINS, 3, 0.4002)))
    assert not verdict.accepted
    assert verdict.text.startswith("differs at step 3 where the margin was 0.4")


@pytest.mark.parametrize("way", ["exact", "free", "forced"])
def test_a_stream_that_is_shorter_differs_in_every_way(way: str) -> None:
    shorter = observation(TOKENS[:3], MARGINS[:3])
    assert not in_way(way, observation(), shorter).accepted
    assert not in_way(way, shorter, observation()).accepted


def test_a_stream_that_goes_on_says_where_the_recorded_one_ended() -> None:
    shorter = observation(TOKENS[:3], MARGINS[:3])
    assert compare.exact(shorter, observation()).text == "differs at step 3, where the recorded stream ended"


def in_way(way: str, recorded: object, found: object) -> compare.Verdict:
    """A comparison in one of the three ways, with generous allowances."""
    call = {
        "exact": lambda: compare.exact(recorded, found),  # pyright: ignore[reportArgumentType]
        "free": lambda: compare.free(recorded, found, tolerance=9.0),  # pyright: ignore[reportArgumentType]
        "forced": lambda: compare.forced(recorded, found, bound=WIDE),  # pyright: ignore[reportArgumentType]
    }
    return call[way]()


# ---------------------------------------------------------------- what no platform may change


@pytest.mark.requirement("MQ-5", "CT-8")
@pytest.mark.parametrize("way", ["exact", "free", "forced"])
@pytest.mark.parametrize(
    "other",
    [
        (),
        (CONVERTED.model_copy(update={"position": 25}),),
        (CONVERTED.model_copy(update={"step": 1}),),
        (CONVERTED.model_copy(update={"layers": (0,), "group_sizes": (64,)}),),
        (CONVERTED.model_copy(update={"group_sizes": (32, 64)}),),
        (CONVERTED.model_copy(update={"nbytes": 98304}),),
        (CONVERTED, CONVERTED.model_copy(update={"position": 25})),
    ],
    ids=["none", "position", "step", "layers", "group size", "bytes", "twice"],
)
def test_what_became_quantized_is_compared_exactly_in_every_way(
    way: str, other: tuple[ConversionEvent, ...]
) -> None:
    recorded = observation(conversions=(CONVERTED,))
    assert in_way(way, recorded, recorded).accepted
    verdict = in_way(way, recorded, observation(conversions=other))
    assert not verdict.accepted
    assert verdict.text.startswith("differs in conversions: layers 0, 1 at position 24, step 0")


@pytest.mark.parametrize("way", ["exact", "free", "forced"])
def test_the_end_of_a_stream_is_compared_in_every_way(way: str) -> None:
    died = observation(error="some failure")
    assert in_way(way, died, observation(error="the same in other words")).accepted
    assert in_way(way, died, observation()).text == (
        "differs at its end: it ended with an error (internal), here with no error"
    )
    assert not in_way(way, observation(), died).accepted


@pytest.mark.requirement("NX-2", "NX-3")
@pytest.mark.parametrize("way", ["exact", "free", "forced"])
def test_the_positions_at_the_end_are_compared_in_every_way(way: str) -> None:
    assert in_way(way, observation(), observation(position=28)).text == (
        "differs in positions: 29 at the end were recorded, 28 here"
    )


@pytest.mark.parametrize("way", ["exact", "free", "forced"])
def test_the_bytes_at_the_end_are_compared_in_every_way(way: str) -> None:
    assert in_way(way, observation(), observation(nbytes=1)).text == (
        "differs in bytes: the caches took 81920 at the end, here 1"
    )


# ---------------------------------------------------------------- free


def test_another_token_at_a_small_margin_is_a_tie_and_ends_the_comparison() -> None:
    tokens, margins = list(LONGER[0]), list(LONGER[1])
    recorded = observation([*tokens, 5, 6], [*margins, 0.014, 1.0])
    found = observation([*tokens, 6, 77], [*margins, 0.02, 1.0])
    verdict = compare.free(recorded, found, tolerance=0.05)
    assert verdict.accepted
    assert verdict.text == "equal to step 41, tie there (margin 0.014)"


def test_another_token_at_a_large_margin_differs() -> None:
    verdict = compare.free(observation(), observation(with_token(2)), tolerance=0.05)
    assert not verdict.accepted
    assert verdict.text == "differs at step 2 where the margin was 2.1"


def test_a_small_margin_excuses_only_the_step_it_belongs_to() -> None:
    """The tie at step 1 came out as recorded, so step 2 saw the same past."""
    assert not compare.free(observation(), observation(with_token(2)), tolerance=0.05).accepted


def test_the_margin_has_to_be_below_the_tolerance() -> None:
    found = observation(with_token(1))
    assert compare.free(observation(), found, tolerance=0.015).accepted
    assert not compare.free(observation(), found, tolerance=0.014).accepted


def test_a_free_stream_elsewhere_may_have_other_margins() -> None:
    assert compare.free(observation(), observation(margins=changed(MARGINS, 0, 1.4)), tolerance=0.05).accepted


# ---------------------------------------------------------------- forced


def test_a_forced_stream_within_the_bound_is_equal() -> None:
    found = observation(margins=changed(MARGINS, 0, 1.7))
    assert compare.forced(observation(), found, bound=Bound(0.3, 0.3)) == compare.EQUAL


def test_a_forced_stream_may_pick_otherwise_within_the_bound_and_is_judged_to_its_end() -> None:
    found = observation(with_token(1), changed(MARGINS, 1, -0.1))
    verdict = compare.forced(observation(), found, bound=Bound(0.3, 0.3))
    assert verdict.accepted
    assert verdict.text == "equal to step 1, tie there (margin 0.014)"
    later = observation(with_token(1), changed(changed(MARGINS, 1, -0.1), 4, 0.1))
    assert compare.forced(observation(), later, bound=Bound(0.3, 0.3)).text.startswith(
        "differs at step 4 where the margin was 0.9"
    )


@pytest.mark.requirement("NX-2")
def test_a_forced_stream_that_hands_out_another_token_than_the_most_likely_one_differs() -> None:
    verdict = compare.forced(observation(), observation(with_token(1)), bound=WIDE)
    assert not verdict.accepted
    assert verdict.text == "differs at step 1 where the margin was 0.014"


def test_a_forced_stream_beyond_the_bound_differs_even_when_the_tokens_are_equal() -> None:
    verdict = compare.forced(
        observation(), observation(margins=changed(MARGINS, 2, 1.7)), bound=Bound(0.3, 0.3)
    )
    assert not verdict.accepted
    assert verdict.text == "differs at step 2 where the margin was 2.1 and is 1.7; 0.3 apart is allowed"


def test_a_forced_stream_whose_margins_all_move_differs_even_within_the_bound_of_a_step() -> None:
    found = observation(margins=[margin - 0.2 for margin in MARGINS])
    assert compare.forced(observation(), found, bound=Bound(0.3, 0.3)).accepted
    verdict = compare.forced(observation(), found, bound=Bound(0.3, 0.1))
    assert not verdict.accepted
    assert verdict.text == "differs all along: the margins moved by 0.2 a step; 0.1 is allowed"


# ---------------------------------------------------------------- bounds


def test_the_tie_tolerance_depends_on_the_type_and_bfloat16_has_its_own() -> None:
    assert tolerances.tie_tolerance("float32") == tolerances.tie_tolerance("float16") == 0.05
    assert tolerances.tie_tolerance("bfloat16") > 0.5


def test_fewer_bits_and_more_layers_and_half_precision_never_have_a_narrower_bound() -> None:
    tables = [tolerances.SHALLOW, tolerances.DEEP, *tolerances.HALF.values()]
    for table in tables:
        assert list(table) == [8, 6, 5, 4, 3, 2]
        bounds = list(table.values())
        assert bounds == sorted(bounds, key=lambda bound: (bound.step, bound.mean))
    for bits in tolerances.DEEP:
        assert tolerances.SHALLOW[bits].mean < tolerances.DEEP[bits].mean


@pytest.mark.parametrize(
    ("bits", "layers", "dtype", "bound"),
    [
        (8, 2, "float32", tolerances.SHALLOW[8]),
        (8, 30, "float32", tolerances.DEEP[8]),
        (4, 2, "bfloat16", tolerances.HALF["bfloat16"][4]),
        (4, 30, "float16", Bound(tolerances.DEEP[4].step, tolerances.DEEP[4].mean)),
        (7, 2, "float32", tolerances.SHALLOW[6]),
        (1, 2, "float32", tolerances.SHALLOW[2]),
    ],
)
def test_the_bound_goes_by_bits_converted_layers_and_type(
    bits: int, layers: int, dtype: str, bound: Bound
) -> None:
    event = CONVERTED.model_copy(update={"layers": tuple(range(layers)), "group_sizes": (64,) * layers})
    recorded = golden(observation(conversions=(event,)), bits=bits, dtype=dtype)
    assert tolerances.bound_for(recorded) == bound


# ---------------------------------------------------------------- which way


def test_the_way_follows_the_platform_and_the_conversions() -> None:
    quantized = golden(observation(conversions=(CONVERTED,)), bits=4)
    assert compare.mode_for(golden(), HERE) == compare.mode_for(quantized, HERE) == "exact"
    assert compare.mode_for(golden(), ELSEWHERE) == "free"
    assert compare.mode_for(quantized, ELSEWHERE) == "forced"


def test_bits_without_a_conversion_leave_the_stream_free() -> None:
    assert compare.mode_for(golden(bits=4), ELSEWHERE) == "free"


def test_judge_is_strict_where_it_was_recorded_and_tolerant_elsewhere() -> None:
    found = observation(with_token(1), changed(MARGINS, 1, 0.012))
    assert not compare.judge(golden(), golden(found)).accepted
    verdict = compare.judge(golden(), golden(found, platform=ELSEWHERE))
    assert verdict.text == "equal to step 1, tie there (margin 0.014)"


def test_judge_takes_the_bound_of_the_bits_for_a_quantized_stream_elsewhere() -> None:
    recorded = golden(observation(conversions=(CONVERTED,)), bits=8)
    bound = tolerances.bound_for(recorded).step

    def shifted(by: float) -> compare.Verdict:
        moved = observation(margins=changed(MARGINS, 2, 2.1 - by), conversions=(CONVERTED,))
        return compare.judge(recorded, golden(moved, bits=8, force=TOKENS, platform=ELSEWHERE))

    assert shifted(bound * 0.7).accepted
    assert not shifted(bound * 1.1).accepted


def test_a_quantized_stream_elsewhere_that_was_not_forced_is_not_comparable() -> None:
    recorded = golden(observation(conversions=(CONVERTED,)), bits=4)
    found = golden(observation(conversions=(CONVERTED,)), bits=4, platform=ELSEWHERE)
    assert not compare.judge(recorded, found).accepted


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bits": 8}, "another scenario"),
        ({"implementation": "mlx-lm"}, "another dialect"),
        ({"dialect": "mlx-lm"}, "another dialect"),
        ({"dtype": "bfloat16"}, "recorded in float32, not bfloat16"),
        ({"text": ("other words",)}, "decode to other words"),
        ({"prompt_text": ("other words",)}, "decode to other words"),
    ],
)
def test_answers_to_different_questions_are_not_compared(changes: dict[str, object], said: str) -> None:
    verdict = compare.judge(golden(), golden(**changes))  # pyright: ignore[reportArgumentType]
    assert not verdict.accepted
    assert said in verdict.text


def test_another_set_of_weights_is_named_as_the_reason() -> None:
    other = golden()
    other = other.model_copy(
        update={"recorded": other.recorded.model_copy(update={"fingerprint": "beef"})},
    )
    assert "other weights" in compare.judge(golden(), other).text
