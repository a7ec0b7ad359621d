"""Mutation testing of the reference: ``python mutation/run.py [MODULE...]``, ``tox run -e mutation``.

Each module of :data:`MODULES` is mutated by cosmic-ray in a copy of the project, since mutants are written to
the source. A mutant that no test kills must stand in ``equivalent.toml`` with the reason why nothing can tell
it from the original; exit code 1 otherwise, and also when an entry there is no longer a survivor. The tests
draw the same examples for every mutant (``mutant_profile.py``), so that a run repeats the one before it.
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

Key = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one line, and whether a test noticed."""

    module: str
    definition: str
    """The function or class that it is in; empty outside of any."""
    before: str
    after: str
    line: int
    survived: bool

    @property
    def key(self) -> Key:
        """What an entry of ``equivalent.toml`` is found by."""
        return self.module, self.definition, self.before, self.after


def main(arguments: list[str] | None = None) -> int:
    """Mutate the modules that are named, all of them by default; print what survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(MODULES)}; default: all")
    parser.add_argument("--record", action="store_true", help="write the counts to results.json")
    options = parser.parse_args(arguments)
    unknown = [module for module in options.modules if module not in MODULES]
    if unknown:
        parser.error(f"module {unknown[0]!r} is not among {', '.join(MODULES)}")
    known = {
        (entry["module"], entry["definition"], entry["before"], entry["after"]) for entry in equivalents()
    }
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
    results: dict[str, dict[str, int]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
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
    """Run every mutant of a module that is Python: of the `*` in a signature, most are not."""
    config, session = str(folder / "mutation" / f"{module}.toml"), str(folder / f"{module}.sqlite")
    run(folder, "cosmic-ray", "init", config, session)
    run(folder, "cr-filter-operators", session, config)
    run(folder, "cosmic-ray", "baseline", config)
    run(folder, "cosmic-ray", "exec", config, session)
    for line in run(folder, "cosmic-ray", "dump", session).splitlines():
        item, result = json.loads(line)
        if result is None or result["test_outcome"] is None:  # filtered out
            continue
        if "SyntaxError" not in (result["output"] or ""):
            yield mutant_of(module, item, result)


def run(folder: Path, *command: str) -> str:
    """What the command prints; its copy of the project comes before an installed one."""
    own = [str(folder / name) for name in ("reference", "conformance", "mutation")]
    paths = [*own, os.environ.get("PYTHONPATH", "")]
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
    removed: list[str] = []
    added: list[str] = []
    for line in (result["diff"] or "").splitlines():
        if line.startswith("-") and not line.startswith("---"):
            removed.append(line[1:].strip())
        elif line.startswith("+") and not line.startswith("+++"):
            added.append(line[1:].strip())
    mutation = item["mutations"][0]
    return Mutant(
        module=module,
        definition=mutation["definition_name"] or "",
        before=" ".join(removed).strip(),
        after=" ".join(added).strip(),
        line=mutation["start_pos"][0],
        survived=result["test_outcome"] == "survived",
    )


def report(module: str, mutants: list[Mutant], known: set[Key]) -> bool:
    """Print the verdict on a module; whether something is wrong."""
    survivors = [mutant for mutant in mutants if mutant.survived]
    surprising = [mutant for mutant in survivors if mutant.key not in known]
    stale = sorted(key for key in known - {mutant.key for mutant in survivors} if key[0] == module)
    print(
        f"{module}: {len(mutants)} mutants, {len(mutants) - len(survivors)} killed, "
        f"{len(survivors) - len(surprising)} equivalent, {len(surprising)} survived"
    )
    for mutant in surprising:
        print(f"  line {mutant.line}, in {mutant.definition}\n    - {mutant.before}\n    + {mutant.after}")
    for _, definition, before, after in stale:
        print(f"  stale in equivalent.toml, in {definition}:\n    - {before}\n    + {after}")
    return bool(surprising or stale)


if __name__ == "__main__":
    sys.exit(main())
