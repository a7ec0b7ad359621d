"""``kvconform model``: will quantizing the KV cache work for this model?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import CONFORMING, FAILED, UserError
from .output import check_writable, console, printing_after, write_text


def model(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A model folder, a hub id, smollm2, or a tiny model's name."),
    ],
    kv_bits: Annotated[int, typer.Option("--kv-bits", metavar="N", help="Bits of the quantized cache.")],
    kv_group_size: Annotated[
        int, typer.Option("--kv-group-size", metavar="N", help="Group size that is asked for.")
    ] = 64,
    start: Annotated[
        int, typer.Option("--start", metavar="N", min=0, help="Position at which quantization starts.")
    ] = 0,
    context: Annotated[
        int, typer.Option("--context", metavar="N", min=1, help="Positions at which memory is compared.")
    ] = 4096,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the answer as JSON.")
    ] = None,
) -> None:
    """Will kv-bits work for this model? Tries it; exit code 0 if layers are quantized and it runs, else 1."""
    from json import dumps

    from ..advice import child, text, trial, verdict

    _check_bits(kv_bits)
    check_writable(json)
    request = trial.Request(model=model, bits=kv_bits, group_size=kv_group_size, start=start, context=context)
    with console(stderr=True).status(f"trying {model}"):
        tried = child.ask(request)
    answer = verdict.verdict_of(tried, request)
    with printing_after(lambda: text.print_answer(tried, request, answer, console())):
        if json is not None:
            write_text(json, dumps(text.as_json(tried, request, answer), indent=2) + "\n")
    raise typer.Exit(CONFORMING if answer.word.startswith("works") else FAILED)


def _check_bits(bits: int) -> None:
    from kvconform_reference.group_size import SUPPORTED_BITS

    if bits not in SUPPORTED_BITS:
        supported = ", ".join(map(str, SUPPORTED_BITS))
        raise UserError(
            f"--kv-bits {bits}: a cache cannot be quantized to {bits} bits. Give one of {supported}."
        )
