"""States and saved files of the reference's caches: QC-5, QC-11, KC-6."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kvconform_reference import caches, policy, protocol, storage
from notation import (
    chunked,
    composite,
    content,
    plain,
    positions,
    quantized,
    recurrent,
    rotating,
    shape,
    trimmed,
    write,
)


def wrapped() -> caches.RotatingCache:
    cache = rotating(8, 8, 2)
    write(cache, 1)
    write(cache, 1)
    return cache


def beyond_the_window() -> caches.RotatingCache:
    return rotating(20, 16)


MAKERS: dict[str, Callable[[], Any]] = {
    "plain": lambda: plain(5, 96, 64, heads=2, dtype="bfloat16"),
    "empty": lambda: plain(0),
    "trimmed": trimmed,
    "half trimmed": lambda: _half_trimmed(),
    "chunked": lambda: chunked(20, dropped=True),
    "rotating": lambda: rotating(5, 16),
    "wrapped": wrapped,
    "beyond the window": beyond_the_window,
    "quantized": lambda: quantized(5, 32, 3, 96, value_dim=64, heads=2, dtype="float16"),
    "empty quantized": lambda: quantized(0, 48, 6),
    "converted": lambda: policy.convert_layer(plain(5), 64, 5),
    "recurrent": lambda: recurrent(3),
    "unfilled": lambda: caches.RecurrentCache(slots=2),
    "composite": lambda: composite(recurrent(2), plain(3), composite(quantized(2))),
}


def _half_trimmed() -> caches.PlainCache:
    cache = plain(5)
    cache.trim(3)
    return cache


def state(cache: Any) -> Any:
    return storage.from_state(storage.state_of(cache))


def through_a_file(cache: Any, folder: Path) -> Any:
    storage.save(cache, folder / "cache.json")
    return storage.load(folder / "cache.json")


def described(cache: Any) -> Any:
    """Everything that a cache shows."""
    if cache.children:
        return [described(child) for child in cache.children]
    if cache.kind == "recurrent":
        return cache.arrays
    parameters = {name: getattr(cache, name) for name in storage.PARAMETERS[cache.kind]}
    return (cache.kind, parameters, cache.rows, cache.shape, content(cache))


@pytest.mark.requirement("QC-5", "KC-6")
@pytest.mark.parametrize("name", MAKERS)
def test_state_and_file_give_back_an_equal_cache(name: str, tmp_path: Path) -> None:
    cache = MAKERS[name]()
    for restored in (state(cache), through_a_file(cache, tmp_path), state(through_a_file(cache, tmp_path))):
        assert restored is not cache
        assert described(restored) == described(cache)


@pytest.mark.requirement("QC-5", "KC-6", "QC-9")
@pytest.mark.parametrize(
    "name", ["plain", "wrapped", "quantized", "converted", "chunked", "beyond the window"]
)
def test_a_restored_cache_goes_on_as_the_original_would(name: str, tmp_path: Path) -> None:
    expected = MAKERS[name]()
    original = MAKERS[name]()
    copies = [state(original), through_a_file(original, tmp_path)]
    untouched = described(original)
    for rows in (1, 3, 1):
        write(expected, rows)
        for cache in copies:
            write(cache, rows)
    for cache in copies:
        assert described(cache) == described(expected)
    assert described(original) == untouched


@pytest.mark.requirement("QC-11")
@pytest.mark.parametrize("name", ["half trimmed", "trimmed", "converted"])
def test_a_saved_cache_holds_no_rows_beyond_the_offset(name: str, tmp_path: Path) -> None:
    cache = MAKERS[name]()
    assert storage.state_of(cache).rows.count == cache.offset
    storage.save(cache, tmp_path / "cache.json")
    saved = json.loads((tmp_path / "cache.json").read_text())["cache"]["rows"]
    assert saved["count"] == cache.offset


@pytest.mark.requirement("QC-5")
def test_a_state_is_a_snapshot() -> None:
    cache = plain(5)
    kept = storage.state_of(cache)
    write(cache, 5)
    cache.trim(9)
    assert positions(storage.from_state(kept)) == list(range(5))


@pytest.mark.requirement("QC-5", "GS-5")
def test_an_empty_quantized_cache_keeps_its_request_and_its_resolver(tmp_path: Path) -> None:
    cache = caches.QuantizedCache(group_size=48, bits=4, resolver="exact")
    restored = through_a_file(cache, tmp_path)
    with pytest.raises(ValueError, match="group size 48"):
        write(restored, 1, shape())


def edited(tmp_path: Path, cache: Any, edit: Callable[[Any], None]) -> Path:
    path = tmp_path / "cache.json"
    storage.save(cache, path)
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))
    return path


DAMAGES: list[tuple[str, Callable[[Any], Any], str]] = [
    ("format", lambda d: d.update(format="other"), "is no kvconform-reference-cache file"),
    ("version", lambda d: d.update(version=99), "version 99"),
    ("missing array", lambda d: d["cache"]["rows"]["values"].pop("scales"), "'scales' is missing"),
    ("short array", lambda d: d["cache"]["rows"]["keys"].update(packed=""), "0 bytes of packed, 3 rows need"),
    ("not base64", lambda d: d["cache"]["rows"]["keys"].update(packed="*"), "cannot load a cache"),
    ("missing parameter", lambda d: d["cache"]["parameters"].pop("offset"), "has the parameters"),
    ("odd parameter", lambda d: d["cache"]["parameters"].update(offset="3"), "offset '3'"),
    ("offset", lambda d: d["cache"]["parameters"].update(offset=9), "has 3 rows, its offset 9 needs 9"),
    ("bits", lambda d: d["cache"]["parameters"].update(bits=7), "bits 7"),
    ("kind", lambda d: d["cache"].update(kind="heap"), "kind 'heap' is not known"),
]


@pytest.mark.requirement("KC-6", "QC-5")
@pytest.mark.parametrize(("edit", "message"), [d[1:] for d in DAMAGES], ids=[d[0] for d in DAMAGES])
def test_a_damaged_file_is_a_clear_error_that_names_the_file(
    tmp_path: Path, edit: Callable[[Any], None], message: str
) -> None:
    path = edited(tmp_path, quantized(3), edit)
    with pytest.raises(ValueError, match="cannot load a cache from") as caught:
        storage.load(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.requirement("KC-6")
@pytest.mark.parametrize("text", ["", "[]", "3", '{"format": "x"'])
def test_what_is_no_saved_cache_is_a_clear_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cache.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="cannot load a cache from"):
        storage.load(path)


@pytest.mark.requirement("KC-6")
def test_a_plain_array_of_the_wrong_length_is_a_clear_error(tmp_path: Path) -> None:
    path = edited(tmp_path, plain(3), lambda d: d["cache"]["rows"].update(values=""))
    with pytest.raises(ValueError, match="stored values have 0 bytes, 3 rows need 768"):
        storage.load(path)


@pytest.mark.requirement("KC-6")
def test_an_object_of_an_unknown_class_cannot_be_saved() -> None:
    stranger = object()
    assert protocol.kind_of(stranger) == "unknown"
    with pytest.raises(NotImplementedError, match="a object cannot be saved"):
        storage.state_of(stranger)
