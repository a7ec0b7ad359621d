"""`kvconform vectors check`: which vectors are asked, what their outcomes are, and the exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kvconform.cli import main
from kvconform.errors import UserError
from kvconform.faults import faulty
from kvconform.implementation import Capabilities, Crash, Info, Unsupported
from kvconform.implementations import reference
from kvconform.known import KnownFailures, parse_known_failures
from kvconform.outcomes import FAILURES
from kvconform.report.verdict import Verdict
from kvconform.vectors import library, selection, summary
from kvconform.vectors.checking import check_vectors, holds_in
from kvconform_reference.dialect import DIALECTS, Dialect

pytestmark = pytest.mark.goldens

VECTORS = library.all_vectors()


class Wrapped:
    """The reference, with other capabilities or another way to answer."""

    def __init__(
        self, dialect: Any = "proposal", *, run: Callable[[Any], Any] | None = None, **capabilities: Any
    ) -> None:
        self._reference = reference.factory(dialect)
        known = self._reference.info.capabilities
        self.info = self._reference.info.model_copy(
            update={"capabilities": known.model_copy(update=capabilities)}
        )
        self.run = run or self._reference.run


def check(implementation: Any, *names: str, known: KnownFailures | None = None) -> Verdict:
    return check_vectors("mine", implementation, [VECTORS[name] for name in names], known=known)


def outcomes(verdict: Verdict) -> dict[str, str]:
    return {vector.listed.id: vector.outcome for vector in verdict.requirements}


# ---------------------------------------------------------------- which vectors are asked


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_reference_passes_every_vector_of_its_dialect(dialect: str) -> None:
    verdict = check_vectors("reference", reference.factory(dialect), VECTORS.values())  # pyright: ignore
    assert set(outcomes(verdict).values()) == {"pass"}
    assert len(verdict.requirements) == sum(dialect in vector.dialects for vector in VECTORS.values())
    assert verdict.exit_code == 0


def test_a_dialect_without_a_name_is_asked_what_the_reference_answers_alike() -> None:
    converting = Dialect(rotating="convert")
    assert not holds_in(VECTORS["mq-rotating"], converting)
    assert holds_in(VECTORS["mq-scope-first-over"], converting)
    assert not holds_in(VECTORS["mq-scope-first-over-mlx-lm"], converting)
    verdict = check_vectors("mine", Wrapped(converting), VECTORS.values())  # pyright: ignore
    assert set(outcomes(verdict).values()) == {"pass"}
    assert len(verdict.requirements) > 200


def test_what_is_not_declared_is_not_asked_and_says_so() -> None:
    names = ("aq-ramp-3-bits", "aq-ramp-4-bits", "qc-convert-then-append", "mq-content-bfloat16")
    small = Wrapped(bits=(4, 8), dtypes=("float32",), features=("free-pass",))
    verdict = check(small, *names)
    assert outcomes(verdict) == {
        "aq-ramp-3-bits": "unsupported",
        "aq-ramp-4-bits": "pass",
        "qc-convert-then-append": "unsupported",
        "mq-content-bfloat16": "unsupported",
    }
    lines = summary.closing_lines(verdict)
    assert lines[0].endswith("1 vector passed, 0 failed, 0 errors, 0 known failures, 3 not judged")
    assert "not judged: not declared: 3 bits (1)" in lines


def test_bits_that_nobody_has_are_asked_of_everybody() -> None:
    assert outcomes(check(Wrapped(bits=(4,)), "mq-bad-bits-7")) == {"mq-bad-bits-7": "pass"}


def test_a_design_without_container_and_free_pass_is_asked_freely() -> None:
    assert outcomes(check(Wrapped(features=()), "mq-rotating", "ct-built-without-bits")) == {
        "mq-rotating": "pass",
        "ct-built-without-bits": "unsupported",
    }
    assert outcomes(check(Wrapped(features=("container",)), "mq-rotating")) == {"mq-rotating": "unsupported"}


def test_nothing_that_is_declared_is_no_success() -> None:
    assert check(Wrapped(kinds=("resolve",)), "aq-zeros").exit_code == 5
    assert check(Wrapped()).exit_code == 5


def test_ids_requirements_and_areas_select() -> None:
    by_area = selection.selected_vectors(VECTORS, requirements=["hd"])
    assert {vector.id for vector in by_area} > {"hd-layer-80-80", "gs-layer-empty"}
    both = selection.selected_vectors(VECTORS, ids=["HD-layer-80-80", "mq-twice"], requirements=["MQ-12"])
    assert [vector.id for vector in both] == ["mq-twice"]
    with pytest.raises(UserError, match="vector 'mq-twise' does not exist; near are mq-twice"):
        selection.selected_vectors(VECTORS, ids=["mq-twise"])
    with pytest.raises(UserError, match="requirement 'MQ-99' does not exist"):
        selection.selected_vectors(VECTORS, requirements=["mq-99"])


# ---------------------------------------------------------------- outcomes


def test_a_fault_fails_its_vector_and_only_what_it_touches() -> None:
    verdict = check(faulty("tie-goes-high"), "gs-table-48-128-128", "gs-table-64-64-64")
    assert outcomes(verdict) == {"gs-table-48-128-128": "fail", "gs-table-64-64-64": "pass"}
    assert verdict.exit_code == 1
    (text,) = summary.failures(verdict)
    assert "group_size is 64, expected 32" in text
    assert "again     kvconform vectors check mine --vector gs-table-48-128-128" in text


def raising(error: Exception) -> Any:
    def run(_scenario: Any) -> Any:
        raise error

    return Wrapped(run=run)


@pytest.mark.parametrize(
    ("error", "outcome", "code"),
    [
        (RuntimeError("boom"), "error", 1),
        (ValueError("not with me"), "fail", 1),
        (Crash("the process died", signal="SIGFPE"), "crash", 1),
        (Unsupported("no such concept"), "unsupported", 5),
    ],
)
def test_what_raises_has_the_outcome_of_a_run(error: Exception, outcome: str, code: int) -> None:
    verdict = check(raising(error), "aq-zeros")
    assert (outcomes(verdict)["aq-zeros"], verdict.exit_code) == (outcome, code)


def test_an_answer_of_another_shape_breaks_the_protocol() -> None:
    wrong = Wrapped(run=lambda _scenario: VECTORS["gs-table-64-64-64"].expected)
    verdict = check(wrong, "aq-zeros")
    assert (outcomes(verdict)["aq-zeros"], verdict.exit_code) == ("protocol", 3)


# ---------------------------------------------------------------- known failures


def known(message: str, vector: str = "gs-table-48-128-128") -> KnownFailures:
    text = f"version = 1\n[[known]]\nvector = '{vector}'\nreason = 'it is so'\nmessage = '{message}'\n"
    return parse_known_failures(text, source="known.toml")


def test_a_known_failure_is_one_with_its_message_only() -> None:
    subject, name = faulty("tie-goes-high"), "gs-table-48-128-128"
    right = check(subject, name, known=known("group_size is 64"))
    assert (outcomes(right)[name], right.exit_code) == ("known failure", 0)
    wrong = check(subject, name, known=known("group_size is 128"))
    assert (outcomes(wrong)[name], wrong.exit_code) == ("fail", 1)


def test_a_known_failure_that_passes_is_stale() -> None:
    verdict = check(reference.factory(), "gs-table-48-128-128", known=known("group_size is 64"))
    assert outcomes(verdict) == {"gs-table-48-128-128": "unexpected pass"}
    assert verdict.exit_code == 4
    assert any("known failure is stale" in line for line in summary.closing_lines(verdict))


def test_entries_of_vectors_that_were_not_asked_are_not_stale() -> None:
    assert check(reference.factory(), "aq-zeros", known=known("group_size is 64")).exit_code == 0


# ---------------------------------------------------------------- the command


def test_the_command_prints_a_table_and_ends_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", "check", "reference", "--requirement", "GS"]) == 0
    out = capsys.readouterr().out
    assert out.split()[:3] == ["area", "about", "reference"]
    assert "counted in vectors" in out
    assert ", dialect proposal: " in out


def test_the_command_writes_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, junit = tmp_path / "r.json", tmp_path / "r.xml"
    arguments = ["vectors", "check", "reference@mlx-lm", "--vector", "gs-exact-64-96-96"]
    assert main([*arguments, "--json", str(report), "--junit", str(junit)]) == 0
    data = json.loads(report.read_text(encoding="utf-8"))
    assert (data["exit_code"], data["requirements"][0]["id"]) == (0, "gs-exact-64-96-96")
    assert "gs-exact-64-96-96" in junit.read_text(encoding="utf-8")
    assert "dialect mlx-lm" in capsys.readouterr().out


def test_mistakes_are_one_line_and_code_two(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["check", "refrence"], ["check", "reference", "--vector", "gs-none"]):
        assert main(["vectors", *arguments]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_what_cannot_be_started_has_code_three(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", "check", "exec:/no/such/driver"]) == 3
    assert main(["vectors", "check", "json:no_such_function"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("kvconform: ") == 2
    assert "module json has no no_such_function" in said.err


def test_a_declaration_that_cannot_be_is_told_and_has_code_three(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "misdeclared.py").write_text(MISDECLARED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name, told in (
        ("dialect", "dialect 'propsal' is not known"),
        ("feature", "unknown features 'convrt'"),
    ):
        assert main(["vectors", "check", f"misdeclared:{name}"]) == 3
        assert told in capsys.readouterr().err


MISDECLARED = """
from kvconform.implementations.reference import factory

class Declared:
    def __init__(self, **changes):
        self.info = factory().info.model_copy(update=changes)

    def run(self, scenario):
        return factory().run(scenario)

def dialect():
    return Declared(dialect="propsal")

def feature():
    return Declared(capabilities=factory().info.capabilities.model_copy(update={"features": ("convrt",)}))
"""


def test_a_driver_is_judged_like_the_reference_in_this_process(capsys: pytest.CaptureFixture[str]) -> None:
    command = f"exec:{sys.executable} -m kvconform serve reference"
    assert main(["vectors", "check", command]) == 0
    out = capsys.readouterr().out
    asked = sum("proposal" in vector.dialects for vector in VECTORS.values())
    assert f"{asked} vectors passed, 0 failed, 0 errors, 0 known failures, 0 not judged" in out


def test_a_python_implementation_that_dies_costs_one_vector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deadly.py").write_text(DEADLY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["vectors", "check", "deadly:factory", "--requirement", "GS-4", "--requirement", "GS-2"]) == 1
    out = capsys.readouterr().out
    assert "gs-table-48-128-128 (D) crash" in out
    assert " 0 failed, 1 error, " in out


DEADLY = """
import os, signal
from kvconform.implementations.reference import factory as reference

class Deadly:
    def __init__(self):
        self._inner = reference()
        self.info = self._inner.info

    def run(self, scenario):
        if getattr(scenario, "requested", None) == 48 and scenario.key_dim == 128:
            os.kill(os.getpid(), signal.SIGSEGV)
        return self._inner.run(scenario)

factory = Deadly
"""


def test_failures_are_those_that_count_as_failed() -> None:
    assert {"fail", "error", "crash", "timeout", "protocol"} == FAILURES


def test_an_implementation_with_no_version_is_named_all_the_same() -> None:
    subject = Wrapped()
    subject.info = Info(name="mine", version="", capabilities=Capabilities(features=("resolver",)))
    assert summary.closing_lines(check(subject, "gs-table-64-64-64"))[0].startswith("mine, dialect proposal")
