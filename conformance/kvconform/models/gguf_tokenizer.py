"""A tokenizer made of the vocabulary in a GGUF file: byte-level BPE as GPT-2 has it, digits singly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvconform.models.errors import ModelError

# Token types of the format that are not made by merges: 3 is control, 4 is user-defined.
_SPECIAL_TYPES = (3, 4)


def build_tokenizer(metadata: Mapping[str, Any], *, where: str) -> Any:
    """mlx-lm's tokenizer wrapper around the vocabulary, special tokens and chat template in ``metadata``.

    ``metadata`` is the second result of ``mx.load(path, return_metadata=True)``. Raises ModelError when the
    file has another kind of tokenizer or lacks a part of it.
    """
    from mlx_lm.tokenizer_utils import TokenizerWrapper
    from transformers import PreTrainedTokenizerFast

    _require_byte_level_bpe(metadata, where=where)
    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    fast = PreTrainedTokenizerFast(
        tokenizer_object=_byte_level_bpe(metadata, tokens),
        chat_template=metadata.get("tokenizer.chat_template"),
        clean_up_tokenization_spaces=False,
        **_named_specials(metadata, tokens),
    )
    return TokenizerWrapper(fast, eos_token_ids=[int(metadata["tokenizer.ggml.eos_token_id"].item())])


def _require_byte_level_bpe(metadata: Mapping[str, Any], *, where: str) -> None:
    kind = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
    if kind != ("gpt2", "smollm"):
        raise ModelError(
            f"its tokenizer is {kind[0]}/{kind[1]}, not gpt2/smollm",
            where=where,
            advice="Use a folder in the MLX format, which brings its own tokenizer.",
        )
    parts = ("tokens", "merges", "token_type", "eos_token_id")
    missing = [part for part in parts if f"tokenizer.ggml.{part}" not in metadata]
    if missing:
        raise ModelError(
            f"its metadata lacks tokenizer.ggml.{missing[0]}",
            where=where,
            advice="Use a GGUF file that carries its whole vocabulary.",
        )


def _byte_level_bpe(metadata: Mapping[str, Any], tokens: list[str]) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    merges = [tuple(merge.split(" ", 1)) for merge in metadata["tokenizer.ggml.merges"]]
    tokenizer: Any = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    types = metadata["tokenizer.ggml.token_type"].tolist()
    specials = [token for token, kind in zip(tokens, types, strict=True) if kind in _SPECIAL_TYPES]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in specials])
    return tokenizer


def _named_specials(metadata: Mapping[str, Any], tokens: list[str]) -> dict[str, str]:
    """The tokens that transformers knows by role, e.g. ``eos_token``."""
    roles = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    keys = {f"{role}_token": f"tokenizer.ggml.{name}_token_id" for role, name in roles.items()}
    return {role: tokens[int(metadata[key].item())] for role, key in keys.items() if key in metadata}
