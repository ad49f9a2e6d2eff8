"""PostgreSQL databases: the tables of a schema, with the keys and references that they declare."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from emea.contracts import PLAIN, GraphServer, Reading
from emea.data import Graph
from emea.errors import InputError, SettingsError
from emea.formats._addresses import Address
from emea.formats._files import one_line
from emea.formats._keys import Declared
from emea.formats._wide import rows_graph

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Cursor

WAIT = 30  # seconds until a server that does not answer is given up
PLAINLY = {"bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar"}  # types that Arrow has, too
MOMENTS = {"date", "timestamp", "timestamptz"}  # which may be infinite
BYTES = "bytea"
SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
# The catalogue, since information_schema hides keys from those who may only read. Partitions are rows of their table,
# and what an extension has made is no data.
COLUMNS = """
SELECT c.relname::text, a.attname::text, t.typname::text, has_table_privilege(c.oid, 'SELECT')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type d ON d.oid = a.atttypid
JOIN pg_type t ON t.oid = coalesce(nullif(d.typbasetype, 0), d.oid)
WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT c.relispartition
AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = c.oid AND e.deptype = 'e')
ORDER BY c.relname, a.attnum
"""
KEYS = """
SELECT c.relname::text, a.attname::text, o.relname::text, b.attname::text
FROM pg_constraint k
JOIN pg_class c ON c.oid = k.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[1]
LEFT JOIN pg_class o ON o.oid = k.confrelid AND o.relnamespace = c.relnamespace
LEFT JOIN pg_attribute b ON b.attrelid = o.oid AND b.attnum = k.confkey[1]
WHERE n.nspname = $1 AND cardinality(k.conkey) = 1 AND (k.contype = 'p' OR (k.contype = 'f' AND o.oid IS NOT NULL))
ORDER BY k.oid
"""


class PostgreSQL(GraphServer):
    """Read in one snapshot, never written."""

    description: ClassVar[str] = "PostgreSQL databases (postgresql://user:password@host/database[?schema=NAME])"
    schemes: ClassVar[tuple[str, ...]] = ("postgresql", "postgres")
    choices: ClassVar[tuple[str, ...]] = ("id_column", "table")

    def fetch_graph(self, address: str, reading: Reading = PLAIN) -> Graph:
        """The graph whose entities are the rows of all tables of a schema, "public" unless the address says which."""
        parts = Address.parse(address)
        shown = parts.text(secret=False)
        schema = next((value for name, value in parts.parameters if name == "schema"), "public")
        notes: list[str] = []
        with _connected(parts, shown) as cursor:
            cursor.execute(SNAPSHOT)
            tables = {name: _table(cursor, schema, name, columns) for name, columns in _columns(cursor, schema, notes)}
            declared = _declared(cursor, schema)
        tables = {name: table for name, table in tables.items() if table.num_rows}
        if not tables:
            raise InputError(
                f"{shown}: found no rows in the schema {schema}, expected tables (?schema=NAME names another)"
            )
        graph = rows_graph(tables, shown, reading, declared)
        return replace(graph, notes=(*(f"{shown}: {note}" for note in notes), *graph.notes))


@contextmanager
def _connected(address: Address, shown: str) -> Iterator[Cursor]:
    try:
        from adbc_driver_manager.dbapi import Error
        from adbc_driver_postgresql.dbapi import connect
    except ImportError as error:
        package = "pip install 'emea[postgresql]'"
        raise SettingsError(f"{shown} needs adbc-driver-postgresql to be read: {package}") from error
    given = {name: value for name, value in address.parameters if name != "schema"}
    whole = replace(address, parameters=tuple({"connect_timeout": str(WAIT), **given}.items()))
    try:
        with connect(whole.text(secret=True)) as connection, connection.cursor() as cursor:
            yield cursor
    except Error as error:
        raise InputError(f"{shown} cannot be read: {one_line(str(error))}") from error


def _rows(cursor: Cursor, query: str, schema: str) -> list[tuple[Any, ...]]:
    cursor.execute(query, [schema])
    return cursor.fetchall()


def _columns(cursor: Cursor, schema: str, notes: list[str]) -> list[tuple[str, dict[str, str]]]:
    """The tables that may be read, and the types of their columns."""
    found, closed = defaultdict[str, dict[str, str]](dict), set[str]()
    for table, column, kind, readable in _rows(cursor, COLUMNS, schema):
        if not readable:
            closed.add(table)
        elif kind == BYTES:
            notes.append(f"table {table}: the column {column} holds bytes and is left out")
        else:
            found[table][column] = kind
    if closed:
        notes.append(f"tables that you may not read are left out: {', '.join(sorted(closed))}")
    return list(found.items())


def _table(cursor: Cursor, schema: str, name: str, columns: dict[str, str]) -> pa.Table:
    listed = ", ".join(f"{_as_plain(_quoted(column), kind)} AS {_quoted(column)}" for column, kind in columns.items())
    cursor.execute(f"SELECT {listed} FROM {_quoted(schema)}.{_quoted(name)}")
    return cursor.fetch_arrow_table()


def _as_plain(column: str, kind: str) -> str:
    """An expression for a column whose type Arrow has; a list if it is one."""
    if kind in PLAINLY:
        return column
    if kind in MOMENTS:
        return f"CASE WHEN isfinite({column}) THEN {column} END"
    if kind.startswith("_"):
        return column if kind[1:] in PLAINLY else f"{column}::text[]"
    return f"{column}::text"


def _declared(cursor: Cursor, schema: str) -> Declared:
    keys, references = {}, {}
    for table, column, other, by in _rows(cursor, KEYS, schema):
        if other is None:
            keys[table] = column
        else:
            references[table, column] = other, by
    return Declared(keys, references)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
