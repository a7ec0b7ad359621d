"""Where modules that a user names are looked for."""

from __future__ import annotations

import sys


def search_the_current_folder() -> None:
    """As ``python -m`` does, which judges: what one way of running finds is found by every other."""
    if "" not in sys.path:
        sys.path.append("")
