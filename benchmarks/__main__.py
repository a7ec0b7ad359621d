"""``python -m benchmarks``: every timing of the suite in one run, as a table and as JSON.

Run it alone, on a quiet machine. Ratios are taken within the run; no test asserts a number. ``iterator.py``
beside this file is a benchmark of its own: it needs real models.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import processes, scenarios
from .measuring import Row, as_data, machine

SECTIONS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "scenarios": lambda _options: scenarios.rates(scenarios.asked()),
    "validation": lambda _options: scenarios.validation(scenarios.asked()),
    "suite": lambda options: scenarios.areas(("quick",) if options.quick else ("quick", "default")),
    "kill": lambda options: processes.faults("quick" if options.quick else "default"),
    "workers": lambda _options: processes.workers(),
    "wire": lambda _options: processes.wire(),
}


def main() -> int:
    """Measure the sections that are named, all of them by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="only the quick budget")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers")
    options = parser.parse_args()
    unknown = [name for name in options.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"section {unknown[0]!r} is not known; they are {', '.join(SECTIONS)}")
    rows: list[Row] = []
    for name in options.sections or SECTIONS:
        print(f"measuring {name} ...", file=sys.stderr)
        rows += SECTIONS[name](options)
    show(rows)
    if options.json is not None:
        document = {"machine": machine(), "rows": as_data(rows)}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


def show(rows: list[Row]) -> None:
    """Print one table a section."""
    console = Console(highlight=False, markup=False)
    for section in dict.fromkeys(row.section for row in rows):
        table = Table(title=section, title_justify="left", box=None, pad_edge=False, show_header=False)
        table.add_column(min_width=34)
        table.add_column(justify="right")
        for row in rows:
            if row.section == section:
                table.add_row(row.what, f"{_number(row.value)} {row.unit}", row.beside)
        console.print(table)
        console.print()


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"


if __name__ == "__main__":
    raise SystemExit(main())
