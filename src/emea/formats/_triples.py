"""A graph as rows of names, for reading and writing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.contracts import Reading
from emea.data import Graph
from emea.errors import InputError
from emea.formats._cells import cells
from emea.formats._columns import CHUNK, LANGUAGE_STRING, STRING, GraphColumns
from emea.formats._files import BREAK
from emea.formats._recognition import LISTED, with_values

TRIPLE_HEADER = ("head", "relation", "tail", "kind", "datatype", "language")
TRIPLE_NAMES = {"subject": "head", "predicate": "relation", "object": "tail"}  # other names of columns
SHORT = dict(zip(("s", "p", "o"), TRIPLE_NAMES, strict=True))  # where there are no others
ENTITY, LITERAL = "entity", "literal"
NO_NAME = rf"^$|{BREAK.pattern}"
TRIPLE_DEFAULTS = ("", "", "", ENTITY, "", "")


def are_triples(columns: Iterable[str], reading: Reading) -> bool:
    """Whether the rows of a table are triples: as chosen, or if two of its columns are named like parts of one.

    >>> are_triples(["Subject", "predicate", "object"], Reading()), are_triples(["id", "kind", "language"], Reading())
    (True, False)
    >>> are_triples(["s", "p", "o"], Reading()), are_triples(["s", "p", "d"], Reading())
    (True, False)
    >>> are_triples(["head", "tail"], Reading())  # edges of one relation
    False
    """
    if reading.table is not None or reading.id_column is not None:
        return reading.table == "triples"
    named = {*usual_names(columns, TRIPLE_NAMES)}
    return len(named & {*TRIPLE_HEADER[:3]}) > 1 and named != {"head", "tail"}


def usual_names(columns: Iterable[str], aliases: Mapping[str, str]) -> list[str]:
    """The names of columns in lower case, with the usual one in place of an alias, unless that is there itself."""
    found = [name.strip().lower() for name in columns]
    found = [SHORT[name] for name in found] if aliases is TRIPLE_NAMES and {*found} == {*SHORT} else found
    there = {*found}
    return [name if aliases.get(name) in there else aliases.get(name, name) for name in found]


def triples_table(table: pa.Table, place: str | Path) -> Graph:
    """The graph in a table whose rows are triples."""
    names = usual_names(table.column_names, TRIPLE_NAMES)
    for name in TRIPLE_HEADER[:3]:
        if names.count(name) != 1:
            listed = ", ".join(table.column_names[:10]) or "none"
            expected = f"exactly one named {name}, or --table rows if its rows are entities"
            raise InputError(f"{place}: found the columns {listed}, expected {expected}")
    parts: list[pa.Array] = []
    for name, default in zip(TRIPLE_HEADER, TRIPLE_DEFAULTS, strict=True):
        if name not in names:
            parts.append(_repeated(default, table.num_rows))
            continue
        held = cells(table.column(names.index(name)), f"{place}, column {name}")
        if len(several := np.flatnonzero(np.diff(held.row) == 0)):
            found = f"several values in the column {name}"
            raise InputError(f"{place}, row {held.row[several[0]] + 1}: found {found}, expected one")
        parts.append(held.single().fill_null(default))
    columns = GraphColumns()
    for start in range(0, table.num_rows, CHUNK):
        add_rows(columns, [part.slice(start, CHUNK) for part in parts], place, start)
    return recognised(columns.build(), table.column_names, place)


def recognised(graph: Graph, columns: Sequence[str], place: str | Path) -> Graph:
    """The graph with tails that are values as literals, unless the columns say which are: under our own names, tails
    are entities if no column `kind` says otherwise."""
    if len(columns) != 3 or {"kind", "head"} & {name.strip().lower() for name in columns}:
        return graph
    graph, values = with_values(graph)
    listed = ", ".join(values[:LISTED]) + (" …" if len(values) > LISTED else "")
    note = f"{place}: taken as values, not entities: the tails of {listed}; a column kind says which are which"
    return replace(graph, notes=(*graph.notes, note)) if values else graph


def add_row(columns: GraphColumns, row: Sequence[str], path: str | Path, number: int, unit: str = "line") -> None:
    """Add a row with the columns of TRIPLE_HEADER to a graph that is being read."""
    head, relation, tail, kind, datatype, language = row
    kind = kind.strip().lower()
    if kind not in (ENTITY, LITERAL):
        raise InputError(f"{path}, {unit} {number}: found the kind '{row[3]}', expected {ENTITY} or {LITERAL}")
    for name in row[:3] if kind == ENTITY else row[:2]:
        if not name or BREAK.search(name):
            raise InputError(
                f"{path}, {unit} {number}: found the name {name!r}, expected a non-empty name without tabs or newlines"
            )
    if kind == ENTITY:
        columns.relate(head, relation, tail)
    elif language:
        columns.describe(head, relation, tail, LANGUAGE_STRING, language.lower())
    else:
        columns.describe(head, relation, tail, datatype or STRING)


def add_rows(columns: GraphColumns, cells: Sequence[pa.Array], place: str | Path, before: int) -> None:
    """Add many rows, the columns of TRIPLE_HEADER as text without nulls, at once; `before` rows precede them."""
    head, relation, tail, kind, datatype, language = (cell.cast(pa.large_string()) for cell in cells)
    kinds = kind.dictionary_encode()
    known = pa.array([each.strip().lower() for each in kinds.dictionary.to_pylist()], pa.large_string())
    related, described = (pc.equal(known, each).take(kinds.indices) for each in (ENTITY, LITERAL))
    ends = pa.concat_arrays([head.filter(related), tail.filter(related)]).dictionary_encode()
    entities, attributes = (each.filter(described).dictionary_encode() for each in (head, relation))
    relations = relation.filter(related).dictionary_encode()
    names = pa.concat_arrays([each.dictionary for each in (ends, relations, entities, attributes)])
    if not pc.all(pc.or_(related, described)).as_py() or pc.any(pc.match_substring_regex(names, NO_NAME)).as_py():
        for number, row in enumerate(zip(*(cell.to_pylist() for cell in cells), strict=True), before + 1):
            add_row(columns, row, place, number, unit="row")  # which says what is wrong
        return
    if len(relations):
        columns.add_triples(ends, relations)
    if len(entities):
        said, kept = language.filter(described), datatype.filter(described)
        kept = pc.if_else(pc.equal(kept, ""), STRING, kept).cast(pa.large_string())
        kept = pc.if_else(pc.equal(said, ""), kept, LANGUAGE_STRING).cast(pa.large_string())
        values = tail.filter(described)
        columns.add_literals(entities, attributes, values, kept.dictionary_encode(), _lower(said))


def _lower(languages: pa.Array) -> pa.DictionaryArray:
    encoded = languages.dictionary_encode()
    lower = pa.array([each.lower() for each in encoded.dictionary.to_pylist()], pa.large_string())
    return lower.take(encoded.indices).dictionary_encode()


def row_blocks(graph: Graph) -> Iterator[pa.Table]:
    """Rows with the columns of TRIPLE_HEADER, in blocks: triples first, then literals, each sorted by head."""
    for start in range(0, len(graph.triples), CHUNK):
        heads, relations, tails = np.ascontiguousarray(graph.triples[start : start + CHUNK].numpy().T)
        names = [graph.entities.take(heads), graph.relations.take(relations), graph.entities.take(tails)]
        yield _block(names, ENTITY, [_repeated("", len(heads))] * 2)
    for start in range(0, graph.literals.num_rows, CHUNK):
        part = graph.literals.slice(start, CHUNK).combine_chunks()
        columns = {name: part[name].combine_chunks() for name in part.column_names}
        names = [graph.entities.take(columns["entity"]), graph.attributes.take(columns["attribute"]), columns["value"]]
        yield _block(names, LITERAL, [columns["datatype"], columns["language"]])


def needed_header(graph: Graph) -> tuple[str, ...]:
    """The columns to write: only the first three if there are no literals."""
    return TRIPLE_HEADER if graph.literals.num_rows else TRIPLE_HEADER[:3]


def _block(names: list[pa.Array], kind: str, rest: list[pa.Array]) -> pa.Table:
    return pa.table([*names, _repeated(kind, len(names[0])), *rest], names=list(TRIPLE_HEADER))


def _repeated(text: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, pa.large_string()), count)
