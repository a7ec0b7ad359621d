"""How a prompt is cut into chunks before the first token.

Who runs the chunks is another matter: under `window` and `balanced` the model's own prepare, under
`reserve-one` (and wherever passes run between chunks) the iterator. Source: specification PR-6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

Plan = Callable[[int, int], tuple[int, ...]]
"""(prompt length, window) -> chunk lengths, in order; they add up to the prompt length."""


def chunk_lengths(prompt_length: int, window: int, plan: str = "window") -> tuple[int, ...]:
    """The lengths of the chunks of a prompt, the last one being what a normal step gets (PR-6).

    An empty prompt has no chunks. Raises ValueError for a window below 1 or an unknown plan.
    """
    check_window(window)
    chosen = PLANS.get(plan)
    if chosen is None:
        raise ValueError(f"prefill plan {plan!r} is not known; use one of {', '.join(PLANS)}")
    return chosen(prompt_length, window)


def window_lengths(prompt_length: int, window: int) -> tuple[int, ...]:
    """Whole windows while more than one window remains, then the rest: 1024, 512 -> 512, 512."""
    whole = max(0, prompt_length - 1) // window
    return without_empty(*[window] * whole, prompt_length - whole * window)


def reserve_one_lengths(prompt_length: int, window: int) -> tuple[int, ...]:
    """All but the last token in windows, then the last token: 23, 8 -> 8, 8, 6, 1."""
    if prompt_length == 0:
        return ()
    whole, rest = divmod(prompt_length - 1, window)
    return without_empty(*[window] * whole, rest, 1)


def balanced_lengths(prompt_length: int, window: int) -> tuple[int, ...]:
    """A prompt that fits at once; else all but the last token in chunks as equal as possible, then it.

    Longer chunks come first: 600, 512 -> 300, 299, 1.
    """
    if prompt_length <= window:
        return without_empty(prompt_length)
    before_last = prompt_length - 1
    chunks = -(-before_last // window)
    short, longer = divmod(before_last, chunks)
    return (*[short + 1] * longer, *[short] * (chunks - longer), 1)


def without_empty(*lengths: int) -> tuple[int, ...]:
    """The chunks that have tokens; no plan asks for a model call on nothing."""
    return tuple(length for length in lengths if length > 0)


# Each entry looks its function up when it is called, so replacing the module's attribute replaces the plan.
PLANS: Mapping[str, Plan] = MappingProxyType(
    {
        "window": lambda prompt_length, window: window_lengths(prompt_length, window),
        "balanced": lambda prompt_length, window: balanced_lengths(prompt_length, window),
        "reserve-one": lambda prompt_length, window: reserve_one_lengths(prompt_length, window),
    }
)
"""The plans by their name in the dialect parameter `prefill`."""


def check_window(window: int) -> None:
    """A chunk holds at least one token (PR-6); ValueError otherwise, before anything is called."""
    if window < 1:
        raise ValueError(f"prefill step {window} is below 1; give the length of a prompt chunk, e.g. 512")
