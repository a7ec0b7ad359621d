"""All vectors in one piece: a JSON array, or one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

from .document import Vector
from .formatting import compact_data, json_text

Format = Literal["json", "jsonl"]


def exported(vectors: Iterable[Vector], *, format: Format) -> str:
    """The text of an export, its last line ended; no vectors give ``[]`` or nothing."""
    data = [compact_data(vector) for vector in vectors]
    if format == "json":
        return json_text(data)
    return "".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) + "\n" for one in data)
