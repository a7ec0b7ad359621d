"""The reference behind the suite's protocol: what docs/scenarios.md says of every kind but `iterate`."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kvconform import pattern
from kvconform.implementation import FEATURES, Implementation, Unsupported
from kvconform.implementations import reference, reference_layers
from kvconform.observation import (
    CacheObservation,
    ContainerObservation,
    ObjectView,
    Packed,
    QuantizeObservation,
    Refusal,
    ResolveObservation,
    observation_from_data,
)
from kvconform.scenario import (
    Append,
    AppendStep,
    Built,
    CacheScenario,
    ChunkedLayer,
    CompositeLayer,
    ContainerScenario,
    Convert,
    Copy,
    DropFront,
    DropFrontStep,
    GenerateScenario,
    Observe,
    Parameters,
    PassStep,
    PlainLayer,
    QuantizedLayer,
    QuantizeScenario,
    RecurrentLayer,
    ResolveScenario,
    RotatingLayer,
    SaveLoad,
    Select,
    StateRoundTrip,
    Tensor,
    Trim,
    TrimStep,
    as_data,
)
from kvconform_reference import affine, caches, floats
from kvconform_reference.dialect import DIALECTS, Dialect

REFERENCE = reference.factory()


def run(scenario: Any, dialect: Any = "proposal") -> Any:
    """The observation, which must survive the wire."""
    observation = reference.factory(dialect).run(scenario)
    assert observation_from_data(as_data(observation)) == observation
    return observation


def cache_records(layer: Any, *operations: Any, observe: Observe | None = None, dialect: Any = "proposal"):
    observation = run(
        CacheScenario(layer=layer, operations=operations, observe=observe or Observe()), dialect
    )
    assert isinstance(observation, CacheObservation), observation
    return observation.records


def steps(*layers: Any, dialect: Any = "proposal", **fields: Any) -> Any:
    observation = run(ContainerScenario(layers=layers, **fields), dialect)
    assert isinstance(observation, ContainerObservation), observation
    return observation.steps


def summary(view: ObjectView) -> str:
    """`plain 12`, `quantized 12 64,4`."""
    packed = f" {view.group_size},{view.bits}" if view.kind == "quantized" else ""
    return f"{view.kind} {view.offset}{packed}"


def seen(record: Any, holder: str) -> list[str]:
    return [summary(record.objects[number]) for number in record.holders[holder]]


def decoded(tensor: Any) -> list[float]:
    return floats.decode(base64.b64decode(tensor.data), tensor.dtype)


# ---------------------------------------------------------------- who it is


def test_the_reference_is_an_implementation_that_names_its_dialect() -> None:
    assert isinstance(REFERENCE, Implementation)
    assert [reference.factory(name).info.dialect for name in DIALECTS] == list(DIALECTS)
    own = Dialect(threshold="none", owner="new-list")
    assert reference.factory(own).info.dialect == own.as_dict()
    assert reference.factory({"threshold": "none", "owner": "new-list"}).info.dialect == own.as_dict()


def test_an_unknown_dialect_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="proposal, mlx-lm"):
        reference.factory("nope")


@pytest.mark.parametrize(
    ("dialect", "absent"),
    [
        ("proposal", {"process-only"}),
        ("mlx-lm", {"process-only", "prepare", "logits-prefill"}),
        ("mlx-lm-0.26", {"process-only", "prepare", "logits-prefill"}),
        ("mlx-swift-lm", {"process-only"}),
    ],
)
def test_the_features_are_those_that_the_dialect_has_a_concept_of(dialect: str, absent: set[str]) -> None:
    assert set(FEATURES) - set(reference.factory(dialect).info.capabilities.features) == absent


def test_a_generate_scenario_of_a_model_that_is_not_there_is_unsupported() -> None:
    scenario = GenerateScenario(model="llama", prompt=(1,), parameters=Parameters(max_tokens=1))
    with pytest.raises(Unsupported, match=r"no such model|cannot be imported"):
        REFERENCE.run(scenario)


# ---------------------------------------------------------------- resolve


@pytest.mark.requirement("GS-3", "GS-5", "GS-8")
@pytest.mark.parametrize(
    ("dialect", "size"),
    [("proposal", 32), (Dialect(resolver="largest-below"), 32), (Dialect(resolver="exact"), None)],
)
def test_resolve_answers_by_the_resolver(dialect: Any, size: int | None) -> None:
    scenario = ResolveScenario(requested=64, key_dim=96, value_dim=96)
    assert run(scenario, dialect) == ResolveObservation(group_size=size)


@pytest.mark.requirement("GS-2", "GS-12")
@pytest.mark.parametrize(
    ("fields", "dialect"),
    [
        ({"key_dim": 96, "value_dim": 96}, "mlx-lm"),
        ({"key_dim": 0, "value_dim": 64}, "proposal"),
        ({"key_dim": 64, "value_dim": -64}, "proposal"),
        ({"key_dim": 64}, "proposal"),
        ({}, "proposal"),
        ({"key_dim": 64, "value_dim": 64, "layer": PlainLayer(length=1)}, "proposal"),
    ],
)
def test_resolve_refuses_what_has_no_answer(fields: Any, dialect: str) -> None:
    assert isinstance(run(ResolveScenario(requested=64, **fields), dialect), Refusal)


@pytest.mark.requirement("HD-1", "HD-2", "HD-3", "QP-1", "GS-10")
@pytest.mark.parametrize(
    ("layer", "answer"),
    [
        (PlainLayer(length=5, key_dim=96, value_dim=96), (32, (96, 96), True, True)),
        (PlainLayer(length=5, key_dim=80), (None, (80, 64), True, False)),
        (PlainLayer(), (None, None, True, False)),
        (PlainLayer(length=5, trim=5), (64, (64, 64), True, True)),
        (ChunkedLayer(length=5), (64, (64, 64), True, True)),
        (RotatingLayer(length=5), (None, (64, 64), False, False)),
        (QuantizedLayer(length=5), (None, None, False, False)),
        (RecurrentLayer(slots=2), (None, None, False, False)),
        (CompositeLayer(children=(PlainLayer(length=5),)), (None, None, False, False)),
    ],
)
def test_resolve_answers_all_that_can_be_asked_of_a_layer(layer: Any, answer: Any) -> None:
    group_size, dims, quantizable, compatible = answer
    assert run(ResolveScenario(requested=64, layer=layer)) == ResolveObservation(
        group_size=group_size, head_dims=dims, quantizable=quantizable, compatible=compatible
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_question_about_a_layer_that_can_be_built_is_never_refused(dialect: str) -> None:
    observation = run(ResolveScenario(requested=64, layer=PlainLayer(length=1, key_dim=80)), dialect)
    assert (observation.group_size, observation.head_dims, observation.compatible) == (None, (80, 64), False)


# ---------------------------------------------------------------- quantize


def tensor_of(rows: list[list[float]], dtype: Any) -> Tensor:
    data = floats.encode([value for row in rows for value in row], dtype)
    return Tensor(dtype=dtype, shape=(len(rows), len(rows[0])), data=base64.b64encode(data).decode())


@pytest.mark.requirement("AQ-1", "QC-6")
@pytest.mark.parametrize("dtype", floats.DTYPES)
@pytest.mark.parametrize(("bits", "group_size"), [(3, 32), (4, 64), (8, 32)])
def test_quantize_gives_every_row_as_the_quantizer_does(dtype: Any, bits: int, group_size: int) -> None:
    rows = [list(pattern.row_values(0, 0, 0, 0, position, 64)) for position in range(3)]
    answer = run(QuantizeScenario(tensor=tensor_of(rows, dtype), bits=bits, group_size=group_size))
    assert isinstance(answer, QuantizeObservation)
    expected = [affine.quantize_row(row, bits=bits, group_size=group_size, dtype=dtype) for row in rows]
    for name, width in (
        ("packed", 64 * bits // 32),
        ("scales", 64 // group_size),
        ("biases", 64 // group_size),
    ):
        tensor = getattr(answer, name)
        assert tensor.shape == (3, width)
        assert base64.b64decode(tensor.data) == b"".join(getattr(row, name) for row in expected)
        assert tensor.dtype == ("uint32" if name == "packed" else dtype)


def words(*shape: int, dtype: Any) -> Tensor:
    return Tensor(dtype=dtype, shape=shape, data=base64.b64encode(bytes(4 * 64)).decode())


@pytest.mark.requirement("AQ-1", "GS-11", "MQ-14")
@pytest.mark.parametrize(
    "scenario",
    [
        QuantizeScenario(tensor=tensor_of([[0.0] * 64], "float32"), bits=4, group_size=0),
        QuantizeScenario(tensor=tensor_of([[0.0] * 64], "float32"), bits=7, group_size=64),
        QuantizeScenario(tensor=tensor_of([[0.0] * 48], "float32"), bits=4, group_size=32),
        QuantizeScenario(tensor=words(64, dtype="float32"), bits=4, group_size=64),
        QuantizeScenario(tensor=words(1, 64, dtype="uint32"), bits=4, group_size=64),
    ],
    ids=["group size 0", "bits 7", "48 values", "1-d", "uint32"],
)
def test_quantize_refuses_what_cannot_be_quantized(scenario: Any) -> None:
    assert isinstance(run(scenario), Refusal)


# ---------------------------------------------------------------- layers and content


@pytest.mark.requirement("KC-1", "KC-2", "KC-3")
def test_layers_are_built_as_the_contract_says() -> None:
    (record,) = steps(
        PlainLayer(length=5, trim=2),
        ChunkedLayer(length=20, drop_front=True),
        RotatingLayer(length=20),
        RotatingLayer(length=20, singly=True),
        QuantizedLayer(length=3, bits=8, group_size=48),
        RecurrentLayer(slots=3),
        RecurrentLayer(filled=False),
    )
    fields = [(v.kind, v.offset, v.rows) for v in record.objects]
    assert fields == [
        ("plain", 3, 3),
        ("chunked", 20, 16),
        ("rotating", 20, 20),
        ("rotating", 20, 16),
        ("quantized", 3, 3),
        ("recurrent", None, None),
        ("recurrent", None, None),
    ]
    assert record.objects[1].start_position == 4
    assert (record.objects[4].group_size, record.objects[4].bits) == (32, 8)
    filled = pattern.chain_all(5) % 251
    assert record.objects[5].state == tuple((filled + slot) % 251 for slot in range(3))
    assert record.objects[6].state is None


@pytest.mark.requirement("KC-1")
def test_content_is_the_pattern_of_stream_salt_role_head_and_position() -> None:
    layers = (
        CompositeLayer(children=(RecurrentLayer(), PlainLayer(length=2, heads=2, dtype="bfloat16"))),
        PlainLayer(length=1, key_dim=32, value_dim=96),
    )
    first, second = steps(*layers, steps=(AppendStep(rows=2, salt=9),), observe=Observe(content=True))
    inner = second.objects[2]
    expected = [
        value
        for head in (0, 1)
        for position, salt in ((0, 0), (1, 0), (2, 9), (3, 9))
        for value in pattern.row_values(2, salt, 1, head, position, 64)
    ]
    assert inner.values.shape == (1, 2, 4, 64)
    assert decoded(inner.values) == expected
    outer = first.objects[3]
    assert decoded(outer.keys) == list(pattern.row_values(3, 0, 0, 0, 0, 32))
    assert outer.values.shape == (1, 1, 1, 96)
    assert first.objects[0].keys is None


@pytest.mark.requirement("QC-1", "QC-6")
def test_content_of_a_quantized_layer_is_packed_words_scales_and_biases() -> None:
    (record,) = steps(
        QuantizedLayer(length=2, key_dim=128, bits=6, dtype="float16"), observe=Observe(content=True)
    )
    keys = record.objects[0].keys
    assert isinstance(keys, Packed)
    shapes = [(t.dtype, t.shape) for t in (keys.packed, keys.scales, keys.biases)]
    assert shapes == [("uint32", (1, 1, 2, 24)), ("float16", (1, 1, 2, 2)), ("float16", (1, 1, 2, 2))]
    rows = [
        affine.quantize_row(pattern.row_values(0, 0, 0, 0, p, 128), bits=6, group_size=64, dtype="float16")
        for p in (0, 1)
    ]
    assert base64.b64decode(keys.packed.data) == rows[0].packed + rows[1].packed


def test_no_content_is_computed_unless_bytes_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise AssertionError("content was computed")

    monkeypatch.setattr(reference_layers.PatternRows, "row", fail)
    moves = (PassStep(bits=4), AppendStep(rows=300), TrimStep(rows=2))
    accounting = Observe(accounting=True)
    assert steps(PlainLayer(length=300), RotatingLayer(length=300), steps=moves, observe=accounting)
    operations = (Convert(bits=4), Copy(), StateRoundTrip(), Append(rows=3))
    records = cache_records(PlainLayer(length=300), *operations, observe=accounting)
    assert [record.error for record in records] == [None] * 5


@pytest.mark.requirement("QC-10")
def test_accounting_is_looked_at_only_when_asked_for() -> None:
    layers = (PlainLayer(length=3), RotatingLayer(length=16), RecurrentLayer(), QuantizedLayer())
    (record,) = steps(*layers)
    assert {view.nbytes for view in record.objects} == {None}
    (record,) = steps(*layers, observe=Observe(accounting=True))
    assert [(v.nbytes, v.size, v.empty, v.trimmable) for v in record.objects] == [
        (256 * 512, 3, False, True),
        (16 * 512, 16, False, False),
        (32, None, False, False),
        (0, 0, True, True),
    ]


def test_a_look_that_raises_is_recorded_under_its_field(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_cache: Any) -> int:
        raise RuntimeError("no size today")

    monkeypatch.setattr(caches.PlainCache, "nbytes", property(broken))
    monkeypatch.setattr(caches.PlainCache, "rows", property(lambda _cache: "three"))
    (record,) = steps(PlainLayer(), RecurrentLayer(), observe=Observe(accounting=True, content=True))
    view = record.objects[0]
    assert (view.offset, view.rows, view.nbytes) == (0, None, None)
    assert view.errors is not None
    assert view.errors["nbytes"] == "RuntimeError: no size today"
    assert "rows" in view.errors
    assert record.objects[1].errors is None


# ---------------------------------------------------------------- cache


@pytest.mark.requirement("QC-2", "QC-4", "QC-9")
def test_every_cache_object_keeps_its_number_and_is_still_looked_at() -> None:
    records = cache_records(
        PlainLayer(length=3),
        Append(rows=2),
        Convert(bits=4),
        Append(rows=1),
        Copy(),
        Trim(rows=2),
        Select(cache=0),
        Trim(rows=9),
    )
    assert [record.result for record in records] == [None, 5, None, 6, None, 2, None, 5]
    assert [record.current for record in records] == [0, 0, 1, 1, 2, 2, 0, 0]
    assert [summary(view) for view in records[-1].objects] == [
        "plain 0",
        "quantized 6 64,4",
        "quantized 4 64,4",
    ]


@pytest.mark.requirement("QC-5", "QC-11", "KC-6")
@pytest.mark.parametrize("operation", [SaveLoad(), StateRoundTrip()])
def test_saving_gives_back_an_equal_cache_and_reports_the_rows_stored(operation: Any) -> None:
    everything = Observe(content=True, accounting=True)
    for layer in (
        PlainLayer(length=5, trim=2),
        QuantizedLayer(length=3, bits=3),
        RotatingLayer(length=20, singly=True, keep=2),
        ChunkedLayer(length=20, drop_front=True),
    ):
        before, after = cache_records(layer, operation, observe=everything)
        assert after.objects[1] == before.objects[0]
        assert after.result == before.objects[0].rows
        assert after.current == 1


@pytest.mark.requirement("KC-5", "KC-6")
def test_the_children_of_a_composite_are_numbered_right_behind_it() -> None:
    layer = CompositeLayer(children=(RecurrentLayer(), CompositeLayer(children=(PlainLayer(length=2),))))
    records = cache_records(layer, Copy(), Append(rows=1), SaveLoad())
    last = records[-1]
    assert [view.kind for view in last.objects] == ["composite", "recurrent", "composite", "plain"] * 3
    assert [view.children for view in last.objects if view.children] == [
        (1, 2),
        (3,),
        (5, 6),
        (7,),
        (9, 10),
        (11,),
    ]
    assert [last.objects[number].offset for number in (3, 7, 11)] == [2, 3, 3]
    assert (records[2].result, last.result, last.current) == (None, None, 8)


@pytest.mark.requirement("QP-1", "QP-2", "MQ-12", "KC-3")
@pytest.mark.parametrize(
    ("layer", "operation"),
    [
        (RotatingLayer(length=5), Convert(bits=4)),
        (QuantizedLayer(length=5), Convert(bits=8)),
        (RecurrentLayer(), Convert(bits=4)),
        (ChunkedLayer(length=20, drop_front=True), Convert(bits=4)),
        (PlainLayer(length=5, key_dim=80), Convert(bits=4)),
        (PlainLayer(length=5), Convert(bits=7)),
        (PlainLayer(length=5), DropFront()),
        (PlainLayer(length=5), Select(cache=1)),
    ],
)
def test_an_operation_that_a_cache_does_not_take_is_refused_and_changes_nothing(
    layer: Any, operation: Any
) -> None:
    before, after, again = cache_records(layer, operation, Copy(), observe=Observe(accounting=True))
    assert (after.error.kind, after.result, after.current) == ("refused", None, 0)
    assert after.objects == before.objects
    assert again.error is None


@pytest.mark.requirement("KC-3")
def test_a_chunked_cache_drops_its_front_between_operations() -> None:
    records = cache_records(
        ChunkedLayer(length=14, chunk_size=8), DropFront(), Append(rows=3), Trim(rows=100)
    )
    rows = [(r.objects[0].offset, r.objects[0].rows, r.objects[0].start_position) for r in records]
    assert rows == [(14, 14, 0), (14, 8, 6), (17, 11, 6), (6, 0, 6)]
    assert [record.result for record in records] == [None, None, 11, 11]


@pytest.mark.requirement("KC-2")
def test_a_write_to_a_rotating_cache_reports_what_its_reader_got() -> None:
    records = cache_records(RotatingLayer(length=16), Append(rows=5), Append(rows=1), Trim(rows=1))
    assert [record.result for record in records] == [None, 20, 16, 0]


# ---------------------------------------------------------------- container


MIXED = (
    PlainLayer(length=12),
    PlainLayer(length=3),
    PlainLayer(length=12, key_dim=80),
    RotatingLayer(length=12),
)
PASS = PassStep(bits=4, start=10)


@pytest.mark.requirement("CT-1", "CT-2", "CT-3", "CT-10", "MQ-3", "RF-2")
def test_every_holder_sees_what_the_owner_of_the_list_lets_it_see() -> None:
    moves = (PASS, AppendStep(rows=2), AppendStep(rows=1, through="caller"))
    built, passed, appended, through_caller = steps(*MIXED, built=Built(bits=4), twin=True, steps=moves)
    assert built.holders == dict.fromkeys(("container", "alias", "caller", "twin"), (0, 1, 2, 3))
    assert passed.holders == {
        "container": (4, 5, 2, 3),
        "alias": (4, 5, 2, 3),
        "caller": (0, 1, 2, 3),
        "twin": (0, 1, 2, 3),
    }
    assert seen(passed, "container") == ["quantized 12 64,4", "quantized 3 64,4", "plain 12", "rotating 12"]
    assert seen(appended, "alias") == ["quantized 14 64,4", "quantized 5 64,4", "plain 14", "rotating 14"]
    assert seen(appended, "caller")[:2] == ["plain 12", "plain 3"]
    assert seen(through_caller, "caller")[:2] == ["plain 13", "plain 4"]
    assert seen(through_caller, "container")[:2] == ["quantized 14 64,4", "quantized 5 64,4"]


@pytest.mark.requirement("CT-3")
@pytest.mark.parametrize(
    ("owner", "caller"), [("container", (0,)), ("caller-list", (1,)), ("new-list", (0,))]
)
@pytest.mark.parametrize("form", ["container", "free"])
def test_the_owner_decides_what_the_callers_list_holds_after_a_pass(
    owner: Any, caller: Any, form: Any
) -> None:
    _, passed = steps(
        PlainLayer(length=12),
        form=form,
        built=Built(bits=4),
        twin=True,
        steps=(PASS,),
        dialect=Dialect(owner=owner),
    )
    if form == "free" and owner == "container":
        caller = (1,)  # without a container the pass works on the caller's list itself
    assert passed.holders == {"container": (1,), "alias": (1,), "caller": caller, "twin": (0,)}


@pytest.mark.requirement("MQ-15")
def test_only_the_free_pass_answers_whether_it_triggered() -> None:
    moves = (PassStep(bits=4, start=20), PASS, PASS)
    layer = PlainLayer(length=12, key_dim=80)
    assert [r.returned for r in steps(layer, form="free", steps=moves)] == [None, False, True, True]
    assert [r.returned for r in steps(layer, built=Built(bits=4), steps=moves)] == [None] * 4
    returning_a_list = Dialect(owner="new-list")
    assert [r.returned for r in steps(layer, form="free", steps=moves, dialect=returning_a_list)] == [
        None
    ] * 4


@pytest.mark.requirement("CT-9", "CT-4")
def test_the_model_is_asked_for_a_list_once_and_then_nobody_else_holds_it() -> None:
    scenario = ContainerScenario(layers=MIXED, given="model", built=Built(bits=4), steps=(PASS,))
    observation = run(scenario)
    assert observation.list_requests == 1
    assert observation.steps[1].holders == {"container": (4, 5, 2, 3), "alias": (4, 5, 2, 3)}
    assert run(scenario.model_copy(update={"given": "list"})).list_requests == 0
    through_caller = scenario.model_copy(update={"steps": (AppendStep(rows=1, through="caller"),)})
    with pytest.raises(Unsupported, match="there is no caller"):
        REFERENCE.run(through_caller)


@pytest.mark.requirement("MQ-10")
def test_a_replaced_child_gets_the_next_number_and_its_composite_keeps_its_own() -> None:
    layers = (CompositeLayer(children=(RecurrentLayer(), PlainLayer(length=50))), PlainLayer(length=50))
    _, passed = steps(*layers, built=Built(bits=4), steps=(PASS,), dialect=Dialect(nested="recurse"))
    assert passed.holders["container"] == (0, 5)
    assert passed.objects[0].children == (1, 4)
    assert [summary(passed.objects[number]) for number in (2, 4)] == ["plain 50", "quantized 50 64,4"]


@pytest.mark.requirement("CT-11")
def test_looks_at_layers_are_counted_while_the_container_is_armed_only() -> None:
    moves = (PassStep(bits=4, start=99), PASS, PASS, AppendStep(rows=1))
    records = steps(*MIXED, built=Built(bits=4), steps=moves, observe=Observe(accesses=True))
    counts = [record.accesses for record in records]
    assert counts[0] is counts[4] is None
    assert counts[1] > 0
    assert counts[2] > counts[1]
    assert counts[3] == 0
    uncounted = steps(*MIXED, built=Built(bits=4), steps=moves)
    assert [record.accesses for record in uncounted] == [None] * 5
    assert [record.objects for record in uncounted] == [record.objects for record in records]


@pytest.mark.requirement("MQ-13", "MQ-14")
def test_a_step_that_raises_is_recorded_and_the_next_one_is_made() -> None:
    moves = (PassStep(bits=7), PassStep(bits=4, start=0), AppendStep(rows=1, layers=(5,)), TrimStep(rows=1))
    _, refused, passed, outside, trimmed = steps(PlainLayer(length=12), built=Built(bits=4), steps=moves)
    assert refused.error.kind == outside.error.kind == "refused"
    assert "bits 7" in refused.error.message
    assert refused.holders["container"] == (0,)
    assert passed.error is None
    assert seen(passed, "container") == ["quantized 12 64,4"]
    assert trimmed.trimmed == (1,)


def test_an_error_that_is_no_refusal_is_internal(monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_memory(*_: Any, **__: Any) -> Any:
        raise MemoryError("none left")

    monkeypatch.setattr(caches.PlainCache, "to_quantized", out_of_memory)
    _, passed = steps(PlainLayer(length=12), built=Built(bits=4), steps=(PASS,))
    assert (passed.error.kind, passed.error.message) == ("internal", "none left")


@pytest.mark.requirement("RF-3", "QC-4")
def test_trim_and_drop_front_address_layers_of_the_containers_list() -> None:
    layers = (PlainLayer(length=12), RecurrentLayer(), ChunkedLayer(length=20), RotatingLayer(length=20))
    moves = (DropFrontStep(), PASS, TrimStep(rows=5), TrimStep(rows=50, layers=(2, 0)))
    _, dropped, passed, trimmed, named = steps(*layers, built=Built(bits=4), steps=moves)
    assert (dropped.objects[2].rows, dropped.objects[2].start_position) == (16, 4)
    assert seen(passed, "container") == ["quantized 12 64,4", "recurrent None", "chunked 20", "rotating 20"]
    assert trimmed.trimmed == (5, 0, 5, 0)
    assert named.trimmed == (11, 7)
    assert seen(named, "caller")[0] == "plain 12"


@pytest.mark.requirement("RF-3")
def test_a_chunked_child_of_a_composite_keeps_its_front() -> None:
    layers = (CompositeLayer(children=(ChunkedLayer(length=20),)), ChunkedLayer(length=20))
    _, dropped = steps(*layers, steps=(DropFrontStep(),))
    assert [view.start_position for view in dropped.objects] == [None, 0, 4]


def test_the_free_form_has_a_callers_list_whatever_is_given_and_builds_nothing() -> None:
    moves = (AppendStep(rows=1, through="caller"), PASS)
    scenario = ContainerScenario(layers=(PlainLayer(length=12),), form="free", steps=moves)
    other = {"given": "model", "built": Built(bits=7, group_size=-1)}
    assert run(scenario.model_copy(update=other)) == run(scenario)
    assert run(scenario.model_copy(update=other)).list_requests == 0


@pytest.mark.requirement("TH-3", "MQ-14")
def test_a_container_that_cannot_be_built_is_refused_as_a_whole() -> None:
    scenario = ContainerScenario(layers=(PlainLayer(length=1),), built=Built(bits=7))
    assert isinstance(run(scenario, "mlx-swift-lm"), Refusal)
    assert isinstance(run(scenario, "proposal"), ContainerObservation)


@pytest.mark.parametrize(
    "layer",
    [
        RotatingLayer(max_size=4, keep=4),
        QuantizedLayer(length=1, bits=7),
        QuantizedLayer(length=1, key_dim=80),
    ],
)
def test_a_layer_that_cannot_be_built_is_refused(layer: Any) -> None:
    assert isinstance(run(ContainerScenario(layers=(layer,))), Refusal)
    assert isinstance(run(CacheScenario(layer=layer)), Refusal)


# ---------------------------------------------------------------- every scenario, every dialect


def leaves() -> st.SearchStrategy[Any]:
    lengths, dims = st.integers(0, 20), st.sampled_from((32, 64, 80))
    return st.one_of(
        st.builds(PlainLayer, length=lengths, key_dim=dims, value_dim=dims),
        st.builds(ChunkedLayer, length=lengths, chunk_size=st.integers(1, 9), drop_front=st.booleans()),
        st.builds(RotatingLayer, length=lengths, max_size=st.integers(3, 9), keep=st.integers(0, 2)),
        st.builds(QuantizedLayer, length=lengths, bits=st.sampled_from((2, 3, 8))),
        st.builds(RecurrentLayer, slots=st.integers(1, 3), filled=st.booleans()),
    )


def layers_of_all_kinds() -> st.SearchStrategy[Any]:
    composites = st.lists(leaves(), min_size=1, max_size=3).map(lambda c: CompositeLayer(children=tuple(c)))
    return leaves() | composites


moves_of_all_kinds = st.one_of(
    st.builds(AppendStep, rows=st.integers(1, 9), salt=st.integers(0, 3)),
    st.builds(TrimStep, rows=st.integers(-2, 30)),
    st.just(DropFrontStep()),
    st.builds(
        PassStep,
        bits=st.sampled_from((None, 2, 4, 7, 8)),
        group_size=st.sampled_from((-1, 0, 32, 48, 64, 1000)),
        start=st.integers(-1, 25),
    ),
)
containers = st.builds(
    ContainerScenario,
    layers=st.lists(layers_of_all_kinds(), max_size=4).map(tuple),
    form=st.sampled_from(("container", "free")),
    given=st.sampled_from(("list", "model")),
    built=st.builds(Built, bits=st.sampled_from((None, 4, 7))),
    twin=st.booleans(),
    steps=st.lists(moves_of_all_kinds, max_size=5).map(tuple),
    observe=st.builds(Observe, accounting=st.booleans(), accesses=st.booleans()),
)
dialects = st.sampled_from(sorted(DIALECTS)) | st.builds(
    Dialect,
    threshold=st.sampled_from(("at-least", "above", "none")),
    scope=st.sampled_from(("any-then-all", "first-then-all", "per-layer")),
    nested=st.sampled_from(("opaque", "recurse")),
    resolver=st.sampled_from(("nearest", "largest-below", "ordered-64-32-128", "exact")),
    incompatible=st.sampled_from(("keep", "error")),
    empty_layer=st.sampled_from(("keep", "convert", "wait")),
    rotating=st.sampled_from(("keep", "error", "convert")),
    chunked=st.sampled_from(("as-plain", "keep")),
    latch=st.sampled_from(("first-trigger", "when-settled", "first-layer", "none")),
    owner=st.sampled_from(("container", "caller-list", "new-list")),
    bad_options=st.sampled_from(("per-call", "refuse")),
)


@pytest.mark.requirement("MQ-4", "MQ-5", "MQ-12", "MQ-13", "MQ-17")
@settings(deadline=None)  # the machine may be busy
@given(containers, dialects)
def test_laws_that_hold_for_every_container_scenario_in_every_dialect(scenario: Any, dialect: Any) -> None:
    observation = run(scenario, dialect)
    assert run(scenario, dialect) == observation, "nothing survives from one scenario to the next"
    if isinstance(observation, Refusal):
        return
    before = observation.steps[0]
    for record in observation.steps[1:]:
        assert {len(ids) for ids in record.holders.values()} == {len(scenario.layers)}
        for view in record.objects:
            assert not view.errors
            assert view.kind != "quantized" or view.rows == view.offset
        for number, view in enumerate(before.objects):
            assert record.objects[number].kind == view.kind, "an object keeps its kind"
        if record.error:
            assert record.error.kind == "refused"
            assert record.holders == before.holders
        before = record


operations_of_all_kinds = st.one_of(
    st.builds(Append, rows=st.integers(1, 5), salt=st.integers(0, 3)),
    st.builds(Trim, rows=st.integers(-2, 30)),
    st.builds(Convert, bits=st.sampled_from((2, 4, 7)), group_size=st.sampled_from((0, 32, 64))),
    st.sampled_from((Copy(), StateRoundTrip(), SaveLoad(), DropFront())),
    st.builds(Select, cache=st.integers(0, 4)),
)


@pytest.mark.requirement("QC-9", "QC-10", "KC-6")
@settings(deadline=None, max_examples=60)  # content is computed; the machine may be busy
@given(layers_of_all_kinds(), st.lists(operations_of_all_kinds, max_size=5), dialects)
def test_laws_that_hold_for_every_cache_scenario_in_every_dialect(
    layer: Any, operations: list[Any], dialect: Any
) -> None:
    scenario = CacheScenario(layer=layer, operations=tuple(operations), observe=Observe(content=True))
    observation = run(scenario, dialect)
    if isinstance(observation, Refusal):
        return
    before = observation.records[0]
    for operation, record in zip(operations, observation.records[1:], strict=True):
        touched = (
            family(before, before.current) if operation.op in ("append", "trim", "drop-front") else set()
        )
        for number, view in enumerate(before.objects):
            assert number in touched or record.objects[number] == view, "only the current cache changes"
        assert not any(view.errors for view in record.objects)
        if operation.op in ("copy", "state", "save-load") and not record.error:
            assert bare(record.objects[record.current]) == bare(before.objects[before.current])
        before = record


def family(record: Any, number: int) -> set[int]:
    """An object and everything inside it."""
    children = record.objects[number].children or ()
    return {number}.union(*(family(record, child) for child in children))


def bare(view: ObjectView) -> ObjectView:
    """A view without the numbers of children, which differ from copy to copy."""
    return view.model_copy(update={"children": None})
