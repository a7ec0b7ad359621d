"""Real faults of mlx-lm 0.32.2, each as the scenario that shows it.

What is asserted is what the package does, not what it should do: the requirement marked is the one broken.
"""

from __future__ import annotations

from typing import Any

import pytest
from mlx_lm_scenes import M, Q, R, S, append, calls, kinds, mq, op, turn

pytestmark = pytest.mark.mlx


def after(ask: Any, layers: list[Any], *steps: Any, **more: Any) -> Any:
    return ask("container", layers=layers, steps=list(steps), **more).steps[-1]


def cache(ask: Any, layer: Any, *operations: Any, **observe: bool) -> Any:
    return ask("cache", layer=layer, operations=list(operations), observe=observe).records


@pytest.mark.requirement("MQ-17")
@pytest.mark.parametrize("dim", [80, 96, 112])
def test_a_head_dim_that_the_request_does_not_divide_ends_generation(ask: Any, dim: int) -> None:
    (record,) = ask("iterate", layers=[S(0, dim, dim)], turns=[turn(10, 3, bits=4)]).turns
    assert (record.error.kind, calls(record)) == ("refused", [(9, "S")])


@pytest.mark.requirement("MQ-13", "MQ-17")
def test_a_rotating_layer_leaves_the_list_half_converted(ask: Any) -> None:
    record = after(ask, [S(12), R(50), S(12)], mq())
    assert "NYI" in record.error.message
    assert kinds(record) == ["Q12:64,4", "R50", "S12"]


@pytest.mark.requirement("MQ-13", "MQ-17")
def test_an_incompatible_layer_leaves_the_list_half_converted(ask: Any) -> None:
    record = after(ask, [S(12), S(12, 80, 80), S(12)], mq())
    assert "needs to be divisible" in record.error.message
    assert kinds(record) == ["Q12:64,4", "S12", "S12"]


def takes_a_first_write(ask: Any, bits: int, dim: int) -> bool:
    """Whether a quantized cache that was made empty takes rows; otherwise it raises, half written."""
    layer = Q(0, key_dim=dim, value_dim=dim, bits=bits, group_size=32)
    record = cache(ask, layer, op("append", rows=5))[1]
    if record.error is None:
        return True
    assert record.error.kind == "refused"
    assert record.objects[0].offset == 5, "the offset has moved although nothing was written"
    return False


@pytest.mark.requirement("QC-3")
def test_a_quantized_cache_made_empty_refuses_most_odd_widths(ask: Any) -> None:
    # The buffer is made dim // (32 // bits) words wide where dim * bits / 32 is right.
    refused = {
        bits: [dim for dim in range(32, 577, 32) if not takes_a_first_write(ask, bits, dim)]
        for bits in (2, 3, 4, 5, 6, 8)
    }
    assert (refused[2], refused[4], refused[8]) == ([], [], [])
    assert refused[3] == list(range(160, 577, 32))
    assert refused[5] == refused[6] == list(range(96, 577, 32))


@pytest.mark.requirement("QC-3")
@pytest.mark.parametrize("bits", [3, 5, 6])
def test_converting_a_filled_cache_works_at_those_widths(ask: Any, bits: int) -> None:
    records = cache(ask, S(5, 256, 256), op("convert", bits=bits), op("append", rows=300), content=True)
    assert [record.error for record in records] == [None] * 3
    assert records[2].objects[1].keys.packed.shape == (1, 1, 305, 256 * bits // 32)


@pytest.mark.requirement("QC-3")
def test_an_empty_layer_converted_at_such_a_width_cannot_be_written(ask: Any) -> None:
    record = after(ask, [S(0, 128, 128)], mq(bits=6), append(3))
    assert record.error.kind == "refused"


@pytest.mark.requirement("QC-4", "KC-1")
@pytest.mark.parametrize("layer", [S(8), Q(8)])
def test_trimming_a_negative_number_grows_the_offset(ask: Any, layer: Any) -> None:
    record = cache(ask, layer, op("trim", rows=-2))[1]
    assert (record.error, record.result, record.objects[0].offset) == (None, -2, 10)


@pytest.mark.requirement("QC-10")
def test_the_byte_count_of_an_empty_quantized_cache_raises(ask: Any) -> None:
    view = cache(ask, Q(0), accounting=True)[0].objects[0]
    assert view.nbytes is None
    assert set(view.errors) == {"nbytes"}
    assert view.empty


@pytest.mark.requirement("QC-10")
def test_the_size_of_a_filled_quantized_cache_is_zero(ask: Any) -> None:
    view = cache(ask, Q(5), accounting=True)[0].objects[0]
    assert (view.size, view.empty, view.rows) == (0, False, 5)


@pytest.mark.requirement("QC-10")
def test_a_cache_trimmed_to_nothing_does_not_count_as_empty(ask: Any) -> None:
    for layer in (S(5), Q(5)):
        view = cache(ask, layer, op("trim", rows=5), accounting=True)[1].objects[0]
        assert (view.rows, view.empty) == (0, False)


@pytest.mark.requirement("MQ-14")
@pytest.mark.parametrize("bits", [0, 7, 16, -4])
def test_bad_bits_on_an_empty_layer_are_taken(ask: Any, bits: int) -> None:
    record = after(ask, [S(0)], mq(bits=bits))
    assert record.error is None
    assert kinds(record) == [f"Q0:64,{bits}"]


@pytest.mark.requirement("MQ-14")
@pytest.mark.parametrize("bits", [0, 7, 16, -4])
def test_bad_bits_on_a_filled_layer_are_refused_before_anything_changes(ask: Any, bits: int) -> None:
    record = after(ask, [S(5), S(5)], mq(bits=bits))
    assert (record.error.kind, kinds(record)) == ("refused", ["S5", "S5"])


@pytest.mark.requirement("MQ-14")
def test_one_bit_is_taken(ask: Any) -> None:
    assert kinds(after(ask, [S(5)], mq(bits=1))) == ["Q5:64,1"]


@pytest.mark.requirement("QC-9")
@pytest.mark.parametrize("layer", [S(5), Q(5)])
def test_a_copy_shares_its_rows(ask: Any, layer: Any) -> None:
    operations = [
        op("copy"),
        op("append", rows=2, salt=1),
        op("select", cache=0),
        op("append", rows=2, salt=2),
    ]
    records = cache(ask, layer, *operations, content=True)
    assert records[2].objects[1].keys != records[4].objects[1].keys


@pytest.mark.requirement("QC-9")
def test_a_copy_of_a_recurrent_cache_is_written_with_the_original(ask: Any) -> None:
    records = cache(ask, M, op("copy"), op("append", rows=1))
    assert records[2].objects[0].state == records[2].objects[1].state != records[1].objects[0].state


@pytest.mark.requirement("QC-11")
@pytest.mark.parametrize("way", ["save-load", "state"])
def test_what_is_saved_holds_the_padding_too(ask: Any, way: str) -> None:
    for layer in (S(5), Q(5)):
        assert cache(ask, layer, op(way))[1].result == 256


@pytest.mark.requirement("QC-8")
def test_converting_quantizes_the_padding_too(ask: Any) -> None:
    view = cache(ask, S(5), op("convert", bits=4), accounting=True)[1].objects[1]
    bytes_per_row = 2 * (64 * 4 // 8 + 2 * 4 * 64 // 64)
    assert view.nbytes == 256 * bytes_per_row


@pytest.mark.requirement("ST-3")
def test_an_empty_list_reaches_the_model_as_a_list(ask: Any) -> None:
    (record,) = ask("iterate", layers=[], turns=[turn(3)]).turns
    assert not any(event.no_cache for event in record.trace if event.event == "call")


@pytest.mark.requirement("PR-6")
@pytest.mark.parametrize("window", [0, -1, -8])
def test_a_window_below_one_never_ends(ask: Any, window: int) -> None:
    (record,) = ask("iterate", layers=[S(0)], turns=[turn(10, prefill_step=window)]).turns
    assert record.error.kind == "internal"
    assert "a loop without end" in record.error.message


@pytest.mark.requirement("MQ-0")
def test_bad_bits_with_a_start_in_mid_stream_cost_the_token_in_flight(ask: Any) -> None:
    (record,) = ask("iterate", layers=[S(0)], turns=[turn(10, 9, bits=7, start=12)]).turns
    handed_out = [event.token for event in record.trace if event.event == "token"]
    sampled = [event.token for event in record.trace if event.event == "sample"]
    assert record.error.kind == "refused"
    assert (len(sampled), len(handed_out)) == (2, 1)
