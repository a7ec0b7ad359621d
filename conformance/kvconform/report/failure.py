"""A failure as text: requirement, minimal scenario, expected beside observed, and how to run it again.

Plain text, because it stands in terminals, pytest's output, JUnit files and logs alike.
"""

from __future__ import annotations

import textwrap

from ..replay import replay_command
from .columns import WIDTH, side_by_side
from .compact import compact_scenario
from .log import Judged, Listed

CATCH_ALL = "a catch-all: where others failed too, they say more"


def render_failure(result: Judged, listed: Listed, *, width: int = WIDTH) -> str:
    """Everything a reader needs to understand one failure."""
    lines = [f"{listed.id} ({listed.tier}) {result.outcome}: {listed.statement}"]
    lines = textwrap.wrap(lines[0], width, subsequent_indent="  ")
    lines += _block("check", [_check_line(result)], width)
    lines += _block("problem", result.message.splitlines(), width)
    if result.scenario is not None:
        lines += _block("scenario", compact_scenario(result.scenario), width)
    if result.expected is not None or result.observed is not None:
        lines += ["  " + line for line in side_by_side(result.expected, result.observed, width=width - 2)]
    if result.detail:
        lines += _block("detail", result.detail.rstrip().splitlines()[-12:], width)
    if result.replay:
        lines.append(f"  replay    {replay_command(result.replay)}")
    return "\n".join(lines)


def _check_line(result: Judged) -> str:
    catch_all = [CATCH_ALL] if result.catch_all else []
    about = "; ".join([result.oracle] * bool(result.oracle) + catch_all)
    return f"{result.check} ({about})" if about else result.check


def _block(label: str, lines: list[str], width: int) -> list[str]:
    wrapped: list[str] = []
    for line in lines or [""]:
        wrapped += textwrap.wrap(line, width - 12, subsequent_indent="   ", break_on_hyphens=False) or [""]
    labels = [label] + [""] * (len(wrapped) - 1)
    return [f"  {name:<9} {line}".rstrip() for name, line in zip(labels, wrapped, strict=True)]
