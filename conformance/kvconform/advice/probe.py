"""Tries a model: loads it, feeds it a few tokens, and lets the two loops run a few steps with quantization.

Run as ``python -m kvconform.advice.probe REQUEST OUT``, in a process of its own: a model may need all the
memory there is, and mlx-lm may take the process down (group size 0 does). What is found out is written to
OUT line by line, so what was known before the end is not lost.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

from kvconform_reference.group_size import SUPPORTED_GROUP_SIZES

from ..models.errors import ModelError
from .trial import Layer, LoopRun, Request, Subject, line_of

PROMPT = tuple(range(1, 9))
"""Eight tokens that every vocabulary has: what is said does not matter here."""
STEPS = 3
"""Tokens asked for: the first comes from the prompt, the others read quantized caches."""
PACKAGES = ("mlx", "mlx-lm")


def main(request_json: str, out: str) -> int:
    """Write the lines; a model that cannot be tried is a line too."""
    request = Request(**json.loads(request_json))
    with Path(out).open("a", encoding="utf-8", buffering=1) as file:
        try:
            _try(request, lambda line: print(line, file=file, flush=True))
        except ModelError as error:
            print(json.dumps({"failed": str(error)}), file=file)
    return 0


def _try(request: Request, write: Callable[[str], None]) -> None:
    from ..models.load import load_model

    loaded = load_model(request.model)
    write(line_of("subject", _subject(loaded)))
    write(line_of("layers", _layers(loaded, request.group_size)))
    write(line_of("reference", _reference_run(loaded, request)))
    run = _mlx_lm_run(loaded, request)
    write(line_of("mlx_lm", run))
    write(line_of("mlx_lm_sizes", () if run.error is None else _running_sizes(loaded, request)))


def _subject(loaded: Any) -> Subject:
    return Subject(
        name=loaded.name,
        source=loaded.source,
        dtype=loaded.dtype,
        architecture=type(loaded.model).__module__.rpartition(".")[2],
        versions={package: metadata.version(package) for package in PACKAGES},
    )


def _layers(loaded: Any, group_size: int) -> tuple[Layer, ...]:
    """The layers after the prompt; ModelError when the model does not run at all."""
    import mlx.core as mx

    from ..generate import mlx_caches, mlx_model
    from . import fates

    try:
        layers = list(mlx_model.make_prompt_cache(loaded.model))
        mx.eval(loaded.model(mx.array([PROMPT]), cache=layers))  # pyright: ignore[reportUnknownMemberType]
    except Exception as error:  # whatever a model's code raises
        raise ModelError(
            f"it raises on {len(PROMPT)} tokens, without any quantization ({type(error).__name__}: {error})",
            where=f"model {loaded.name}",
            advice="It has to work in mlx-lm first: try `mlx_lm.generate --model` with it.",
        ) from error
    return tuple(
        _layer(slot.layer, fates.fate_of(slot, group_size), mlx_caches.own_bytes(slot.layer))
        for slot in fates.leaves(layers)
    )


def _layer(cache: Any, fate: Any, nbytes: int) -> Layer:
    keys = cache.keys if fate.dims else None
    return Layer(
        path=fate.path,
        kind=fate.kind,
        dims=fate.dims,
        heads=0 if keys is None else int(keys.shape[1]),
        itemsize=0 if keys is None else int(keys.dtype.size),
        limit=_limit(cache),
        fixed_bytes=0 if fate.dims else nbytes,
        group_size=fate.group_size,
        reason=fate.reason,
    )


def _limit(cache: Any) -> int | None:
    """What a rotating or a chunked cache of mlx-lm holds at most."""
    limit = getattr(cache, "max_size", None) or getattr(cache, "chunk_size", None)
    return int(limit) if isinstance(limit, int) else None


def _scenario(request: Request) -> Any:
    from ..scenario import GenerateScenario, Parameters

    parameters = Parameters(
        bits=request.bits,
        group_size=request.group_size,
        start=min(request.start, len(PROMPT) - 1),  # where mlx-lm's first pass is: a short run reaches it
        max_tokens=STEPS,
    )
    return GenerateScenario(model=request.model, prompt=PROMPT, parameters=parameters)


def _reference_run(loaded: Any, request: Request) -> LoopRun:
    from ..generate import reference_run
    from .fates import DIALECT

    return _run_of(reference_run.run(_scenario(request), loaded, dialect=DIALECT))


def _mlx_lm_run(loaded: Any, request: Request) -> LoopRun:
    from ..generate import mlx_lm_run

    return _run_of(mlx_lm_run.run(_scenario(request), loaded))


def _running_sizes(loaded: Any, request: Request) -> tuple[int, ...]:
    """The other group sizes with which mlx-lm quantizes and runs: it takes the one asked for as it is."""
    others = [size for size in SUPPORTED_GROUP_SIZES if size != request.group_size]
    runs = {size: _mlx_lm_run(loaded, replace(request, group_size=size)) for size in others}
    return tuple(size for size, run in runs.items() if run.error is None and run.converted)


def _run_of(observation: Any) -> LoopRun:
    error = observation.error
    return LoopRun(
        converted=sum(len(event.layers) for event in observation.conversions),
        error=None if error is None else " ".join(error.message.split()) or "an error without a message",
    )


if __name__ == "__main__":
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    sys.exit(main(*sys.argv[1:]))
