from __future__ import annotations

import io

import pytest
from kvconform.report.log import Begun, Broken, Excuse
from kvconform.report.reasons import WIDTH, known_lines, unjudged_lines
from kvconform.report.table import closing_lines, outcome_table, print_summary, tally
from kvconform.report.verdict import Verdict
from log_samples import failed, header, judged, listed, verdict
from rich.console import Console


def _printed(*verdicts: Verdict) -> str:
    out = io.StringIO()
    print_summary(verdicts, Console(file=out, width=120))
    return out.getvalue()


def _one() -> Verdict:
    return verdict(
        header(listed("MQ-1"), listed("MQ-2"), listed("GS-1"), listed("GS-2")),
        failed("MQ-1.only"),
        judged("MQ-2.only", "known failure"),
        judged("GS-1.only"),
        judged("GS-2.only", "unsupported"),
    )


def test_the_table_counts_each_area() -> None:
    text = _printed(_one())
    rows = {
        line.split()[0]: line.split()[1:] for line in text.splitlines() if line[:3] in ("MQ ", "GS ", "all")
    }
    assert rows["MQ"][-9:] == ["0", "/", "1", "/", "0", "/", "1", "/", "0"]
    assert rows["GS"][-9:] == ["1", "/", "0", "/", "0", "/", "0", "/", "1"]
    assert rows["all"] == ["1", "/", "1", "/", "0", "/", "1", "/", "1"]


def test_two_implementations_stand_side_by_side() -> None:
    line = next(line for line in _printed(_one(), _one()).splitlines() if line.startswith("MQ "))
    assert line.split()[-18:] == ["0", "/", "1", "/", "0", "/", "1", "/", "0"] * 2


def test_each_area_has_its_title_beside_its_code() -> None:
    assert "\nMQ    One maybe-quantize pass  " in _printed(_one())


def test_two_implementations_fit_a_hundred_columns_and_a_narrow_screen_cuts_the_titles() -> None:
    versions = [_one(), _one()]
    assert max(map(len, _table(*versions, width=120))) <= 100
    narrow = next(line for line in _table(*versions, width=60) if line.startswith("MQ "))
    assert "\u2026" in narrow
    assert narrow.split()[-18:] == ["0", "/", "1", "/", "0", "/", "1", "/", "0"] * 2


def _table(*verdicts: Verdict, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width).print(outcome_table(verdicts))
    return out.getvalue().splitlines()


def test_every_failure_is_printed_with_its_replay_command() -> None:
    assert "kvconform replay .kvconform/failures/ab.json" in _printed(_one())


def test_the_number_of_judged_universal_requirements_is_printed() -> None:
    assert "U (universal) requirements judged: 3 of 4" in _printed(_one())


def test_a_should_that_fails_is_named_as_reported_only() -> None:
    lines = closing_lines(verdict(header(listed("QC-11", level="should")), failed("QC-11.only")))
    assert any("QC-11" in line and "should" in line for line in lines)


def test_a_stale_entry_is_named_with_the_file_to_change() -> None:
    entry = Excuse(key="MQ-1", reason="upstream bug", message="x")
    lines = closing_lines(verdict(header(listed("MQ-1"), known=(entry,)), judged("MQ-1.only", examined=(0,))))
    assert any("MQ-1" in line and "upstream bug" in line and "known.toml" in line for line in lines)


def test_a_run_that_was_cut_short_is_called_incomplete_with_what_it_was_busy_with() -> None:
    lines = closing_lines(verdict(header(listed("MQ-1")), Begun(check="MQ-1.only"), complete=False))
    assert any("INCOMPLETE" in line and "MQ-1.only" in line for line in lines)


def test_an_implementation_that_did_not_start_is_one_line_with_the_reason() -> None:
    not_started = verdict(Broken(spec="exec:x", message="no such command"), complete=False)
    assert closing_lines(not_started) == ["exec:x: not judged: no such command"]
    assert _printed(not_started) == ""  # it is no verdict


def test_what_counts_as_what() -> None:
    assert tally(_one().requirements) == (1, 1, 0, 1, 1)


@pytest.mark.parametrize("outcome", ["crash", "timeout", "protocol", "error"])
def test_a_requirement_that_ended_with_an_error_counts_as_an_error_and_not_as_judged(outcome: str) -> None:
    found = verdict(header(listed("MQ-1"), listed("MQ-2")), failed("MQ-1.only", outcome), judged("MQ-2.only"))
    assert tally(found.requirements) == (1, 0, 1, 0, 0)
    lines = closing_lines(found)
    assert "1 requirement passed, 0 failed, 1 error, 0 known failures, 0 not judged" in lines[0]
    assert lines[1] == "U (universal) requirements judged: 1 of 2"


def _three_checks() -> Verdict:
    return verdict(
        header(listed("MQ-0", checks=("everything",)), listed("MQ-1", checks=("one", "two"))),
        failed("MQ-0.everything", catch_all=True),
        failed("MQ-1.one"),
        failed("MQ-1.two"),
    )


def test_failed_requirements_are_counted_together_with_the_checks_that_are_shown() -> None:
    assert "0 requirements passed, 2 failed (3 checks), 0 errors" in closing_lines(_three_checks())[0]


def test_what_says_most_precisely_what_is_wrong_is_printed_first() -> None:
    text = _printed(_three_checks())
    order = [text.index(check) for check in ("MQ-1.one", "MQ-1.two", "MQ-0.everything")]
    assert order == sorted(order)


def _known(*reasons: str) -> Verdict:
    entries = tuple(Excuse(key="MQ-1", reason=reason, message="x") for reason in reasons)
    matched = tuple(range(len(entries)))
    return verdict(
        header(listed("MQ-1"), listed("GS-1"), known=entries),
        judged("MQ-1.only", "known failure", matched=matched, examined=matched),
        judged("GS-1.only"),
    )


def test_each_known_failure_is_a_line_with_its_reason_and_the_option_that_shows_it_whole() -> None:
    lines = known_lines(_known("a trim of -1 is accepted"))
    assert "--known-failures none" in lines[0]
    assert lines[1:] == ["  MQ-1  a trim of -1 is accepted"]
    assert "\n  MQ-1  a trim of -1 is accepted\n" in _printed(_known("a trim of -1 is accepted"))


def test_a_known_failure_with_several_reasons_stays_on_its_line() -> None:
    line = known_lines(_known("the list is converted in place " * 9, "another", "a third"))[-1]
    assert line.endswith(" ... (and 2 more)")
    assert len(line) <= WIDTH


def test_without_known_failures_nothing_is_said_of_them() -> None:
    assert known_lines(verdict(header(listed("MQ-1")), judged("MQ-1.only"))) == []


def _unjudged(*reasons: str) -> Verdict:
    ids = [f"MQ-{number}" for number, _ in enumerate(reasons)]
    results = (
        judged(f"{name}.only", "unsupported", message=why) for name, why in zip(ids, reasons, strict=True)
    )
    return verdict(header(*map(listed, ids)), *results)


def test_why_requirements_were_not_judged_is_a_line_a_sort_with_the_most_frequent_first() -> None:
    nothing, elsewhere = "not declared: feature copy", "dialect: scope is per-layer; this is about all"
    assert unjudged_lines(_unjudged(nothing, "not declared: kind cache", elsewhere, nothing)) == [
        "not judged, not declared: copy (2), kind cache (1)",
        "not judged, dialect: scope is per-layer; this is about all (1)",
    ]


def test_reasons_that_do_not_fit_the_line_are_counted() -> None:
    names = [f"with-a-long-name-{number}" for number in range(9)]
    (line,) = unjudged_lines(_unjudged(*(f"not declared: feature {name}" for name in names)))
    assert line == f"not judged, not declared: {names[0]} (1), {names[1]} (1) and 7 more reasons"
    assert len(line) <= WIDTH
