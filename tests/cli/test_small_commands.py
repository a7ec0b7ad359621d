"""``list``, ``explain``, ``check``, ``replay``, ``report``, ``record`` and ``serve``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from cli_commands import SUBJECTS, Command, environment
from kvconform import NonConforming, __version__, run_conformance
from kvconform.replay import FOLDER, Replay, write_replay
from kvconform.report.log import read_log
from kvconform.requirements import catalogue
from kvconform.samples import SAMPLES
from kvconform.scenario import ResolveScenario, as_data
from kvconform.suite import checks_for


def test_the_version_is_printed_without_loading_the_suite(kvconform: Command) -> None:
    assert kvconform("--version").out == f"kvconform {__version__}\n"
    script = (
        "import sys; from kvconform.cli import main; main(['--version']);"
        "print([m for m in ('pydantic', 'hypothesis', 'pytest', 'rich', 'mlx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_list_prints_every_requirement(kvconform: Command) -> None:
    lines = kvconform("list").out.splitlines()
    for requirement in catalogue().values():
        assert any(requirement.id in line.split() and requirement.statement in line for line in lines)


def test_list_of_an_area_prints_only_that(kvconform: Command) -> None:
    out = kvconform("list", "mq").out
    assert "MQ-12 " in out
    assert "GS-1 " not in out


def test_explain_says_who_judges_it(kvconform: Command, tmp_path: Path) -> None:
    # Where the package is installed from a checkout its own tests are listed, else those of this one.
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "kvconform"\n')
    (tmp_path / "tests").mkdir()
    marked = '@pytest.mark.requirement("MQ-12")\ndef test_it() -> None: ...\n'
    (tmp_path / "tests" / "test_some.py").write_text(marked)
    done = kvconform("explain", "mq-12")
    assert done.code == 0
    words = " ".join(done.out.split())
    assert catalogue()["MQ-12"].statement in words
    assert "universal" in words
    assert "MQ-12." in words  # a check of the suite
    assert "own tests tests/" in words


def test_explain_says_where_the_own_tests_can_be_listed(
    kvconform: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("kvconform.own_tests.ROOT", tmp_path)
    assert "listed where the current folder is a checkout" in kvconform("explain", "MQ-12").out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("list", "XX"), "area 'XX' does not exist"),
        (("explain", "mq"), "MQ is an area, not a requirement. `kvconform list MQ` prints its requirements."),
        (("explain", "MQ-112"), "requirement 'MQ-112' does not exist; near are MQ-12"),
        (("replay", "missing.json"), "scenario file missing.json: cannot be read: No such file"),
        (("replay", "words.json"), "scenario file words.json, line 1 column 1: not JSON"),
        (("replay", "list.json"), "scenario file list.json: holds a list, not an object"),
        (("replay", "old.json"), "scenario file old.json: version is 0, must be 1"),
        (("replay", "typo.json"), "resolve.bits: there is no such field"),
        (("replay", "wrong.json"), "resolve.requested: Input should be a valid integer, not 'many'"),
        (("replay", "gone.json"), "check 'GS-4.tiee' does not exist in this version; near are GS-4.tie"),
        (("report", "words.json"), "log words.json, line 1: not JSON"),
        (("report", "missing.jsonl"), "log missing.jsonl: cannot be read: No such file or directory. Give a"),
        (("report", "old.json"), "log old.json, line 1: no field 'event', which says what this is"),
        (("replay", "odd.json"), "'kind' is 'dance', must be one of 'resolve', 'quantize'"),
        (("report", "."), "log .: cannot be read: Is a directory. Give a file that a run wrote"),
        (("replay", "typo.json", "--implementation", "nobody"), "resolve.bits: there is no such field"),
        (("replay", "good.json", "--implementation", "nobody"), "'nobody' is not known"),
        (("replay", "good.json", "--implementation", ""), "implementation '' is not known"),
        (("serve", "nobody"), "'nobody' is not known"),
        (("serve", "no_such_module:factory"), "there is no module no_such_module"),
        (("exhaustive", "fault:nothing"), "there is no such fault"),
        (("record", "nobody", "-o", "x"), "'nobody' is not known"),
        (("record", "-o", "no/where"), "no/where: cannot be written"),
        (("record", "-o", "x", "--requirement", "ZZ"), "requirement 'ZZ' does not exist"),
    ],
)
def test_a_mistake_is_one_line_and_2(
    kvconform: Command, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    good = as_data(SAMPLES["resolve"])
    (tmp_path / "words.json").write_text("nonsense\n")
    (tmp_path / "good.json").write_text(json.dumps(good))
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "odd.json").write_text(json.dumps({"version": 1, "kind": "dance"}))
    (tmp_path / "old.json").write_text(json.dumps({**good, "version": 0}) + "\n")
    (tmp_path / "typo.json").write_text(json.dumps({**good, "bits": 4}))
    (tmp_path / "wrong.json").write_text(json.dumps({**good, "requested": "many"}))
    replay = Replay(
        implementation="reference",
        requirement="GS-4",
        check="GS-4.tiee",
        outcome="fail",
        scenario=SAMPLES["resolve"],
    )
    (tmp_path / "gone.json").write_text(replay.model_dump_json())
    done = kvconform(*arguments)
    assert done.code == 2
    assert told in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here, which is always full")
@pytest.mark.parametrize(
    "arguments",
    [
        ("record", "--requirement", "GS-4", "-o", "/dev/full"),
        ("vectors", "export", "--requirement", "GS-4", "-o", "/dev/full"),
    ],
)
def test_a_full_disk_is_one_line_and_2(kvconform: Command, arguments: tuple[str, ...]) -> None:
    done = kvconform(*arguments)
    assert done.code == 2
    assert "/dev/full: cannot be written: No space left on device. Make room" in done.err
    assert done.err.count("\n") == 1


def test_check_says_that_everything_is_wired(kvconform: Command) -> None:
    done = kvconform("check")
    assert done.code == 0, done.out
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines] == ["ok"] * 6
    assert "resolve, quantize, cache, container, iterate" in done.out


def test_check_fails_when_something_is_not(process: Command, tmp_path: Path) -> None:
    (tmp_path / "kvconform_reference").mkdir()
    (tmp_path / "kvconform_reference" / "__init__.py").write_text("raise RuntimeError('broken')\n")
    done = process("check", PYTHONPATH=str(tmp_path))
    assert done.code == 3
    assert "FAILED" in done.out


@pytest.fixture
def tie(tmp_path: Path) -> str:
    """A replay file of the tie that ``adapters:tie_goes_high`` gets wrong."""
    replay = Replay(
        implementation="adapters:tie_goes_high",
        requirement="GS-4",
        check="GS-4.lower",
        outcome="fail",
        scenario=ResolveScenario(requested=96, key_dim=128, value_dim=128),
        expected={"group_size": 64},
        observed={"group_size": 128},
    )
    name = next(check.id for check in checks_for("GS") if check.requirement == "GS-4")
    path = write_replay(replay.model_copy(update={"check": name}), folder=tmp_path)
    assert path is not None
    return path.name


def test_a_replay_that_still_fails_gives_1_with_both_sides(kvconform: Command, tie: str) -> None:
    done = kvconform("replay", tie)
    assert done.code == 1
    for part in ("GS-4", "expected", "observed", "64", "128"):
        assert part in done.out


def test_a_replay_on_another_implementation_that_passes_gives_0(kvconform: Command, tie: str) -> None:
    assert kvconform("replay", tie, "--implementation", "reference").code == 0


def test_a_replay_that_cannot_be_started_gives_3(kvconform: Command, tie: str) -> None:
    done = kvconform("replay", tie, "--implementation", "exec:./nothing-here")
    assert done.code == 3
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err


@pytest.fixture
def far_replay(tmp_path: Path) -> Callable[[str], Path]:
    """Writes the replay file of a run in another folder than the current one."""

    def write(implementation: str) -> Path:
        folder = tmp_path / "run" / FOLDER
        check = next(check.id for check in checks_for("GS") if check.requirement == "GS-4")
        scenario = SAMPLES["resolve"]
        replay = Replay(
            implementation=implementation, requirement="GS-4", check=check, outcome="fail", scenario=scenario
        )
        path = write_replay(replay, folder=folder)
        assert path is not None
        return path

    return write


@pytest.mark.parametrize(
    ("implementation", "code"), [(f"exec:{sys.executable} driver.py", 3), ("mine_there:factory", 2)]
)
def test_a_replay_from_another_folder_names_the_one_that_its_command_is_relative_to(
    kvconform: Command, far_replay: Callable[[str], Path], tmp_path: Path, implementation: str, code: int
) -> None:
    done = kvconform("replay", str(far_replay(implementation)))
    assert done.code == code
    told = f"{implementation} does not start here. It is relative to the folder of the run, {tmp_path}/run: "
    assert done.err.startswith(f"kvconform: {told}replay there, or name it with --implementation")


def test_a_replay_file_that_was_moved_still_says_what_its_command_is_relative_to(
    kvconform: Command, far_replay: Callable[[str], Path], tmp_path: Path
) -> None:
    moved = far_replay("exec:./driver").rename(tmp_path / "moved.json")
    assert "It is relative to the folder of the run: replay there" in kvconform("replay", str(moved)).err


def test_a_replay_in_the_folder_of_the_run_blames_no_folder(
    kvconform: Command, far_replay: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = far_replay("exec:./driver")
    monkeypatch.chdir(tmp_path / "run")
    done = kvconform("replay", str(path))
    assert done.code == 3
    assert "relative" not in done.err


def test_a_bare_scenario_shows_the_references_answer(kvconform: Command, tmp_path: Path) -> None:
    (tmp_path / "bare.json").write_text(json.dumps(as_data(SAMPLES["resolve"])))
    done = kvconform("replay", "bare.json")
    assert done.code == 0
    assert "group_size" in done.out
    assert "32" in done.out


def test_a_bare_scenario_shows_two_answers_side_by_side_and_whether_they_differ(
    kvconform: Command, tmp_path: Path
) -> None:
    tie = {**as_data(SAMPLES["resolve"]), "key_dim": 128, "value_dim": 128}
    (tmp_path / "bare.json").write_text(json.dumps(tie))
    assert kvconform("replay", "bare.json", "--implementation", "adapters:tie_goes_high").code == 0
    (tmp_path / "bare.json").write_text(json.dumps({**tie, "requested": 96}))
    differs = kvconform("replay", "bare.json", "--implementation", "adapters:tie_goes_high")
    assert differs.code == 1
    row = next(line for line in differs.out.splitlines() if "|" in line)
    assert "64" in row.split("|")[0]
    assert "128" in row.split("|")[1]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of a run that failed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(SUBJECTS)
    path = tmp_path / "log.jsonl"
    with pytest.raises(NonConforming):
        run_conformance("adapters:tie_goes_high", requirements=["GS-4"], log=path)
    return path


def test_reports_can_be_made_from_a_log_and_exit_as_the_run_did(kvconform: Command, log: Path) -> None:
    done = kvconform("report", str(log), "--json", "r.json", "--junit", "r.xml")
    assert done.code == 1
    assert "group size 96" in done.out
    report = json.loads(Path("r.json").read_text())
    assert (report["complete"], report["exit_code"]) == (True, 1)
    assert ET.parse("r.xml").getroot().get("failures") == "1"


def test_the_report_of_a_log_that_breaks_off_says_incomplete(kvconform: Command, log: Path) -> None:
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-1]))
    assert not read_log(log).complete
    done = kvconform("report", str(log), "--json", "r.json")
    assert done.code == 3
    assert "INCOMPLETE" in done.out
    assert json.loads(Path("r.json").read_text())["complete"] is False


def test_recorded_requests_run_against_a_driver_alone(kvconform: Command, tmp_path: Path) -> None:
    done = kvconform("record", "--requirement", "GS-4", "-o", "requests.jsonl")
    assert done.code == 0, done.err
    requests = (tmp_path / "requests.jsonl").read_text().splitlines()
    assert len(requests) >= 3
    with (tmp_path / "requests.jsonl").open() as stdin:
        served = subprocess.run(
            [sys.executable, "-m", "kvconform", "serve", "reference"],
            stdin=stdin,
            capture_output=True,
            text=True,
            env=environment(),
            check=False,
        )
    assert served.returncode == 0
    answers = [json.loads(line) for line in served.stdout.splitlines()]
    assert len(answers) == len(requests)
    assert all("result" in answer for answer in answers)


def test_power_says_how_much_it_takes_to_catch_a_fault(kvconform: Command) -> None:
    options = ("--named-only", "--budget", "quick", "-n", "1")
    done = kvconform("power", "--fault", "tie-goes-high", *options)
    assert done.code == 0
    assert "1 of 1 killed by a requirement that they name" in done.out
    assert re.search(r"until caught: 1 scenario, \S+ s in the median; 1 scenario, \S+ s at most", done.out)


def test_serving_what_cannot_be_imported_is_one_line_and_3(process: Command) -> None:
    done = process("serve", "adapter_with_import_error:factory")
    assert done.code == 3
    assert "a_module_that_nobody_has" in done.err
    assert done.err.count("\n") == 1


def test_what_a_run_finds_in_the_current_folder_every_command_finds(tmp_path: Path) -> None:
    """The installed command does not search it by itself, other than ``python -m``, which judges."""
    (tmp_path / "mine.py").write_text("from kvconform.implementations.reference import factory\n")
    script = "import sys; from kvconform.cli import main; sys.exit(main(['serve', 'mine:factory']))"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "installed.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "elsewhere/installed.py"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
