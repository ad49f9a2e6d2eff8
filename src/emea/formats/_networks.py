"""Graphs of rdflib and networkx. Neither library is loaded here unless a program that uses it has done so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emea.data import Graph
from emea.errors import InputError
from emea.formats._columns import LANGUAGE_STRING, STRING, GraphColumns
from emea.formats._property_graph import PropertyGraph, relation_of


def family(data: Any) -> set[str]:
    """The packages that an object's classes come from.

    >>> sorted(family(InputError("nothing")))
    ['builtins', 'emea']
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
    graph = PropertyGraph(name)
    for node, held in data.nodes(data=True):
        graph.node(str(node), [(str(attribute), value) for attribute, value in held.items()])
    for head, tail, key, held in _edges(data):
        graph.edge(str(head), relation_of(held, key), str(tail), directed=data.is_directed())
    return graph.build()


def _edges(data: Any) -> Iterator[tuple[Any, Any, Any, dict[str, Any]]]:
    """Head, tail, key and attributes of each edge."""
    if data.is_multigraph():
        yield from data.edges(keys=True, data=True)
    else:
        yield from ((head, tail, None, held) for head, tail, held in data.edges(data=True))
