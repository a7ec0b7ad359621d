"""``goldens/SCHEMA.json``: the JSON Schema of every document, for whoever reads them without this package.

``python -m kvconform.vectors.schema`` writes it; a test compares it with what is committed.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from ..generate.golden import Golden
from ..observation import OBSERVATION
from ..replay import Replay
from ..scenario import SCENARIO
from .document import Vector
from .library import goldens_folder

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: dict[str, TypeAdapter[Any]] = {
    "Scenario": SCENARIO,
    "Observation": OBSERVATION,
    "Vector": TypeAdapter(Vector),
    "Golden": TypeAdapter(Golden),
    "Replay": TypeAdapter(Replay),
}
"""What the schema defines by these names; ``{"$ref": "SCHEMA.json#/$defs/Vector"}`` is one of them."""


def schema() -> dict[str, Any]:
    """One schema with all documents under ``$defs``; a document is any one of them."""
    parts, shared = TypeAdapter.json_schemas(
        [(name, "validation", adapter) for name, adapter in DOCUMENTS.items()],
        ref_template="#/$defs/{model}",
    )
    definitions = dict(shared.get("$defs", {}))
    for (name, _mode), part in parts.items():
        if part.get("$ref") != f"#/$defs/{name}":
            definitions[str(name)] = part
    return {
        "$schema": DIALECT,
        "title": "Documents of kvconform",
        "description": "Scenarios, observations, vectors, streams, replay files. Meaning: docs/scenarios.md.",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in DOCUMENTS],
        "$defs": {name: definitions[name] for name in sorted(definitions)},
    }


def schema_text() -> str:
    """The text of the file."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    (goldens_folder() / "SCHEMA.json").write_text(schema_text(), encoding="utf-8")
