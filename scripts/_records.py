"""What the measuring scripts share: cells kept in JSON as they are measured, and sections of docs/results.md."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

REPOSITORY = Path(__file__).parents[1]


def commit() -> str:
    """Of this tree, with a plus where something in it is not committed."""
    told = [
        subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout.strip()
        for words in (("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "--untracked-files=no", "src"))
    ]
    return told[0] + "+" * bool(told[1])


def write_sections(text: str) -> None:
    """Put sections into docs/results.md, each in the place of the one with its heading, or at the end; what stands
    before the first heading, if anything, begins the page."""
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
    """Put a text between the comments that mark its place in a page."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    path.write_text(f"{before}{begin}{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def options(about: str | None, cells: str, preset: str | None = None) -> argparse.Namespace:
    """The options of a script that measures cells, by a preset where it names one."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, default=REPOSITORY / ".data")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--minutes", type=float, default=60.0, help="no cell is begun after this")
    parser.add_argument("--cells", type=Path, default=REPOSITORY / "docs" / cells)
    parser.add_argument("--page", action="store_true", help="write the page and measure nothing")
    parser.add_argument("--commit", help="of this tree, where git cannot tell")
    if preset is not None:
        parser.add_argument("--preset", default=preset)
    chosen = parser.parse_args()
    chosen.commit = chosen.commit or commit()
    return chosen


def read_cells(path: Path) -> dict[str, Any]:
    """What was measured before, by name."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else {}
    return found


def machine(device: str) -> str:
    """The kind of machine, in words."""
    card = torch.cuda.get_device_name() if device.startswith("cuda") else platform.machine()
    return f"torch {torch.__version__}, {card}"


def measure_missing(
    names: Iterable[str], measure: Callable[[str], dict[str, Any]], chosen: argparse.Namespace
) -> dict[str, Any]:
    """Measure each cell that is missing, within the time, and keep it at once; returns all that are measured."""
    cells, begun = read_cells(chosen.cells), time.monotonic()
    for name in names:
        if name in cells:
            continue
        if time.monotonic() - begun > 60 * chosen.minutes:
            break
        cells[name] = {"commit": chosen.commit, "machine": machine(chosen.device), **measure(name)}
        chosen.cells.write_text(json.dumps({"cells": cells}, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: {cells[name]['shown']}", flush=True)
    return cells
