"""The JUnit report: one suite an implementation and area, one case a requirement.

Written for what CI systems read in common: ``testsuites/testsuite/testcase`` with at most one of
``failure``, ``error`` and ``skipped`` in a case, and counts that add up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree as ET

from .failure import render_failure
from .verdict import RequirementVerdict, Verdict

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""

Counts = dict[str, int]


def junit_text(verdicts: Sequence[Verdict]) -> str:
    """The report as the text of a file."""
    root = ET.Element("testsuites", name="kvconform")
    for verdict in verdicts:
        for suite in _suites(verdict):
            root.append(suite)
    _sum_up(root)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suites(verdict: Verdict) -> list[ET.Element]:
    name = verdict.implementation.name
    by_area = groupby(verdict.requirements, key=lambda requirement: requirement.listed.area)
    suites = [_suite(verdict, area, list(requirements)) for area, requirements in by_area]
    notes = [*_stale_cases(verdict), *_broken_cases(verdict)]
    return [*suites, _filled(f"{name}.run", notes, verdict)] if notes else suites


def _suite(verdict: Verdict, area: str, requirements: list[RequirementVerdict]) -> ET.Element:
    name = f"{verdict.implementation.name}.{area}"
    return _filled(name, [_case(requirement, name) for requirement in requirements], verdict)


def _filled(name: str, cases: list[ET.Element], verdict: Verdict) -> ET.Element:
    suite = ET.Element("testsuite", {"name": _clean(name), **_counted(cases)})
    if verdict.log.header:
        suite.set("timestamp", verdict.log.header.started)
    properties = ET.SubElement(suite, "properties")
    for key, value in _properties(verdict).items():
        ET.SubElement(properties, "property", name=key, value=_clean(value))
    suite.extend(cases)
    return suite


def _properties(verdict: Verdict) -> dict[str, str]:
    header = verdict.log.header
    subject = verdict.implementation
    return {
        "implementation": f"{subject.name} {subject.version or ''}".strip(),
        "dialect": str(subject.dialect),
        "seed": str(header.seed if header else ""),
        "budget": header.budget if header else "",
        "complete": "true" if verdict.complete else "false",
    }


def _case(requirement: RequirementVerdict, suite: str) -> ET.Element:
    listed = requirement.listed
    seconds = sum(result.seconds for result in requirement.results)
    case = ET.Element(
        "testcase",
        classname=_clean(suite),
        name=_clean(f"{listed.id} {listed.statement}"),
        time=f"{seconds:.3f}",
    )
    sort = _sort(requirement)
    if sort:
        note = ET.SubElement(case, sort, message=_clean(_headline(requirement)), type=requirement.outcome)
        note.text = _clean(_text(requirement))
    return case


def _sort(requirement: RequirementVerdict) -> str | None:
    """The child of the case; failures that do not count are skips, which no CI counts either."""
    if requirement.failed:
        return "failure" if requirement.outcome == "fail" else "error"
    if requirement.outcome == "unexpected pass":
        return "failure"
    return None if requirement.outcome == "pass" else "skipped"


def _headline(requirement: RequirementVerdict) -> str:
    level = " (should)" if requirement.listed.level == "should" and requirement.outcome != "pass" else ""
    first = requirement.message.splitlines()[0] if requirement.message else ""
    return f"{requirement.outcome}{level}: {first}" if first else f"{requirement.outcome}{level}"


def _text(requirement: RequirementVerdict) -> str | None:
    deciding = (requirement.deciding,) if requirement.deciding and requirement.deciding.scenario else ()
    shown = requirement.failures or deciding
    return "".join(f"\n{render_failure(result, requirement.listed)}\n" for result in shown) or None


def _stale_cases(verdict: Verdict) -> list[ET.Element]:
    cases: list[ET.Element] = []
    for entry in verdict.stale:
        case = ET.Element(
            "testcase", classname="known failures", name=_clean(f"{entry.key}: {entry.reason}"), time="0"
        )
        ET.SubElement(case, "failure", message="stale: nothing fails this way any more", type="stale")
        cases.append(case)
    return cases


def _broken_cases(verdict: Verdict) -> list[ET.Element]:
    if verdict.complete:
        return []
    message = verdict.log.broken.message if verdict.log.broken else "the run was cut short"
    case = ET.Element("testcase", classname="run", name="the run comes to its end", time="0")
    ET.SubElement(case, "error", message=_clean(message), type="incomplete")
    return [case]


def _counted(cases: list[ET.Element]) -> dict[str, str]:
    found = {
        sort: sum(case.find(sort) is not None for case in cases) for sort in ("failure", "error", "skipped")
    }
    return {
        "tests": str(len(cases)),
        "failures": str(found["failure"]),
        "errors": str(found["error"]),
        "skipped": str(found["skipped"]),
        "time": f"{sum(float(case.get('time', '0')) for case in cases):.3f}",
    }


def _sum_up(root: ET.Element) -> None:
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in root):.3f}")


def _clean(text: str | None) -> str:
    return _FORBIDDEN.sub("\ufffd", text or "")
