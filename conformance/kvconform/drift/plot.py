"""The report as a picture: a strip for each setting, a cell for each token, the darker the farther off.

Plain SVG, written by hand: it opens in any browser, and a pointer on a cell says what it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from .result import Drift, DriftReport
from .table import group_size_text, nats, percent, shortened

WIDTH = 1100
LABEL_RIGHTS = (52, 118, 168)
STRIP_LEFT, STRIP_WIDTH = 190, 576
EQUAL_RIGHT, KL_RIGHT, BAR_LEFT, BAR_WIDTH = 836, 920, 950, 70
TOP, ROW, GAP, CELL = 112, 26, 8, 15
"""First row's top, distance of rows, extra space between bit widths, height of a cell."""
MAX_CELLS = 280
"""Cells of 2 pixels are the smallest that one can see; longer answers share cells."""

SHADES = (
    (0.001, "#e8eef5", "< 0.001"),
    (0.01, "#b9d0e8", "< 0.01"),
    (0.1, "#6ea3d0", "< 0.1"),
    (1.0, "#2a67a5", "< 1"),
    (math.inf, "#0b2a55", "1 and more"),
)
"""A shade for each power of ten of the KL divergence: drift spans five of them between 8 and 2 bits."""
UNREAD, DIFFERENT, SAME, INK, QUIET = "#ffffff", "#e8590c", "#2b8a3e", "#1b1f24", "#5b6570"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One token, or several neighbours of a long answer."""

    first: int
    last: int
    divergence: float | None
    """The largest of its tokens; none where no step reads a quantized cache."""
    differs: bool
    """Whether any of its tokens is another one."""


def svg_text(report: DriftReport) -> str:
    """The picture as an SVG document."""
    tops = row_tops(report.drifts)
    height = (tops[-1] if tops else TOP) + ROW + 74
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="system-ui, Helvetica, Arial, sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        *_head(report),
        *_axis(len(report.tokens)),
    ]
    for drift, top in zip(report.drifts, tops, strict=True):
        parts += _row(drift, report, top)
    parts += _legend(height - 44)
    return "\n".join([*parts, "</svg>", ""])


def row_tops(drifts: Sequence[Drift]) -> list[int]:
    """Where each row begins; rows of the same bits stand together."""
    tops: list[int] = []
    top = TOP
    for number, drift in enumerate(drifts):
        if number and drift.setting.bits != drifts[number - 1].setting.bits:
            top += GAP
        tops.append(top)
        top += ROW
    return tops


def cells_of(drift: Drift, tokens: int) -> list[Cell]:
    """The cells of a strip, at most `MAX_CELLS`."""
    size = -(-tokens // MAX_CELLS)
    there = len(drift.tokens)
    return [_cell(drift, first, min(first + size, there)) for first in range(0, there, size)]


def _cell(drift: Drift, first: int, end: int) -> Cell:
    read = drift.first_quantized is not None and end > drift.first_quantized
    return Cell(
        first=first,
        last=end - 1,
        divergence=max(drift.divergences[first:end]) if read else None,
        differs=any(drift.differs[first:end]),
    )


def shade(divergence: float | None) -> str:
    """The colour of a cell."""
    if divergence is None:
        return UNREAD
    return next(colour for bound, colour, _ in SHADES if divergence < bound or bound == math.inf)


# ---------------------------------------------------------------- parts


def _head(report: DriftReport) -> Iterator[str]:
    title = f"{shortened(report.model, 60)}: how far the answer drifts with a quantized KV cache"
    yield text(title, 24, 34, size=19, weight="bold")
    yield text(
        f"{len(report.tokens)} tokens after a prompt of {len(report.prompt_tokens)}, greedy, "
        f"full-precision tokens fed back · {report.dtype}",
        24,
        56,
        colour=QUIET,
    )
    yield text(f"“{shortened(report.text, 130)}”", 24, 76, colour=QUIET, size=12)
    rights = (*LABEL_RIGHTS, EQUAL_RIGHT, KL_RIGHT)
    for words, right in zip(("bits", "group", "start", "equal", "mean KL"), rights, strict=True):
        yield text(words, right, TOP - 10, anchor="end", weight="bold")
    yield text("cache, of full", BAR_LEFT, TOP - 10, weight="bold")


def _axis(tokens: int) -> Iterator[str]:
    step = next(size for size in (5, 10, 20, 50, 100, 200, 500, 1000, tokens + 1) if tokens / size <= 14)
    for token in range(0, tokens, step):
        middle = (_x(token, tokens) + _x(token + 1, tokens)) / 2
        yield text(str(token), middle, TOP - 10, anchor="middle", colour=QUIET, size=11)


def _row(drift: Drift, report: DriftReport, top: int) -> Iterator[str]:
    tokens = len(report.tokens)
    base = top + CELL - 3
    yield "<g>"
    for label, right in zip(labels(drift), LABEL_RIGHTS, strict=True):
        yield text(label, right, base, anchor="end")
    for cell in cells_of(drift, tokens):
        yield _cell_svg(cell, drift, report, top)
    yield rect(STRIP_LEFT, top, STRIP_WIDTH, CELL, "none", stroke="#c4ccd4")
    same = tokens if drift.first_difference is None else drift.first_difference
    if not drift.error or drift.first_difference is not None:
        yield rect(STRIP_LEFT, top + CELL + 2, _x(same, tokens) - STRIP_LEFT, 3, SAME)
    if drift.error:
        yield text(f"ended: {shortened(drift.error, 60)}", _x(len(drift.tokens), tokens) + 6, base, size=11)
    if drift.equal_share is not None and drift.mean_divergence is not None:
        yield text(percent(drift.equal_share), EQUAL_RIGHT, base, anchor="end")
        yield text(nats(drift.mean_divergence), KL_RIGHT, base, anchor="end")
    yield from _bar(drift, report, top)
    yield "</g>"


def labels(drift: Drift) -> tuple[str, ...]:
    """What a row is called: bits, group size, start."""
    return str(drift.setting.bits), group_size_text(drift), str(drift.setting.start)


def _cell_svg(cell: Cell, drift: Drift, report: DriftReport, top: int) -> str:
    tokens = len(report.tokens)
    x, end = _x(cell.first, tokens), _x(cell.last + 1, tokens)
    mark = rect(x, top, end - x, 5, DIFFERENT) if cell.differs else ""
    said = f"<title>{escape(printable(cell_text(cell, drift, report)))}</title>"
    return f"<g>{said}{rect(x, top, end - x, CELL, shade(cell.divergence))}{mark}</g>"


def cell_text(cell: Cell, drift: Drift, report: DriftReport) -> str:
    """What a pointer on a cell shows."""
    where = f"token {cell.first}" if cell.first == cell.last else f"tokens {cell.first} to {cell.last}"
    if cell.divergence is None:
        return f"{where}: full precision"
    word = f" {report.words[cell.first]!r}" if cell.first == cell.last else ""
    other = " another token is more likely," if cell.differs else ""
    return f"{where}{word}:{other} KL {nats(cell.divergence)}"


def _bar(drift: Drift, report: DriftReport, top: int) -> Iterator[str]:
    share = drift.nbytes / report.nbytes if report.nbytes else 1.0
    yield rect(BAR_LEFT, top + 2, BAR_WIDTH, CELL - 4, "#edf0f3")
    yield rect(BAR_LEFT, top + 2, BAR_WIDTH * min(1.0, share), CELL - 4, "#8a939c")
    yield text(f"{share:.0%}".replace("%", " %"), BAR_LEFT + BAR_WIDTH + 44, top + CELL - 3, anchor="end")


def _legend(top: int) -> Iterator[str]:
    yield text("KL divergence in nats", 24, top + 12, colour=QUIET, size=12)
    x = 166
    for _, colour, label in SHADES:
        yield rect(x, top, 22, CELL, colour, stroke="#c4ccd4")
        yield text(label, x + 28, top + 12, size=12, colour=QUIET)
        x += 88
    yield rect(x + 34, top, 22, CELL, SHADES[1][1]) + rect(x + 34, top, 22, 5, DIFFERENT)
    yield text("another token is most likely", x + 62, top + 12, size=12, colour=QUIET)
    yield rect(x + 250, top + 7, 22, 3, SAME)
    yield text("answer unchanged so far", x + 278, top + 12, size=12, colour=QUIET)


# ---------------------------------------------------------------- SVG


def _x(token: int, tokens: int) -> float:
    return STRIP_LEFT + STRIP_WIDTH * token / max(1, tokens)


def rect(x: float, y: float, width: float, height: float, fill: str, *, stroke: str | None = None) -> str:
    """A rectangle."""
    edge = f' stroke="{stroke}"' if stroke else ""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}"{edge}/>'


def text(
    words: str,
    x: float,
    y: float,
    *,
    size: int = 13,
    colour: str = INK,
    anchor: str = "start",
    weight: str = "normal",
) -> str:
    """A line of text, whatever it holds."""
    style = f'font-size="{size}" fill={quoteattr(colour)} text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(printable(words))}</text>'


def printable(words: str) -> str:
    """Without what XML cannot hold: control characters and lone surrogates of a token's bytes."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)
