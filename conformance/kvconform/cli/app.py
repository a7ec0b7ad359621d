"""The commands put together."""

from __future__ import annotations

from typing import Annotated

import typer

from . import catalogue, check, drift, driver, exhaustive, model, power, replay, report, run, vectors, wire

app = typer.Typer(
    name="kvconform",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"kvconform {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Does an implementation of dynamic KV-cache quantization behave? If not, see the smallest case."""


app.command()(run.run)
app.command("list")(catalogue.list_requirements)
app.command()(catalogue.explain)
app.command()(replay.replay)
app.command()(check.check)
app.command()(report.report)
app.command()(model.model)
app.command()(drift.drift)
app.command()(power.power)
app.command()(exhaustive.exhaustive)
app.command()(wire.serve)
app.command()(wire.record)
app.add_typer(vectors.app, name="vectors")
app.add_typer(driver.app, name="driver")
