"""Graphs of rdflib and networkx. Neither library is loaded here unless a program that uses it has done so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from emea.data import LITERAL_SCHEMA, Graph
from emea.errors import InputError
from emea.formats._cells import array_of, cells
from emea.formats._columns import LANGUAGE_STRING, STRING, GraphColumns
from emea.formats._files import BREAK

RELATED = "related"  # an edge that does not say how
NAMING = ("relation", "label")  # attributes of an edge that name its relation, the best first


def family(data: Any) -> set[str]:
    """The packages that an object's classes come from.

    >>> sorted(family(pa.table({})))
    ['builtins', 'pyarrow']
    """
    return {each.__module__.partition(".")[0] for each in type(data).__mro__}


def rdflib_graph(data: Any, name: str) -> Graph:
    """The triples of an rdflib graph, as if they had been read from a file."""
    import rdflib

    if not isinstance(data, rdflib.Graph) or data.context_aware:
        raise InputError(f"{name}: found an rdflib {type(data).__name__}, expected a Graph, or one of a Dataset")

    def node(term: Any) -> str:
        if not isinstance(term, rdflib.URIRef | rdflib.BNode):
            raise InputError(f"{name}: found {term.n3()} used as a node, expected an IRI or a blank node")
        return f"_:{term}" if isinstance(term, rdflib.BNode) else str(term)

    columns = GraphColumns()
    for head, relation, tail in data.triples((None, None, None)):
        if isinstance(tail, rdflib.Literal):
            datatype = LANGUAGE_STRING if tail.language else str(tail.datatype or STRING)
            columns.describe(node(head), str(relation), str(tail), datatype, (tail.language or "").lower())
        else:
            columns.relate(node(head), str(relation), node(tail))
    return columns.build()


def networkx_graph(data: Any, name: str) -> Graph:
    """Nodes as entities, their attributes as values, and edges as relations, both ways if they have no direction."""
    names = [str(node) for node in data]
    place = {node: number for number, node in enumerate(data)}
    unfit = next((text for text in names if not text or BREAK.search(text)), None)
    if unfit is not None:
        raise InputError(f"{name}: found the node {unfit!r}, expected names that are not empty, on one line")
    twice, times = Counter(names).most_common(1)[0] if names else ("", 0)
    if times > 1:
        raise InputError(f"{name}: found two nodes called {twice!r}, expected nodes that differ as text")
    edges = [(place[head], _relation(key, held), place[tail]) for head, tail, key, held in _edges(data)]
    if not data.is_directed():
        edges += [(tail, relation, head) for head, relation, tail in edges]
    relations = sorted({relation for _, relation, _ in edges})
    rank = {relation: number for number, relation in enumerate(relations)}
    triples = np.array([(head, rank[relation], tail) for head, relation, tail in edges], dtype=np.int64).reshape(-1, 3)
    attributes, literals = _literals(data, place, name)
    return Graph.build(names, relations, triples, attributes=attributes, literals=literals)


def _edges(data: Any) -> Iterator[tuple[Any, Any, Any, dict[str, Any]]]:
    """Head, tail, key and attributes of each edge."""
    if data.is_multigraph():
        yield from data.edges(keys=True, data=True)
    else:
        yield from ((head, tail, None, held) for head, tail, held in data.edges(data=True))


def _relation(key: Any, held: dict[str, Any]) -> str:
    """What an edge says it is; keys that are numbers only tell parallel edges apart."""
    named = next((held[each] for each in NAMING if held.get(each) is not None), None)
    if named is None and isinstance(key, str):
        named = key
    return str(named) if named is not None and str(named) else RELATED


def _literals(data: Any, place: dict[Any, int], name: str) -> tuple[list[str], pa.Table]:
    """The attributes of the nodes, and their values."""
    found: dict[str, tuple[list[int], list[Any]]] = {}
    for node, held in data.nodes(data=True):
        for attribute, value in held.items():
            rows, values = found.setdefault(str(attribute), ([], []))
            rows.append(place[node])
            values.append(value)
    parts = []
    for number, (attribute, (rows, values)) in enumerate(found.items()):
        column = cells(pa.chunked_array([array_of(values)]), f"{name}, attribute {attribute}")
        size = len(column.row)
        entity = pa.array(np.array(rows, dtype=np.int64)[column.row])
        told = (pa.repeat(number, size), column.text, pa.repeat(column.datatype, size), pa.repeat("", size))
        parts.append(pa.table([entity, *told], names=LITERAL_SCHEMA.names).cast(LITERAL_SCHEMA))
    return list(found), pa.concat_tables(parts) if parts else LITERAL_SCHEMA.empty_table()
