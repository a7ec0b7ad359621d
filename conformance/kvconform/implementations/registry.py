"""From what a user names to a factory of implementations.

``reference``, ``mlx-lm``
    a registered name: the entry-point group ``kvconform.implementations``, or one that the suite ships;
``reference@mlx-lm``
    a registered name whose factory takes one argument, here a dialect;
``my_package.module:factory``
    any factory that can be imported;
``exec:./driver --flag``
    a process that speaks the wire;
``fault:tie-goes-high``
    a wrong implementation out of the catalogue, to see how the suite tells of it.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, cast

from ..implementation import Implementation, Info, StartFailed

GROUP = "kvconform.implementations"
EXEC = "exec:"
FAULT = "fault:"
SHIPPED: Mapping[str, str] = MappingProxyType(
    {
        "reference": "kvconform.implementations.reference:factory",
        "mlx-lm": "kvconform.implementations.mlx_lm:factory",
    }
)
"""What the suite brings itself: works from a checkout too, where no entry points are installed."""

Factory = Callable[[], Implementation]


def resolve_implementation(spec: str) -> Factory:
    """The factory that ``spec`` names; each call starts a new implementation.

    ``StartFailed`` says what is wrong and what to do: here for a spec that names nothing or cannot be
    imported, from the factory when the implementation does not start or is none.
    """
    if spec.startswith(EXEC):
        return partial(_start, spec, _process_factory(spec))
    name, _, argument = spec.partition("@")
    if name.startswith(FAULT):
        return partial(_start, spec, partial(_start_fault, name.removeprefix(FAULT), argument or None))
    factory = _load(spec, registered().get(name) or _imported_target(spec, name))
    return partial(_start, spec, partial(factory, argument) if argument else factory)


def registered() -> dict[str, str]:
    """Every registered name with its ``module:attribute``; installed ones come before those shipped."""
    installed = {point.name: point.value for point in sorted(entry_points(group=GROUP), key=_by_name)}
    return {**SHIPPED, **installed}


def _by_name(point: EntryPoint) -> str:
    return point.name


def _imported_target(spec: str, name: str) -> str:
    module, colon, attribute = name.partition(":")
    if colon and module and attribute:
        return name
    raise StartFailed(
        f"implementation {spec!r} is not known; the names are {', '.join(sorted(registered()))}; "
        f"or give module:factory, or exec:COMMAND"
    )


def _load(spec: str, target: str) -> Callable[..., Any]:
    """The callable at ``module:attribute``; ``StartFailed`` when the import or the look-up fails."""
    module_name, _, attribute = target.partition(":")
    try:
        found: Any = import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # a script that is meant to be run ends itself
        raise StartFailed(f"implementation {spec!r}: {_import_problem(target, error)}") from error
    if not callable(found):
        raise StartFailed(
            f"implementation {spec!r}: {target} is a {type(found).__name__} and cannot be called; "
            f"name a function that returns an implementation"
        )
    return found


def _import_problem(target: str, error: BaseException) -> str:
    module_name, _, attribute = target.partition(":")
    if isinstance(error, ModuleNotFoundError) and error.name and _is_within(module_name, error.name):
        return f"there is no module {error.name}; install it, or put its folder on PYTHONPATH"
    if isinstance(error, AttributeError) and module_name in sys.modules:
        return f"module {module_name} has no {attribute}; check the name after the colon"
    return f"importing {module_name} fails: {_last_line(error)}; fix that, then try again"


def _is_within(module_name: str, missing: str) -> bool:
    """Whether the missing module is the named one or a package above it, not something that it imports."""
    return module_name == missing or module_name.startswith(f"{missing}.")


def _last_line(error: BaseException) -> str:
    """The exception in one line; of a file that is no Python also where, which Python puts before it."""
    if isinstance(error, SyntaxError) and error.filename:
        line = f": {error.text.strip()}" if error.text else ""
        return f"{type(error).__name__}: {error.msg}, in {error.filename}, line {error.lineno}{line}"
    return " ".join("".join(traceback.format_exception_only(error)).split())


def _process_factory(spec: str) -> Callable[[], Any]:
    command = spec.removeprefix(EXEC).strip()
    if not command:
        raise StartFailed(f"implementation {spec!r} names no command; give one, e.g. exec:./driver --flag")
    return partial(_start_process, command)


def _start_process(command: str) -> Any:
    from ..wire.process import ProcessImplementation  # only this way in needs the wire

    return ProcessImplementation(command)


def _start_fault(name: str, dialect: str | None) -> Any:
    from ..faults import faulty  # only this way in needs the catalogue

    return faulty(name, dialect)


def _start(spec: str, factory: Callable[[], Any]) -> Implementation:
    """Calls the factory; ``StartFailed`` when it raises or gives something else."""
    try:
        made = factory()
    except StartFailed:
        raise
    except (Exception, SystemExit) as error:
        raise StartFailed(f"implementation {spec!r} does not start: {_last_line(error)}") from error
    return checked_implementation(spec, made)


def checked_implementation(spec: str, made: Any) -> Implementation:
    """What a factory gave, if it is an implementation."""
    try:
        is_one = isinstance(made, Implementation)
        info: Any = made.info if is_one else None
    except Exception as error:
        raise StartFailed(
            f"implementation {spec!r}: asking for its info fails: {_last_line(error)}; fix that"
        ) from error
    if not is_one:
        raise StartFailed(
            f"implementation {spec!r}: the factory returned a {type(made).__name__}, "
            f"which has no `info` and `run(scenario)`; return an object that has both"
        )
    if isinstance(info, Mapping):
        return _described(spec, made, cast("Mapping[str, Any]", info))
    if not isinstance(info, Info):
        raise StartFailed(
            f"implementation {spec!r}: its info is a {type(info).__name__}; "
            f"give a kvconform.Info, which says who it is and what it declares, or its JSON form as a dict"
        )
    return made


def _described(spec: str, made: Implementation, info: Mapping[str, Any]) -> Implementation:
    """An implementation that says who it is with a dict."""
    from ..json_form import Described, info_of  # only what is given in this form needs it

    try:
        return Described(made, info_of(info))
    except ValueError as error:
        raise StartFailed(
            f"implementation {spec!r}: its info is a dict, but {error}; "
            f"correct that, or give a kvconform.Info (docs/drivers/python.md)"
        ) from error
