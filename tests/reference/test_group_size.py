"""Group-size resolution: sections GS and HD-2 of the specification, and the resolvers of section 0.1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kvconform_reference import group_size

VALUE_DIMS = (None, 32, 64, 80, 96, 128, 192, 256, 512)  # none: the same as the key dim
REQUESTS = range(-2, 301)
RESOLVERS = ("nearest", "largest-below", "ordered-64-32-128", "exact")

requests = st.integers(-(10**9), 10**9) | st.sampled_from((0, 1, 31, 32, 48, 63, 64, 65, 96, 128, 10**30))
head_dims = st.integers(1, 1024) | st.builds(lambda n: 16 * n, st.integers(1, 64))

TABLE = [
    ((64,), 64, 64, 64),
    ((64, 128), 96, 96, 32),
    ((128,), 64, 64, 64),
    ((48,), 128, 128, 32),
    ((96,), 128, 128, 64),
    ((97,), 128, 128, 128),
    ((96,), 64, 64, 64),
    ((47,), 64, 64, 32),
    ((49,), 64, 64, 64),
    ((0, -5, 1), 128, 128, 32),
    ((10**6,), 256, 256, 128),
    ((1, 32, 64, 128, 10**6), 80, 80, None),
    ((1, 32, 64, 128, 10**6), 48, 48, None),
    ((1, 32, 64, 128, 10**6), 112, 112, None),
    ((64,), 64, 96, 32),
    ((128,), 128, 64, 64),
    ((128,), 192, 128, 64),
    ((128,), 576, 512, 64),
    ((128,), 128, 80, None),
]
TABLE_CASES = [(request, key, value, size) for many, key, value, size in TABLE for request in many]


@pytest.mark.requirement("GS-1", "GS-2", "GS-3", "GS-4", "GS-9")
@pytest.mark.parametrize(("requested", "key_dim", "value_dim", "expected"), TABLE_CASES)
def test_the_table_of_the_specification_holds(
    requested: int, key_dim: int, value_dim: int, expected: int | None
) -> None:
    assert group_size.resolve_group_size(requested, key_dim, value_dim) == expected


def nearest_by_enumeration(requested: int, compatible: tuple[int, ...]) -> int | None:
    """The definition, without its arithmetic: widen a window around the request until it meets a size."""
    wanted = max(1, requested)
    for distance in range(wanted + 129):
        for size in (wanted - distance, wanted + distance):
            if size in compatible:
                return size
    return None


@pytest.mark.requirement("GS-1", "GS-2", "GS-3", "GS-4", "GS-9")
def test_nearest_agrees_with_the_definition_on_every_head_dim_and_request() -> None:
    known: dict[tuple[int, ...], list[int | None]] = {}
    checked = 0
    for key_dim in range(1, 641):
        for value_dim in (key_dim if dim is None else dim for dim in VALUE_DIMS):
            compatible = tuple(
                g for g in (32, 64, 128) if key_dim // g * g == key_dim and value_dim // g * g == value_dim
            )
            if compatible not in known:
                known[compatible] = [nearest_by_enumeration(request, compatible) for request in REQUESTS]
            found = [group_size.resolve_group_size(request, key_dim, value_dim) for request in REQUESTS]
            assert found == known[compatible], (key_dim, value_dim)
            checked += len(found)
    assert checked == 640 * len(VALUE_DIMS) * 303
    assert set(known) == {(), (32,), (32, 64), (32, 64, 128)}


@pytest.mark.requirement("GS-5")
@pytest.mark.parametrize("resolver", RESOLVERS)
@given(requested=requests, key_dim=head_dims, value_dim=head_dims)
def test_a_size_that_is_used_is_supported_and_divides_both_dims(
    resolver: str, requested: int, key_dim: int, value_dim: int
) -> None:
    size = group_size.resolve_group_size(requested, key_dim, value_dim, resolver=resolver)
    assert size is None or (size in (32, 64, 128) and key_dim % size == 0 and value_dim % size == 0)


@pytest.mark.requirement("GS-6")
@pytest.mark.parametrize("resolver", RESOLVERS)
@given(requested=requests, key_dim=head_dims, value_dim=head_dims)
def test_swapping_the_head_dims_changes_nothing(
    resolver: str, requested: int, key_dim: int, value_dim: int
) -> None:
    straight = group_size.resolve_group_size(requested, key_dim, value_dim, resolver=resolver)
    swapped = group_size.resolve_group_size(requested, value_dim, key_dim, resolver=resolver)
    assert straight == swapped


@pytest.mark.requirement("GS-7")
@given(smaller=requests, larger=requests, key_dim=head_dims, value_dim=head_dims)
def test_a_larger_request_never_gives_a_smaller_result(
    smaller: int, larger: int, key_dim: int, value_dim: int
) -> None:
    smaller, larger = sorted((smaller, larger))
    low = group_size.resolve_group_size(smaller, key_dim, value_dim)
    high = group_size.resolve_group_size(larger, key_dim, value_dim)
    assert (low is None) == (high is None)
    assert low is None or high is None or low <= high


@pytest.mark.requirement("GS-8")
@pytest.mark.parametrize("resolver", RESOLVERS)
@given(key_dim=head_dims, value_dim=head_dims)
def test_a_compatible_request_is_returned_unchanged(resolver: str, key_dim: int, value_dim: int) -> None:
    for size in group_size.compatible_group_sizes(key_dim, value_dim):
        assert group_size.resolve_group_size(size, key_dim, value_dim, resolver=resolver) == size


@pytest.mark.requirement("HD-2")
@pytest.mark.parametrize(
    ("key_dim", "value_dim", "compatible"),
    [(96, 96, (32,)), (80, 80, ()), (64, 80, ()), (96, 64, (32,)), (128, 256, (32, 64, 128)), (1, 1, ())],
)
def test_the_compatible_sizes_depend_on_the_head_dims_alone(
    key_dim: int, value_dim: int, compatible: tuple[int, ...]
) -> None:
    assert group_size.compatible_group_sizes(key_dim, value_dim) == compatible
    for requested in (32, 64, 128, 7, 0, -1):
        assert (group_size.nearest_group_size(requested, key_dim, value_dim) is None) == (not compatible)


@pytest.mark.requirement("GS-11")
def test_a_group_size_of_zero_resolves_like_one() -> None:
    assert group_size.resolve_group_size(0, 128, 128) == group_size.resolve_group_size(1, 128, 128) == 32


@pytest.mark.requirement("GS-12")
@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize("bad", [0, -1, -64])
def test_head_dims_below_one_are_rejected_with_side_and_value(resolver: str, bad: int) -> None:
    with pytest.raises(ValueError, match=f"key head dim {bad} "):
        group_size.resolve_group_size(64, bad, 64, resolver=resolver)
    with pytest.raises(ValueError, match=f"value head dim {bad} "):
        group_size.resolve_group_size(64, 64, bad, resolver=resolver)


@pytest.mark.requirement("GS-12")
@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize("bad", [64.0, "64", None, True])
def test_head_dims_that_are_no_integers_are_rejected(resolver: str, bad: object) -> None:
    with pytest.raises(TypeError, match="key head dim"):
        group_size.resolve_group_size(64, bad, 64, resolver=resolver)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="value head dim"):
        group_size.resolve_group_size(64, 64, bad, resolver=resolver)  # type: ignore[arg-type]


@pytest.mark.requirement("GS-9")
@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize("bad", [64.0, "64", None, True])
def test_a_request_that_is_no_integer_is_rejected(resolver: str, bad: object) -> None:
    with pytest.raises(TypeError, match="requested group size"):
        group_size.resolve_group_size(bad, 64, 64, resolver=resolver)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("resolver", "requested", "key_dim", "expected"),
    [
        ("largest-below", 100, 128, 64),
        ("largest-below", 128, 128, 128),
        ("largest-below", 10**6, 96, 32),
        ("largest-below", 31, 128, None),
        ("largest-below", 0, 128, None),
        ("ordered-64-32-128", 128, 128, 128),
        ("ordered-64-32-128", 100, 128, 64),
        ("ordered-64-32-128", 1, 128, 64),
        ("ordered-64-32-128", 64, 96, 32),
        ("ordered-64-32-128", 64, 80, None),
        ("exact", 128, 128, 128),
        ("exact", 96, 96, None),
        ("exact", 64, 96, None),
        ("exact", 0, 128, None),
    ],
)
def test_the_other_resolvers_follow_their_own_rule(
    resolver: str, requested: int, key_dim: int, expected: int | None
) -> None:
    assert group_size.resolve_group_size(requested, key_dim, key_dim, resolver=resolver) == expected


def test_an_unknown_resolver_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(
        ValueError, match=r"'middle'.*use one of nearest, largest-below, ordered-64-32-128, exact"
    ):
        group_size.resolve_group_size(64, 64, 64, resolver="middle")


def test_replacing_a_resolver_in_the_module_changes_what_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_size, "nearest_group_size", lambda *_: 7)
    assert group_size.resolve_group_size(64, 64, 64) == 7
    assert group_size.RESOLVERS["nearest"](64, 64, 64) == 7


def test_the_resolver_is_named_never_given_by_position() -> None:
    with pytest.raises(TypeError):
        group_size.resolve_group_size(64, 64, 64, "exact")  # pyright: ignore[reportCallIssue]
