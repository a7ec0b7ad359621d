"""Oracles, projections and messages: what is compared, and how a difference is told."""

from __future__ import annotations

from typing import Any

import pytest
from kvconform import judges, projections
from kvconform.implementation import Capabilities
from kvconform.invariants import affine as twice
from kvconform.observation import Refusal
from kvconform.oracle import ReferenceOracle
from kvconform.strategies import tensors
from kvconform.structure import why_malformed
from kvconform_reference import affine
from kvconform_reference.dialect import MLX_LM, PROPOSAL
from suite_answers import context, edited, put, right, scenario
from suite_samples import sample

ONE = {"kind": "plain", "length": 1}
TURN = {"prompt": {"length": 1}, "nexts": 1}


def container(*steps: Any, layers: Any = (ONE,)) -> Any:
    return scenario("container", layers=list(layers), steps=list(steps), built={"bits": 4})


def judged(projection: Any, asked: Any, observed: Any, expected: Any) -> list[Any]:
    judge = judges.same(projection, "differs")
    return list(judge(context(), asked, observed, lambda: expected))


PASSED = container({"do": "pass", "bits": 4})


# ---------------------------------------------------------------- the reference as an oracle


def test_the_oracle_answers_as_the_dialect_declares():
    asked = container({"do": "pass", "bits": 4}, layers=[{**ONE, "key_dim": 80, "value_dim": 80}])
    proposal: Any = ReferenceOracle(PROPOSAL)(asked)
    mlx_lm: Any = ReferenceOracle(MLX_LM)(asked)
    assert proposal.steps[1].error is None
    assert mlx_lm.steps[1].error.kind == "refused"


def test_a_refusal_of_the_oracle_is_an_observation():
    answer = ReferenceOracle(PROPOSAL)(scenario("resolve", requested=64, key_dim=0, value_dim=64))
    assert isinstance(answer, Refusal)


# ---------------------------------------------------------------- comparison


def test_equal_projections_are_no_finding_whatever_else_differs():
    other = edited(right(PASSED), put("steps.1.objects.1.offset", 5))
    assert judged(projections.outcomes, PASSED, other, right(PASSED)) == []


def test_a_difference_names_the_place_and_both_values():
    other = edited(right(PASSED), put("steps.1.holders.container", [0]))
    (finding,) = judged(projections.outcomes, PASSED, other, right(PASSED))
    assert finding.message == 'differs: after step 1 (pass), layer 0 is "S", expected "Q"'
    assert (finding.expected, finding.observed) == ([["S"], ["Q"]], [["S"], ["S"]])


def test_a_difference_in_length_is_told_as_one():
    assert judges.first_difference({"a": [1, 2]}, {"a": [1]}) == ("the length of a", 2, 1)


def test_the_first_difference_is_found_at_any_depth():
    assert judges.first_difference({"a": [{"b": 1}]}, {"a": [{"b": 2}]}) == ("a[0].b", 1, 2)
    assert judges.first_difference({"a": 1}, {}) == ("a", 1, None)


def test_a_long_value_is_cut_in_a_message():
    assert len(judges.short("x" * 500)) < 130


def test_a_refusal_is_compared_as_such_and_never_by_its_message():
    asked = container()
    assert judged(projections.outcomes, asked, Refusal(message="a"), Refusal(message="b")) == []
    assert judged(projections.outcomes, asked, Refusal(message="a"), right(asked)) != []


def test_a_judge_of_several_gives_the_findings_of_all():
    def one(*_arguments: Any) -> Any:
        yield judges.Finding(message="one")

    found = judges.all_of(one, one)(context(), PASSED, right(PASSED), lambda: right(PASSED))
    assert [finding.message for finding in found] == ["one", "one"]


# ---------------------------------------------------------------- projections


def test_kinds_show_children():
    asked = container(layers=[{"kind": "composite", "children": [ONE, {"kind": "recurrent"}]}])
    assert projections.kinds(context(), right(asked)) == [["L(S,M)"]]


def test_layers_show_offset_group_size_and_bits():
    assert projections.layers(context(), right(PASSED)) == [["S@1"], ["Q:64,4@1"]]


def test_a_step_that_raises_shows_as_an_error():
    asked = container({"do": "pass", "bits": 7})
    assert projections.outcomes(context(), right(asked)) == [["S"], "error"]


def test_the_whole_container_is_compared_up_to_the_first_error():
    asked = container({"do": "pass", "bits": 7}, {"do": "append", "rows": 1})
    other = edited(right(asked), put("steps.2.objects.0.offset", 9))
    assert judged(projections.everything_in_container, asked, other, right(asked)) == []


@pytest.mark.parametrize("field", ["nbytes", "size"])
def test_accounting_is_not_compared_with_the_reference(field: str):
    other = edited(right(PASSED), put(f"steps.1.objects.1.{field}", 5))
    assert judged(projections.everything_in_container, PASSED, other, right(PASSED)) == []


EVENTS = ("prompt", "process", "did-sample", "prepare", "new-cache", "deprecated")


@pytest.mark.parametrize(
    ("features", "kept"),
    [
        ((), set()),
        (("processors",), {"prompt", "process", "did-sample"}),
        (("process-only",), {"process"}),
        (("prepare", "model-list"), {"prepare", "new-cache"}),
        (("prompt-array",), {"deprecated"}),
    ],
)
def test_events_that_an_implementation_has_no_concept_of_are_taken_out(features: Any, kept: set[str]):
    asked = scenario(
        "iterate", layers=[ONE], turns=[{**TURN, "form": "prompt-array", "processor": "boost"}], given="model"
    )
    trace = right(asked).turns[0].trace  # pyright: ignore
    assert {event.event for event in trace} >= set(EVENTS)
    left = projections.known_events(trace, Capabilities(features=features))
    assert {event.event for event in left} & set(EVENTS) == kept
    assert {"call", "sample", "next", "token"} <= {event.event for event in left}


def test_prefill_times_are_not_compared():
    asked = scenario("iterate", layers=[ONE], turns=[TURN])
    other = edited(right(asked), put("turns.0.prefill_times", [1.0, 2.0]))
    assert judged(projections.everything_in_turns, asked, other, right(asked)) == []


# ---------------------------------------------------------------- shapes


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda data: data["steps"].pop(), "1 records for 1 steps"),
        (put("steps.1.holders.container", [7]), "record 1: id 7 names none of 2 objects"),
        (put("steps.0.objects.0.children", [9]), "record 0: id 9 names none of 1 objects"),
        (lambda data: data["steps"][0]["holders"].pop("container"), "record 0: no holder `container`"),
    ],
)
def test_a_container_answer_of_another_shape_is_malformed(edit: Any, complaint: str):
    wrong = why_malformed(PASSED, edited(right(PASSED), edit))
    assert wrong is not None
    assert wrong.startswith(complaint)


def test_an_iterate_answer_with_a_turn_too_few_is_malformed():
    asked = scenario("iterate", layers=[ONE], turns=[TURN, TURN])
    wrong = why_malformed(asked, edited(right(asked), lambda data: data["turns"].pop()))
    assert wrong == "1 records for 2 turns; one each is right"


def test_a_right_answer_and_a_refusal_are_well_formed():
    assert why_malformed(PASSED, right(PASSED)) is None
    assert why_malformed(PASSED, Refusal(message="no")) is None


# ---------------------------------------------------------------- numbers, twice


@pytest.mark.requirement("AQ-1")
def test_the_second_quantizer_agrees_with_the_reference_bit_for_bit():
    for asked in sample(tensors.scenarios(context(), most=1), 400):
        dtype = asked.tensor.dtype
        options: dict[str, Any] = {"bits": asked.bits, "group_size": asked.group_size, "dtype": dtype}
        values = twice.decode(_raw(asked.tensor), dtype)
        expected = affine.quantize_row(values, **options)
        found = twice.quantize_row(values, **options)
        assert (found.packed, found.scales, found.biases) == (
            expected.packed,
            expected.scales,
            expected.biases,
        )


def _raw(tensor: Any) -> bytes:
    import base64

    return base64.b64decode(tensor.data)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_second_encoding_comes_back(dtype: str):
    values = [0.0, 1.0, -2.0, 0.015625, 1.984375, -0.5]
    assert twice.decode(twice.encode(values, dtype), dtype) == values


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
def test_codes_come_back_from_their_words(bits: int):
    codes = [(7 * i) % 2**bits for i in range(64)]
    packed = twice.pack(codes, bits)
    assert len(packed) == 64 * bits // 8
    assert twice.unpack(packed, bits, 64) == codes


RAMP = tuple(i / 8 for i in range(32))
OPTIONS: dict[str, Any] = {"bits": 4, "group_size": 32, "dtype": "float32"}


@pytest.mark.parametrize("backend", ["cpu", "mlx 0.32.4 cpu", "pure Python"])
def test_quantized_rows_are_compared_exactly_on_cpus(backend: str):
    assert judges.row_judge(context(backend=backend)) is twice.accepts_exactly


@pytest.mark.parametrize("backend", ["mlx 0.32.4 gpu", "cuda", "metal"])
def test_quantized_rows_are_compared_by_accepted_branches_elsewhere(backend: str):
    judge = judges.row_judge(context(backend=backend))
    row = twice.quantize_row(RAMP, **OPTIONS)
    assert judge(RAMP, row, **OPTIONS) is None
    assert judge(RAMP, row._replace(packed=b"\0" * len(row.packed)), **OPTIONS) is not None


def test_exact_comparison_names_the_parts_that_differ():
    row = twice.quantize_row(RAMP, **OPTIONS)
    assert twice.accepts_exactly(RAMP, row, **OPTIONS) is None
    assert twice.accepts_exactly(RAMP, row._replace(scales=b"\0\0\0\0"), **OPTIONS) == "scales differ"
