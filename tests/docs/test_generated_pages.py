"""Pages made from the code say what the code says."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from kvconform import installing, requirements
from kvconform_reference.dialect import DIALECTS, PARAMETERS, PROPOSAL, Dialect, dialect_from
from kvconform_reference.meanings import MEANINGS

DOCS = Path(__file__).parents[2] / "docs"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATED = (
    "requirements.md",
    "scenario-reference.md",
    "dialects.md",
    "reports.md",
    "faults.md",
    "mutation.md",
)


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    committed = DOCS.joinpath(name).read_text(encoding="utf-8")
    assert generator().pages()[name] == committed, f"docs/{name} is stale: run python docs/generate.py"


def test_every_generated_page_is_compared() -> None:
    assert set(generator().pages()) == set(GENERATED)


def test_every_requirement_and_every_scenario_kind_has_its_place() -> None:
    pages = generator().pages()
    assert "| MQ-13 | universal |" in pages["requirements.md"]
    assert "### ContainerScenario" in pages["scenario-reference.md"]
    assert "| `group_size` | integer | `64` |" in pages["scenario-reference.md"]


def test_every_parameter_value_of_a_dialect_has_a_meaning_and_no_other() -> None:
    assert {name: tuple(meaning.values) for name, meaning in MEANINGS.items()} == PARAMETERS


def test_every_parameter_names_the_requirements_that_are_put_to_some_of_its_values_only() -> None:
    for requirement in requirements.catalogue().values():
        for parameter in requirement.dialects:
            assert requirement.id in MEANINGS[parameter].requirements
    named = {one for meaning in MEANINGS.values() for one in meaning.requirements}
    assert named <= set(requirements.catalogue())


def test_a_dialect_on_the_page_is_what_the_page_says_it_is() -> None:
    page = DOCS.joinpath("dialects.md").read_text(encoding="utf-8")
    spelled = json.loads(page.split("```json\n", 1)[1].split("```", 1)[0])
    assert dialect_from(spelled) == Dialect(**{**PROPOSAL.as_dict(), **spelled})
    assert all(f"`{name}`" in page for name in DIALECTS)


def test_no_markup_of_docstrings_is_left_on_a_page() -> None:
    assert not [name for name, text in generator().pages().items() if ":data:" in text or ":class:" in text]


def test_nothing_is_to_be_installed_from_an_index_that_does_not_have_it() -> None:
    root = DOCS.parent
    texts = [*root.glob("*.md"), *DOCS.rglob("*.md"), *root.glob("conformance/**/*.py")]
    assert [path for path in texts if "kvconform[" in path.read_text(encoding="utf-8")] == []
    for page in ("model.md", "drift.md"):
        text = DOCS.joinpath(page).read_text(encoding="utf-8")
        assert "`pip install mlx mlx-lm`" in text
        assert '`pip install ".[mlx]"`' in text


@pytest.mark.parametrize(("platform", "package"), [("linux", '"mlx[cpu]"'), ("darwin", "mlx")])
def test_the_advice_on_mlx_installs_what_the_extra_of_the_package_does(
    platform: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = tomllib.loads(DOCS.parent.joinpath("pyproject.toml").read_text(encoding="utf-8"))
    wanted = [need for need in extra["project"]["optional-dependencies"]["mlx"] if platform in need]
    assert [need.split(">=")[0] for need in wanted] == [package.strip('"')]
    monkeypatch.setattr(sys, "platform", platform)
    try:
        assert importlib.reload(installing).INSTALL_MLX.startswith(f"pip install {package} mlx-lm (")
    finally:
        monkeypatch.undo()
        importlib.reload(installing)
