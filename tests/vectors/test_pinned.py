"""What the specification says itself, next to what the reference recorded. Nothing here is computed."""

from __future__ import annotations

import pytest
from answers import calls, events, expected, failed, layers, numbers, offsets, returned, tokens
from kvconform.vectors import library

pytestmark = pytest.mark.goldens


# ---------------------------------------------------------------- GS: the table


@pytest.mark.requirement("GS-1", "GS-2", "GS-3", "GS-4", "GS-7", "GS-8", "GS-9")
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("64-64-64", 64),
        ("64-96-96", 32),
        ("128-96-96", 32),
        ("128-64-64", 64),
        ("48-128-128", 32),
        ("96-128-128", 64),
        ("97-128-128", 128),
        ("96-64-64", 64),
        ("47-64-64", 32),
        ("49-64-64", 64),
        ("0-128-128", 32),
        ("minus-5-128-128", 32),
        ("1-128-128", 32),
        ("million-256-256", 128),
        ("64-80-80", None),
        ("64-48-48", None),
        ("64-112-112", None),
        ("64-64-96", 32),
        ("128-128-64", 64),
        ("128-192-128", 64),
        ("128-576-512", 64),
        ("128-128-80", None),
    ],
)
def test_the_table_of_group_sizes(name: str, size: int | None) -> None:
    vector = library.all_vectors()[f"gs-table-{name}"]
    assert expected(vector.id).group_size == size
    assert "proposal" in vector.dialects


@pytest.mark.requirement("GS-10", "HD-1", "HD-2", "QP-1")
@pytest.mark.parametrize(
    ("name", "dims", "quantizable", "compatible"),
    [
        ("hd-layer-80-80", (80, 80), True, False),
        ("hd-layer-64-80", (64, 80), True, False),
        ("hd-layer-96-64", (96, 64), True, True),
        ("hd-layer-empty", None, True, False),
        ("hd-layer-trimmed-to-zero", (64, 64), True, True),
        ("hd-layer-composite", None, False, False),
        ("hd-layer-quantized", None, False, False),
        ("hd-layer-recurrent-2-slots", None, False, False),
        *((f"hd-96-96-request-{r}", (96, 96), True, True) for r in ("32", "64", "128", "7", "0", "minus-1")),
    ],
)
def test_what_is_asked_of_a_layer(
    name: str, dims: tuple[int, int] | None, quantizable: bool, compatible: bool
) -> None:
    answer = expected(name)
    assert (answer.head_dims, answer.quantizable) == (dims, quantizable)
    assert bool(answer.compatible) == compatible


# ---------------------------------------------------------------- TH, MQ


@pytest.mark.requirement("TH-1", "TH-2", "TH-3", "TH-4", "TH-5")
@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("th-offset-10-start-9", "Q10:64,4"),
        ("th-offset-10-start-10", "Q10:64,4"),
        ("th-offset-10-start-10-mlx-lm-0-28", "S10"),
        ("th-offset-10-start-11", "S10"),
        ("th-negative-start", "Q1:64,4"),
        ("th-incompatible-triggers", "Q3:64,4 S12"),
        ("th-rotating-first-mlx-lm-0-28", "R12 Q3:64,4"),
        ("th-rotating-first", "R12 S3"),
        ("th-quantized-never-triggers", "S3 Q50:64,4 M"),
    ],
)
def test_the_threshold(name: str, after: str) -> None:
    assert layers(name) == after


@pytest.mark.requirement("MQ-7", "MQ-8", "MQ-9", "MQ-10", "MQ-11", "MQ-16")
@pytest.mark.parametrize(
    ("name", "step", "after"),
    [
        ("mq-scope-first-over", 1, "Q12:64,4 Q3:64,4"),
        ("mq-scope-first-over-mlx-lm", 1, "Q12:64,4 S3"),
        ("mq-scope-second-over", 1, "Q3:64,4 Q12:64,4"),
        ("mq-scope-second-over-mlx-lm", 1, "S3 Q12:64,4"),
        ("mq-scope-second-over-mlx-lm-0-28", 1, "S3 S12"),
        ("mq-empty-layer", 1, "Q12:64,4 S0"),
        ("mq-empty-layer-mlx-lm-0-28", 1, "Q12:64,4 Q0:64,4"),
        ("mq-incompatible-80", 1, "S12 Q3:64,4"),
        ("mq-composite", 1, "L(M,S50)"),
        ("mq-composite-mlx-swift-lm", 1, "L(M,Q50:64,4)"),
        ("mq-rotating", 1, "R50 Q50:64,4"),
        ("mq-trimmed-to-zero", 1, "Q0:64,4"),
        ("mq-trimmed-to-zero", 2, "Q3:64,4"),
        ("mq-twice", 1, "Q12:64,4"),
        ("mq-twice", 3, "Q14:64,4"),
        ("gs-pass-96", 1, "Q5:32,4"),
        ("qp-chunked-dropped", 1, "C20 Q3:64,4"),
        ("qp-chunked-at-start", 1, "Q10:64,4 Q3:64,4"),
    ],
)
def test_one_pass(name: str, step: int, after: str) -> None:
    assert layers(name, step=step) == after


@pytest.mark.requirement("MQ-3", "MQ-10", "MQ-11")
def test_what_stays_is_the_same_object() -> None:
    assert numbers("mq-rotating", step=0) == (0, 1)
    assert numbers("mq-rotating") == (0, 2)
    assert numbers("mq-composite-mlx-swift-lm") == (0,), "the composite keeps its identity"
    before, after = expected("mq-composite-mlx-swift-lm").steps
    assert (before.objects[0].children, after.objects[0].children) == ((1, 2), (1, 3))
    assert after.objects[2].kind == "plain", "the child object is not mutated"


@pytest.mark.requirement("MQ-13", "MQ-14")
@pytest.mark.parametrize(
    "name",
    [
        "mq-bad-bits-0",
        "mq-bad-bits-7",
        "mq-bad-bits-16",
        "mq-bad-bits-minus-4",
        "mq-incompatible-error",
        "mq-rotating-error",
        "gs-pass-96-exact",
    ],
)
def test_a_pass_that_fails_changes_nothing(name: str) -> None:
    assert failed(name) == [1]
    before, after = expected(name).steps
    assert (before.holders, before.objects) == (after.holders, after.objects)


@pytest.mark.requirement("MQ-15")
@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("mq-answer-incompatible", [True, True]),
        ("mq-answer-all-empty", [True]),
        ("mq-answer-rotating", [False]),
        ("mq-answer-all-quantized", [False]),
        ("mq-no-bits", [False, False]),
        ("mq-empty-list", [False, False]),
    ],
)
def test_the_free_pass_answers_whether_it_triggered(name: str, answers: list[bool]) -> None:
    assert returned(name) == answers


# ---------------------------------------------------------------- CT


@pytest.mark.requirement("CT-4", "CT-5", "CT-6", "CT-7", "CT-8", "CT-12")
@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("ct-disarmed-for-good", "Q32:64,4 S20"),
        ("ct-built-without-bits", "S13"),
        ("ct-call-without-bits", "Q12:32,8"),
        ("ct-hazard-all-empty", "S5 S5"),
        ("ct-hazard-empty-at-pass", "Q12:64,4 S6"),
        ("ct-hazard-incompatible", "S6"),
        ("ct-armed-below-line", "Q6:64,4 Q6:64,4"),
        ("ct-latch-none", "Q21:64,4 Q12:32,8"),
        ("ct-latch-first-layer", "Q13:64,4 S13"),
        ("ct-latch-waits-for-empty", "Q24:64,4 Q12:64,4"),
        ("ct-built-group-ignored", "Q5:128,4"),
    ],
)
def test_the_latch(name: str, after: str) -> None:
    assert layers(name) == after


@pytest.mark.requirement("CT-2", "CT-3", "CT-10", "MQ-6")
def test_who_sees_a_conversion() -> None:
    own = "ct-alias-sees-conversion"
    assert layers(own) == layers(own, holder="alias") == "Q10:64,8 Q10:64,8"
    assert layers(own, holder="caller") == "S6 S6", "frozen at the offset of the conversion"
    assert layers(f"{own}-mlx-lm", holder="caller") == "Q10:64,8 Q10:64,8"
    assert layers("ct-twins", holder="twin") == "S5 S5"


@pytest.mark.requirement("CT-9")
def test_a_list_is_asked_for_once_or_never() -> None:
    assert expected("ct-model-asked-once").list_requests == 1
    assert "caller" not in expected("ct-model-asked-once").steps[0].holders
    assert expected("ct-empty-list-stays-empty").list_requests == 0
    assert events("it-nothing-given").split().count("new-cache") == 1
    assert "new-cache" not in events("it-empty-list")


@pytest.mark.requirement("CT-11")
@pytest.mark.parametrize(("name", "step"), [("ct-no-look-when-disarmed", 2), ("ct-latch-settles", 2)])
def test_a_disarmed_container_looks_at_nothing(name: str, step: int) -> None:
    assert expected(name).steps[step].accesses == 0
    assert expected(name).steps[step - 1].accesses is None, "how often an armed one looks is its own business"


# ---------------------------------------------------------------- PR, ST, NX


@pytest.mark.requirement("PR-6")
@pytest.mark.parametrize(
    ("name", "lengths"),
    [
        ("pr-window-512-by-512", [512]),
        ("pr-window-513-by-512", [512, 1]),
        ("pr-window-1024-by-512", [512, 512]),
        ("pr-window-1025-by-512", [512, 512, 1]),
        ("pr-reserve-one-23-by-8", [8, 8, 6, 1]),
        ("pr-reserve-one-8-by-4", [4, 3, 1]),
        ("pr-balanced-512-by-512", [512]),
        ("pr-balanced-513-by-512", [512, 1]),
        ("pr-balanced-600-by-512", [300, 299, 1]),
        ("pr-balanced-1024-by-512", [512, 511, 1]),
    ],
)
def test_where_a_prompt_is_cut(name: str, lengths: list[int]) -> None:
    made = [event for event in expected(name).turns[0].trace if event.event == "call"]
    assert [len(call.tokens) for call in made] == [*lengths, 1], "the last one belongs to the token returned"


@pytest.mark.requirement("PR-7", "ST-1", "ST-2")
@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("st-start-10-prompt-10", "10S 1Q 1Q 1Q"),
        ("st-start-11-prompt-10", "10S 1S 1Q 1Q"),
        ("st-start-10-prompt-10-mlx-lm", "9S 1S 1Q 1Q 1Q"),
        ("st-start-9-prompt-10-mlx-lm", "9S 1Q 1Q 1Q 1Q"),
        ("pr-pass-after-prefill-1300", "512S 512S 276S 1Q"),
        ("pr-pass-and-chunks", "4S 4S 4S 4S 4S 1Q"),
        ("pr-pass-and-chunks-mlx-lm", "4S 4S 4Q 4Q 3Q 1Q 1Q"),
        ("pr-logits-no-tokens", "5S"),
    ],
)
def test_the_first_call_on_quantized_caches(name: str, made: str) -> None:
    assert calls(name) == made


@pytest.mark.requirement("ST-3")
def test_an_empty_list_reaches_the_model_as_none() -> None:
    assert all(event.no_cache for event in expected("st-empty-list").turns[0].trace if event.event == "call")


@pytest.mark.requirement("IT-1", "IT-2", "PR-5", "MQ-0")
@pytest.mark.parametrize(
    ("name", "kind", "trace"),
    [
        ("it-prepare-raises", "model", "prepare"),
        ("it-both-given", "refused", ""),
        ("pr-empty-prompt", "refused", "prompt prepare"),
        ("pr-prepare-takes-all", "refused", "prompt prepare call"),
        ("pr-window-below-one-0", "refused", ""),
        ("mq-bad-bits-iterator", "refused", ""),
    ],
)
def test_how_far_an_error_comes(name: str, kind: str, trace: str) -> None:
    assert expected(name).turns[0].error.kind == kind
    assert events(name) == trace
    assert expected(name).turns[0].count is None


@pytest.mark.requirement("NX-1", "NX-2", "NX-3", "NX-5")
@pytest.mark.parametrize(
    ("name", "handed_out", "samples"),
    [
        ("nx-limit-0", 0, 1),
        ("nx-limit-1", 1, 2),
        ("nx-limit-2-asked-on", 2, 3),
        ("nx-limit-none", 40, 41),
        ("nx-limit-minus-1", 0, 1),
        ("nx-lookahead-limit", 7, 8),
        ("nx-count-after-end", 3, 4),
    ],
)
def test_limits_and_lookahead(name: str, handed_out: int, samples: int) -> None:
    assert len(tokens(name)) == expected(name).turns[0].count == handed_out
    assert len(tokens(name, "sample")) == samples
    assert tokens(name) == tokens(name, "sample")[:handed_out], "what is returned was sampled a step earlier"


@pytest.mark.requirement("NX-1")
def test_after_the_end_nothing_happens() -> None:
    assert events("nx-limit-2-asked-on").endswith("token next end next end next end")


@pytest.mark.requirement("NX-3", "ST-6", "RF-1", "IT-7")
def test_offsets_add_up() -> None:
    assert offsets("nx-offsets-warm") == [(5, 5), (9, 9), (10, 10), (11, 11)]
    assert offsets("st-offset-through-conversion")[:3] == [(5, 0), (8, 3), (9, 4)]
    assert offsets("rf-second-turn", turn=1)[0] == (7, 7), "prompt 4 and 3 tokens"
    assert offsets("rf-second-turn-after-conversion", turn=1)[0] == (10, 10), "prompt 4 and 6 tokens"


@pytest.mark.requirement("RF-2")
def test_a_turn_on_the_old_list_loses_what_came_after_the_conversion() -> None:
    old = "rf-old-list-after-conversion"
    assert offsets(old, turn=0)[-1] == (7, 7)
    assert offsets(old, turn=1)[0] == (5, 5)
    assert offsets(f"{old}-mlx-lm", turn=1)[0] == (8, 8)


# ---------------------------------------------------------------- IT, PS


@pytest.mark.requirement("IT-3", "IT-5", "IT-6")
def test_bits_come_from_the_parameters_and_deprecated_forms_warn() -> None:
    assert calls("it-container-without-bits") == "4S 1S 1S 1S"
    assert calls("it-parameters-win") == "4S 1Q 1Q 1Q"
    assert calls("it-sampler-first") == "6S 1S 1S 1S"
    assert events("it-prompt-array").split()[0] == "deprecated"


@pytest.mark.requirement("PR-1", "PS-1")
def test_a_processor_sees_the_whole_prompt_once_and_every_token_once() -> None:
    trace = expected("pr-prompt-whole").turns[0].trace
    assert [len(event.tokens) for event in trace if event.event == "prompt"] == [9]
    assert trace[0].event == "prompt"
    order = events("ps-boost-lookahead")
    assert order == (
        "prompt prepare call process sample did-sample next call process sample did-sample token "
        "next call process sample did-sample token"
    )
    assert tokens("ps-boost-lookahead", "sample") == tokens("ps-boost-lookahead", "did-sample")


# ---------------------------------------------------------------- QC, KC


@pytest.mark.requirement("QC-4", "KC-1", "KC-2", "KC-3")
@pytest.mark.parametrize(
    ("name", "offsets", "results"),
    [
        ("qc-trim-too-much", [4, 0, 2, 2], [4, 2, 0]),
        ("qc-trim-over-growth", [300, 290, 291], [10, 291]),
        ("kc-plain-trim-too-much", [3, 0, 2], [3, 2]),
        ("kc-plain-trim-long-prefix", [300, 290, 295], [10, 295]),
        ("kc-plain-growth", [0, 255, 256, 257, 557], [255, 256, 257, 557]),
        ("kc-chunked-trim", [6, 2, 3], [4, 1]),
        ("kc-rotating-append-many", [8, 11, 14, 17, 20], [10, 10, 10, 10]),
        ("kc-rotating-more-than-window", [0, 20, 21], [20, 8]),
    ],
)
def test_offsets_and_rows_of_one_cache(name: str, offsets: list[int], results: list[int]) -> None:
    records = expected(name).records
    assert [record.objects[0].offset for record in records] == offsets
    assert [record.result for record in records[1:]] == results


@pytest.mark.requirement("QC-4")
@pytest.mark.parametrize("name", ["qc-trim-negative", "kc-plain-trim-negative"])
def test_a_negative_trim_never_raises_the_offset(name: str) -> None:
    assert [record.objects[0].offset for record in expected(name).records] == [8, 8, 9]


@pytest.mark.requirement("QC-6")
@pytest.mark.parametrize("bits", [2, 3, 5, 6, 8])
def test_packed_widths(bits: int) -> None:
    view = expected(f"qc-width-{bits}-bits").records[1].objects[1]
    assert view.keys.packed.shape == (1, 1, 1, 96 * bits // 32)
    assert view.values.packed.shape == (1, 1, 1, 64 * bits // 32)
    assert view.keys.scales.shape == view.keys.biases.shape == (1, 1, 1, 3)


@pytest.mark.requirement("QC-2")
def test_convert_then_append_equals_append_then_convert() -> None:
    one = expected("qc-convert-then-append").records[-1].objects[1]
    other = expected("qc-append-then-convert").records[-1].objects[1]
    assert (one.keys, one.values) == (other.keys, other.values)


@pytest.mark.requirement("AQ-2")
def test_rows_in_another_order_have_the_same_codes() -> None:
    rows, reversed_rows = (
        library.all_vectors()[name].intermediate for name in ("aq-rows", "aq-rows-reversed")
    )
    assert rows is not None
    assert reversed_rows == rows[::-1]
