"""Tables in which a row is an entity: its cells are values, and cells that hold ids of rows are relations."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.contracts import PLAIN, GraphReader, Reading
from emea.data import LITERAL_SCHEMA, Graph
from emea.errors import InputError, InputWarning, SettingsError
from emea.formats._cells import XSD, cells, flattened, holds_bytes
from emea.formats._columns import assemble, release, unique_ends
from emea.formats._continued import with_continued
from emea.formats._files import BREAK, stem
from emea.formats._graph_tables import graph_of_tables
from emea.formats._keys import (
    LISTED,
    NOTHING,
    Declared,
    are_words,
    id_column,
    is_id_name,
    nearly_id,
    tables_without,
)
from emea.formats._references import Joined, References, Sheet, edge_list, ends_of, joined, references, told
from emea.formats._selection import TYPE
from emea.formats._triples import are_triples, triples_table

IDENTIFYING = 0.5  # share of distinct values below which a column hardly identifies rows
INTEGER = f"{XSD}integer"


class TableReader(GraphReader):
    """Reads files of one or several tables."""

    choices: ClassVar[tuple[str, ...]] = ("id_column", "table")

    @abstractmethod
    def read_tables(self, path: Path) -> dict[str, pa.Table]:
        """The tables in a file, by name."""

    def guessed(self, path: Path) -> tuple[str, ...]:  # noqa: ARG002 - for files that do not say how they are written
        """Sentences on what was guessed of how a file is written."""
        return ()

    def declared(self, path: Path) -> Declared:  # noqa: ARG002 - for databases
        """Which columns identify rows and which refer to other tables, if the file says so."""
        return NOTHING

    def read_graph(self, path: Path, reading: Reading = PLAIN) -> Graph:
        """The graph whose entities are the rows of all tables in a file; or, if its only table has columns named so,
        the graph of the triples in it."""
        return rows_graph(self.read_tables(path), path, reading, self.declared(path))


def rows_graph(
    tables: Mapping[str, pa.Table], place: str | Path, reading: Reading, declared: Declared = NOTHING
) -> Graph:
    """The graph of tables whose rows are entities. Several tables give their names to the rows as types, and before
    their ids; a single table's rows are named by their ids alone, unless they are triples."""
    if len(tables) == 1 and are_triples((table := next(iter(tables.values()))).column_names, reading):
        return triples_table(table, place)
    if reading.table == "triples":
        raise SettingsError(f"{place}: found {len(tables)} tables, expected a single one of triples")
    if not tables:
        raise InputError(f"{place} holds no table, expected at least one")
    if (graph := graph_of_tables(tables, str(place), reading)) is not None:
        return graph
    notes: list[str] = []
    flat = {name: flattened(table) for name, table in tables.items()}
    for name in () if declared.keys else flat:
        flat[name], said = with_continued(flat[name])
        notes += [f"{place}{f', table {name}' * (len(flat) > 1)}: {said}"] if said else []
    usual = reading.model_copy(update={"id_column": None})
    lacking = tables_without(flat, reading.id_column, place, notes)
    of_each: dict[str, list[str]] = {name: [] for name in flat}
    sheets = [
        _sheet(
            name,
            table,
            place,
            usual if name in lacking else reading,
            of_each[name],
            declared=declared,
            alone=len(flat) == 1,
        )
        for name, table in flat.items()
    ]
    several, only = len(sheets) > 1, sheets[0]
    plain = not several and reading.table is None and reading.id_column is None
    if plain and (edges := edge_list(only, place)) is not None:
        nodes, held = edges
        return replace(_assembled([_Part(nodes, {}, "")], [held], several=False), notes=(*told([held], place),))
    links = references(sheets, declared, about := list[str](), place)
    between = [found for sheet in sheets if (found := joined(sheet, links, reading.id_column)) is not None]
    things = [sheet for sheet in sheets if sheet.name not in {found.table for found in between}]
    notes += [*(note for sheet in things for note in of_each[sheet.name]), *about, *told(between, place)]
    parts = [_Part(sheet, links, f"{sheet.name}/" if several else "") for sheet in things]
    graph = _assembled(parts, between, several=several)
    columns = dict.fromkeys(column for sheet in things for column in sheet.columns)
    aliases = unique_ends(graph.entities) if several else None
    return replace(graph, notes=tuple(notes), columns=tuple(columns), aliases=aliases)


def _sheet(
    name: str,
    table: pa.Table,
    place: str | Path,
    reading: Reading,
    notes: list[str],
    *,
    declared: Declared,
    alone: bool,
) -> Sheet:
    """The table with its id column found or as named; beside others, an end of edges is none."""
    shown = f"{place}, table {name}" if stem(Path(str(place))) != name else str(place)
    duplicated = sorted(each for each, count in Counter(table.column_names).items() if count > 1)
    if duplicated:
        raise InputError(f"{shown}: found the column '{duplicated[0]}' twice, expected a header of distinct names")
    unreadable = [each for each in table.column_names if holds_bytes(table[each])]
    if unreadable:
        notes.append(f"{shown}: columns of bytes that are no text are left out: {', '.join(unreadable[:LISTED])}")
        table = table.drop_columns(unreadable)
    stated = declared.keys.get(name) if reading.id_column is None else None
    key = stated if stated in table.column_names else id_column(name, table, reading.id_column)
    columns = {each: cells(table[each], f"{shown}, column {each}") for each in table.column_names}
    if not alone and reading.id_column is None and key in (ends_of(table.column_names) or ()):
        key = None
    if key is None:
        numbered = "no column identifies the rows, so they are numbered; --id-column names one"
        notes.append(f"{shown}: {numbered}{nearly_id(name, table)}")
        ids = pa.array(np.arange(1, table.num_rows + 1)).cast(pa.large_string())
        return Sheet(name, ids, None, columns)
    ids = columns[key].single()
    made_up = key == stated and columns[key].datatype == INTEGER  # numbers that a database made up say nothing
    mere = made_up or (is_id_name(key, name) and not are_words(ids))
    if mere and (name, key) not in declared.references:
        del columns[key]
    compared = ", which is compared, too" if key in columns else ""
    notes.append(f"{shown}: its rows are entities, named by the column '{key}'{compared}; --id-column names another")
    lost, repeated = ids.null_count, len(ids) - ids.null_count - len(pc.unique(ids.drop_null()))
    if lost and lost == len(ids):
        raise InputError(f"{shown}: found no value in the column '{key}', expected the ids of its {lost:,} rows")
    if lost:
        notes.append(f"{shown}: {lost:,} rows without '{key}' are skipped")
    if repeated:
        warnings.warn(InputWarning(f"{shown}: {_repeating(ids.drop_null(), key)}"), stacklevel=2)
    if BREAK.search("".join(ids.drop_null().slice(0, 1000).to_pylist())):
        raise InputError(f"{shown}: found a tab or newline in the column '{key}', expected names on one line")
    return Sheet(name, ids, key, columns)


def _repeating(ids: pa.Array, key: str) -> str:
    """What is said of ids that recur: rows of one entity may repeat, but a column of few values names no rows."""
    counts = pc.value_counts(ids)
    one = counts.field("values").filter(pc.greater(counts.field("counts"), 1))[0].as_py()
    if len(counts) < IDENTIFYING * len(ids):
        return (
            f"found {len(counts):,} values in the {len(ids):,} rows of the column '{key}', expected one that "
            f"identifies rows (--id-column): all rows with '{one}' are taken for one entity"
        )
    repeated = len(ids) - len(counts)
    return f"{repeated:,} rows repeat a '{key}', such as '{one}'; rows with the same one are one entity"


class _Part:
    """What one table contributes: names of entities, triples and literals, by positions among its names."""

    def __init__(self, sheet: Sheet, links: References, prefix: str) -> None:
        self.sheet, self.prefix = sheet, prefix
        self.names = pc.unique(sheet.ids.drop_null())
        self.row = pc.index_in(sheet.ids, self.names).fill_null(-1).to_numpy().astype(np.int64)
        self.links = {column: links[sheet.name, column] for column in sheet.columns if (sheet.name, column) in links}

    def entities(self) -> pa.Array:
        """The names of the rows."""
        return _prefixed(self.prefix, self.names)

    def related(self) -> Iterator[tuple[str, np.ndarray, pa.Array]]:
        """Relation, rows and names of the tails."""
        for column, target in self.links.items():
            head, text = self._held(column)
            yield column, head, _prefixed(f"{target.name}/" if self.prefix else "", text)

    def described(self) -> Iterator[tuple[str, np.ndarray, pa.Array, str]]:
        """Attribute, rows, values and their datatype."""
        for column, held in self.sheet.columns.items():
            if column not in self.links:
                yield (column, *self._held(column), held.datatype)

    def _held(self, column: str) -> tuple[np.ndarray, pa.Array]:
        held = self.sheet.columns[column]
        head = self.row[held.row]
        return (
            (head, held.text) if bool((head >= 0).all()) else (head[head >= 0], held.text.filter(pa.array(head >= 0)))
        )


def _prefixed(prefix: str, names: pa.Array) -> pa.Array:
    return (
        pc.binary_join_element_wise(pa.scalar(prefix, names.type), names, pa.scalar("", names.type))
        if prefix
        else names
    )


def _assembled(parts: list[_Part], between: list[Joined], *, several: bool) -> Graph:
    """One graph of all tables."""
    types = pa.array([part.sheet.name for part in parts] if several else [], pa.large_string())
    related = [(name, head, tails, place) for place, part in enumerate(parts) for name, head, tails in part.related()]
    prefixes = {part.sheet.name: part.prefix for part in parts}
    ends = [
        tuple(
            _prefixed(prefixes[table], ids)
            for table, ids in ((each.head_table, each.head), (each.tail_table, each.tail))
        )
        for each in between
    ]
    names = [
        *(part.entities() for part in parts),
        types,
        *(row[2] for row in related),
        *(end for both in ends for end in both),
    ]
    entities = pc.unique(pa.concat_arrays(names))
    own = [pc.index_in(part.entities(), entities).to_numpy().astype(np.int64) for part in parts]
    named = [*(row[0] for row in related), *(name for each in between for name in pc.unique(each.relation).to_pylist())]
    relations = pa.array([*dict.fromkeys([*([TYPE] if several else []), *named])], pa.large_string())
    triples = [
        np.stack(
            [
                own[place][head],
                np.full(len(head), pc.index(relations, name).as_py()),
                pc.index_in(tails, entities).to_numpy(),
            ]
        )
        for name, head, tails, place in related
    ]
    for each, (head, tail) in zip(between, ends, strict=True):
        held = (head, entities), (each.relation, relations), (tail, entities)
        triples.append(np.stack([pc.index_in(*column).to_numpy().astype(np.int64) for column in held]))
    for place, part in enumerate(parts if several else []):
        kind = pc.index(entities, part.sheet.name).as_py()
        triples.append(np.stack([own[place], np.zeros_like(own[place]), np.full_like(own[place], kind)]))
    order = pc.sort_indices(entities)
    rank = np.empty(len(entities), dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(entities))
    attributes = sorted({column for part in parts for column, *_ in part.described()})
    literals = _literals(parts, [rank[each] for each in own], attributes)
    triples = [np.stack([rank[head], relation, rank[tail]]) for head, relation, tail in triples]
    return assemble(entities.take(order), relations, triples, attributes=attributes, literals=literals)


def _literals(parts: list[_Part], own: list[np.ndarray], attributes: list[str]) -> pa.Table:
    """All cells that are values, sorted by entity and attribute."""
    keys, texts, datatypes = [], [], []
    width = max(1, len(attributes))
    for part, numbers in zip(parts, own, strict=True):
        for column, head, text, datatype in part.described():
            keys.append(numbers[head] * width + attributes.index(column))
            texts.append(text)
            datatypes.append((datatype, len(text)))
    if not keys:
        return LITERAL_SCHEMA.empty_table()
    key = np.concatenate(keys)
    order = np.argsort(key, kind="stable")
    kinds = sorted({datatype for datatype, _ in datatypes})
    kind = np.repeat([kinds.index(datatype) for datatype, _ in datatypes], [count for _, count in datatypes])[order]
    key = key[order]
    value = pa.concat_arrays(texts).take(pa.array(order))
    del texts, keys, order
    release()
    named = pa.DictionaryArray.from_arrays(pa.array(kind.astype(np.int32)), pa.array(kinds, pa.large_string()))
    nothing = pa.repeat(pa.scalar("", pa.large_string()), len(key))
    return pa.table([key // width, key % width, value, named.dictionary_decode(), nothing], schema=LITERAL_SCHEMA)
