"""Which of our own tests cover a requirement, read from their marks without running or importing them."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .jsondata import is_object

ROOT = Path(__file__).parents[2]
"""The checkout that this module is part of; some other folder where it is installed as a wheel."""


def tests_folder(*starts: Path) -> Path | None:
    """The folder of our own tests: of this module's checkout, else of one that a start is in or below."""
    around = (folder for start in starts for folder in (start, *start.parents))
    return next((folder / "tests" for folder in (ROOT, *around) if _is_checkout(folder)), None)


def _is_checkout(folder: Path) -> bool:
    """Whether a folder is this project: by the name that its pyproject.toml gives it."""
    if not (folder / "tests").is_dir():
        return False
    try:
        data: Any = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    project = data.get("project")
    return is_object(project) and project.get("name") == "kvconform"


def covering_tests(requirement: str, *, folder: Path) -> list[str]:
    """``file::test`` of every test that carries ``@pytest.mark.requirement`` with this id."""
    return [name for name, ids in marked_tests(folder) if requirement in ids]


def marked_tests(folder: Path) -> Iterator[tuple[str, frozenset[str]]]:
    """Every test with the ids that it is marked with, on itself, its class or its module."""
    for path in sorted(folder.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from _marked(tree, str(path.relative_to(folder.parent)), _module_marks(tree))


def _marked(
    node: ast.Module | ast.ClassDef, place: str, inherited: frozenset[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            yield from _marked(child, f"{place}::{child.name}", inherited | _ids(child.decorator_list))
        elif isinstance(child, ast.FunctionDef) and child.name.startswith("test"):
            yield f"{place}::{child.name}", inherited | _ids(child.decorator_list)


def _module_marks(tree: ast.Module) -> frozenset[str]:
    """Ids of ``pytestmark = ...`` at the top of a module."""
    marks = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)
    ]
    return _ids([inner for mark in marks for inner in (mark.elts if isinstance(mark, ast.List) else [mark])])


def _ids(decorators: list[ast.expr]) -> frozenset[str]:
    return frozenset(
        argument.value
        for decorator in decorators
        if isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Attribute)
        and decorator.func.attr == "requirement"
        for argument in decorator.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    )
