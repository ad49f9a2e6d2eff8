"""Measures the runs on benchmarks behind the tables and figures of README and docs, and writes them: `make results`.

    python scripts/results.py [DATA] [--device cuda] [--minutes 25] [--jobs 4]    # measure what is missing
    python scripts/results.py [DATA] --page                                       # write the pages

Each run is kept in docs/reproduce/cells as soon as it is measured, with a fingerprint of its settings and of the code;
repeating the command continues with those that are missing, or that other code has measured. Runs whose time is shown
come first, one at a time; the others, of which several may run at once, follow.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import tables
from _records import REPOSITORY, measuring
from emea.reproduce import by_seeds, item, reproduce
from emea.reproduce._cells import Measured, Plan
from emea.reproduce._systems import EMEA_SUP
from emea.runs.store import Cell

RATIOS, SETS = tables.RATIOS, tables.SETS
SPLITS = (26, 27, 28)  # of the paper's systems


@dataclass(frozen=True)
class Part:
    """A table or figure of the paper, and what it is measured on."""

    name: str
    sets: tuple[str, ...] = ("zh_en",)
    splits: tuple[int, ...] = SPLITS[:1]
    presets: tuple[str, ...] = ()

    def plan(self, data: Path, device: str) -> Plan:
        """Its plan."""
        folders = tuple(data / "dbp15k" / name for name in self.sets)
        return Plan(folders, RATIOS, self.splits, self.presets, device, REPOSITORY / "docs" / "reproduce")


PARTS = (
    Part("times", presets=("fast",)),
    Part("table1", SETS, SPLITS, ("fast",)),
    Part("appendix-a"),
    Part("fig5"),
    Part("table2", SETS),
    Part("table3", SETS, SPLITS, ("fast",)),
    Part("fig4"),
    Part("questions"),
    Part("fig6"),
    Part("fig7"),
)


def timed() -> Iterator[Cell]:
    """The runs whose time is shown."""
    yield from tables.cells(1)
    yield from (Cell(system, "zh_en", ratio, SPLITS[0]) for system in (EMEA_SUP, tables.FAST) for ratio in RATIOS)


def others(data: Path, device: str) -> list[Cell]:
    """All other runs: first the headline and Table 1; those on the same seeds next to each other."""
    of_parts = {part.name: [*item(part.name).cells(part.plan(data, device))] for part in PARTS}
    first = by_seeds([*tables.cells(), *of_parts["table1"]])
    rest = by_seeds([*(cell for cells in of_parts.values() for cell in cells), *tables.ablations()])
    shown = {*timed()}
    return [cell for cell in dict.fromkeys([*first, *rest]) if cell not in shown]


def measure(cells: list[Cell], measured: Measured, until: float) -> int:
    """Measure what is missing or stale, as long as there is time; how many are left."""
    missing = [cell for cell in cells if not measured.load(cell) or measured.stale(cell)]
    for number, cell in enumerate(missing):
        if time.monotonic() > until:
            return len(missing) - number
        started = time.monotonic()
        measured.measure(cell)
        print(f"{cell.name}: {time.monotonic() - started:.1f} s", flush=True)
    return 0


def main() -> None:
    """Measure, or write the pages."""
    parser = measuring(__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="Runs at once, of those whose time is not shown.")
    parser.add_argument("--share", type=int, help=argparse.SUPPRESS)  # of the others, measured by one of the jobs
    chosen = parser.parse_args()
    if chosen.page:
        for part in PARTS:
            reproduce([part.name], part.plan(chosen.data, "cpu"), enough=lambda: True)
        tables.write(chosen.data)
        return
    plan, until = tables.plan(chosen.data, chosen.device), time.monotonic() + 60 * chosen.minutes
    rest = others(chosen.data, chosen.device)
    groups = list(dict.fromkeys((cell.data, cell.ratio, cell.split) for cell in rest))
    if chosen.share is not None:
        own = [cell for cell in rest if groups.index((cell.data, cell.ratio, cell.split)) % chosen.jobs == chosen.share]
        print(f"{measure(own, Measured(replace(plan, jobs=chosen.jobs)), until)} left", flush=True)
        return
    if measure([*timed()], Measured(plan), until) == 0:
        left = str((until - time.monotonic()) / 60)
        jobs = [
            subprocess.Popen([sys.executable, *sys.argv, "--minutes", left, "--share", str(share)])
            for share in range(chosen.jobs)
        ]
        ended = [job.wait() for job in jobs]
        sys.exit(any(ended))


if __name__ == "__main__":
    main()
