"""The answer as it is printed: the verdict, the layers, the memory, the two loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.table import Table

from .memory import bytes_at, full_bytes, size_text
from .trial import Layer, LoopRun, Request, Trial
from .verdict import Verdict

if TYPE_CHECKING:
    from rich.console import Console


def print_answer(trial: Trial, request: Request, verdict: Verdict, console: Console) -> None:
    """Everything, the verdict first."""
    subject, layers = trial.subject, trial.settled_layers
    console.print(verdict.line, soft_wrap=True)  # one line, also for head -1
    console.print(f"\nmodel  {subject.name}: {subject.architecture}, {subject.dtype}; {subject.source}\n")
    console.print(layer_table(layers, request))
    console.print(f"\n{memory_line(layers, request)}\n")
    console.print(loop_table(trial))
    if verdict.word.startswith("works"):
        command = f"kvconform drift {request.model} --bits {request.bits}"
        console.print(f"\nHow much it changes the answers: {command}")


def loop_table(trial: Trial) -> Table:
    """How the two loops went, by name."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_row("reference iterator", loop_text(trial.reference))
    table.add_row(f"mlx-lm {trial.subject.versions['mlx-lm']}", loop_text(trial.mlx_lm))
    return table


def layer_table(layers: Sequence[Layer], request: Request) -> Table:
    """One row for all layers that are alike."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for heading in ("layers", "cache", "head dims", "group size", "quantized"):
        table.add_column(heading)
    table.add_column(f"at {request.context} positions", justify="right")
    for numbers, layer in alike(layers):
        table.add_row(
            numbers,
            layer.kind if layer.limit is None else f"{layer.kind} ({layer.limit})",
            "-" if layer.dims is None else f"{layer.dims[0]}/{layer.dims[1]}",
            "-" if layer.group_size is None else str(layer.group_size),
            when_text(layer, request),
            _before_after(*layer_bytes(layer, request)),
        )
    return table


def alike(layers: Sequence[Layer]) -> list[tuple[str, Layer]]:
    """Layers that differ in their place only, put together: ``("0-3, 5", layer)``, in order of appearance."""
    groups: dict[Any, list[Layer]] = {}
    for layer in layers:
        same = {name: value for name, value in asdict(layer).items() if name != "path"}
        groups.setdefault((tuple(same.values()), layer.path.partition(".")[2]), []).append(layer)
    return [(ranges(layer.path for layer in group), group[0]) for group in groups.values()]


def ranges(paths: Iterable[str]) -> str:
    """``0-2, 5`` of ``0, 1, 2, 5``; paths into composites keep their tail: ``0.1-3.1``."""
    parts = [path.partition(".") for path in paths]
    tail = parts[0][1] + parts[0][2]
    numbers = [int(head) for head, _, _ in parts]
    runs = [
        [number for _, number in run]
        for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    ]
    return ", ".join(
        f"{run[0]}{tail}" if len(run) == 1 else f"{run[0]}{tail}-{run[-1]}{tail}" for run in runs
    )


def when_text(layer: Layer, request: Request) -> str:
    """When the layer is converted, or why it never is."""
    if layer.group_size is None:
        return f"no: {layer.reason}"
    if request.start > request.context:
        return f"not within {request.context} positions: start {request.start}"
    if request.start <= 1:
        return "right after the prompt"
    return f"from position {request.start} on, or after a longer prompt"


def layer_bytes(layer: Layer, request: Request) -> tuple[int, int]:
    """Bytes at the context length in full precision, and as asked for."""
    after = bytes_at(layer, request.context, bits=request.bits, start=request.start)
    return full_bytes(layer, request.context), after


def total_bytes(layers: Sequence[Layer], request: Request) -> tuple[int, int]:
    """The same for all layers together."""
    pairs = [layer_bytes(layer, request) for layer in layers]
    return sum(before for before, _ in pairs), sum(after for _, after in pairs)


def memory_line(layers: Sequence[Layer], request: Request) -> str:
    """What is saved in all."""
    before, after = total_bytes(layers, request)
    saved = f", {1 - after / before:.0%} less" if after < before else ""
    return f"cache at {request.context} positions: {_before_after(before, after)}{saved}"


def _before_after(before: int, after: int) -> str:
    return size_text(before) if before == after else f"{size_text(before)} -> {size_text(after)}"


def loop_text(run: LoopRun) -> str:
    """How a loop went."""
    layers = f"{run.converted} layer{'' if run.converted == 1 else 's'} quantized"
    if run.died:
        return str(run.error)
    if run.error is not None:
        return f"raises: {run.error}" + (f" ({layers} before that)" if run.converted else "")
    return f"runs, {layers}" if run.converted else "runs, nothing quantized"


def as_json(trial: Trial, request: Request, verdict: Verdict) -> dict[str, Any]:
    """The whole answer as JSON-ready data; documented in ``docs/model.md``."""
    before, after = total_bytes(trial.settled_layers, request)
    layers = [
        asdict(layer) | dict(zip(("bytes_before", "bytes_after"), layer_bytes(layer, request), strict=True))
        for layer in trial.settled_layers
    ]
    return {
        "request": asdict(request),
        "verdict": verdict.word,
        "line": verdict.line,
        "model": asdict(trial.subject),
        "layers": layers,
        "bytes_before": before,
        "bytes_after": after,
        "reference": asdict(trial.reference),
        "mlx_lm": asdict(trial.mlx_lm) | {"other_group_sizes": list(trial.mlx_lm_sizes)},
    }
