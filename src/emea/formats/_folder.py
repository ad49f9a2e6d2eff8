"""A folder of tables as one graph."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from emea.contracts import PLAIN, Reading
from emea.data import Graph
from emea.errors import InputError
from emea.formats._files import suffix
from emea.formats._lookup import every_format
from emea.formats._wide import TableReader, rows_graph

DESCRIBING = (".json", ".xml")  # beside tables, such a file is about them
OF_A_RUN = ("settings.toml", "alignment.tsv")
PASSING = (".", "~$")  # how files begin that are hidden, or there while a workbook is open


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
        for file, reader in _files(path):
            for name, table in reader.read_tables(file).items():
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
        graph = rows_graph(self.read_tables(path), path, reading)
        notes = chain.from_iterable(reader.guessed(file) for file, reader in _files(path))
        return replace(graph, notes=(*notes, *graph.notes))


def _readers() -> dict[str, TableReader]:
    """The formats of tables by suffix."""
    formats = [*every_format()][::-1]  # built-in ones come last, and win
    tables = [each for each in formats if isinstance(each, TableReader)]
    return {ending: each for each in tables for ending in each.suffixes if ending not in DESCRIBING}


def _files(path: Path) -> list[tuple[Path, TableReader]]:
    """The files of a folder that are tables, by name, and what reads them."""
    known = _readers()
    files = (each for each in path.iterdir() if each.is_file() and not each.name.startswith(PASSING))
    return [(each, known[suffix(each)]) for each in sorted(files) if suffix(each) in known]
