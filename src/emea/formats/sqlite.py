"""SQLite databases: every table, with the keys and references that it declares."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from emea.errors import InputError
from emea.formats._columns import CHUNK
from emea.formats._files import one_line, open_bytes
from emea.formats._keys import Declared
from emea.formats._packing import is_packed
from emea.formats._values import typed_table
from emea.formats._wide import TableReader

KEPT = ("sqlite_", "gpkg_", "rtree_")  # how the names of tables begin that are about others
UNREADABLE = (sqlite3.Error, UnicodeError, OverflowError, MemoryError)


class SQLite(TableReader):
    """Tables, but neither views nor the tables that SQLite or its extensions keep for themselves."""

    description: ClassVar[str] = "SQLite databases (.sqlite, .sqlite3, .db), GeoPackage (.gpkg)"
    suffixes: ClassVar[tuple[str, ...]] = (".sqlite", ".sqlite3", ".db", ".gpkg")

    def read_tables(self, path: Path) -> dict[str, pa.Table]:
        """The tables that have rows."""
        with _opened(path) as database:
            found = {name: _table(database, name) for name in _names(database)}
        return {name: table for name, table in found.items() if table.num_rows}

    def declared(self, path: Path) -> Declared:
        """Primary keys and foreign keys of one column."""
        with _opened(path) as database:
            names = {name.lower(): name for name in _names(database)}  # SQLite ignores case
            columns = {name: _columns(database, name) for name in names.values()}
            keys = {name: key[0] for name, (_, key) in columns.items() if len(key) == 1}
            references = {}
            for name, (own, _) in columns.items():
                for column, other, stated in _foreign_keys(database, name):
                    target = names.get(other.lower(), "")
                    by = stated or keys.get(target)
                    if target and by is not None:
                        there = columns[target][0]
                        references[name, own.get(column.lower(), column)] = target, there.get(by.lower(), by)
        return Declared(keys, references)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The database, only to be read; a .gz file is decompressed in memory."""
    with open_bytes(path) as file:  # which refuses what is no file
        packed = file.read() if is_packed(path) else None
    try:
        address = ":memory:" if packed is not None else f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as database:
            if packed is not None:
                database.deserialize(packed)
            database.execute("PRAGMA trusted_schema = OFF")  # a file must not run functions
            pages, page = (database.execute(f"PRAGMA page_{what}").fetchone()[0] for what in ("count", "size"))
            size = path.stat().st_size if packed is None else len(packed)
            if size < pages * page and not path.with_name(f"{path.name}-wal").exists():  # reads as zeros otherwise
                raise sqlite3.DatabaseError(f"found {size:,} bytes of {pages * page:,}")
            yield database
    except UNREADABLE as error:
        raise InputError(f"{path} cannot be read: {one_line(str(error))}; expected an SQLite database") from error


def _names(database: sqlite3.Connection) -> list[str]:
    """The tables; those of an extension, such as a text index, begin with the name of its virtual table."""
    rows = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    virtual = [name for name, sql in rows if (sql or "").lstrip().lower().startswith("create virtual")]
    return [
        name
        for name, _ in rows
        if not name.lower().startswith(KEPT)
        and name not in virtual
        and not any(name.startswith(f"{each}_") for each in virtual)
    ]


def _table(database: sqlite3.Connection, name: str) -> pa.Table:
    cursor = database.execute(f"SELECT * FROM {_quoted(name)}")
    cursor.arraysize = CHUNK
    return typed_table([column[0] for column in cursor.description], cursor)


def _columns(database: sqlite3.Connection, name: str) -> tuple[dict[str, str], list[str]]:
    """The columns of a table by their names in lower case, and those of its primary key."""
    rows = database.execute(f"PRAGMA table_info({_quoted(name)})").fetchall()
    return {row[1].lower(): row[1] for row in rows}, [row[1] for row in rows if row[5]]


def _foreign_keys(database: sqlite3.Connection, name: str) -> Iterator[tuple[str, str, str | None]]:
    """Column, table referred to and column there, which is None if it is the primary key."""
    rows = database.execute(f"PRAGMA foreign_key_list({_quoted(name)})").fetchall()
    numbers = [row[0] for row in rows]
    for number, _, other, column, by, *_ in rows:
        if numbers.count(number) == 1:
            yield column, other, by


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
