"""What the rows of a table are, if its header does not say so: triples or entities; and which tails are values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.data import LITERAL_SCHEMA, Graph
from emea.formats._columns import STRING, assemble
from emea.order import unique_numbers

Kind = Literal["rows", "triples"]
SAMPLE = 1000  # rows looked at
IRI = r"^([A-Za-z][A-Za-z0-9+.-]*:[^\s]|_:)"
NUMBER = r"^[+-]?[0-9][0-9.,]*([eE][+-]?[0-9]+)?%?$"
DATE = r"^[0-9]{4}-[0-9]{2}(-[0-9]{2}.*)?$|^[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}$"
LONG = 60  # characters from which a tail is text rather than a name
MOSTLY, RARELY = 0.9, 0.5
FEWEST = 5  # tails that can be said to repeat rarely
LISTED = 8  # attributes that a note lists


def kind_of_rows(rows: Sequence[Sequence[str]]) -> Kind:
    """What the first rows of a table without the header of triples seem to be.

    >>> kind_of_rows([["id", "name", "city"], ["1", "Ritz", "Paris"], ["2", "Savoy", "London"]])
    'rows'
    >>> kind_of_rows([["Berlin", "in", "Germany"], ["Berlin", "name", "Berlin"], ["Paris", "in", "France"]])
    'triples'
    """
    header, *others = rows
    if len(header) != 3:
        marked = 4 <= len(header) <= 6 and any(
            row[3].strip().lower() in ("entity", "literal") for row in rows if len(row) > 3
        )
        return "triples" if marked else "rows"
    if all(re.match(IRI, cell) for row in rows for cell in row[:2]):
        return "triples"
    if sum(not (row[0].strip() and row[1].strip()) for row in others if len(row) > 1) > 1:
        return "rows"  # no triple lacks a name
    heads, relations = ([row[column] for row in others if len(row) > column] for column in (0, 1))
    if header[1] in relations or header[0] in heads or not others:
        return "triples"
    if header[0].strip().lower() in ("id", "_id", "key", "uri", "iri", "identifier"):
        return "rows"
    return "rows" if len({*heads}) == len(heads) and len({*relations}) > RARELY * len(relations) else "triples"


def with_values(graph: Graph) -> tuple[Graph, list[str]]:
    """The graph of triples without a column that marks literals, with tails that are values as literals; and the names
    of the relations that lead to them."""
    triples = graph.triples.numpy()
    is_head = np.zeros(len(graph.entities), dtype=bool)
    is_head[triples[:, 0]] = True
    shapes = pc.unique(_shapes(graph.entities.filter(pa.array(is_head))))
    tails = triples[np.argsort(triples[:, 1], kind="stable"), 2]
    counts = np.bincount(triples[:, 1], minlength=len(graph.relations))
    found = [
        relation
        for relation, part in zip(range(len(counts)), np.split(tails, np.cumsum(counts)[:-1]), strict=False)
        if _leads_to_values(graph, part, is_head, shapes)
    ]
    if not found:
        return graph, []
    valued = np.isin(triples[:, 1], found)
    names = graph.relations.take(found).to_pylist()
    kept, moved = triples[~valued], triples[valued]
    used = unique_numbers(np.concatenate([kept[:, 0], kept[:, 2], moved[:, 0]]))
    place = np.full(len(graph.entities), -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    rest = [number for number in range(len(graph.relations)) if number not in found]
    number = np.zeros(len(graph.relations), dtype=np.int64)
    number[rest], number[found] = np.arange(len(rest)), np.arange(len(found))
    filled = [pa.repeat(pa.scalar(text, pa.large_string()), len(moved)) for text in (STRING, "")]
    columns = [place[moved[:, 0]], number[moved[:, 1]], graph.entities.take(moved[:, 2]), *filled]
    built = assemble(
        graph.entities.take(used),
        graph.relations.take(pa.array(rest, pa.int64())),
        [np.stack([place[kept[:, 0]], number[kept[:, 1]], place[kept[:, 2]]])],
        attributes=pa.array(names, pa.large_string()),
        literals=pa.table(columns, schema=LITERAL_SCHEMA),
    )
    return replace(built, repeated=graph.repeated), names


def _leads_to_values(graph: Graph, tails: np.ndarray, is_head: np.ndarray, shapes: pa.Array) -> bool:
    """Whether the tails of a relation are values: never heads, and numbers, dates, long texts, or texts unlike the
    names of heads that repeat rarely."""
    distinct = unique_numbers(tails)
    if is_head[distinct].any():
        return False
    texts = graph.entities.take(distinct)
    if _share(pc.match_substring_regex(texts, IRI)) > 1 - MOSTLY:
        return False
    if _share(pc.or_(pc.match_substring_regex(texts, NUMBER), pc.match_substring_regex(texts, DATE))) >= MOSTLY:
        return True
    if _share(pc.greater(pc.utf8_length(texts), LONG)) >= RARELY:
        return True
    like_heads = _share(pc.is_in(_shapes(texts), shapes))
    return len(distinct) >= max(FEWEST, RARELY * len(tails)) and like_heads < RARELY


def _share(marks: pa.Array) -> float:
    return float(pc.mean(marks.cast(pa.float64())).as_py())


def _shapes(names: pa.Array) -> pa.Array:
    """Names with runs of letters and of digits replaced: Q42 and Q7 look alike."""
    letters = pc.replace_substring_regex(names, r"\p{L}+", "a")
    return pc.replace_substring_regex(letters, r"[0-9]+", "9")
