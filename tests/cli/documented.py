"""What the program itself says of its options, in the form of ``docs/cli.md``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import typer
from _pytest.config.argparsing import Parser
from kvconform import plugin
from kvconform.cli.app import app


def option_tables() -> dict[str, list[str]]:
    """Command to the rows of its table."""
    commands = dict(_commands(typer.main.get_command(app)))
    return {name: [_row(parameter) for parameter in command.params] for name, command in commands.items()}


def plugin_rows() -> list[str]:
    """The rows of the pytest plugin's options."""
    parser = Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    options: list[argparse.Action] = parser.getgroup("kvconform").options  # pyright: ignore
    return [_plugin_row(option.attrs()) for option in options]  # pyright: ignore


def _plugin_row(attributes: dict[str, Any]) -> str:
    name = "--" + attributes["dest"].replace("_", "-")
    return f"| `{name} {attributes['metavar']}` | {_sentence(attributes['help'])} |"


def _commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if getattr(command, "commands", None):
            yield from _commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def _row(parameter: Any) -> str:
    metavar = (parameter.metavar or "").replace("|", "\\|")
    if parameter.param_type_name == "argument":
        return f"| `{metavar}` | {_sentence(parameter.help)} |"
    *others, last = parameter.opts
    names = [f"`{name}`" for name in others] + [f"`{last} {metavar}`" if metavar else f"`{last}`"]
    return f"| {', '.join(names)} | {_sentence(parameter.help)} |"


def _sentence(text: str) -> str:
    return (text[0].upper() + text[1:]).replace("|", "\\|").rstrip(".")
