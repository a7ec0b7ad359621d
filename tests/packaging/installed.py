"""Run by the tox environment ``wheel``: what was installed is whole, and judged the reference by itself.

``python installed.py REPORT.json``: exit code 1 and a line for each thing that is missing.
"""

from __future__ import annotations

import json
import sys
from importlib import metadata, resources
from pathlib import Path

import kvconform
import kvconform_reference

CHECKOUT = Path(__file__).resolve().parents[2]
NEEDED = (
    "goldens/SCHEMA.json",
    "goldens/vectors/gs",
    "goldens/streams/llama-d64",
    "drivers/swift/Package.swift",
    "drivers/cpp/CMakeLists.txt",
    "drivers/rust/Cargo.toml",
    "drivers/javascript/package.json",
    "requirements/MQ.toml",
    "known_failures/mlx-lm.toml",
    "py.typed",
)


def problems(report: dict[str, object]) -> list[str]:
    """Everything that is wrong with the installation, a line each."""
    found = [f"{name} is not in the wheel" for name in NEEDED if not there(name)]
    for module in (kvconform, kvconform_reference):
        if Path(str(module.__file__)).resolve().is_relative_to(CHECKOUT / module.__name__):
            found.append(f"{module.__name__} was imported from the checkout: {module.__file__}")
    if metadata.version("kvconform") != kvconform.__version__:
        found.append(
            f"the version of the package is {metadata.version('kvconform')}, not {kvconform.__version__}"
        )
    if report["complete"] is not True:
        found.append("the report is not complete")
    outcomes = [entry["outcome"] for entry in report["requirements"]]  # type: ignore[index,union-attr]
    if outcomes.count("pass") < 100 or set(outcomes) - {"pass", "unsupported", "not run"}:
        found.append(f"the reference does not pass: {sorted(set(outcomes))}, {outcomes.count('pass')} passes")
    return found


def there(name: str) -> bool:
    """Whether a file or folder came with the package."""
    place = resources.files("kvconform").joinpath(name)
    return place.is_file() or place.is_dir()


if __name__ == "__main__":
    wrong = problems(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print("\n".join(wrong) or "the installed wheel is whole")
    sys.exit(bool(wrong))
