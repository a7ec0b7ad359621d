"""Two JSON values in two columns, readable: differences marked, tensors as numbers, long ones cut."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from ..jsondata import is_list, is_object, is_tensor
from .compact import describe_tensor, tensor_values

WIDTH = 110
"""Columns of a rendered failure: what a terminal beside an editor and a CI log both show unbroken."""

MOST_LINES = 40
"""Lines of a comparison before it is cut around the differences: a screen."""

MOST_NUMBERS = 6
"""Numbers of a tensor that are shown: enough to recognise a pattern."""

Row = tuple[str, str, str]


def side_by_side(
    expected: Any, observed: Any, *, width: int = WIDTH, titles: tuple[str, str] = ("expected", "observed")
) -> list[str]:
    """Two values in two columns; ``|`` stands between lines that differ."""
    half = (width - 3) // 2
    shown = contrast(expected, observed)
    rows = _cut(list(_aligned(_lines(shown[0], half), _lines(shown[1], half))))
    column = max([len(titles[0]), *(len(row[0]) for row in rows)])
    head = f"{titles[0]:<{column}}   {titles[1]}"
    return [head, *(f"{a:<{column}} {mark} {b}".rstrip() for a, mark, b in rows)]


def contrast(expected: Any, observed: Any) -> tuple[Any, Any]:
    """Both values for reading: two tensors show the numbers that differ; nobody reads base64."""
    if is_tensor(expected) and is_tensor(observed) and expected["shape"] == observed["shape"]:
        return _contrast_tensors(expected, observed)
    if is_object(expected) and is_object(observed):
        return _contrast_objects(expected, observed)
    if is_list(expected) and is_list(observed):
        pairs = [contrast(a, b) for a, b in zip(expected, observed, strict=False)]
        shared = len(pairs)
        return (
            [*(pair[0] for pair in pairs), *map(readable, expected[shared:])],
            [*(pair[1] for pair in pairs), *map(readable, observed[shared:])],
        )
    return readable(expected), readable(observed)


def readable(value: Any) -> Any:
    """A value with its tensors as text and its nulls left out."""
    if is_tensor(value):
        return describe_tensor(value, most=MOST_NUMBERS)
    if is_object(value):
        return {name: readable(inner) for name, inner in value.items() if inner is not None}
    if is_list(value):
        return [readable(inner) for inner in value]
    return value


def _contrast_objects(expected: dict[str, Any], observed: dict[str, Any]) -> tuple[Any, Any]:
    left: dict[str, Any] = {}
    right: dict[str, Any] = {}
    for name in [*expected, *(name for name in observed if name not in expected)]:
        a, b = contrast(expected.get(name), observed.get(name))
        if a is not None or b is not None:  # a null on both sides says nothing
            left |= {name: a} if name in expected else {}
            right |= {name: b} if name in observed else {}
    return left, right


def _contrast_tensors(expected: dict[str, Any], observed: dict[str, Any]) -> tuple[str, str]:
    pairs = list(zip(tensor_values(expected), tensor_values(observed), strict=True))
    differ = [at for at, (a, b) in enumerate(pairs) if a != b and (a == a or b == b)]
    if not differ:
        return describe_tensor(expected), describe_tensor(observed)
    shown = differ[:MOST_NUMBERS]
    more = ", ..." if len(differ) > len(shown) else ""
    places = f"{len(differ)} of {len(pairs)} differ, at {', '.join(map(str, shown))}{more}"
    return tuple(
        f"{side['dtype']}[{','.join(map(str, side['shape']))}], {places}: "
        + ", ".join(f"{pairs[at][which]:.9g}" for at in shown)
        + more
        for which, side in enumerate((expected, observed))
    )  # pyright: ignore[reportReturnType] - there are two


def _aligned(left: list[str], right: list[str]) -> Iterator[Row]:
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        mark = " " if tag == "equal" else "|"
        for offset in range(max(i2 - i1, j2 - j1)):
            yield (
                left[i1 + offset] if i1 + offset < i2 else "",
                mark,
                right[j1 + offset] if j1 + offset < j2 else "",
            )


def _cut(rows: list[Row]) -> list[Row]:
    """Long comparisons keep the differences with two lines around them."""
    if len(rows) <= MOST_LINES:
        return rows
    near = {at + step for at, row in enumerate(rows) if row[1] == "|" for step in range(-2, 3)}
    kept: list[Row] = []
    for at, row in enumerate(rows):
        if at in near:
            kept.append(row)
        elif not kept or kept[-1][0] != "...":
            kept.append(("...", " ", "..."))
    return kept if len(kept) <= MOST_LINES else [*kept[:MOST_LINES], ("... more", " ", "... more")]


def value_lines(value: Any, *, width: int = WIDTH) -> list[str]:
    """One value, readable, on as few lines as fit."""
    return _lines(readable(value), width)


def _lines(value: Any, width: int) -> list[str]:
    lines: list[str] = []
    for line in _layout(value, width):
        lines += textwrap.wrap(line, width, subsequent_indent="    ", break_on_hyphens=False) or [line]
    return lines


def _layout(value: Any, width: int, *, indent: str = "", name: str = "") -> Iterator[str]:
    """JSON on as few lines as fit: a container that fits on its line stays there."""
    flat = f"{indent}{name}{json.dumps(value, ensure_ascii=False)}"
    if len(flat) <= width or not value or not _nested(value):
        yield flat
        return
    opening, closing = "{}" if is_object(value) else "[]"
    yield f"{indent}{name}{opening}"
    for key, inner in value.items() if is_object(value) else enumerate(value):
        yield from _layout(inner, width, indent=indent + "  ", name=f"{key}: " if is_object(value) else "")
    yield indent + closing


def _nested(value: Any) -> bool:
    """Whether it is worth a line for each part: lists of plain numbers are not."""
    return is_object(value) or (is_list(value) and any(is_object(inner) or is_list(inner) for inner in value))
