"""Benchmark folders of OpenEA."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from emea.contracts import Choice, TaskReader
from emea.data import Graph, Reference, Task
from emea.errors import InputError
from emea.formats._choice import NamePairs, absent, choose, link_names
from emea.formats._columns import LANGUAGE_STRING, STRING, GraphColumns
from emea.formats._fields import field_blocks, field_columns

FOLDS = "721_5fold"
PARTS = ("train_links", "valid_links", "test_links")
DATATYPE, LANGUAGE = r"(?P<datatype>[^<>\s\pZ\x0b\x1c-\x1f\x{85}]+)", "(?P<language>[A-Za-z]+(?:-[A-Za-z0-9]+)*)"
TYPED = rf'^"(?P<value>.*)"(?:\^\^<{DATATYPE}>|@{LANGUAGE})$'


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
    if path is None:
        return pa.array([], pa.large_string()), pa.array([], pa.large_string())
    source, target = (pa.concat_arrays(column.chunks) for column in field_columns(path, 2))
    return source, target


def _graph(folder: Path, number: int) -> Graph:
    """One graph. Links do not belong to it: entities that occur in nothing else are left out."""
    columns = GraphColumns()
    for head, relation, tail in field_blocks(folder / f"rel_triples_{number}", 3):
        columns.add_triples(pa.concat_arrays([head, tail]).dictionary_encode(), relation.dictionary_encode())
    attributes = folder / f"attr_triples_{number}"
    if attributes.is_file():
        for entity, attribute, text in field_blocks(attributes, 3):
            columns.add_literals(entity.dictionary_encode(), attribute.dictionary_encode(), *_typed(text))
    return columns.build()


def _typed(texts: pa.Array) -> tuple[pa.Array, pa.DictionaryArray, pa.DictionaryArray]:
    """Values, datatypes and languages, where a text may be written as a literal with a datatype or a language."""
    value, datatype, language = pc.extract_regex(texts, TYPED).flatten()
    plain, spoken = value.is_null(), pc.greater(pc.utf8_length(language), 0)
    kind = pc.if_else(spoken, LANGUAGE_STRING, datatype).cast(pa.large_string())
    columns = pc.if_else(plain, STRING, kind), pc.if_else(plain, "", pc.ascii_lower(language))
    datatypes, languages = (column.cast(pa.large_string()).dictionary_encode() for column in columns)
    return pc.if_else(plain, texts, value), datatypes, languages
