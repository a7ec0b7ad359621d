"""JSON for people: whatever fits is on one line, fields in the order of the data model.

Of a scenario every field is written, as on the wire. Of all else what is null is left out, unless
the schema requires it: in an observation an absent field and a null one are the same.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from ..jsondata import is_object

WIDTH = 124
"""Columns, indentation included: a layer with all its fields, or a look at one, fits on a line."""


def compact_data(value: Any) -> Any:
    """JSON-ready data of a document without the nulls that are defaults."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        items: dict[str, Any] = {name: getattr(value, name) for name in fields}
        return {
            name: _whole(item) if name == "scenario" else compact_data(item)
            for name, item in items.items()
            if item is not None or fields[name].is_required()
        }
    if isinstance(value, dict):
        return {str(key): compact_data(item) for key, item in value.items()}  # pyright: ignore
    if isinstance(value, tuple | list):
        return [compact_data(item) for item in value]  # pyright: ignore
    return value


def _whole(document: Any) -> Any:
    return document.model_dump(mode="json")


def json_text(data: Any) -> str:
    """The text of a golden file, its last line ended."""
    return _text(data, indent=0, room=WIDTH) + "\n"


def _text(data: Any, *, indent: int, room: int) -> str:
    flat = json.dumps(data, ensure_ascii=False, allow_nan=False)
    if len(flat) <= room or not isinstance(data, dict | list) or not data:
        return flat
    inner, pad = indent + 2, " " * (indent + 2)
    if is_object(data):
        parts = [
            f"{pad}{json.dumps(key)}: {_text(item, indent=inner, room=WIDTH - inner - len(key) - 5)}"
            for key, item in data.items()
        ]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    parts = [pad + _text(item, indent=inner, room=WIDTH - inner - 1) for item in data]  # pyright: ignore
    return "[\n" + ",\n".join(_filled(parts, data)) + "\n" + " " * indent + "]"


def _filled(parts: list[str], items: Any) -> list[str]:
    """Numbers are set many to a line, all else one item a line."""
    if any(isinstance(item, dict | list | str) for item in items):
        return parts
    pad = parts[0][: len(parts[0]) - len(parts[0].lstrip())]
    lines = [""]
    for word in (part.strip() for part in parts):
        joined = f"{lines[-1]}, {word}" if lines[-1] else word
        if len(pad) + len(joined) >= WIDTH:
            lines.append(word)
        else:
            lines[-1] = joined
    return [pad + line for line in lines]
