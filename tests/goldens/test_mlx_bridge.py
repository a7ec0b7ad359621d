"""Real mlx-lm caches and MLX arrays take part in the reference's dispatch as its own classes do."""

from __future__ import annotations

from typing import Any

import pytest

mx: Any = pytest.importorskip("mlx.core", reason="MLX is not installed")
pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")

from kvconform.generate import mlx_caches  # noqa: E402
from kvconform.generate.mlx_arrays import MLX_OPS  # noqa: E402
from kvconform_reference import arrays, policy, protocol, sampling  # noqa: E402
from kvconform_reference.container import CacheContainer  # noqa: E402
from kvconform_reference.dialect import MLX_LM, MLX_SWIFT_LM_3_31_4, PROPOSAL  # noqa: E402

pytestmark = pytest.mark.mlx


def plain(rows: int = 5, key_dim: int = 64, value_dim: int = 64) -> Any:
    return written(mlx_caches.PLAIN(), rows, key_dim, value_dim)


def rotating(rows: int = 5) -> Any:
    return written(mlx_caches.ROTATING(max_size=16), rows)


def chunked(rows: int = 5) -> Any:
    return written(mlx_caches.CHUNKED(4), rows)


def recurrent() -> Any:
    cache = mlx_caches.RECURRENT(2)
    cache[0], cache[1] = mx.zeros((1, 2, 3)), mx.zeros((1, 2, 3))
    return cache


def composite(*children: Any) -> Any:
    return mlx_caches.COMPOSITE(*children)


def written(cache: Any, rows: int, key_dim: int = 64, value_dim: int = 64) -> Any:
    if rows:
        cache.update_and_fetch(
            mx.random.normal((1, 2, rows, key_dim)), mx.random.normal((1, 2, rows, value_dim))
        )
    return cache


# ---------------------------------------------------------------- arrays


def test_the_last_logits_are_those_of_the_last_position() -> None:
    logits = mx.arange(24).reshape(1, 3, 8)
    assert MLX_OPS.last(logits).tolist() == list(range(16, 24))
    assert MLX_OPS.last(logits[:, -1:]).tolist() == list(range(16, 24))


@pytest.mark.requirement("ST-3")
def test_tokens_get_a_leading_batch_axis() -> None:
    assert MLX_OPS.batched(mx.array([4, 5, 6])).tolist() == [[4, 5, 6]]
    assert MLX_OPS.batched(MLX_OPS.single(mx.array(7))).tolist() == [[7]]


@pytest.mark.requirement("PS-2")
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_argmax_of_a_tie_is_the_lowest_index(dtype: str) -> None:
    logits = mx.array([0.5, 2.0, 1.0, 2.0, 2.0], getattr(mx, dtype))
    assert sampling.ArgmaxSampler().sample(logits).item() == 1


def test_parts_lengths_and_integers_of_tokens() -> None:
    tokens = mx.array([3, 1, 2, 9], mx.uint32)
    assert MLX_OPS.length(tokens) == 4
    assert MLX_OPS.part(tokens, 1, 3).tolist() == [1, 2]
    assert MLX_OPS.integers(tokens) == [3, 1, 2, 9]
    assert MLX_OPS.integer(tokens[3]) == 9


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_replacing_logits_leaves_the_original_and_the_type_alone(dtype: str) -> None:
    logits = mx.array([1.0, 2.0, 3.0], getattr(mx, dtype))
    changed = MLX_OPS.replaced(logits, {0: 0.5, 2: -1.0})
    assert changed.tolist() == [0.5, 2.0, -1.0]
    assert (changed.dtype, logits.tolist()) == (logits.dtype, [1.0, 2.0, 3.0])
    assert MLX_OPS.replaced(logits, {}).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.requirement("PS-3")
def test_the_reference_repetition_penalty_works_on_mlx_logits() -> None:
    processor = sampling.RepetitionPenaltyProcessor(2.0, context_size=3)
    processor.prompt(mx.array([5, 0, 0], mx.uint32))
    processor.did_sample(mx.array(1, mx.uint32))
    assert processor.process(mx.array([2.0, -2.0, 4.0])).tolist() == [1.0, -4.0, 4.0]


def test_arrays_of_mlx_are_found_by_their_type() -> None:
    assert arrays.ops_of(mx.array([1])) is MLX_OPS


# ---------------------------------------------------------------- layers


@pytest.mark.requirement("QP-1", "HD-1", "HD-3")
@pytest.mark.parametrize(
    ("make", "kind", "offset", "dims"),
    [
        (lambda: plain(0), "plain", 0, None),
        (lambda: plain(5, 128, 64), "plain", 5, (128, 64)),
        (lambda: chunked(5), "chunked", 5, (64, 64)),
        (lambda: rotating(20), "rotating", 20, (64, 64)),
        (lambda: plain(5).to_quantized(group_size=32, bits=4), "quantized", 5, None),
        (recurrent, "recurrent", None, None),
        (lambda: composite(recurrent(), plain()), "composite", None, None),
        (object, "unknown", None, None),
    ],
)
def test_each_cache_class_answers_the_questions_of_the_pass(
    make: Any, kind: str, offset: int | None, dims: tuple[int, int] | None
) -> None:
    layer = make()
    assert (protocol.kind_of(layer), protocol.offset_of(layer), protocol.head_dims(layer)) == (
        kind,
        offset,
        dims,
    )


@pytest.mark.requirement("QP-2")
def test_a_chunked_cache_holds_every_row_until_it_drops_its_front() -> None:
    cache = chunked(6)
    assert protocol.holds_every_row(cache)
    cache.maybe_trim_front()
    assert not protocol.holds_every_row(cache)


@pytest.mark.requirement("MQ-5", "MQ-6", "GS-3")
def test_a_conversion_resolves_the_requested_size_and_leaves_the_source_alone() -> None:
    source = plain(5, 96, 96)
    before = mx.array(source.keys)
    converted = protocol.to_quantized(source, group_size=64, bits=4)
    assert (converted.group_size, converted.bits, converted.offset) == (32, 4, 5)
    assert (source.offset, mx.array_equal(source.keys, before).item()) == (5, True)
    packed = mx.quantize(source.keys[..., :5, :], group_size=32, bits=4)
    for part, expected in zip(converted.keys, packed, strict=True):
        assert mx.array_equal(part[..., :5, :], expected).item()


@pytest.mark.parametrize("resolver", ["nearest", "exact"])
def test_a_conversion_that_no_size_fits_names_the_dims(resolver: str) -> None:
    with pytest.raises(ValueError, match="group size 64 cannot be used for a cache of head dims 80 and 80"):
        protocol.to_quantized(plain(5, 80, 80), group_size=64, bits=4, resolver=resolver)


@pytest.mark.requirement("MQ-8")
def test_a_cache_without_rows_converts_at_the_requested_size_only_under_the_exact_resolver() -> None:
    empty = protocol.to_quantized(plain(0), group_size=64, bits=4, resolver="exact")
    assert (empty.group_size, empty.offset) == (64, 0)
    with pytest.raises(NotImplementedError, match="without rows"):
        protocol.to_quantized(plain(0), group_size=64, bits=4, resolver="nearest")


@pytest.mark.requirement("MQ-16")
def test_a_cache_trimmed_to_nothing_converts_and_takes_rows_afterwards() -> None:
    cache = plain(5)
    cache.trim(5)
    converted = protocol.to_quantized(cache, group_size=64, bits=4)
    assert written(converted, 3).offset == 3


@pytest.mark.requirement("MQ-3", "MQ-4", "MQ-11")
def test_the_reference_pass_converts_what_it_can_in_a_real_list() -> None:
    layers = [plain(12), rotating(12), plain(12, 80, 80), plain(0), recurrent(), plain(3, 96, 96)]
    now = list(layers)
    assert policy.maybe_quantize(now, 4, 64, 10)
    kinds = [protocol.kind_of(layer) for layer in now]
    assert kinds == ["quantized", "rotating", "plain", "plain", "recurrent", "quantized"]
    assert [new is old for new, old in zip(now, layers, strict=True)] == [
        False,
        True,
        True,
        True,
        True,
        False,
    ]
    assert (now[0].group_size, now[5].group_size) == (64, 32)


@pytest.mark.requirement("MQ-13")
def test_a_pass_that_the_dialect_makes_an_error_leaves_a_real_list_as_it_was() -> None:
    layers = [plain(12), rotating(12), plain(12)]
    now = list(layers)
    with pytest.raises(NotImplementedError, match="layer 1"):
        policy.maybe_quantize(now, 4, 64, 0, dialect=MLX_LM)
    assert all(new is old for new, old in zip(now, layers, strict=True))


@pytest.mark.requirement("MQ-10")
def test_a_child_of_a_real_composite_is_replaced_in_place() -> None:
    holder = composite(recurrent(), plain(12))
    child = holder.caches[1]
    policy.maybe_quantize([holder], 4, 64, 0, dialect=MLX_SWIFT_LM_3_31_4)
    assert protocol.kind_of(holder.caches[1]) == "quantized"
    assert protocol.kind_of(child) == "plain"


@pytest.mark.requirement("MQ-10")
def test_a_real_composite_is_opaque_to_the_proposal() -> None:
    holder = composite(recurrent(), plain(12))
    children = holder.caches
    assert not policy.maybe_quantize([holder], 4, 64, 0, dialect=PROPOSAL)
    assert holder.caches is children


@pytest.mark.requirement("CT-2", "CT-4", "MQ-12")
def test_a_container_over_real_caches_converts_once() -> None:
    container = CacheContainer([plain(12)], bits=4)
    container.maybe_quantize(4, 64, 20)
    assert protocol.kind_of(container.layers[0]) == "plain"
    container.maybe_quantize(4, 64, 10)
    converted = container.layers[0]
    container.maybe_quantize(8, 32, 0)
    assert container.layers[0] is converted


# ---------------------------------------------------------------- looks


def test_layers_are_numbered_depth_first() -> None:
    inner = [recurrent(), plain()]
    layers = [plain(), composite(*inner), rotating()]
    assert [id(one) for one in mlx_caches.flattened(layers)] == [
        id(one) for one in (layers[0], layers[1], *inner, layers[2])
    ]


def test_the_position_is_the_largest_offset_of_any_layer() -> None:
    assert mlx_caches.position_of([recurrent(), plain(3), composite(recurrent(), plain(7))]) == 7
    assert mlx_caches.position_of([recurrent()]) is None


def test_bytes_count_every_array_once_and_empty_quantized_caches_as_nothing() -> None:
    side = 2 * 256 * 64 * 4  # heads, one growth step of rows, dim, itemsize
    assert mlx_caches.bytes_of([plain()]) == 2 * side
    assert mlx_caches.bytes_of([composite(plain(), plain()), plain(0)]) == 4 * side
    assert mlx_caches.bytes_of([mlx_caches.QUANTIZED()]) == 0
