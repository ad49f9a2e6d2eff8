"""Measured runs: each is kept in a file of its own as soon as it is measured, and measured once."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from emea.formats._files import writing


@dataclass(frozen=True)
class System:
    """What is run: a preset and what is changed in it."""

    name: str
    preset: str = "paper"
    changes: tuple[str, ...] = ()
    decoding: str = "csls"  # by which it is ranked
    emits: bool = False  # it answers with links, which the paper counts as its Hit@1
    at_once: bool = False  # the encoder alone, in one fit, for as many epochs as all the rounds take

    def but(self, name: str, *changes: str) -> System:
        """The same with more changes, under another name."""
        return replace(self, name=name, changes=(*self.changes, *changes))


@dataclass(frozen=True)
class Cell:
    """One run of a system."""

    system: System
    data: str  # name of the benchmark
    ratio: float | None  # share of the links given as seeds; None: a fold of OpenEA
    split: int  # number of the random split, or of the fold

    @property
    def name(self) -> str:
        """The run in words."""
        amount = f"fold {self.split}" if self.ratio is None else f"{100 * self.ratio:g}%, split {self.split}"
        return f"{self.system.name}, {self.data}, {amount}"


class Store:
    """A folder of records, one for each run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str, variant: str = "") -> Path:
        """Where the record of a run is kept; a variant is kept beside the run."""
        slug = re.sub(r"[^a-z0-9.]+", "-", name.lower().replace("%", "")).strip("-")
        return self.folder / f"{slug}{'-' * bool(variant)}{variant}.json"

    def read(self, name: str, variant: str = "") -> dict[str, Any] | None:
        """The record of a run; None if it is not there or incomplete, and has to be measured again."""
        try:
            record = json.loads(self.path(name, variant).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return record if isinstance(record, dict) else None

    def write(self, name: str, record: dict[str, Any], variant: str = "") -> None:
        """Keep the record of a run."""
        path = self.path(name, variant)
        path.parent.mkdir(parents=True, exist_ok=True)
        with writing(path) as file:
            file.write((json.dumps(record) + "\n").encode())
