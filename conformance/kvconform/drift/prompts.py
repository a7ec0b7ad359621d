"""The prompt of a drift run: a text, a file, or the default of the model."""

from __future__ import annotations

from pathlib import Path

from ..errors import UserError
from ..models import tiny
from ..models.loaded import LoadedModel

DEFAULT_TEXT = (
    "A baker in a small town gets up at three every morning. She lights the oven, weighs flour, water, "
    "salt and yeast, and lets the dough rest for an hour. At six the first loaves come out, and at seven "
    "the shop opens. On Sundays her son helps her, and they sell cinnamon rolls as well.\n\n"
    "Describe her morning step by step, and say what is different on Sundays."
)
"""Has facts in it that the answer must look up: what a quantized cache gets wrong shows here first."""


def prompt_text(given: str | None, loaded: LoadedModel) -> str:
    """The text of ``--prompt``; ``@FILE`` is read, and the model's own default stands in for none."""
    if given is None:
        return default_text(loaded)
    if not given.startswith("@"):
        return given
    path = Path(given[1:])
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(f"--prompt {given}: cannot be read: {reason}. Give a text file.") from None


def default_text(loaded: LoadedModel) -> str:
    """The long prompt of a tiny model's entry, ``DEFAULT_TEXT`` for a model with a tokenizer."""
    if loaded.tokenizer is not None:
        return DEFAULT_TEXT
    return loaded.decode(tiny.tiny_spec(loaded.name).prompts["long"])


def prompt_tokens(text: str, loaded: LoadedModel, *, raw: bool = False) -> tuple[int, ...]:
    """The tokens of a text, as a chat message where the model has a template, unless ``raw``.

    UserError for a text without tokens, and for a token that the model does not have.
    """
    chat = not raw and loaded.tokenizer is not None and bool(loaded.tokenizer.chat_template)
    tokens = tuple(loaded.encode_chat(text) if chat else loaded.encode(text))
    if not tokens:
        raise UserError("--prompt: the text has no tokens. Give at least one word.")
    vocabulary = vocabulary_size(loaded)
    if max(tokens) >= vocabulary:  # MLX would read behind the end of the embedding
        raise UserError(
            f"--prompt: token {max(tokens)} is none of model {loaded.name}. Give t0 to t{vocabulary - 1}."
        )
    return tokens


def vocabulary_size(loaded: LoadedModel) -> int:
    """How many logits a step gives. MLX is lazy: nothing is computed to find out."""
    import mlx.core as mx

    return int(loaded.model(mx.array([[0]])).shape[-1])
