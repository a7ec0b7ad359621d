"""Mutation testing of the reference: ``python mutation/run.py [MODULE...]``, ``tox run -e mutation``.

Each module of :data:`MODULES` is mutated by cosmic-ray in a copy of the project, since mutants are written to
the source. A mutant that no test kills must stand in ``equivalent.toml`` with the reason why nothing can tell
it from the original; exit code 1 otherwise, and also when an entry there is no longer a survivor.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CONFIGS = ROOT / "mutation"
MODULES = ("group_size", "policy", "container", "iterator", "affine")
COPIED = ("reference", "conformance", "tests", "goldens", "docs", "pyproject.toml", "mutation")


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one line, and whether a test noticed."""

    module: str
    before: str
    after: str
    line: int
    survived: bool

    @property
    def key(self) -> tuple[str, str, str]:
        """What an entry of ``equivalent.toml`` is found by."""
        return self.module, self.before, self.after


def main(arguments: list[str] | None = None) -> int:
    """Mutate the modules that are named, all of them by default; print what survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(MODULES)}; default: all")
    parser.add_argument("--record", action="store_true", help="write the counts to results.json")
    options = parser.parse_args(arguments)
    unknown = [module for module in options.modules if module not in MODULES]
    if unknown:
        parser.error(f"module {unknown[0]!r} is not among {', '.join(MODULES)}")
    known = {(entry["module"], entry["before"], entry["after"]) for entry in equivalents()}
    failed = False
    with tempfile.TemporaryDirectory(prefix="kvconform-mutation-") as folder:
        copy_project(Path(folder))
        for module in options.modules or MODULES:
            mutants = list(mutate(module, Path(folder)))
            failed |= report(module, mutants, known)
            if options.record:
                record(module, mutants)
    return int(failed)


def record(module: str, mutants: list[Mutant]) -> None:
    """Write a module's counts beside those of the others."""
    path = CONFIGS / "results.json"
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    results[module] = {
        "mutants": len(mutants),
        "killed": sum(not mutant.survived for mutant in mutants),
    }
    ordered = {name: results[name] for name in MODULES if name in results}
    path.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def equivalents() -> list[dict[str, str]]:
    """The entries of ``equivalent.toml``."""
    data = tomllib.loads((CONFIGS / "equivalent.toml").read_text(encoding="utf-8"))
    return data["equivalent"]


def copy_project(folder: Path) -> None:
    """What the tests need, without what was built or cached."""
    for name in COPIED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(
                source, target, ignore=shutil.ignore_patterns("__pycache__", ".*", "target", "build")
            )
        else:
            shutil.copy(source, target)


def mutate(module: str, folder: Path) -> Iterator[Mutant]:
    """Run every mutant of a module."""
    config, session = str(folder / "mutation" / f"{module}.toml"), str(folder / f"{module}.sqlite")
    run(folder, "cosmic-ray", "init", config, session)
    run(folder, "cr-filter-operators", session, config)
    run(folder, "cosmic-ray", "baseline", config)
    run(folder, "cosmic-ray", "exec", config, session)
    for line in run(folder, "cosmic-ray", "dump", session).splitlines():
        item, result = json.loads(line)
        if result is not None and result["test_outcome"] is not None:
            yield mutant_of(module, item, result)


def run(folder: Path, *command: str) -> str:
    """What the command prints; its copy of the project comes before an installed one."""
    paths = [str(folder / "reference"), str(folder / "conformance"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def mutant_of(module: str, item: dict[str, Any], result: dict[str, Any]) -> Mutant:
    """The mutant of one record of cosmic-ray's session."""
    removed, added = [], []
    for line in (result["diff"] or "").splitlines():
        if line.startswith("-") and not line.startswith("---"):
            removed.append(line[1:].strip())
        elif line.startswith("+") and not line.startswith("+++"):
            added.append(line[1:].strip())
    return Mutant(
        module=module,
        before=" ".join(removed),
        after=" ".join(added),
        line=item["mutations"][0]["start_pos"][0],
        survived=result["test_outcome"] == "survived",
    )


def report(module: str, mutants: list[Mutant], known: set[tuple[str, str, str]]) -> bool:
    """Print the verdict on a module; whether something is wrong."""
    survivors = {mutant.key: mutant for mutant in mutants if mutant.survived}
    surprising = [mutant for key, mutant in survivors.items() if key not in known]
    stale = [key for key in known if key[0] == module and key not in survivors]
    print(
        f"{module}: {len(mutants)} mutants, {len(mutants) - len(survivors)} killed, "
        f"{len(survivors) - len(surprising)} equivalent, {len(surprising)} survived"
    )
    for mutant in surprising:
        print(f"  line {mutant.line}\n    - {mutant.before}\n    + {mutant.after}")
    for key in stale:
        print(f"  stale in equivalent.toml:\n    - {key[1]}\n    + {key[2]}")
    return bool(surprising or stale)


if __name__ == "__main__":
    sys.exit(main())
