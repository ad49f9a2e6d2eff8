"""A graph as rows of names, for reading and writing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from emea.data import Graph
from emea.errors import InputError
from emea.formats._columns import CHUNK, LANGUAGE_STRING, STRING, GraphColumns
from emea.formats._files import BREAK

TRIPLE_HEADER = ("head", "relation", "tail", "kind", "datatype", "language")
ENTITY, LITERAL = "entity", "literal"


def add_row(columns: GraphColumns, row: Sequence[str], path: Path, number: int, unit: str = "line") -> None:
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
