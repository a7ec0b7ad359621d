"""mlx-lm in its child process: a crash costs one scenario, and the parent stays clear of MLX."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from kvconform.implementation import Crash, StartFailed
from kvconform.implementations import mlx_lm
from kvconform.installing import INSTALL_MLX
from kvconform.scenario import SCENARIO
from mlx_lm_scenes import S, mq

pytestmark = pytest.mark.mlx


def scenario(kind: str, **fields: Any) -> Any:
    return SCENARIO.validate_python({"kind": kind, **fields}, strict=False)


HEALTHY = scenario("resolve", requested=64, key_dim=64, value_dim=64)


@pytest.fixture(scope="module")
def child() -> Iterator[Any]:
    if (missing := mlx_lm.missing_packages()) and not os.environ.get("CI"):
        pytest.skip(f"{' and '.join(missing)} not installed: {INSTALL_MLX}")
    with mlx_lm.factory() as implementation:
        yield implementation


@pytest.mark.requirement("GS-11")
@pytest.mark.parametrize(
    "zero",
    [
        scenario("resolve", requested=0, key_dim=64, value_dim=64),
        scenario("container", layers=[S(5)], steps=[mq(group_size=0)]),
    ],
    ids=["resolve", "pass"],
)
def test_a_group_size_of_zero_kills_the_child_and_the_next_scenario_is_answered(
    child: Any, zero: Any
) -> None:
    with pytest.raises(Crash) as crash:
        child.run(zero)
    assert crash.value.signal == "SIGFPE"
    assert child.run(HEALTHY).group_size == 64


def test_the_child_answers_as_the_adapter_in_this_process(child: Any, adapter: Any) -> None:
    assert child.info == adapter.info
    wanted = scenario("container", layers=[S(12), S(3)], steps=[mq(start=10)], observe={"content": True})
    assert child.run(wanted) == adapter.run(wanted)


def test_the_module_of_the_factory_imports_no_mlx() -> None:
    program = (
        "import sys, kvconform.implementations.mlx_lm\n"
        "found = [name for name in sys.modules if name.split('.')[0] in ('mlx', 'mlx_lm', 'numpy')]\n"
        "sys.exit(str(found) if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_the_packages_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlx_lm, "missing_packages", lambda: ("mlx-lm",))
    with pytest.raises(StartFailed, match=re.escape(f"no mlx-lm; {INSTALL_MLX}")):
        mlx_lm.factory()
