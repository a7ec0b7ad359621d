"""``kvconform exhaustive``: everything small, on the reference; a part of it on any implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .limits import LimitOption
from .output import console

if TYPE_CHECKING:
    from ..exhaustive.run import Exhausted


def exhaustive(
    implementation: Annotated[
        str,
        typer.Argument(help="Registered name, module:factory, or exec:COMMAND.", metavar="IMPLEMENTATION"),
    ] = "reference",
    sample: Annotated[
        int | None,
        typer.Option("--sample", metavar="N", min=1, help="So many of the scenarios; default: all, or 2000."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of the sample.")
    ] = None,
    workers: Annotated[
        int, typer.Option("-n", "--workers", metavar="WORKERS", min=1, help="Processes, for all of them.")
    ] = 2,
    limit: LimitOption = None,
) -> None:
    """All short layer lists and step sequences against the invariants; see docs/exhaustive.md."""
    import time

    from ..exhaustive.run import run_everything, run_sample
    from ..naming import check_spec
    from ..session import DEFAULT_SEED, start_session

    check_spec(implementation)
    started = time.perf_counter()
    if implementation == "reference" and sample is None:
        found = run_everything(processes=workers)
    else:
        session = start_session(implementation)
        try:
            chosen = DEFAULT_SEED if seed is None else seed
            found = run_sample(session.implementation, sample=sample or SAMPLE, seed=chosen)
        finally:
            session.close()
    _print(implementation, found, time.perf_counter() - started)
    raise typer.Exit(1 if found.breached else 0)


SAMPLE = 2000
"""A few seconds in process, below a minute through a pipe."""


def _print(implementation: str, found: Exhausted, seconds: float) -> None:
    out = console()
    for breach in found.breaches:
        out.print(str(breach))
    if found.breached > len(found.breaches):
        out.print(f"... and {found.breached - len(found.breaches)} more")
    unsupported = f", {found.unsupported} unsupported" if found.unsupported else ""
    out.print(
        f"{implementation}: {found.scenarios:,} scenarios, {found.breached:,} breaches{unsupported}, "
        f"{seconds:.1f} s"
    )
