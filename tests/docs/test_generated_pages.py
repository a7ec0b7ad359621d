"""Pages made from the code say what the code says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["requirements.md", "scenario-reference.md", "reports.md", "mutation.md"])
def test_a_generated_page_is_up_to_date(name: str) -> None:
    committed = DOCS.joinpath(name).read_text(encoding="utf-8")
    assert generator().pages()[name] == committed, f"docs/{name} is stale: run python docs/generate.py"


def test_every_requirement_and_every_scenario_kind_has_its_place() -> None:
    pages = generator().pages()
    assert "| MQ-13 | universal |" in pages["requirements.md"]
    assert "### ContainerScenario" in pages["scenario-reference.md"]
    assert "| `group_size` | integer | `64` |" in pages["scenario-reference.md"]
