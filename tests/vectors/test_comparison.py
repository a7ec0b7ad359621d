"""The comparison accepts what may differ between designs, and rejects what may not."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from kvconform.checks import Context
from kvconform.implementation import Capabilities, Info
from kvconform.observation import Refusal
from kvconform.vectors import compare, library
from kvconform_reference import affine, floats, packing
from kvconform_reference.dialect import DIALECTS

pytestmark = pytest.mark.goldens


def context(*features: str, dialect: str = "proposal", backend: str = "cpu") -> Context:
    """An implementation with these features; all of them when none is named."""
    capabilities = Capabilities(features=features or ALL)
    info = Info(name="mine", version="1", dialect=dialect, backend=backend, capabilities=capabilities)
    return Context(info=info, dialect=DIALECTS[dialect])


ALL = ("container", "free-pass", "processors", "prepare", "count", "model-list", "prompt-array", "accounting")


def difference(name: str, observed: Any, where: Context | None = None) -> str:
    """What is said of an answer to a vector; nothing when it is accepted."""
    vector = library.all_vectors()[name]
    found = list(compare.differences(where or context(), vector.scenario, vector.expected, observed))
    return found[0].message if found else ""


def expected(name: str) -> Any:
    return library.all_vectors()[name].expected


def with_record(name: str, field: str, number: int, **fields: Any) -> Any:
    """The expected answer with one of its records changed."""
    answer = expected(name)
    records = list(getattr(answer, field))
    records[number] = records[number].model_copy(update=fields)
    return answer.model_copy(update={field: tuple(records)})


def with_look(name: str, field: str, number: int, place: int, **fields: Any) -> Any:
    """The expected answer with one look changed."""
    objects = list(getattr(expected(name), field)[number].objects)
    objects[place] = objects[place].model_copy(update=fields)
    return with_record(name, field, number, objects=tuple(objects))


@pytest.mark.parametrize("name", sorted(library.all_vectors()))
def test_the_expected_answer_is_accepted(name: str) -> None:
    dialect = library.all_vectors()[name].dialects[0]
    assert difference(name, expected(name), context(dialect=dialect)) == ""


def test_any_refusal_meets_a_refusal_and_no_answer_does() -> None:
    assert difference("gs-dims-0-64", Refusal(message="in other words")) == ""
    answered = expected("gs-table-64-64-64")
    assert difference("gs-dims-0-64", answered).startswith("the answer is ")
    refused = difference("gs-table-64-64-64", Refusal(message="no"))
    assert refused.startswith("the answer is 'refused', expected {")


def test_a_wrong_size_is_named_with_the_right_one() -> None:
    wrong = expected("gs-table-64-96-96").model_copy(update={"group_size": 64})
    assert difference("gs-table-64-96-96", wrong) == "group_size is 64, expected 32"


def test_errors_are_compared_as_such_and_not_their_words() -> None:
    name = "mq-bad-bits-7"
    error = expected(name).steps[1].error
    for kind in ("refused", "internal"):
        other = error.model_copy(update={"message": "otherwise", "kind": kind})
        assert difference(name, with_record(name, "steps", 1, error=other)) == ""
    assert (
        difference(name, with_record(name, "steps", 1, error=None))
        == "steps[1].error is None, expected 'error'"
    )
    model = expected("it-prepare-raises").turns[0].error.model_copy(update={"kind": "internal"})
    assert "expected 'model'" in difference(
        "it-prepare-raises", with_record("it-prepare-raises", "turns", 0, error=model)
    )


def test_identity_is_compared() -> None:
    name = "mq-rotating"
    holders = {**expected(name).steps[1].holders, "container": (1, 2)}
    assert difference(name, with_record(name, "steps", 1, holders=holders)).startswith(
        "steps[1].holders.container[0]"
    )


def test_what_the_free_pass_answers_counts_where_one_triggers_for_all() -> None:
    name = "mq-scope-first-over"
    wrong = with_record(name, "steps", 1, returned=False)
    assert "returned" in difference(name, wrong)
    assert difference(name, wrong, context(dialect="mlx-lm-0.28")) == ""


def test_looks_made_count_only_where_none_may_be_made() -> None:
    name = "ct-no-look-when-disarmed"
    assert difference(name, with_record(name, "steps", 1, accesses=17)) == ""
    assert "accesses is 1, expected 0" in difference(name, with_record(name, "steps", 2, accesses=1))


def test_quantities_that_are_not_reported_are_left_out_and_those_that_raise_are_not() -> None:
    name = "qc-accounts-filled"
    assert difference(name, with_look(name, "records", 0, 0, size=None, empty=None, trimmable=None)) == ""
    assert difference(name, with_look(name, "records", 0, 0, nbytes=4711)) == ""
    assert "size is 0, expected 5" in difference(name, with_look(name, "records", 0, 0, size=0))
    for field in ("size", "nbytes"):
        raised = with_look(name, "records", 0, 0, **{field: None}, errors={field: "no such attribute"})
        assert f"{field} is 'raised'" in difference(name, raised)


def test_rows_answered_count_but_not_what_an_export_holds() -> None:
    assert "result is 3, expected 2" in difference(
        "qc-trim-then-append", with_record("qc-trim-then-append", "records", 1, result=3)
    )
    assert difference("qc-saved-quantized", with_record("qc-saved-quantized", "records", 1, result=256)) == ""


def test_a_negative_trim_may_be_refused_or_do_nothing() -> None:
    name = "qc-trim-negative"
    error = expected("mq-bad-bits-7").steps[1].error
    assert difference(name, with_record(name, "records", 1, error=error, result=None)) == ""
    assert difference(name, with_record(name, "records", 1, error=None, result=0)) == ""
    assert "offset is 10" in difference(name, with_look(name, "records", 1, 0, offset=10, rows=10))


def without(trace: Any, *names: str) -> Any:
    return tuple(event for event in trace if event.event not in names)


@pytest.mark.parametrize(
    ("name", "missing", "features"),
    [
        ("ps-boost", ("prompt", "did-sample"), ("process-only", "prepare", "count")),
        ("ps-boost", ("prompt", "did-sample", "process"), ("prepare", "count")),
        ("ps-boost", ("prepare",), ("processors", "count")),
        ("it-prompt-array", ("deprecated",), ("prepare", "count")),
        ("it-nothing-given", ("new-cache",), ("prepare", "count")),
    ],
)
def test_events_without_a_concept_are_left_out_on_both_sides(
    name: str, missing: tuple[str, ...], features: tuple[str, ...]
) -> None:
    trace = expected(name).turns[0].trace
    shorter = with_record(name, "turns", 0, trace=without(trace, *missing))
    assert difference(name, shorter, context(*features)) == ""
    assert "trace" in difference(name, shorter)


def test_holders_of_a_turn_and_counts_that_only_one_side_has_are_left_out() -> None:
    name = "rf-second-turn"
    holders = {"caller": expected(name).turns[0].holders["caller"]}
    assert difference(name, with_record(name, "turns", 0, holders=holders)) == ""
    assert difference(name, with_record(name, "turns", 0, holders={"caller": (1, 0)})) != ""
    assert difference(name, with_record(name, "turns", 0, count=None), context("prepare")) == ""
    assert "count is None, expected 3" in difference(name, with_record(name, "turns", 0, count=None))
    assert difference(name, with_record(name, "turns", 0, prefill_times=(0.5, 0.5))) == ""


def test_one_wrong_token_is_found() -> None:
    name = "st-start-11-prompt-10"
    trace = list(expected(name).turns[0].trace)
    place = next(i for i, event in enumerate(trace) if event.event == "token")
    trace[place] = trace[place].model_copy(update={"token": 60})
    assert f"turns[0].trace[{place}].token is 60" in difference(
        name, with_record(name, "turns", 0, trace=tuple(trace))
    )


# ---------------------------------------------------------------- quantized bytes


def other_branch(name: str) -> Any:
    """A row's answer with its edge code rounded the other way: what a GPU may give on a tie."""
    vector = library.all_vectors()[name]
    observation = vector.expected
    assert observation.kind == "quantize"
    (group,) = vector.intermediate or ()
    scenario: Any = vector.scenario
    values = base64.b64decode(scenario.tensor.data)
    numbers = struct.unpack(f"<{len(values) // 4}f", values)
    edge_code = group.edge_code - 1 if group.edge_code < 0 else group.edge_code + 1
    scale = affine.snap_scale(group.edge, float(edge_code), group.scale)
    codes = affine.clip_codes(
        affine.round_codes(affine.code_quotients(numbers, scale, group.bias)), scenario.bits
    )
    packed = packing.words_to_bytes(packing.pack_codes(list(codes), scenario.bits))
    return observation.model_copy(
        update={
            "packed": observation.packed.model_copy(update={"data": base64.b64encode(packed).decode()}),
            "scales": observation.scales.model_copy(
                update={"data": base64.b64encode(floats.encode([scale], "float32")).decode()}
            ),
        }
    )


def test_on_a_cpu_bytes_are_exact_and_elsewhere_a_whole_branch_is_accepted() -> None:
    name = "aq-edge-code-half"
    branch = other_branch(name)
    assert "is " in difference(name, branch)
    assert difference(name, branch, context(backend="metal")) == ""
    assert difference(name, expected(name), context(backend="metal")) == ""


def test_half_a_branch_is_accepted_nowhere() -> None:
    name = "aq-edge-code-half"
    mixed = other_branch(name).model_copy(update={"scales": expected(name).scales})
    assert difference(name, mixed, context(backend="metal")).startswith("not the affine quantization")


def test_shapes_are_compared_everywhere() -> None:
    wrong = expected("aq-ramp-3-bits").model_copy(update={"packed": expected("aq-ramp-4-bits").packed})
    assert "shape" in difference("aq-ramp-3-bits", wrong, context(backend="metal"))


@pytest.mark.parametrize("backend", ["cpu", "metal"])
def test_wrong_content_of_a_cache_is_found_on_every_backend(backend: str) -> None:
    name = "qc-convert-then-append"
    first, second = (expected(name).records[2].objects[1].keys, expected(name).records[1].objects[1].keys)
    data = base64.b64decode(first.packed.data)
    swapped = base64.b64encode(data[16:32] + data[:16] + data[32:]).decode()
    keys = first.model_copy(update={"packed": first.packed.model_copy(update={"data": swapped})})
    assert difference(name, with_look(name, "records", 2, 1, keys=keys), context(backend=backend)) != ""
    assert first != second
