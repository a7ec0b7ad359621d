from __future__ import annotations

import json

from kvconform.report.json_report import json_report, json_text
from kvconform.report.log import Broken, Log
from kvconform.report.verdict import verdict_of
from log_samples import SCENARIO, failed, header, judged, listed, verdict


def test_the_report_of_one_implementation_has_its_fields_at_the_top() -> None:
    seen = verdict(header(listed("MQ-1"), listed("MQ-2")), failed("MQ-1.only"), judged("MQ-2.only"))
    report = json.loads(json_text([seen]))
    assert report["implementation"]["name"] == "mine"
    assert report["implementation"]["version"] == "1.2"
    assert report["implementation"]["dialect"] == "proposal"
    assert (report["seed"], report["budget"], report["complete"], report["exit_code"]) == (
        7,
        "quick",
        True,
        1,
    )
    assert report["universal"] == {"judged": 2, "of": 2}
    first, second = report["requirements"]
    assert (first["id"], first["outcome"], second["outcome"]) == ("MQ-1", "fail", "pass")
    assert first["message"] == "layer 0: offset 13, must be 12"
    assert first["scenario"] == SCENARIO
    assert (first["expected"], first["observed"]) == (12, 13)
    assert first["replay"] == "kvconform replay .kvconform/failures/ab.json"
    assert second["scenario"] is None


def test_counts_add_up_to_the_requirements() -> None:
    seen = verdict(header(listed("MQ-1"), listed("MQ-2", checks=())), judged("MQ-1.only"))
    assert sum(json_report([seen])["counts"].values()) == 2


def test_the_report_of_several_has_one_run_each() -> None:
    good = verdict(header(listed("MQ-1")), judged("MQ-1.only"))
    bad = verdict(header(listed("MQ-1")), failed("MQ-1.only"))
    report = json_report([good, bad])
    assert [run["exit_code"] for run in report["runs"]] == [0, 1]
    assert (report["complete"], report["exit_code"]) == (True, 1)


def test_a_run_that_was_cut_short_says_so() -> None:
    seen = verdict(header(listed("MQ-1")), complete=False, interrupted=True)
    report = json_report([seen])
    assert report["complete"] is False
    assert report["requirements"][0]["outcome"] == "not run"
    other = verdict(header(listed("MQ-1")), judged("MQ-1.only"))
    assert json_report([other, seen])["complete"] is False


def test_an_implementation_that_did_not_start_has_a_report_too() -> None:
    report = json_report([verdict_of(Log.of([Broken(spec="exec:nothing", message="no such command")]))])
    assert report["implementation"]["name"] == "exec:nothing"
    assert report["error"] == "no such command"
    assert (report["complete"], report["exit_code"], report["requirements"]) == (False, 3, [])
