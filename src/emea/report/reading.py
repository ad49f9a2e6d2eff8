"""A finished run as its folder tells it, for whoever reads about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from emea.errors import InputError
from emea.runs.folder import ENGINE, LAST, check_run, written_table
from emea.runs.tables import column_names, read_whole
from emea.settings import read_config

LINKS = "alignment.tsv"
NUMBERS = ("confidence", "similarity", "probability", "source_in_target", "target_in_source", "triples")


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """The files of a run folder; None for those that it lacks."""

    folder: Path
    settings: dict[str, Any]
    about: dict[str, Any]  # the inputs and sizes
    links: pa.Table
    summary: dict[str, Any]
    rounds: list[dict[str, Any]]
    relations: pa.Table | None
    unlinked: pa.Table | None
    measures: dict[str, Any] | None
    engine: dict[str, Any] | None  # where the work ran, if not here

    @classmethod
    def read(cls, folder: Path) -> FinishedRun:
        """All that a folder holds."""
        check_finished(folder)
        links = read_columns(folder / LINKS)
        assert links is not None
        return cls(
            folder,
            read_config(folder / "settings.toml"),
            read_config(folder / "settings.toml", "run"),
            _complete(links),
            _read_json(folder / "summary.json") or {},
            _read_rounds(folder),
            read_columns(folder / "relations.tsv"),
            read_columns(written_table(folder, "unlinked")),
            _read_json(folder / "metrics.json"),
            _read_json(folder / ENGINE),
        )

    @cached_property
    def confidence(self) -> np.ndarray:
        """Of each link, [links]."""
        found: np.ndarray = self.links["confidence"].to_numpy()
        return found

    @property
    def graphs(self) -> tuple[str, str]:
        """What the two graphs are called: by their files, or by the benchmark."""
        place = self.about.get("data") or self.about.get("example")
        if place is not None:
            return f"the source of {Path(place).name}", f"the target of {Path(place).name}"
        source, target = (str(self.about.get(side, f"the {side} graph")) for side in ("source", "target"))
        shown = [place if "://" in place else Path(place).name for place in (source, target)]
        return shown[0], shown[1]

    def labelled(self, source: Sequence[str | None], target: Sequence[str | None]) -> FinishedRun:
        """The same with other labels of the links."""
        links = self.links
        for name, given in (("source_label", source), ("target_label", target)):
            column = pa.array([text or "" for text in given], pa.large_string())
            links = links.set_column(links.column_names.index(name), name, column)
        return replace(self, links=links)


def check_finished(folder: Path) -> None:
    """Refuse what is not the folder of a finished run."""
    check_run(folder)
    missing = next((name for name in (LINKS, LAST) if not (folder / name).exists()), None)
    if missing is not None:
        raise InputError(f"{folder} has no {missing}; expected a finished run (emea align --resume ends one)")


def read_columns(path: Path) -> pa.Table | None:
    """A table of a run folder; texts are never null. None if there is no such file."""
    if not path.exists():
        return None
    types = {name: pa.float64() if name in NUMBERS else pa.large_string() for name in column_names(path)}
    return read_whole(path, types)


def _complete(links: pa.Table) -> pa.Table:
    """The links with empty labels and types where a table has none."""
    for name in ("source_label", "target_label", "source_type", "target_type"):
        if name not in links.column_names:
            links = links.append_column(name, pa.repeat(pa.scalar("", pa.large_string()), links.num_rows))
    return links


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON: {error}") from error
    return found if isinstance(found, dict) else None


def _read_rounds(folder: Path) -> list[dict[str, Any]]:
    """What each round found and how long it took: a run adds one line to each file as a round ends. The number of a
    round does not identify it: loops that go ahead count their own."""
    found, times = _records(folder / "rounds.jsonl"), _records(folder / "timings.jsonl")
    return [{**one, **time} for one, time in zip_longest(found, times, fillvalue=dict[str, Any]())]


def _records(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]
