from __future__ import annotations

from itertools import combinations

import pytest
from kvconform.errors import worst_code
from kvconform.outcomes import FAILURES, WORST_FIRST, worst
from kvconform.report.log import Broken, Excuse
from log_samples import failed, header, judged, listed, verdict

ENTRY = Excuse(key="MQ-1", reason="upstream bug", message="layer 0")


def test_the_worst_check_decides_a_requirement() -> None:
    seen = verdict(
        header(listed("MQ-1", checks=("a", "b", "c"))), judged("MQ-1.a"), failed("MQ-1.b"), judged("MQ-1.c")
    )
    (requirement,) = seen.requirements
    assert requirement.outcome == "fail"
    assert requirement.message == "layer 0: offset 13, must be 12"
    assert requirement.deciding is not None
    assert requirement.deciding.check == "MQ-1.b"


def test_every_failure_is_worse_than_every_other_outcome() -> None:
    for a, b in combinations(WORST_FIRST, 2):
        assert worst([b, a]) == a
        assert not (b in FAILURES and a not in FAILURES)


def test_all_passed_is_conforming() -> None:
    assert verdict(header(listed("MQ-1")), judged("MQ-1.only")).exit_code == 0


@pytest.mark.parametrize(
    ("outcome", "code"), [("fail", 1), ("error", 1), ("crash", 1), ("timeout", 1), ("protocol", 3)]
)
def test_each_failure_has_its_exit_code(outcome: str, code: int) -> None:
    assert verdict(header(listed("MQ-1")), failed("MQ-1.only", outcome)).exit_code == code


def test_a_failed_should_is_reported_and_does_not_fail_the_run() -> None:
    seen = verdict(
        header(listed("QC-11", level="should"), listed("MQ-1")), failed("QC-11.only"), judged("MQ-1.only")
    )
    assert seen.exit_code == 0
    assert [requirement.listed.id for requirement in seen.failures] == ["QC-11"]


def test_a_known_failure_that_still_fails_is_conforming() -> None:
    known = judged("MQ-1.only", "known failure", matched=(0,), examined=(0,))
    seen = verdict(header(listed("MQ-1"), known=(ENTRY,)), known)
    assert seen.exit_code == 0
    assert seen.stale == ()


def test_an_entry_that_nothing_matches_is_stale_and_its_requirement_an_unexpected_pass() -> None:
    seen = verdict(header(listed("MQ-1"), known=(ENTRY,)), judged("MQ-1.only", examined=(0,)))
    assert seen.exit_code == 4
    assert seen.stale == (ENTRY,)
    assert seen.requirements[0].outcome == "unexpected pass"
    assert "upstream bug" in seen.requirements[0].message


def test_an_entry_is_not_stale_when_another_check_of_its_requirement_matches_it() -> None:
    seen = verdict(
        header(listed("MQ-1", checks=("a", "b")), known=(ENTRY,)),
        judged("MQ-1.a", examined=(0,)),
        judged("MQ-1.b", "known failure", examined=(0,), matched=(0,)),
    )
    assert seen.stale == ()
    assert seen.requirements[0].outcome == "known failure"


def test_an_entry_whose_requirement_was_not_judged_is_not_stale() -> None:
    skipped = judged("MQ-1.only", "unsupported", examined=(0,))
    seen = verdict(header(listed("MQ-1"), listed("MQ-2"), known=(ENTRY,)), skipped, judged("MQ-2.only"))
    assert seen.stale == ()
    assert seen.exit_code == 0


def test_a_new_failure_beside_a_stale_entry_gives_the_failures_code() -> None:
    seen = verdict(
        header(listed("MQ-1"), listed("MQ-2"), known=(ENTRY,)),
        judged("MQ-1.only", examined=(0,)),
        failed("MQ-2.only"),
    )
    assert seen.exit_code == 1


def test_nothing_judged_is_never_success() -> None:
    assert verdict(header(listed("MQ-1")), judged("MQ-1.only", "unsupported")).exit_code == 5
    assert verdict(header()).exit_code == 5


def test_a_requirement_without_checks_is_not_run_and_says_why() -> None:
    seen = verdict(header(listed("MQ-1", checks=()), listed("MQ-2")), judged("MQ-2.only"))
    assert seen.requirements[0].outcome == "not run"
    assert "no check" in seen.requirements[0].message


def test_universal_requirements_count_as_judged_only_with_a_verdict() -> None:
    seen = verdict(
        header(listed("MQ-1"), listed("MQ-2"), listed("MQ-3", checks=()), listed("MQ-7", tier="D")),
        judged("MQ-1.only"),
        judged("MQ-2.only", "unsupported"),
        judged("MQ-7.only"),
    )
    assert seen.universal == (1, 3)


def test_a_log_that_breaks_off_gives_no_verdict_and_no_success() -> None:
    seen = verdict(header(listed("MQ-1"), listed("MQ-2")), judged("MQ-1.only"), complete=False)
    assert not seen.complete
    assert seen.exit_code == 3
    assert [requirement.outcome for requirement in seen.requirements] == ["pass", "not run"]


def test_a_requirement_with_a_check_left_over_does_not_pass() -> None:
    seen = verdict(header(listed("MQ-1", checks=("a", "b"))), judged("MQ-1.a"), complete=False)
    assert seen.requirements[0].outcome == "not run"


def test_a_requirement_of_which_a_check_was_left_out_does_not_pass() -> None:
    seen = verdict(
        header(listed("MQ-1", checks=("a", "b"))),
        judged("MQ-1.a"),
        judged("MQ-1.b", "not run", message="the implementation is lost"),
    )
    assert (seen.requirements[0].outcome, seen.requirements[0].message) == (
        "not run",
        "the implementation is lost",
    )


def test_an_interrupted_run_has_no_verdict_whatever_was_seen() -> None:
    seen = verdict(header(listed("MQ-1")), failed("MQ-1.only"), complete=False, interrupted=True)
    assert seen.exit_code == 130
    assert not seen.complete


def test_an_implementation_that_does_not_start_gives_code_3() -> None:
    seen = verdict(Broken(spec="mine:make", message="no such module"), complete=False)
    assert seen.exit_code == 3
    assert seen.implementation.name == "mine:make"


@pytest.mark.parametrize(
    ("codes", "worst_of_them"),
    [([0], 0), ([5, 4], 4), ([4, 1], 1), ([1, 3], 3), ([3, 2], 2), ([2, 130], 130), ([0, 5], 5), ([], 0)],
)
def test_exit_codes_have_the_documented_precedence(codes: list[int], worst_of_them: int) -> None:
    assert worst_code(codes) == worst_of_them


def test_a_precise_check_decides_before_a_catch_all_with_the_same_outcome() -> None:
    seen = verdict(
        header(listed("KC-1", checks=("everything", "counts"))),
        failed("KC-1.everything", catch_all=True),
        failed("KC-1.counts"),
    )
    assert seen.requirements[0].deciding is not None
    assert seen.requirements[0].deciding.check == "KC-1.counts"


def test_a_verdict_prints_as_one_short_line() -> None:
    seen = verdict(header(listed("MQ-1"), listed("MQ-2")), failed("MQ-1.only"), judged("MQ-2.only"))
    assert repr(seen) == "<Verdict on mine: 1 fail, 1 pass, exit code 1>"
    cut_short = verdict(header(listed("MQ-1")), complete=False)
    assert repr(cut_short) == "<Verdict on mine: 1 not run, incomplete, exit code 3>"
