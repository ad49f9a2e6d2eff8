"""Graphs and pairs that a program holds: data frames and Arrow tables, and the way back to their ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emea.contracts import PLAIN, Reading
from emea.data import Graph
from emea.errors import InputError, shown
from emea.formats._cells import array_of, cells, flattened
from emea.formats._keys import LISTED, id_column
from emea.formats._networks import family, networkx_graph, rdflib_graph
from emea.formats._pairs import DECISION, PairColumns, checked_weight
from emea.formats._selection import select
from emea.formats._triples import are_triples, triples_table
from emea.formats._values import as_text
from emea.formats._wide import rows_graph

EXPECTED = "a pandas, polars or Arrow table, a dict of such tables, or a graph of rdflib or networkx"
LAZY = "LazyFrame"  # of polars, whose columns are not known yet
INDEX = "index"  # what pandas calls it
UNNAMED = "__index_level_"  # how Arrow calls the index of pandas if it has no name


@dataclass(frozen=True, eq=False)
class Held:
    """A graph with the table that it was made of, if that is a single one."""

    graph: Graph
    table: pa.Table | None = None
    key: str = ""  # the column that names the rows

    def ids(self, names: pa.Array) -> pa.Array:
        """The ids of the rows that entities were made of, as they stand in the table; else the entities' names."""
        if self.table is None:
            return names
        column = self.table[self.key]
        return column.take(pc.index_in(names, cells(column, self.key).single()))


def graph(data: Any, id: str | None = None, name: str = "data") -> Graph:  # noqa: A002 - as the column is called
    """The graph in a table whose rows are entities, or triples under the names head, relation and tail; in a dict of
    tables by name; or in a graph of rdflib or networkx.

    `id` names the column that identifies the rows; else it is found, and rows that nothing identifies are called by the
    index of pandas or numbered from 0. Columns with ids of another table become relations. `name` appears in messages.
    """
    if id is not None and not isinstance(id, str):
        raise InputError(f"found id={shown(id)}, expected the name of a column")
    if not isinstance(name, str):
        raise InputError(f"found name={shown(name)}, expected a text")
    return held(data, name, Reading(id_column=id)).graph


def held(data: Any, name: str, reading: Reading = PLAIN) -> Held:
    """The graph in data that a program holds; `name` is what messages call it."""
    if isinstance(data, Graph) or family(data) & {"rdflib", "networkx"}:
        if reading.id_column is not None:
            raise InputError(f"found id='{reading.id_column}' for a graph, expected it for a table")
        return Held(data if isinstance(data, Graph) else _filled(_network(data, name), name, reading))
    if isinstance(data, Mapping) and any(map(_is_table, data.values())):
        tables = {_text(each): arrow_table(table, f"{name}, table {each}") for each, table in data.items()}
        return Held(_filled(rows_graph(tables, name, reading), name, reading))
    table = flattened(arrow_table(data, name))
    if are_triples(table.column_names, reading):
        return Held(_filled(triples_table(table, name), name, reading))
    _require_column(table, reading.id_column, name)
    key = id_column(name, table, reading.id_column)
    if key is None:
        table, key = _numbered(table, data)
        note = f"{name}: no column identifies the rows, so they are named by their {key}; id= names a column"
        made = rows_graph({name: table}, name, reading.model_copy(update={"id_column": key}))
        return Held(_filled(replace(made, notes=(*made.notes, note)), name, reading), table, key)
    return Held(_filled(rows_graph({name: table}, name, reading), name, reading), table, key)


def _network(data: Any, name: str) -> Graph:
    return rdflib_graph(data, name) if "rdflib" in family(data) else networkx_graph(data, name)


def _filled(found: Graph, name: str, reading: Reading) -> Graph:
    """The graph, with those of its entities selected that may be linked, as if it had been read from a file."""
    if not len(found.entities):
        raise InputError(f"{name} is empty, expected at least one entity")
    return select(found, reading, name)


def arrow_table(data: Any, name: str) -> pa.Table:
    """A table of any library as an Arrow table."""
    if not _is_table(data) and not isinstance(data, pa.RecordBatchReader):
        hint = "; emea.read_graph reads files" if isinstance(data, str | Path) else ""
        hint = "; call its collect()" if type(data).__name__ == LAZY else hint
        raise InputError(f"{name}: found {shown(data)}, expected {EXPECTED}{hint}")
    try:
        if "pandas" in family(data):
            table = _from_pandas(data)
        elif isinstance(data, Mapping):
            table = pa.table({_text(column): array_of(values) for column, values in data.items()})
        else:
            table = data.to_arrow() if hasattr(data, "to_arrow") else pa.table(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        said = ", ".join(str(part) for part in error.args).partition("\n")[0]
        expected = "distinct columns of text, numbers, dates or lists of these"
        raise InputError(f"{name}: found {shown(data)} that Arrow cannot read ({said}), expected {expected}") from None
    if not isinstance(table, pa.Table):
        raise InputError(f"{name}: found {shown(data)}, expected {EXPECTED}")
    plain = [each.with_type(pa.large_string()) if each.type == pa.string_view() else each for each in table.schema]
    return table.cast(pa.schema(plain)).replace_schema_metadata(None)


def like(table: pa.Table, data: Any) -> Any:
    """The table as a data frame of the library whose table, or whose dict of tables, was given; else as it is."""
    while isinstance(data, Mapping):
        data = next(iter(data.values()), None)
    if "pandas" in family(data):
        return table.to_pandas()
    if "polars" in family(data):
        import polars

        return polars.from_arrow(table)
    return table


def pair_names(pairs: Any, name: str) -> pa.Table:
    """The pairs in a list of (source, target) or in a table with these columns, like those of a pair reader."""
    if _is_table(pairs):
        table = arrow_table(pairs, name)
        if {"source", "target"} <= {*table.column_names}:
            ends = table["source"], table["target"]
        elif table.num_columns == 2:
            ends = table.column(0), table.column(1)
        else:
            listed = ", ".join(table.column_names)
            raise InputError(f"{name}: found the columns {listed}, expected source and target")
        if DECISION in table.column_names:
            return _decided(ends, table[DECISION], name)
        weights = table["weight"].to_pylist() if "weight" in table.column_names else [1.0] * table.num_rows
    else:
        rows = _rows(pairs, name)
        ends = tuple(pa.chunked_array([array_of([row[side] for row in rows])]) for side in (0, 1))
        weights = [1.0] * len(rows)
    texts = [cells(column, name).single() for column in ends]
    for row in (text.is_null().index(True).as_py() for text in texts if text.null_count):
        raise InputError(f"{name}, pair {row + 1}: found an empty name, expected a source and a target")
    checked = [
        checked_weight("nothing" if weight is None else weight, f"{name}, pair {row}")
        for row, weight in enumerate(weights, 1)
    ]
    return pa.table({"source": texts[0], "target": texts[1], "weight": pa.array(checked, pa.float32())})


def _decided(ends: tuple[pa.ChunkedArray, ...], decisions: pa.ChunkedArray, name: str) -> pa.Table:
    """The pairs that a person decided on."""
    texts = (cells(column, name).single().fill_null("").to_pylist() for column in (*ends, decisions))
    columns = PairColumns()
    for row, (source, target, decision) in enumerate(zip(*texts, strict=True), 1):
        columns.decide(decision, f"{name}, pair {row}", source, target)
    return columns.build(Path(name))


def _is_table(data: Any) -> bool:
    return isinstance(data, Mapping) or (type(data).__name__ != LAZY and hasattr(data, "columns"))


def _text(name: Any) -> str:
    return name if isinstance(name, str) else str(name)


def _from_pandas(frame: Any) -> pa.Table:
    """The index, if it has a name or holds more than numbers, and the columns; mixed columns as text."""
    frame = frame.rename(columns=str)
    try:
        table = pa.Table.from_pandas(frame)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        table = pa.Table.from_pandas(frame.assign(**{name: _as_text(frame[name]) for name in frame}))
    names = table.column_names
    kept = [each for each in names if not (each.startswith(UNNAMED) and pa.types.is_integer(table[each].type))]
    index = [each for each in kept if each not in frame.columns]
    table = table.select([*index, *(each for each in kept if each in frame.columns)])
    renamed = {each: INDEX for each in index if each.startswith(UNNAMED) and INDEX not in names}
    return table.rename_columns([renamed.get(each, each) for each in table.column_names])


def _as_text(column: Any) -> Any:
    """The column as it is if its cells are of one type, else as text."""
    try:
        pa.Array.from_pandas(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return column.map(as_text, na_action="ignore")
    return column


def _numbered(table: pa.Table, data: Any) -> tuple[pa.Table, str]:
    """The table with a column that identifies its rows: the index of pandas, or numbers from 0."""
    own = "pandas" in family(data) and data.index.nlevels == 1 and data.index.is_unique
    numbers = pa.array(data.index) if own else pa.array(range(table.num_rows))
    name = INDEX
    while name in table.column_names:
        name = f"_{name}"
    return table.append_column(name, numbers), name


def _require_column(table: pa.Table, wanted: str | None, name: str) -> None:
    """Refuse an id column that is not there."""
    if wanted is not None and wanted.lower() not in map(str.lower, table.column_names):
        listed = ", ".join(table.column_names[:LISTED]) + (" …" if table.num_columns > LISTED else "")
        raise InputError(f"{name}: found the columns {listed}, expected one named {wanted}")


def _rows(pairs: Any, name: str) -> list[tuple[Any, Any]]:
    """A list of pairs, checked."""
    expected = "expected a file, a list of pairs (source, target), or a table with the columns source and target"
    if not isinstance(pairs, Iterable) or isinstance(pairs, bytes):
        raise InputError(f"{name}: found {shown(pairs)}, {expected}")
    rows = list(pairs)
    for number, row in enumerate(rows, 1):
        if isinstance(row, str | bytes) or not isinstance(row, Iterable) or len(tuple(row)) != 2:
            raise InputError(f"{name}, pair {number}: found {shown(row)}, expected (source, target)")
    return [(first, second) for first, second in rows]
