"""``kvconform drift``: how far a model's answers move when its KV cache is quantized."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UserError
from .output import check_reports, console, printing_after, write_text

if TYPE_CHECKING:
    from ..drift.result import DriftReport
    from ..drift.settings import Setting

BITS = "8,6,5,4,3,2"
GROUP_SIZES = "32,64"


def drift(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A model folder, a hub id, smollm2, or a tiny model's name."),
    ],
    bits: Annotated[str, typer.Option("--bits", metavar="N,...", help="Bits of the quantized cache.")] = BITS,
    group_size: Annotated[
        str, typer.Option("--group-size", metavar="N,...", help="Group sizes that are asked for.")
    ] = GROUP_SIZES,
    start: Annotated[
        str, typer.Option("--start", metavar="N,...", help="Positions at which quantization starts.")
    ] = "0",
    prompt: Annotated[
        str | None, typer.Option("--prompt", metavar="TEXT|@FILE", help="Instead of the model's default one.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Feed the prompt as it is, without the model's chat template.")
    ] = False,
    tokens: Annotated[
        int, typer.Option("--tokens", metavar="N", min=2, help="Length of the answer, at most.")
    ] = 64,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the measurements as JSON.")
    ] = None,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write a picture.")] = None,
) -> None:
    """Measure how far a model's answer drifts from full precision when its KV cache is quantized.

    Per setting: the first token that differs, the share of equal tokens and the KL divergence with the
    full-precision tokens fed back, and the bytes that are saved.
    """
    from ..drift.table import print_report

    settings = _settings(bits, group_size, start)
    check_reports(json, svg)
    report = _measured(model, settings, prompt=prompt, raw=raw, tokens=tokens)
    with printing_after(lambda: print_report(report, console())):
        _write(report, json=json, svg=svg)


def _settings(bits: str, group_sizes: str, starts: str) -> tuple[Setting, ...]:
    from kvconform_reference.group_size import SUPPORTED_BITS

    from ..drift.settings import numbers, settings_of

    return settings_of(
        numbers(bits, option="--bits", allowed=SUPPORTED_BITS),
        numbers(group_sizes, option="--group-size", minimum=1),
        numbers(starts, option="--start"),
    )


def _measured(
    model: str, settings: tuple[Setting, ...], *, prompt: str | None, raw: bool, tokens: int
) -> DriftReport:
    from rich.progress import Progress

    from ..drift.prompts import prompt_text, prompt_tokens
    from ..models.errors import ModelError
    from ..models.load import load_model

    screen = console(stderr=True)
    with Progress(console=screen, disable=not screen.is_terminal, transient=True) as progress:
        task = progress.add_task(f"loading {model}", total=None)
        try:
            loaded = load_model(model)
            text = prompt_text(prompt, loaded)
            fed = prompt_tokens(text, loaded, raw=raw)
        except ModelError as error:
            raise UserError(str(error)) from None
        from ..drift.measure import Measurement
        from ..drift.runs import Runs

        progress.update(task, description=f"prompt of {len(fed)} tokens")
        runs = Runs(loaded, fed, on_token=lambda: progress.advance(task))
        measurement = Measurement(runs, settings, tokens=tokens)
        progress.update(task, description="tokens", total=measurement.steps)
        return measurement.report(text)


def _write(report: DriftReport, *, json: Path | None, svg: Path | None) -> None:
    from json import dumps

    from ..drift.plot import svg_text

    if json is not None:
        write_text(json, dumps(report.as_json(), indent=2) + "\n")
    if svg is not None:
        write_text(svg, svg_text(report))
