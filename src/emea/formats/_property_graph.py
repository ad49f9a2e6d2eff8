"""Nodes with kinds and values, and named edges between them, as graph databases and drawing programs keep them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import pyarrow as pa

from emea.contracts import Reading
from emea.data import LITERAL_SCHEMA, Graph
from emea.errors import InputError, SettingsError
from emea.formats._cells import cells
from emea.formats._files import BREAK
from emea.formats._keys import LISTED, are_words
from emea.formats._records import Records
from emea.formats._selection import TYPE

RELATED = "related"  # an edge that does not say how
NAMING = ("relation", "label", "type", "kind")  # attributes of an edge that name its relation, the best first
ID = "id"


def relation_of(held: Mapping[str, object], key: object = None) -> str:
    """What an edge says it is by its attributes, or by a key that is text: numbers only tell parallel edges apart.

    >>> relation_of({"weight": 2, "label": "knows"}), relation_of({}, "likes"), relation_of({"type": ""}, 3)
    ('knows', 'likes', 'related')
    """
    named = next((str(held[each]).strip() for each in NAMING if held.get(each) is not None), "")
    return named or (key if isinstance(key, str) and key else RELATED)


def refuse_choices(reading: Reading, place: str) -> None:
    """Refuse what can be chosen for tables."""
    for option in ("id_column", "table"):
        if getattr(reading, option) is not None:
            found = f"found --{option.replace('_', '-')} for {place}"
            raise SettingsError(f"{found}, expected none: the file says what nodes and edges are")


class PropertyGraph:
    """What was read so far of a graph."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._nodes: dict[str, int] = {}
        self._values = Records()
        self._edges: list[tuple[str, str, str]] = []

    def node(self, name: str, values: Sequence[tuple[str, object]], kinds: Iterable[str] = ()) -> None:
        """Add a node, with its values by their attributes; a list is several values."""
        if not name or BREAK.search(name):
            raise InputError(f"{self._place}: found the node {name!r}, expected names that are not empty, on one line")
        if name in self._nodes:
            raise InputError(f"{self._place}: found two nodes called {name!r}, expected nodes that differ as text")
        self._nodes[name] = len(self._nodes)
        self._values.add([(attribute, each) for attribute, value in values for each in _each(value)])
        self._edges += [(name, TYPE, kind) for kind in kinds]

    def edge(self, head: str, relation: str, tail: str, *, directed: bool = True) -> None:
        """Add an edge; one without direction holds both ways."""
        self._edges += [(head, relation, tail)] if directed else [(head, relation, tail), (tail, relation, head)]

    def build(self) -> Graph:
        """The graph: what only an edge names is an entity, too; names that are words are values, as in a table."""
        described = [*self._nodes]
        for end in chain.from_iterable((head, tail) for head, _, tail in self._edges):
            if end not in self._nodes and (not end or BREAK.search(end)):
                raise InputError(f"{self._place}: found an edge to {end!r}, expected names of nodes, on one line")
            self._nodes.setdefault(end, len(self._nodes))
        table = self._values.table()
        names = pa.array(described, pa.large_string())
        told = any(column.combine_chunks().equals(names) for column in table.columns)
        if not told and ID not in table.column_names and len(names) and are_words(names):
            table = table.append_column(ID, names)
        relations = {relation: number for number, relation in enumerate(sorted({each for _, each, _ in self._edges}))}
        triples = [(self._nodes[head], relations[relation], self._nodes[tail]) for head, relation, tail in self._edges]
        graph = Graph.build(
            [*self._nodes],
            [*relations],
            np.array(triples, dtype=np.int64).reshape(-1, 3),
            attributes=table.column_names,
            literals=self._literals(table),
        )
        named = ", ".join([each for each in relations if each != TYPE][:LISTED])
        read = f"{self._place}: {len(described):,} nodes are entities, named by their ids"
        edges = f"; edges are relations: {named}; values of edges are left out" if named else ""
        return replace(graph, notes=(read + edges,))

    def _literals(self, table: pa.Table) -> pa.Table:
        """The values of the nodes."""
        parts = []
        for number, attribute in enumerate(table.column_names):
            column = cells(table[attribute], f"{self._place}, attribute {attribute}")
            size = len(column.row)
            told = (pa.repeat(number, size), column.text, pa.repeat(column.datatype, size), pa.repeat("", size))
            parts.append(pa.table([pa.array(column.row), *told], names=LITERAL_SCHEMA.names).cast(LITERAL_SCHEMA))
        return pa.concat_tables(parts) if parts else LITERAL_SCHEMA.empty_table()


def _each(value: object) -> Iterable[object]:
    return (each for each in (value if isinstance(value, list | tuple | set) else (value,)) if each is not None)
