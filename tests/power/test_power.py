"""Trials of faults: what counts as killed, that replaying finds what examining finds, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kvconform.cli import main
from kvconform.faults import Fault, FaultyImplementation, catalogued, faulty
from kvconform.faults.planting import wrapped
from kvconform.implementations import reference
from kvconform.power import matrix, run, trial
from kvconform.power.corpus import Corpus
from kvconform.power.tracing import touches
from kvconform.session import DEFAULT_SEED, context_of
from kvconform.suite import all_checks, checks_for
from kvconform_reference import group_size


def _trial(fault: str, **options: object) -> trial.Trial:
    chosen = {"budget": "quick", "seed": DEFAULT_SEED, "matrix": False, **options}
    return run.try_fault((fault, 0), **chosen)  # pyright: ignore


def _corpus() -> Corpus:
    return Corpus(context=context_of(reference.factory(), budget="quick"), seed=DEFAULT_SEED)


# ---------------------------------------------------------------- verdicts


def test_a_fault_is_killed_by_a_requirement_that_it_names() -> None:
    tried = _trial("tie-goes-high")
    assert (tried.verdict, tried.named) == ("killed", ("GS-4",))
    assert tried.kills[0].check == "GS-4.tie"
    assert tried.kills[0].outcome == "fail"
    assert tried.examples >= 1
    assert tried.seconds > 0


def test_a_fault_that_others_catch_is_caught_for_the_wrong_reason() -> None:
    kill = trial.Kill(requirement="GS-4", check="GS-4.tie", outcome="fail", examples=1, message="")
    caught = trial.Trial(
        fault="x", dialect="proposal", breaks=("AQ-1",), kills=(kill,), examples=1, seconds=0.1
    )
    assert (caught.verdict, caught.named, caught.others) == ("wrong reason", (), ("GS-4",))


def test_a_fault_that_nothing_catches_survives() -> None:
    tried = trial.Trial(fault="x", dialect="proposal", breaks=("AQ-1",), kills=(), examples=9, seconds=0.1)
    assert tried.verdict == "survived"


def test_a_net_alone_does_not_say_what_else_is_broken() -> None:
    kill = trial.Kill(
        requirement="ST-1", check="ST-1.everything", outcome="fail", examples=1, message="", broad=True
    )
    tried = trial.Trial(
        fault="x", dialect="proposal", breaks=("AQ-1",), kills=(kill,), examples=1, seconds=0.1
    )
    assert (tried.verdict, tried.others) == ("wrong reason", ())


def test_a_harmless_fault_survives_every_check() -> None:
    harmless = Fault(
        name="harmless",
        does="It does nothing.",
        breaks=("GS-4", "GS-3"),
        seen="here",
        patches=(wrapped(group_size, "nearest_group_size", lambda original, *asked: original(*asked)),),
    )
    checks = checks_for("GS")
    kills, _, _ = trial.hunt(harmless, "proposal", checks, seed=1, budget="quick")
    assert kills == []
    assert list(trial.replayed(harmless, "proposal", checks, _corpus())) == []


def test_the_label_names_a_dialect_that_is_not_the_default() -> None:
    assert _trial("tie-goes-high").label == "tie-goes-high"
    assert _trial("half-converted-on-an-error").label == "half-converted-on-an-error @ mlx-lm"
    assert run.dialect_name({"owner": "new-list"}) == "owner = new-list"


# ---------------------------------------------------------------- replaying


@pytest.mark.parametrize(
    "name",
    ["tie-goes-high", "only-key-dim-is-checked", "asked-directly-falls-back-to-32", "group-size-zero-kills"],
)
def test_replaying_finds_what_examining_finds(name: str) -> None:
    fault, checks = catalogued()[name], [check for area in ("GS", "HD", "TH") for check in checks_for(area)]
    everything = Fault(
        name=name, does=fault.does, breaks=("GS-1",), seen="", patches=fault.patches, behaves=fault.behaves
    )
    replayed = {
        (kill.check, kill.outcome, kill.examples)
        for kill in trial.replayed(everything, "proposal", checks, _corpus())
    }
    examined = set()
    for check in checks:
        alone = Fault(
            name=name,
            does=fault.does,
            breaks=(check.requirement,),
            seen="",
            patches=fault.patches,
            behaves=fault.behaves,
        )
        kills, _, _ = trial.hunt(alone, "proposal", [check], seed=DEFAULT_SEED, budget="quick")
        examined |= {(kill.check, kill.outcome, kill.examples) for kill in kills}
    crashed = {entry[0] for entry in examined if entry[1] == "crash"}
    assert {entry[:2] for entry in replayed} == {entry[:2] for entry in examined}
    assert {e for e in replayed if e[0] not in crashed} == {e for e in examined if e[0] not in crashed}


@pytest.mark.parametrize("name", ["offset-lost-in-conversion", "tie-goes-high", "follows-threshold-above"])
def test_a_scenario_that_a_fault_does_not_touch_is_answered_as_by_the_reference(name: str) -> None:
    corpus, needed = _corpus(), touches(catalogued()[name])
    assert needed
    asked = [one for check in checks_for("TH") for one in corpus.asked(check)]
    untouched = [one for one in asked if not needed & one.touched]
    assert len(untouched) < len(asked)
    for one in untouched:
        assert faulty(name).run(one.scenario) == one.answer


def test_a_replay_asks_a_fault_once_for_each_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    answering = FaultyImplementation.run

    def counting(made: FaultyImplementation, scenario: Any) -> Any:
        asked.append(scenario)
        return answering(made, scenario)

    monkeypatch.setattr(FaultyImplementation, "run", counting)
    checks = [check for check in checks_for("GS") if check.id == "GS-4.tie"]
    kills = list(trial.replayed(catalogued()["tie-goes-high"], "proposal", checks, _corpus()))
    assert [kill.examples for kill in kills] == [len(asked)]


def test_a_constant_touches_everything() -> None:
    assert touches(catalogued()["sixteen-is-supported"]) is None


def test_what_the_reference_itself_fails_in_a_dialect_is_not_put_down_to_a_fault() -> None:
    checks = [check for check in all_checks() if check.id == "MQ-17.kinds"]
    fault = catalogued()["half-converted-on-an-error"]
    context = context_of(FaultyImplementation(fault), budget="quick")
    corpus = Corpus(context=context, seed=DEFAULT_SEED)
    assert any(corpus.fails_itself(checks[0], one) for one in corpus.asked(checks[0]))
    assert list(trial.replayed(fault, "mlx-lm", checks, corpus)) == []


# ---------------------------------------------------------------- what follows from what


def test_consequences_are_followed_step_by_step() -> None:
    assert "TH-2" in matrix.consequences("CT-4")  # through CT-7
    assert "CT-4" not in matrix.consequences("TH-2")


def test_a_requirement_stands_alone_beside_what_follows_from_it() -> None:
    assert matrix.stands_alone("MQ-5", {"MQ-5", "GS-5"})
    assert not matrix.stands_alone("GS-5", {"MQ-5", "GS-5"})
    assert not matrix.stands_alone("MQ-5", {"MQ-5", "CT-1"})
    assert not matrix.stands_alone("MQ-5", {"GS-5"})


# ---------------------------------------------------------------- the command


def test_the_command_tries_a_fault_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "power.json"
    code = main(
        [
            "power",
            "--fault",
            "tie-goes-high",
            "--budget",
            "quick",
            "--named-only",
            "--json",
            str(path),
            "-n",
            "1",
        ]
    )
    out = capsys.readouterr().out
    assert code == 0
    assert "1 of 1 killed by a requirement that they name" in out
    report = json.loads(path.read_text(encoding="utf-8"))
    assert report["killed"] == 1
    assert report["trials"][0]["killed by"] == ["GS-4"]


def test_the_command_fails_when_a_fault_is_not_killed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "hunt", lambda *_asked, **_options: ([], 5, 0.1))
    code = main(["power", "--fault", "tie-goes-high", "--named-only", "-n", "1"])
    captured = capsys.readouterr()
    assert code == 1
    assert "0 of 1 killed" in captured.out
    assert "survived: tie-goes-high" in captured.err


def test_an_unknown_fault_is_one_line_and_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["power", "--fault", "tie-goes-hihg"])
    assert code == 2
    assert "near are tie-goes-high" in capsys.readouterr().err
