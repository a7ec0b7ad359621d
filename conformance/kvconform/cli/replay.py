"""``kvconform replay``: run one scenario again and show what was expected beside what was observed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import BROKEN, CONFORMING, FAILED, NOTHING, UserError
from .limits import LimitOption

if TYPE_CHECKING:
    from ..checks import Check
    from ..observation import Observation
    from ..replay import Replay
    from ..report.log import Judged
    from ..scenario import Scenario
    from ..session import Session


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A replay file, or a bare scenario.")],
    implementation: Annotated[
        str | None, typer.Option("--implementation", metavar="NAME", help="Instead of the one in the file.")
    ] = None,
    limit: LimitOption = None,
) -> None:
    """Run a replay file again: exit code 0 if it passes now, 1 if it still fails.

    Of a bare scenario the reference's answer is printed, beside that of the implementation if one is named.
    """
    from ..naming import check_spec
    from ..replay import Replay, read_replay

    found = read_replay(file)
    if implementation is not None:
        check_spec(implementation)
    if isinstance(found, Replay):
        raise typer.Exit(_replay(found, file, implementation))
    raise typer.Exit(_answer(found, implementation))


def _replay(replay: Replay, file: Path, spec: str | None) -> int:
    from ..report.failure import render_failure
    from ..selection import listed_requirements

    check = _check_of(replay)
    session = _session_of_file(file, replay) if spec is None else _session(spec)
    try:
        judged = session.judge(check, replay.scenario)
    finally:
        session.close()
    listed = listed_requirements([check], [check.requirement])[0]
    if judged.outcome == "pass":
        typer.echo(f"{check.id}: passes now on {session.context.info.name}")
    else:
        typer.echo(render_failure(judged, listed))
    if replay.known:
        typer.echo(f"  known     {replay.known}")
    return _code(judged)


def _code(judged: Judged) -> int:
    codes = {"pass": CONFORMING, "protocol": BROKEN, "unsupported": NOTHING}
    return codes.get(judged.outcome, FAILED)


def _check_of(replay: Replay) -> Check:
    from ..errors import near_matches
    from ..suite import all_checks

    by_id = {check.id: check for check in all_checks()}
    if replay.check not in by_id:
        near = near_matches(replay.check, list(by_id))
        raise UserError(
            f"replay file: check {replay.check!r} does not exist in this version{near}. "
            "Correct it, or give the scenario alone."
        )
    return by_id[replay.check]


def _session(spec: str) -> Session:
    from ..session import start_session

    return start_session(spec)


def _session_of_file(file: Path, replay: Replay) -> Session:
    """The implementation as the run named it; if it does not start, where the run was may be why."""
    from ..naming import check_spec

    try:
        check_spec(replay.implementation)
        return _session(replay.implementation)
    except UserError as error:
        raise UserError(_elsewhere(file, replay.implementation) + str(error), code=error.code) from None


def _elsewhere(file: Path, spec: str) -> str:
    """That the name is relative to the folder of the run, where it is and this is not that folder."""
    from ..implementations.registry import FAULT, registered
    from ..replay import run_folder

    folder = run_folder(file)
    if folder == Path.cwd() or spec.startswith(FAULT) or spec.partition("@")[0] in registered():
        return ""
    where = "the folder of the run" if folder is None else f"the folder of the run, {folder}"
    return (
        f"{spec} does not start here. It is relative to {where}: replay there, "
        "or name it with --implementation as it is found from here. "
    )


def _answer(scenario: Scenario, spec: str | None) -> int:
    from ..oracle import ReferenceOracle
    from ..report.columns import side_by_side, value_lines
    from ..report.compact import compact_scenario
    from ..scenario import as_data
    from ..vectors import compare
    from .output import console

    typer.echo("\n".join(compact_scenario(as_data(scenario))))
    width = console().width
    if spec is None:
        from kvconform_reference.dialect import PROPOSAL

        typer.echo("\n".join(value_lines(as_data(ReferenceOracle(PROPOSAL)(scenario)), width=width)))
        return CONFORMING
    session = _session(spec)
    try:
        expected = ReferenceOracle(session.context.dialect)(scenario)
        observed = _observed(session, scenario)
    finally:
        session.close()
    titles = ("reference", session.context.info.name)
    if isinstance(observed, str):
        typer.echo("\n".join(side_by_side(as_data(expected), observed, width=width, titles=titles)))
        return BROKEN if observed.startswith("protocol") else FAILED
    typer.echo("\n".join(side_by_side(as_data(expected), as_data(observed), width=width, titles=titles)))
    differences = list(compare.differences(session.context, scenario, expected, observed))
    for difference in differences:
        typer.echo(f"differs: {difference.message}")
    return FAILED if differences else CONFORMING


def _observed(session: Session, scenario: Scenario) -> Observation | str:
    """The implementation's answer, or the outcome and the message of why there is none."""
    from ..examine import answer
    from ..implementation import Trouble, Unsupported

    try:
        return answer(session.implementation, scenario)
    except Trouble as trouble:
        return f"{trouble.outcome}: {trouble}"
    except Unsupported as unsupported:
        return f"unsupported: {unsupported}"
