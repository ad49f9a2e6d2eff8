"""A folder of tables as one graph."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from emea.contracts import PLAIN, Reading
from emea.data import Graph
from emea.errors import InputError
from emea.formats._files import suffix
from emea.formats._lookup import every_format
from emea.formats._wide import TableReader, rows_graph

DESCRIBING = ".json"  # beside tables, such a file is about them
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
        readers = [*every_format()][::-1]  # built-in ones come last, and win
        known = {ending: each for each in readers if isinstance(each, TableReader) for ending in each.suffixes}
        found: dict[str, pa.Table] = {}
        del known[DESCRIBING]
        files = (each for each in path.iterdir() if each.is_file() and not each.name.startswith(PASSING))
        for file in sorted(each for each in files if suffix(each) in known):
            for name, table in known[suffix(file)].read_tables(file).items():
                if name in found:
                    raise InputError(f"{path}: found two tables named {name}, expected distinct names of files")
                found[name] = table
        if not found:
            listed = ", ".join(sorted(known))
            raise InputError(
                f"{path} is a folder without tables; expected files that end in {listed}, "
                "or --data for a benchmark folder"
            )
        return found

    def read_graph(self, path: Path, reading: Reading = PLAIN) -> Graph:
        """The graph of all tables."""
        return rows_graph(self.read_tables(path), path, reading)
