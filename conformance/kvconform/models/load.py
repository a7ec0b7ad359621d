"""One way in to every model: a tiny one, SmolLM2, a local folder, a hub id.

A model is loaded at most once in a process. Run MLX on the main thread: generation in another thread can take
the process down at exit.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import re
from pathlib import Path
from typing import Any

from kvconform.installing import INSTALL_MLX
from kvconform.models import smollm2, tiny
from kvconform.models.errors import ModelError
from kvconform.models.loaded import LoadedModel

SMOLLM2 = "smollm2"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+$")


def model_names() -> tuple[str, ...]:
    """The names that need no hub and no folder: ``smollm2`` and the tiny models."""
    return (SMOLLM2, *tiny.catalogue())


def load_model(name: str) -> LoadedModel:
    """The model of that name; the same object each time it is asked for in one process.

    ``name`` is a tiny model (``llama-d96``), ``smollm2``, the path of a folder in the MLX format, or a hub id
    (``owner/model``, which mlx-lm fetches). Raises ModelError for whatever stands in the way.
    """
    _require_packages()
    _switch_off_compilation_on_the_cpu()
    if name in tiny.catalogue():
        return _load_tiny(name)
    if name == SMOLLM2:
        return _load_smollm2()
    path = Path(name).expanduser()
    if name and path.is_dir():
        return _load_folder(path.resolve())
    if _HUB_ID.match(name) and not name.startswith("."):
        return _load_hub(name)
    raise _unknown(name, path)


def _require_packages() -> None:
    for package in ("mlx.core", "mlx_lm"):
        try:
            importlib.import_module(package)
        except ImportError as error:
            raise ModelError(
                f"it cannot be imported ({error})",
                where=f"package {package.partition('.')[0]}",
                advice=f"Real models need MLX. Run: {INSTALL_MLX}",
            ) from error


def _switch_off_compilation_on_the_cpu() -> None:
    """On the CPU, MLX compiles each fused kernel with g++ at run time, 11-17 s each, and needs it installed.

    The token streams are the same with and without. On a GPU nothing is changed.
    """
    import mlx.core as mx

    if mx.default_device() == mx.Device(mx.cpu):
        mx.disable_compile()


@functools.cache
def _load_tiny(name: str) -> LoadedModel:
    from kvconform.models import seeded

    spec = tiny.tiny_spec(name)
    model = tiny.build_tiny(spec)
    return LoadedModel(
        name=name,
        source=f"mlx_lm.models.{spec.architecture}, seeded weights (seed {spec.seed}, gain {spec.gain:g})",
        dtype=logits_dtype(model),
        model=model,
        fingerprint=seeded.fingerprint(model),
    )


@functools.cache
def _load_smollm2() -> LoadedModel:
    path = smollm2.find_gguf()
    model, tokenizer = smollm2.load_gguf(path)
    return LoadedModel(
        name=SMOLLM2,
        source=f"{path.name} in the package {smollm2.PACKAGE}",
        dtype=logits_dtype(model),
        model=model,
        tokenizer=tokenizer,
        fingerprint=smollm2.file_fingerprint(path),
    )


@functools.cache
def _load_folder(path: Path) -> LoadedModel:
    if not (path / "config.json").is_file() or not list(path.glob("*.safetensors")):
        raise ModelError(
            "it holds no model in the MLX format (config.json and *.safetensors)",
            where=f"folder {path}",
            advice="Give the folder that mlx_lm.convert wrote.",
        )
    advice = "Try `mlx_lm.generate --model` with the folder: it has to work there first."
    return _load_with_mlx_lm(str(path), source=f"folder {path}", advice=advice)


@functools.cache
def _load_hub(name: str) -> LoadedModel:
    advice = "Check the id and the network, or download the model and give its folder."
    return _load_with_mlx_lm(name, source=f"hub model {name}", advice=advice)


def _load_with_mlx_lm(name: str, *, source: str, advice: str) -> LoadedModel:
    import mlx_lm

    try:
        model, tokenizer, *_ = mlx_lm.load(name)
        dtype = logits_dtype(model)
    except Exception as error:  # whatever a package, a file or a network can raise
        raise ModelError(
            f"mlx-lm cannot load it ({type(error).__name__}: {error})",
            where=source,
            advice=advice,
        ) from error
    return LoadedModel(name=name, source=source, dtype=dtype, model=model, tokenizer=tokenizer)


def logits_dtype(model: Any) -> str:
    """Element type of the model's logits. MLX is lazy: nothing is computed to find out."""
    import mlx.core as mx
    from mlx_lm.models.cache import make_prompt_cache

    logits = model(mx.array([[0]]), cache=make_prompt_cache(model))
    return str(logits.dtype).removeprefix("mlx.core.")


def _unknown(name: str, path: Path) -> ModelError:
    close = difflib.get_close_matches(name, model_names(), n=1)
    if close:
        advice = f"Did you mean {close[0]}?"
    elif path.is_file():
        advice = "That is a file: give the folder that holds config.json."
    else:
        advice = f"Give a folder, a hub id (owner/model), or one of: {', '.join(model_names())}."
    return ModelError("there is no such model, folder or hub id", where=f"model {name!r}", advice=advice)
