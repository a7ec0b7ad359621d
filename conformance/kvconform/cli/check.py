"""``kvconform check``: is everything wired right? A smoke test of a few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import typer

from ..errors import BROKEN


def check() -> None:
    """Check the installation: Python, packages, the reference on each kind of scenario, goldens, the pipe."""
    failed = False
    for name, probe in _probes():
        started = time.perf_counter()
        try:
            said = probe()
        except Exception as error:
            failed = True
            typer.echo(f"FAILED  {name}: {type(error).__name__}: {error}")
        else:
            typer.echo(f"ok      {name}: {said} ({time.perf_counter() - started:.2f} s)")
    raise typer.Exit(BROKEN if failed else 0)


Probe = Callable[[], str]


def _probes() -> Iterator[tuple[str, Probe]]:
    yield "Python", _python
    yield "packages", _packages
    yield "catalogue", _catalogue
    yield "reference", _reference
    yield "goldens", _goldens
    yield "pipe", _pipe


def _python() -> str:
    return f"{sys.version.split()[0]} at {sys.executable}"


def _packages() -> str:
    from ..installing import INSTALL_MLX
    from ..recorder import PACKAGES, versions

    needed = ("hypothesis", "pydantic", "pytest", "pytest-xdist", "rich", "typer")
    found = versions((*needed, *PACKAGES))
    missing = [package for package in needed if package not in found]
    if missing:
        raise RuntimeError(f"{', '.join(missing)} missing; install kvconform again")
    optional = "" if "mlx-lm" in found else f"; no mlx-lm, for judging it: {INSTALL_MLX}"
    return (
        ", ".join(f"{name} {found[name]}" for name in (*needed, "mlx", "mlx-lm") if name in found) + optional
    )


def _catalogue() -> str:
    from ..requirements import catalogue
    from ..suite import all_checks

    return f"{len(catalogue())} requirements, {len(all_checks())} checks"


def _reference() -> str:
    from kvconform_reference.dialect import PROPOSAL

    from ..oracle import ReferenceOracle
    from ..samples import SAMPLES

    oracle = ReferenceOracle(PROPOSAL)
    answers = {kind: oracle(scenario).kind for kind, scenario in SAMPLES.items()}
    wrong = [kind for kind, answer in answers.items() if answer != kind]
    if wrong:
        raise RuntimeError(f"the reference answers {wrong[0]} with {answers[wrong[0]]}")
    return f"answers {', '.join(answers)}"


def _goldens() -> str:
    from ..generate import golden
    from ..vectors import library

    vectors = library.all_vectors()
    streams = golden.read_all(golden.streams_folder())
    if not streams:
        raise RuntimeError(f"no streams below {golden.streams_folder()}; install kvconform again")
    return f"{len(vectors)} vectors, {len(streams)} streams, all readable"


def _pipe() -> str:
    from kvconform_reference.dialect import PROPOSAL

    from ..oracle import ReferenceOracle
    from ..samples import SAMPLES
    from ..session import context_of
    from ..vectors.compare import same
    from ..wire.process import ProcessImplementation

    command = [sys.executable, "-m", "kvconform", "serve", "reference"]
    with ProcessImplementation(command) as served:
        oracle, context = ReferenceOracle(PROPOSAL), context_of(served, budget="quick")
        for kind, scenario in SAMPLES.items():
            if not same(context, scenario, oracle(scenario), served.run(scenario)):
                raise RuntimeError(f"{kind}: the answer through the pipe differs from the one in process")
    return f"{len(SAMPLES)} round trips through kvconform serve"
