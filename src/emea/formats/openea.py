"""Benchmark folders of OpenEA."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from emea.contracts import Choice, TaskReader
from emea.data import Graph, Reference, Task
from emea.errors import InputError
from emea.formats._choice import NamePairs, absent, choose, link_names
from emea.formats._columns import LANGUAGE_STRING, GraphColumns
from emea.formats._files import fields

FOLDS = "721_5fold"
PARTS = ("train_links", "valid_links", "test_links")
TYPED = re.compile(r'"(?P<value>.*)"(?:\^\^<(?P<datatype>[^<>\s]+)>|@(?P<language>[A-Za-z]+(?:-[A-Za-z0-9]+)*))')


class OpenEA(TaskReader):
    """Two graphs as files of triples, their links, and five folds of the links."""

    description: ClassVar[str] = "OpenEA folder: rel_triples_N, attr_triples_N, ent_links, 721_5fold"

    def detect(self, folder: Path) -> str | None:
        """Name the optional files that are present."""
        if not all((folder / f"rel_triples_{number}").is_file() for number in (1, 2)):
            return None
        attributes = "with" if (folder / "attr_triples_1").is_file() else "without"
        links = "links in ent_links" if (folder / "ent_links").is_file() else "no links"
        folds = _folds(folder)
        return f"OpenEA folder {attributes} attributes, {links}, {len(folds) or 'no'} folds"

    def read_task(self, folder: Path, choice: Choice) -> tuple[Task, Reference | None]:
        """Read both graphs, and the links of a fold or the chosen share of all."""
        source, target = _graph(folder, 1), _graph(folder, 2)
        if choice.fold is None:
            known = _pairs(folder / "ent_links" if (folder / "ent_links").is_file() else None)
            return choose(source, target, known, choice, folder)
        parts = [_pairs(_fold(folder, choice.fold) / part) for part in PARTS]
        seeds, validation, tested = (link_names(part, source, target) for part in parts)
        return Task(source, target, seeds, validation), Reference(tested, absent(parts[-1], source, target))


def _folds(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / FOLDS).glob("*") if path.is_dir())


def _fold(folder: Path, fold: int) -> Path:
    if str(fold) not in _folds(folder):
        found = ", ".join(_folds(folder)) or "none"
        raise InputError(f"{folder / FOLDS} has no fold {fold}: found {found}, expected a folder with that name")
    return folder / FOLDS / str(fold)


def _pairs(path: Path | None) -> NamePairs:
    rows = [] if path is None else [row for _, row in fields(path, 2)]
    source, target = (pa.array([row[side] for row in rows], pa.large_string()) for side in (0, 1))
    return source, target


def _graph(folder: Path, number: int) -> Graph:
    """One graph. Links do not belong to it: entities that occur in nothing else are left out."""
    columns = GraphColumns()
    for _, (head, relation, tail) in fields(folder / f"rel_triples_{number}", 3):
        columns.relate(head, relation, tail)
    attributes = folder / f"attr_triples_{number}"
    if attributes.is_file():
        for _, (entity, attribute, text) in fields(attributes, 3):
            _describe(columns, entity, attribute, text)
    return columns.build()


def _describe(columns: GraphColumns, entity: str, attribute: str, text: str) -> None:
    """Add a value, as a literal with a datatype or language if it is written as one."""
    typed = TYPED.fullmatch(text)
    if typed is None:
        columns.describe(entity, attribute, text)
    elif typed["language"]:
        columns.describe(entity, attribute, typed["value"], LANGUAGE_STRING, typed["language"].lower())
    else:
        columns.describe(entity, attribute, typed["value"], typed["datatype"])
