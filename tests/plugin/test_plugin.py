from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from plugin_runs import SUBJECTS, Run, environment

ROOT = Path(__file__).parents[2]


def _outcomes(ran: object) -> dict[str, str]:
    return {result.check: result.outcome for result in ran.read().results}


def test_a_conforming_implementation_passes_and_a_failed_should_is_only_reported(small_run: Run) -> None:
    ran = small_run("--kvconform", "adapters:good", autoload=True)
    assert ran.code == 0, ran.output
    assert "3 passed" in ran.output
    assert "1 xfailed" in ran.output
    assert _outcomes(ran) == {
        "GS-3.nearest": "pass",
        "GS-4.tie": "pass",
        "GS-11.zero": "pass",
        "QC-11.should": "fail",
    }


def test_a_failure_is_shown_without_a_traceback_and_with_everything_to_understand_it(small_run: Run) -> None:
    ran = small_run("--kvconform", "adapters:tie_goes_high", "--kvconform-requirement", "GS-4")
    assert ran.code == 1
    assert "Traceback" not in ran.output
    assert "small_suite.py:" not in ran.output
    for part in (
        "GS-4 (D) fail",
        "resolve group size 96",
        "resolved to 128",
        "kvconform replay .kvconform/failures/",
    ):
        assert part in ran.output, part


def test_a_failure_leaves_a_replay_file_where_it_says(small_run: Run, tmp_path: Path) -> None:
    ran = small_run("--kvconform", "adapters:tie_goes_high", "--kvconform-requirement", "GS-4")
    (result,) = ran.read().results
    assert result.replay is not None
    data = json.loads((tmp_path / result.replay).read_text())
    assert data["implementation"] == "adapters:tie_goes_high"
    assert (data["requirement"], data["check"], data["outcome"]) == ("GS-4", "GS-4.tie", "fail")
    assert data["scenario"]["requested"] == 96
    assert (data["expected"]["group_size"], data["observed"]["group_size"]) == (64, 128)


def test_workers_give_the_same_log_as_one_process(small_run: Run) -> None:
    alone = small_run("--kvconform", "adapters:always_64")
    shared = small_run("--kvconform", "adapters:always_64", "-n", "2")

    def facts(ran: object) -> list[object]:
        return sorted(
            (r.check, r.outcome, r.message, json.dumps(r.scenario), r.replay) for r in ran.read().results
        )

    assert facts(alone) == facts(shared)
    assert alone.code == shared.code == 1
    assert shared.read().complete
    assert shared.log.read_text().count('"event":"start"') == 1


def test_the_same_seed_gives_the_same_failure_and_another_seed_is_recorded(small_run: Run) -> None:
    first = small_run("--kvconform", "adapters:always_64", "--kvconform-seed", "5").read()
    second = small_run("--kvconform", "adapters:always_64", "--kvconform-seed", "5").read()
    assert first.header is not None
    assert first.header.seed == 5
    assert [r.scenario for r in first.results] == [r.scenario for r in second.results]


def test_selection_judges_what_was_named_and_lists_only_that(small_run: Run) -> None:
    ran = small_run(
        "--kvconform", "adapters:good", "--kvconform-requirement", "gs-4", "--kvconform-requirement", "QC"
    )
    log = ran.read()
    assert {result.check for result in log.results} == {"GS-4.tie", "QC-11.should"}
    assert log.header is not None
    assert {listed.area for listed in log.header.requirements} == {"GS", "QC"}
    assert log.complete


def test_tests_that_are_not_the_suites_are_left_alone(small_run: Run, tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n")
    ran = small_run("--kvconform", "adapters:good", "--kvconform-requirement", "GS-4")
    assert "2 passed" in ran.output


def test_what_is_not_declared_is_skipped_with_its_reason_and_never_success(small_run: Run) -> None:
    ran = small_run("--kvconform", "adapters:declares_nothing", "-rs")
    assert ran.code != 0
    assert "unsupported: not declared: kind resolve" in ran.output
    assert set(_outcomes(ran).values()) == {"unsupported"}


def test_without_an_implementation_the_suite_fails_and_says_what_to_give(small_run: Run) -> None:
    ran = small_run()
    assert ran.code == 1
    assert "--kvconform NAME" in ran.output


@pytest.mark.parametrize("name", ["kvconform.suite", "kvconform.suite.test_gs"])
def test_the_whole_suite_without_an_implementation_is_one_usage_error(small_run: Run, name: str) -> None:
    ran = small_run("--pyargs", name)
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert ran.output.strip().endswith("Give one: pytest --pyargs kvconform.suite --kvconform NAME")
    assert ran.output.count("no implementation was named") == 1
    assert "Traceback" not in ran.output


def test_the_suite_can_be_listed_without_an_implementation(small_run: Run) -> None:
    ran = small_run("--pyargs", "kvconform.suite", "--collect-only", "-q")
    assert ran.code == 0, ran.output


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_an_implementation_in_the_current_folder_is_found_by_the_pytest_script(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    (tmp_path / "mine_here.py").write_text((SUBJECTS / "adapters.py").read_text())
    script = Path(sys.executable).with_name("pytest")  # unlike python -m it does not search the folder
    selected = ("--kvconform", "mine_here:good", "--kvconform-requirement", "GS-4")
    command = [script, "-p", "no:cacheprovider", "-p", "kvconform.plugin", "-p", "xdist", *workers]
    done = subprocess.run(
        [*command, "--pyargs", "kvconform.suite", "--kvconform-budget", "quick", *selected],
        cwd=tmp_path,
        env={name: value for name, value in environment().items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--kvconform-requirement", "MQ-112"), "near are MQ-12"),
        (("--kvconform-log", "test_small.py/log"), "log test_small.py/log: cannot be written"),
    ],
)
def test_a_mistake_in_an_option_is_a_usage_error(
    small_run: Run, arguments: tuple[str, ...], told: str
) -> None:
    ran = small_run("--kvconform", "adapters:good", *arguments)
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert told in ran.output
    assert "Traceback" not in ran.output


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("adapter_with_import_error:factory", "a_module_that_nobody_has"),
        ("adapters:unknown_dialect", "dialect 'nonsense' is not known"),
    ],
)
def test_an_implementation_that_does_not_start_ends_the_session_with_code_3(
    small_run: Run, spec: str, told: str
) -> None:
    ran = small_run("--kvconform", spec)
    assert ran.code == 3, ran.output
    assert told in ran.output
    assert "Traceback" not in ran.output
    log = ran.read()
    assert log.broken is not None
    assert told in log.broken.message


def test_an_implementation_that_raises_is_an_error_with_its_traceback_kept(small_run: Run) -> None:
    ran = small_run("--kvconform", "adapters:raises", "--kvconform-requirement", "GS-4")
    (result,) = ran.read().results
    assert result.outcome == "error"
    assert "cannot resolve 96" in result.message
    assert "in _raises" in result.detail


def test_a_worker_that_dies_is_a_crash_of_the_check_it_judged_and_the_others_go_on(small_run: Run) -> None:
    ran = small_run("--kvconform", "adapters:dies_at_zero", "-n", "1")
    outcomes = _outcomes(ran)
    assert outcomes["GS-11.zero"] == "crash"
    assert outcomes["GS-3.nearest"] == outcomes["GS-4.tie"] == "pass"
    assert ran.read().complete
    assert ran.code == 1


def test_an_implementation_that_starts_in_one_process_only_is_no_verdict(small_run: Run) -> None:
    ran = small_run("--kvconform", "adapters:starts_once", "-n", "1", "--kvconform-requirement", "GS-4")
    (result,) = ran.read().results
    assert result.outcome == "protocol"
    assert "File exists" in result.detail
    assert "Traceback" not in ran.output
    assert ran.code == 1


def test_a_process_that_dies_leaves_a_log_that_says_what_it_was_busy_with(small_run: Run) -> None:
    ran = small_run("--kvconform", "adapters:dies_at_zero")
    log = ran.read()
    assert not log.complete
    assert log.busy == ("GS-11.zero",)


def test_a_session_that_stops_early_has_no_footer(small_run: Run) -> None:
    ran = small_run("--kvconform", "adapters:always_64", "-x")
    assert not ran.read().complete
    assert "INCOMPLETE" in ran.output


def test_every_pytest_session_pays_nothing_for_the_plugin() -> None:
    heavy = ("pydantic", "hypothesis", "rich", "typer", "kvconform.scenario", "kvconform_reference")
    script = (
        "import sys, pytest\n"
        f"before = {{m for m in {heavy!r} if m in sys.modules}}\n"
        "import kvconform.plugin\n"
        f"print([m for m in {heavy!r} if m in sys.modules and m not in before])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
