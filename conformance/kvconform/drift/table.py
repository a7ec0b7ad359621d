"""The report in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from ..advice.memory import size_text
from .result import Drift, DriftReport

if TYPE_CHECKING:
    from rich.console import Console

TEXT_LENGTH = 160
"""Characters of the answer that are shown: enough to see whether it makes sense."""


def print_report(report: DriftReport, console: Console) -> None:
    """The model, the full-precision answer, a row for each setting, and what to read it as."""
    console.print(f"model   {report.model}: {report.dtype}; {report.source}", soft_wrap=True)
    console.print(f"prompt  {len(report.prompt_tokens)} tokens: {shortened(report.prompt)}", soft_wrap=True)
    ended = ", then it ends" if report.ended else ""
    answer = f"answer  {len(report.tokens)} tokens{ended}: {shortened(report.text)}"
    console.print(f"{answer}\n", soft_wrap=True)
    console.print(drift_table(report))
    for line in notes(report):
        console.print(line, soft_wrap=True)


HEADINGS = (
    *("bits", "group size", "start", "layers", "first different"),
    *("equal", "mean KL", "worst KL", "cache", "saved"),
)


def drift_table(report: DriftReport) -> Table:
    """One row for each setting, full precision on top."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for heading in (
        "bits",
        "group size",
        "start",
        "layers",
        "first different",
        "equal",
        "mean KL",
        "worst KL",
    ):
        table.add_column(heading, justify="right")
    table.add_column("cache", justify="right")
    table.add_column("saved", justify="right")
    table.add_row("full", "-", "-", "-", "-", "-", "-", "-", size_text(report.nbytes), "-")
    for drift in report.drifts:
        table.add_row(*_cells(drift, report))
    return table


def _cells(drift: Drift, report: DriftReport) -> tuple[str, ...]:
    saved = report.saved(drift)
    return (
        str(drift.setting.bits),
        group_size_text(drift),
        str(drift.setting.start),
        f"{drift.converted} of {report.layers}",
        first_difference_text(drift),
        "-" if drift.equal_share is None else percent(drift.equal_share),
        "-" if drift.mean_divergence is None else nats(drift.mean_divergence),
        "-" if drift.worst_divergence is None else nats(drift.worst_divergence),
        size_text(drift.nbytes),
        f"{size_text(saved)}, {percent(saved / report.nbytes)}" if saved > 0 and report.nbytes else "-",
    )


def notes(report: DriftReport) -> list[str]:
    """What the columns mean, and what is missing from them."""
    return [
        "",
        "first different: counted from token 0, in the answer that the setting gives by itself",
        f"equal, KL (nats): over {compared_text(report)}, with the full-precision tokens fed back",
        *(note for drift in report.drifts if (note := _missing(drift))),
    ]


def compared_text(report: DriftReport) -> str:
    """How many tokens are compared, as a range where settings differ in it."""
    counts = sorted({drift.compared for drift in report.drifts if drift.compared and not drift.error})
    many = " to ".join(str(count) for count in dict.fromkeys((*counts[:1], *counts[-1:]))) or "no"
    return f"the {many} tokens whose step reads a quantized cache"


def _missing(drift: Drift) -> str:
    if drift.error:
        return f"{drift.setting}: ended after {len(drift.tokens)} tokens: {drift.error}"
    return "" if drift.compared else f"{drift.setting}: the start is not reached, nothing is quantized"


def group_size_text(drift: Drift) -> str:
    """``64``, or ``64→32`` where the layers got another one than was asked for."""
    asked = drift.setting.group_size
    if drift.group_sizes in ((), (asked,)):
        return str(asked)
    return f"{asked}→{'/'.join(map(str, drift.group_sizes))}"


def first_difference_text(drift: Drift) -> str:
    """``token 12``, or ``none``."""
    return "none" if drift.first_difference is None else f"token {drift.first_difference}"


def percent(share: float) -> str:
    """``92.1 %``, rounded towards 0, so that 100 % means all."""
    return f"{int(share * 1000) / 10:.1f} %"


def nats(amount: float) -> str:
    """Three significant digits: ``0.00044``, ``1.24``."""
    return "0" if amount == 0 else f"{amount:.3g}" if amount >= 1e-4 else f"{amount:.1e}"


def shortened(text: str, length: int = TEXT_LENGTH) -> str:
    """One line of at most this many characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 3]}..."
