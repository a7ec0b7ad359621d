"""What loading a model gives back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kvconform.models.errors import ModelError

_TOKEN = re.compile(r"t(\d+)$")


@dataclass(frozen=True)
class LoadedModel:
    """A model that is ready to run, with all that a golden records about where it came from."""

    name: str
    """What the user asked for."""
    source: str
    """Where the weights came from, for people: a package and file, a folder, a hub id, a seeded stream."""
    dtype: str
    """Element type of the logits (``float32``, ``float16``, ``bfloat16``)."""
    model: Any = field(repr=False)
    """The ``mlx.nn.Module``; takes tokens ``[batch, length]`` and ``cache=``."""
    tokenizer: Any | None = field(default=None, repr=False)
    """mlx-lm's tokenizer wrapper; none for tiny models."""
    fingerprint: str | None = None
    """sha256 of the weights (tiny models) or of the file (SmolLM2); none for folders and hub models."""

    def encode(self, text: str) -> list[int]:
        """Tokens of a text, nothing added. For a tiny model the text is ``t12 t40 ...``."""
        if self.tokenizer is None:
            return [self._token(word) for word in text.split()]
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def encode_chat(self, text: str) -> list[int]:
        """Tokens of one user message in the model's chat template, ready for the answer."""
        if self.tokenizer is None or not self.tokenizer.chat_template:
            raise ModelError(
                "it has no chat template",
                where=f"model {self.name}",
                advice="Give the prompt as plain text or as tokens.",
            )
        messages = [{"role": "user", "content": text}]
        return list(
            self.tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, tokenize=True, return_dict=False
            )
        )

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of the tokens, special tokens written out. For a tiny model ``t12 t40 ...``."""
        if self.tokenizer is None:
            return " ".join(f"t{token}" for token in tokens)
        return str(self.tokenizer.decode(list(tokens)))

    def _token(self, word: str) -> int:
        match = _TOKEN.match(word)
        if match is None:
            raise ModelError(
                f"{word!r} is no token of it",
                where=f"model {self.name}",
                advice="A tiny model has no tokenizer: write its tokens as t12 t40 t7.",
            )
        return int(match.group(1))
