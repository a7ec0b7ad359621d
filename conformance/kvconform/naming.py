"""Refuses a name that names nothing, before anything is started or imported."""

from __future__ import annotations

from importlib.util import find_spec

from .errors import UserError, near_matches
from .implementations.registry import EXEC, FAULT, registered


def check_spec(spec: str) -> None:
    """Refuse an implementation's name that names nothing; :class:`UserError` says what would.

    Whether what it names can be imported and started is seen when it is.
    """
    if spec.startswith(EXEC):
        _check_command(spec)
        return
    name = spec.partition("@")[0]
    if name in registered():
        return
    if name.startswith(FAULT):
        _check_fault(spec, name.removeprefix(FAULT))
    else:
        _check_factory(spec, name)


def _check_command(spec: str) -> None:
    if not spec.removeprefix(EXEC).strip():
        raise UserError(f"implementation {spec!r} names no command. Give one, such as exec:./driver.")


def _check_fault(spec: str, fault: str) -> None:
    from .faults import catalogued  # only this way in needs the catalogue

    if fault not in catalogued():
        near = near_matches(fault, list(catalogued()))
        raise UserError(f"implementation {spec!r}: there is no such fault{near}. docs/faults.md lists them.")


def _check_factory(spec: str, name: str) -> None:
    module, colon, factory = name.partition(":")
    if not colon:
        names = sorted(registered())
        raise UserError(
            f"implementation {spec!r} is not known{near_matches(spec, names)}. "
            f"Give {', '.join(names)}, module:factory, or exec:COMMAND."
        )
    if not module or not factory:
        missing = "function after the colon" if module else "module before the colon"
        raise UserError(f"implementation {spec!r} names no {missing}. Give module:factory.")
    if not _can_be_found(module.partition(".")[0]):
        raise UserError(
            f"implementation {spec!r}: there is no module {module}. "
            "Install it, or put its folder on PYTHONPATH; the current folder is searched too."
        )


def _can_be_found(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # an empty name, or a module that was made by hand, such as __main__
        return bool(package)
