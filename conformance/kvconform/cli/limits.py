"""The option ``--limit`` of every command that asks an implementation."""

from __future__ import annotations

import os
from typing import Annotated

import typer


def _set(context: typer.Context, settings: list[str] | None) -> list[str] | None:
    """Refuse a mistake, then tell the processes that judge: they inherit the environment."""
    from ..wire.limits import VARIABLE, chosen_limits, limits_of

    chosen_limits()
    if settings:
        limits_of(settings, source="--limit")
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = " ".join([*(before or "").split(), *settings])
        context.call_on_close(lambda: _restore(VARIABLE, before))
    return settings


def _restore(name: str, before: str | None) -> None:
    if before is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = before


LimitOption = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=VALUE",
        callback=_set,
        help="Limit of a process: start, call, shutdown (s), answer (MiB) or restarts; may be repeated.",
    ),
]
