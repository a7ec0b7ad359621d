"""The pytest plugin: options, and the fixture through which the suite's tests examine an implementation.

Loaded by every pytest session of an environment that has this package, so it imports nothing of its own
until an option or the fixture asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .checks import Check
    from .session import Session

SUITE = "kvconform.suite."

MISSING = (
    "no implementation was named, so there is nothing to examine. "
    "Give one: pytest --pyargs kvconform.suite --kvconform NAME"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of ``docs/cli.md``."""
    group = parser.getgroup("kvconform", "conformance of dynamic KV-cache quantization")
    group.addoption(
        "--kvconform",
        metavar="NAME",
        help="the implementation to examine: a registered name, module:factory, or exec:COMMAND",
    )
    group.addoption(
        "--kvconform-requirement",
        metavar="ID",
        action="append",
        default=[],
        help="examine only this requirement (MQ-12) or area (MQ); may be repeated",
    )
    group.addoption(
        "--kvconform-budget",
        metavar="BUDGET",
        default="default",
        help="how much is generated: quick, default or thorough",
    )
    group.addoption("--kvconform-seed", metavar="N", type=int, help="seed of everything that is generated")
    group.addoption("--kvconform-log", metavar="FILE", help="write the event log to FILE")
    group.addoption(
        "--kvconform-known",
        metavar="FILE",
        help="known-failures file, or none; without it the shipped file of a shipped implementation",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Bring in the rest, if this session examines an implementation."""
    if config.getoption("--kvconform"):
        from .current_folder import search_the_current_folder
        from .judging import Judging

        search_the_current_folder()
        config.pluginmanager.register(Judging(config), "kvconform-judging")
    elif _names_the_suite(config) and not config.getoption("collectonly"):
        raise pytest.UsageError(MISSING)


def _names_the_suite(config: pytest.Config) -> bool:
    """Whether the command line asks for the suite, each test of which would fail alone without a name."""
    names = [argument.partition("::")[0] for argument in config.args]
    return bool(config.getoption("pyargs")) and any(f"{name}.".startswith(SUITE) for name in names)


@pytest.fixture(scope="session")
def kvconform_session(pytestconfig: pytest.Config) -> Iterator[Session]:
    """The implementation under examination, started once a process."""
    judging: Any = pytestconfig.pluginmanager.get_plugin("kvconform-judging")
    if judging is None:
        pytest.fail(MISSING, pytrace=False)
    yield from judging.session()


@pytest.fixture
def examine_check(request: pytest.FixtureRequest, kvconform_session: Session) -> Callable[[Check], None]:
    """Examines one check of the suite; ends the test as the result says."""
    judging: Any = request.config.pluginmanager.get_plugin("kvconform-judging")

    def examine(check: Check) -> None:
        judging.examine(kvconform_session, check, request.node)

    return examine
