"""What the measuring scripts share: options, runs that are measured once and kept, and sections of pages in docs."""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from emea.kernels.devices import machine
from emea.runs.fingerprint import code_fingerprint
from emea.runs.store import Cell, Store

REPOSITORY = Path(__file__).parents[1]
Records = dict[Cell, dict[str, Any]]


def commit() -> str:
    """The commit of this tree, with a plus if src has uncommitted changes."""
    said = [
        subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout.strip()
        for words in (("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "--untracked-files=no", "src"))
    ]
    return said[0] + "+" * bool(said[1])


def with_data(about: str | None) -> argparse.ArgumentParser:
    """A parser for a script that reads the benchmark graphs."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("EMEA_DATA", REPOSITORY / ".data"))
    parser.add_argument(
        "data", nargs="?", type=Path, default=default, help="Folder of benchmark graphs (default: EMEA_DATA or .data)."
    )
    return parser


def measuring(about: str | None) -> argparse.ArgumentParser:
    """A parser for a script that measures runs and keeps them."""
    parser = with_data(about)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="Device to run on.")
    parser.add_argument("--minutes", type=float, default=60.0, help="Start no run after this long.")
    parser.add_argument("--page", action="store_true", help="Write the pages from the runs, and measure nothing.")
    return parser


def read_records(cells: Iterable[Cell], folder: Path) -> Records:
    """The runs that are already measured."""
    store, found = Store(folder), {}
    for cell in cells:
        record = store.read(cell.name)
        if record is not None:
            found[cell] = record
    return found


def measure_missing(
    cells: Iterable[Cell], measure: Callable[[Cell], dict[str, Any]], folder: Path, chosen: argparse.Namespace
) -> None:
    """Measure each run that is missing, or that other code has measured, as long as there is time; keep it at once."""
    store, begun = Store(folder), time.monotonic()
    made_by = {
        "code": code_fingerprint(),
        "machine": f"torch {torch.__version__}, {machine(torch.device(chosen.device))}",
    }
    for cell in cells:
        if (store.read(cell.name) or {}).get("code") == made_by["code"]:
            continue
        if time.monotonic() - begun > 60 * chosen.minutes:
            break
        record = {**made_by, **measure(cell)}
        store.write(cell.name, record)
        print(f"{cell.name}: {record['shown']}", flush=True)


def write_sections(text: str) -> None:
    """Write sections into docs/results.md, each in place of the one with its heading, or at the end; text before the
    first heading replaces the start of the page."""
    path = REPOSITORY / "docs" / "results.md"
    start, *sections = path.read_text(encoding="utf-8").split("\n## ")
    new_start, *new = f"\n{text}".split("\n## ")
    place = {section.partition("\n")[0]: number for number, section in enumerate(sections)}
    for section in new:
        number = place.get(section.partition("\n")[0], len(sections))
        sections[number : number + 1] = [section]
    parts = [new_start.strip("\n") or start, *sections]
    path.write_text("\n## ".join(part.rstrip("\n") + "\n" for part in parts), encoding="utf-8")


def write_block(path: Path, name: str, text: str) -> None:
    """Write a text between the comments that mark its place in a page."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    path.write_text(f"{before}{begin}{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")
