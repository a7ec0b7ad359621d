"""From what a user names to an implementation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from kvconform.implementation import StartFailed
from kvconform.implementations import registry
from kvconform_reference.dialect import DIALECTS


@pytest.fixture
def my_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module with one good factory and all the ways of being wrong."""
    (tmp_path / "registry_subject.py").write_text(
        "from kvconform.implementations.reference import factory\n"
        "def broken():\n    raise OSError('no device')\n"
        "def nothing():\n    return 3\n"
        "number = 3\n"
        "def quits():\n    raise SystemExit('not today')\n"
        "class Empty:\n    info = 3\n    def run(self, scenario): ...\n"
        "class Shy(Empty):\n    info = property(lambda self: 1 / 0)\n"
        "class Nested:\n    make = staticmethod(factory)\n"
    )
    (tmp_path / "registry_broken.py").write_text("import no_such_module_anywhere\n")
    (tmp_path / "registry_script.py").write_text("import sys\nsys.exit('usage: script FILE')\n")
    (tmp_path / "registry_syntax.py").write_text("def (:\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("registry_subject", "registry_broken", "registry_script", "registry_syntax"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "registry_subject"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_reference_can_be_had_in_every_dialect(dialect: str) -> None:
    assert registry.resolve_implementation(f"reference@{dialect}")().info.dialect == dialect


def test_a_registered_name_gives_a_new_implementation_with_every_call() -> None:
    factory = registry.resolve_implementation("reference")
    assert factory().info.name == "reference"
    assert factory() is not factory()


def test_an_installed_entry_point_is_a_name(monkeypatch: pytest.MonkeyPatch, my_module: str) -> None:
    point = registry.EntryPoint(name="mine", value=f"{my_module}:factory", group=registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    assert registry.resolve_implementation("mine@mlx-lm")().info.dialect == "mlx-lm"
    assert set(registry.registered()) == {"mine", "mlx-lm", "reference"}


def test_shipped_names_work_where_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: [])
    assert registry.resolve_implementation("reference")().info.name == "reference"


@pytest.mark.parametrize("spec", ["registry_subject:factory", "registry_subject:Nested.make"])
def test_any_importable_factory_can_be_named(my_module: str, spec: str) -> None:
    assert registry.resolve_implementation(spec)().info.name == "reference"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nope", r"'nope' is not known; the names are mlx-lm, reference; or give module:factory, or exec:"),
        ("", r"is not known"),
        ("module:", r"is not known"),
        ("no_such_package.part:factory", r"there is no module no_such_package; install it"),
        ("registry_subject:missing", r"module registry_subject has no missing; check the name"),
        ("registry_subject:number", r"registry_subject:number is a int and cannot be called"),
        (
            "registry_broken:factory",
            r"importing registry_broken fails: .*No module named 'no_such_module_any",
        ),
        (
            "registry_syntax:factory",
            r"importing registry_syntax fails: SyntaxError: invalid syntax, "
            r"in [^\n]*registry_syntax.py, line 1: def \(:; fix that, then try again$",
        ),
        (
            "registry_script:factory",
            r"importing registry_script fails: SystemExit: usage: script FILE; fix that",
        ),
        ("exec:", r"names no command; give one, e.g. exec:\./driver"),
        ("exec:  ", r"names no command"),
    ],
)
def test_a_spec_that_names_nothing_says_what_to_do(my_module: str, spec: str, message: str) -> None:
    with pytest.raises(StartFailed, match=f"(?s){message}"):
        registry.resolve_implementation(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "reference@nope",
            r"does not start: ValueError: dialect 'nope' is not known; the names are proposal",
        ),
        ("registry_subject:broken", r"does not start: OSError: no device"),
        ("registry_subject:quits", r"does not start: SystemExit: not today"),
        ("registry_subject:Empty", r"its info is a int; give a kvconform.Info"),
        ("registry_subject:Shy", r"asking for its info fails: ZeroDivisionError: division by zero; fix"),
        ("registry_subject:broken@x", r"does not start: TypeError: broken\(\) takes 0 positional arguments"),
        (
            "registry_subject:nothing",
            r"the factory returned a int, which has no `info` and `run\(scenario\)`",
        ),
        ("exec:/no/such/driver", r"/no/such/driver"),
    ],
)
def test_an_implementation_that_does_not_start_says_why(my_module: str, spec: str, message: str) -> None:
    factory = registry.resolve_implementation(spec)
    with pytest.raises(StartFailed, match=message):
        factory()
