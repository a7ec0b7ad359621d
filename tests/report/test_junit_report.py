from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from kvconform.report.junit import junit_text
from kvconform.report.log import Excuse
from log_samples import failed, header, judged, listed, verdict


def _parse(*verdicts: object) -> ET.Element:
    return ET.fromstring(junit_text(verdicts).encode())


def _mixed() -> ET.Element:
    return _parse(
        verdict(
            header(
                listed("MQ-1"),
                listed("MQ-2"),
                listed("GS-1"),
                listed("QC-11", level="should"),
                listed("AQ-1", checks=()),
                known=(Excuse(key="MQ-9", reason="gone", message="x"),),
            ),
            failed("MQ-1.only"),
            failed("MQ-2.only", "crash"),
            judged("GS-1.only", examined=(0,)),
            failed("QC-11.only"),
        )
    )


def test_one_suite_an_area_and_one_case_a_requirement() -> None:
    root = _mixed()
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["mine.MQ", "mine.GS", "mine.QC", "mine.AQ", "mine.run"]
    names = [case.get("name", "").split()[0] for case in suites["mine.MQ"].iter("testcase")]
    assert names == ["MQ-1", "MQ-2"]


def test_counts_equal_the_children_at_every_level() -> None:
    root = _mixed()
    for element in [root, *root]:
        cases = list(element.iter("testcase"))
        assert int(element.get("tests", "")) == len(cases)
        for attribute, child in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.get(attribute, "")) == sum(case.find(child) is not None for case in cases)


def test_outcomes_become_what_ci_systems_know() -> None:
    cases = {case.get("name", "").split()[0]: case for case in _mixed().iter("testcase")}
    assert cases["MQ-1"].find("failure") is not None
    assert cases["MQ-2"].find("error") is not None
    assert cases["QC-11"].find("skipped") is not None  # of level should: no CI may count it
    assert cases["AQ-1"].find("skipped") is not None
    assert cases["MQ-9:"].find("failure") is not None  # the stale entry


def test_no_case_has_more_than_one_verdict() -> None:
    for case in _mixed().iter("testcase"):
        assert len([child for child in case if child.tag in ("failure", "error", "skipped")]) <= 1
        assert float(case.get("time", "")) >= 0
        assert case.get("classname")


def test_a_failure_carries_its_text() -> None:
    failure = next(_mixed().iter("failure"))
    assert "layer 0: offset 13" in failure.get("message", "")
    assert "kvconform replay" in (failure.text or "")


def test_text_that_xml_cannot_hold_is_replaced() -> None:
    odd = failed("MQ-1.only", message="bad \x00 \x1b[31m <tag> & \ud800".encode("utf-8", "replace").decode())
    root = _parse(verdict(header(listed("MQ-1")), odd))
    assert "<tag> &" in next(root.iter("failure")).get("message", "")


@pytest.mark.parametrize("interrupted", [True, False])
def test_a_run_that_was_cut_short_is_an_error(interrupted: bool) -> None:
    root = _parse(
        verdict(header(listed("MQ-1")), judged("MQ-1.only"), complete=False, interrupted=interrupted)
    )
    assert root.get("errors") == "1"
    assert {p.get("value") for p in root.iter("property") if p.get("name") == "complete"} == {"false"}
