"""``kvconform serve`` and ``kvconform record``: the pipe from its other end, and for debuggers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import UserError
from .limits import LimitOption
from .output import check_writable, telling_why

EXAMPLES = 3
"""Generated scenarios a check that are recorded by default: a file that one still reads."""


def serve(
    implementation: Annotated[
        str, typer.Argument(metavar="IMPLEMENTATION", help="A registered name or module:factory.")
    ],
) -> None:
    """Put a Python implementation behind the pipe: requests on stdin, answers on stdout."""
    from ..implementations import registry
    from ..naming import check_spec
    from ..wire import serve as wire

    check_spec(implementation)
    raise typer.Exit(wire.serve(lambda: registry.resolve_implementation(implementation)()))


def record(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where the requests go.")],
    implementation: Annotated[
        str,
        typer.Argument(metavar="IMPLEMENTATION", help="Whose dialect and capabilities decide what is asked."),
    ] = "reference",
    requirement: Annotated[
        list[str] | None,
        typer.Option("--requirement", metavar="ID|AREA", help="Record only this; may be repeated."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of everything that is generated.")
    ] = None,
    examples: Annotated[
        int, typer.Option("--examples", metavar="N", min=0, help="Generated scenarios a check.")
    ] = EXAMPLES,
    limit: LimitOption = None,
) -> None:
    """Write what the suite would ask to a file, so that `./driver < FILE` runs alone, under a debugger."""
    from ..naming import check_spec
    from ..selection import selected_checks
    from ..session import DEFAULT_SEED, start_session
    from ..suite import all_checks
    from ..wire.record import record_requests

    check_spec(implementation)
    checks = selected_checks(all_checks(), requirement or ())
    check_writable(output, what="file of requests")
    session = start_session(implementation, seed=DEFAULT_SEED if seed is None else seed)
    try:
        asked = session.asked(checks, examples=examples)
    finally:
        session.close()
    if not asked:
        raise UserError(f"nothing that is selected applies to {implementation}: no request to record.")
    with telling_why(output, what="file of requests"):
        count = record_requests(asked, output)
    typer.echo(f"{count} scenarios in {output}. Run: ./driver < {output}")
