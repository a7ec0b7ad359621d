"""The table, the JSON and the picture of reports that are written down here."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from drift_scenes import drift, report, with_words
from kvconform.drift import plot, table
from kvconform.drift.result import DriftReport
from kvconform.drift.settings import Setting
from rich.console import Console

SVG = "{http://www.w3.org/2000/svg}"


def printed(found: DriftReport) -> str:
    console = Console(width=120, file=io.StringIO(), record=True, highlight=False, markup=False, emoji=False)
    table.print_report(found, console)
    return console.export_text()


def row(found: DriftReport, bits: int) -> list[str]:
    """The words of the table's row that begins with these bits."""
    return next(line.split() for line in printed(found).splitlines() if line.split()[:1] == [str(bits)])


def test_a_row_holds_the_first_difference_share_divergences_and_bytes(sample: DriftReport) -> None:
    assert " ".join(row(sample, 4)) == "4 64 0 2 of 2 token 2 60.0 % 0.6 2 300 B 700 B, 70.0 %"


def test_a_setting_that_never_differs_says_none(sample: DriftReport) -> None:
    assert " ".join(row(sample, 8)) == "8 64 0 2 of 2 none 100.0 % 0.0041 0.02 500 B 500 B, 50.0 %"


def test_a_run_that_ended_early_is_explained_below(sample: DriftReport) -> None:
    assert "2 bits, group size 64: ended after 2 tokens: no sinks" in printed(sample)


def test_a_start_that_was_not_reached_is_explained_below() -> None:
    far = drift(4, divergences=[0] * 6, first_quantized=None, setting=Setting(bits=4, start=99), nbytes=1000)
    shown = printed(report(far))
    assert "4 bits, group size 64, start 99: the start is not reached, nothing is quantized" in shown
    assert " ".join(row(report(far), 4)) == "4 64 99 2 of 2 none - - - 1000 B -"


def test_the_count_of_compared_tokens_is_given(sample: DriftReport) -> None:
    assert "over the 5 tokens whose step reads a quantized cache" in printed(sample)
    both = report(drift(8, divergences=[0.1] * 6), drift(4, divergences=[0.1] * 6, first_quantized=4))
    assert "over the 2 to 5 tokens" in printed(both)


def test_a_group_size_that_was_not_the_one_asked_for_shows_both() -> None:
    assert table.group_size_text(replace(drift(4, divergences=[0]), group_sizes=(32,))) == "64→32"
    assert table.group_size_text(drift(4, divergences=[0])) == "64"


@pytest.mark.parametrize(("share", "shown"), [(1.0, "100.0 %"), (0.9999, "99.9 %"), (0.0, "0.0 %")])
def test_100_percent_is_shown_for_all_only(share: float, shown: str) -> None:
    assert table.percent(share) == shown


@pytest.mark.parametrize(("amount", "shown"), [(0.0, "0"), (0.000012, "1.2e-05"), (0.12345, "0.123")])
def test_divergences_have_three_digits(amount: float, shown: str) -> None:
    assert table.nats(amount) == shown


def test_a_long_text_is_cut_to_one_line() -> None:
    assert table.shortened("a\n b  c", 10) == "a b c"
    assert table.shortened("x" * 20, 10) == "xxxxxxx..."


def test_the_json_holds_what_was_measured_and_what_follows_from_it(sample: DriftReport) -> None:
    data = json.loads(json.dumps(sample.as_json()))
    four = data["drifts"][1]
    assert data["tokens"] == [0, 1, 2, 3, 4, 5]
    assert four["setting"] == {"bits": 4, "group_size": 64, "start": 0}
    assert (four["first_difference"], four["compared"], four["bytes_saved"]) == (2, 5, 700)
    assert four["equal_share"] == pytest.approx(0.6)
    assert four["mean_divergence"] == pytest.approx(0.6)
    assert data["drifts"][2]["error"] == "no sinks"


# ---------------------------------------------------------------- the picture


def parsed(found: DriftReport) -> ET.Element:
    return ET.fromstring(plot.svg_text(found))


def fills(found: DriftReport, colour: str) -> list[ET.Element]:
    """The rectangles of the rows in this colour; those of the legend are left out."""
    return [
        r
        for group in parsed(found).findall(f"{SVG}g")
        for r in group.iter(f"{SVG}rect")
        if r.get("fill") == colour
    ]


def titles(found: DriftReport) -> list[str]:
    return [title.text or "" for title in parsed(found).iter(f"{SVG}title")]


def test_the_picture_has_a_row_a_setting_and_a_cell_a_token(sample: DriftReport) -> None:
    rows = parsed(sample).findall(f"{SVG}g")
    assert len(rows) == 3
    assert [len(list(group.iter(f"{SVG}title"))) for group in rows] == [6, 6, 2]


def test_the_darker_a_cell_the_farther_off() -> None:
    found = report(drift(4, divergences=(0, 0.0005, 0.005, 0.05, 0.5, 5.0)))
    rects = [r.get("fill") for r in parsed(found).findall(f"{SVG}g")[0].iter(f"{SVG}rect")]
    assert rects[:6] == [plot.UNREAD, *(colour for _, colour, _ in plot.SHADES)]


def test_each_other_token_has_a_mark(sample: DriftReport) -> None:
    assert len(fills(sample, plot.DIFFERENT)) == 2


def test_the_line_below_a_row_is_as_long_as_the_answer_is_unchanged(sample: DriftReport) -> None:
    widths = [float(line.get("width") or 0) for line in fills(sample, plot.SAME)]
    assert widths == [pytest.approx(plot.STRIP_WIDTH), pytest.approx(plot.STRIP_WIDTH * 2 / 6, rel=1e-4)]


def test_the_bar_is_as_long_as_the_cache_is_large(sample: DriftReport) -> None:
    widths = [float(bar.get("width") or 0) for bar in fills(sample, "#8a939c")]
    assert widths == [pytest.approx(plot.BAR_WIDTH * share) for share in (0.5, 0.3, 0.2)]


def test_a_pointer_on_a_cell_says_what_it_stands_for(sample: DriftReport) -> None:
    assert "token 2 ' w2': another token is more likely, KL 0.25" in titles(sample)
    assert "token 0: full precision" in titles(sample)


def test_a_row_that_ended_early_says_so_and_has_no_line(sample: DriftReport) -> None:
    assert "ended: no sinks" in [each.text for each in parsed(sample).iter(f"{SVG}text")]


def test_long_answers_share_cells_and_hide_no_difference() -> None:
    many = 1000
    found = report(drift(4, divergences=[0.0001] * (many - 1) + [3.0], differs={500, many - 1}), tokens=many)
    cells = plot.cells_of(found.drifts[0], many)
    assert len(cells) == 250
    assert [cell.first for cell in cells[:3]] == [0, 4, 8]
    assert [cell.first for cell in cells if cell.differs] == [500, 996]
    assert cells[-1].divergence == 3.0
    assert "tokens 996 to 999: another token is more likely, KL 3" in titles(found)


def test_whatever_tokens_hold_the_picture_is_well_formed(sample: DriftReport) -> None:
    words = ["<b>", "&", "'\"", "\x00\x07", "\ud800", "]]>"]
    odd = replace(with_words(sample, words), model='a "model" <x> & y')
    plot.svg_text(odd).encode("utf-8")
    said = titles(odd)
    assert "token 1 '&': KL 0.0005" in said
    assert "token 5 ']]>': KL 0.15" in said


def test_the_picture_of_one_token_and_one_setting_is_well_formed() -> None:
    assert len(titles(report(drift(4, divergences=[0.0]), tokens=1))) == 1
