"""A folder of tables as one graph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from emea.contracts import PLAIN, Reading
from emea.data import Graph
from emea.errors import InputError
from emea.formats._files import stem, suffix
from emea.formats._keys import LISTED
from emea.formats._lookup import every_format
from emea.formats._text_tables import SUFFIXES, separated_rows, text_table
from emea.formats._wide import TableReader, rows_graph

DESCRIBING = (".json", ".xml")  # beside tables, such a file is about them
OF_A_RUN = ("settings.toml", "alignment.tsv")
PASSING = (".", "~$")  # how files begin that are hidden, or there while a workbook is open
KEPT = {"thumbs.db", "desktop.ini"}  # by Windows
HEADER = re.compile(r"(.+?)[-_. ]?headers?", re.IGNORECASE)


class Folder(TableReader):
    """Each file of a folder is a table, named like the file."""

    description: ClassVar[str] = "folders of tables"
    suffixes: ClassVar[tuple[str, ...]] = ()
    choices: ClassVar[tuple[str, ...]] = ("id_column",)

    def read_tables(self, path: Path) -> dict[str, pa.Table]:
        """The tables in all files of a folder."""
        if all((path / name).exists() for name in OF_A_RUN):
            raise InputError(f"{path} is the folder of a run; expected a graph: a file, or a folder of tables")
        found: dict[str, pa.Table] = {}
        for name, table in _tables(_files(path)):
            if name in found:
                raise InputError(f"{path}: found two tables named {name}, expected distinct names of files")
            found[name] = table
        if not found:
            listed = ", ".join(sorted(_readers()))
            raise InputError(
                f"{path} is a folder without tables; expected files that end in {listed}, "
                "or --data for a benchmark folder"
            )
        return found

    def read_graph(self, path: Path, reading: Reading = PLAIN) -> Graph:
        """The graph of all tables."""
        files = _files(path)
        graph, headers = rows_graph(self.read_tables(path), path, reading), _headers(files)
        apart = {each for header in headers for each in (header.file, *header.parts)}
        notes = [*chain.from_iterable(reader.guessed(file) for file, reader in files.items() if file not in apart)]
        for header in headers:
            parts = ", ".join(each.name for each in header.parts[:LISTED]) + " …" * (len(header.parts) > LISTED)
            notes.append(f"{path}: {header.file.name} names the columns of {parts}")
        others = sorted(each.name for each in _visible(path) if each not in files)
        if others:
            listed = ", ".join(others[:LISTED]) + " …" * (len(others) > LISTED)
            notes.append(f"{path}: left out, since they are no tables, or JSON or XML beside some: {listed}")
        return replace(graph, notes=(*notes, *graph.notes))


@dataclass(frozen=True)
class _Header:
    """A file that is only the header of others."""

    table: str
    file: Path
    parts: list[Path]

    def read(self) -> pa.Table:
        """The rows of all parts."""
        names = next(row for _, row in separated_rows(self.file))
        return pa.concat_tables([text_table(each, header=names) for each in self.parts])


def _tables(files: Mapping[Path, TableReader]) -> Iterator[tuple[str, pa.Table]]:
    """The tables in files, and their names."""
    headers = _headers(files)
    apart = {each for header in headers for each in (header.file, *header.parts)}
    for file, reader in files.items():
        if file not in apart:
            yield from reader.read_tables(file).items()
    for header in headers:
        yield header.table, header.read()


def _headers(files: Mapping[Path, TableReader]) -> list[_Header]:
    """The headers among text tables, and whose they are: nodes-header.csv is that of nodes.csv and nodes-part1.csv."""
    texts = [file for file in files if suffix(file) in SUFFIXES]
    named = {file: HEADER.fullmatch(stem(file)) for file in texts}
    tables = {file: found[1] for file, found in named.items() if found and len([*islice(separated_rows(file), 2)]) == 1}
    found: dict[Path, list[Path]] = {file: [] for file in tables}
    for file in texts:
        fitting = [each for each, table in tables.items() if re.match(rf"{re.escape(table)}(?![^\W_])", stem(file))]
        if file not in tables and fitting:
            found[max(fitting, key=lambda each: len(tables[each]))].append(file)
    return [_Header(tables[file], file, parts) for file, parts in found.items() if parts]


def _readers() -> dict[str, TableReader]:
    """The formats of tables by suffix."""
    formats = [*every_format()][::-1]  # built-in ones come last, and win
    tables = [each for each in formats if isinstance(each, TableReader)]
    return {ending: each for each in tables for ending in each.suffixes}


def _visible(path: Path) -> list[Path]:
    """The files of a folder but for those that a system keeps there for itself."""
    files = sorted(each for each in path.iterdir() if each.is_file())
    return [each for each in files if not each.name.startswith(PASSING) and each.name.lower() not in KEPT]


def _files(path: Path) -> dict[Path, TableReader]:
    """The files of a folder that are tables, by name, and what reads them; JSON and XML where there is nothing else."""
    known = _readers()
    readers = {each: known[suffix(each)] for each in _visible(path) if suffix(each) in known}
    tables = {each: reader for each, reader in readers.items() if suffix(each) not in DESCRIBING} or readers
    return {each: reader for each, reader in tables.items() if reader.holds_graph(each)}
