"""``kvconform driver``: drivers in other languages, ready to run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def driver() -> None:
    """Drivers in other languages, ready to run."""


@app.command()
def new(
    language: Annotated[str, typer.Argument(metavar="LANGUAGE", help="What `kvconform driver list` prints.")],
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A folder that does not exist yet, or is empty.")
    ],
) -> None:
    """Write a driver to PATH: the kit, an example that passes, and a README that says what to replace."""
    from ..drivers import copy_driver, first_commands

    copy_driver(language, path)
    typer.echo(f"{path}: a driver that runs; README.md says which file to edit. Next:")
    for command in (f"cd {shlex.quote(str(path))}", *first_commands(language)):
        typer.echo(f"    {command}")


@app.command("list")
def list_languages() -> None:
    """The languages there is a driver for."""
    from ..drivers import languages

    for language in languages():
        typer.echo(language)
