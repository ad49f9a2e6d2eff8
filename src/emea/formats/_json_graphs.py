"""Nodes and edges in JSON: of networkx and d3 (nodes and links), Cytoscape, JSON Graph Format, and Neo4j's records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from emea.data import Graph
from emea.errors import InputError
from emea.formats._property_graph import PropertyGraph, relation_of

Record = dict[str, Any]
Flat = Callable[[object, str, int], Iterator[tuple[str, object]]]
EDGES = ("links", "edges", "relationships")
ENDS = (("source", "target"), ("from", "to"), ("start", "end"))  # head and tail of an edge
NAMES = ("id", "key", "name")  # of a node
KINDS, HELD = "labels", "properties"  # of a node of Neo4j


class JSONGraph:
    """The nodes and edges of a file."""

    def __init__(self, nodes: list[Record], edges: list[Record], *, directed: bool = True) -> None:
        self.nodes, self.edges, self.directed = nodes, edges, directed
        self.ends = next((ends for ends in ENDS if edges and {*ends} <= edges[0].keys()), ENDS[0])

    @classmethod
    def of(cls, found: object) -> JSONGraph | None:
        """Those in an object that has nodes, and edges that name two of them."""
        if not isinstance(found, dict):
            return None
        inside = next((each for name in ("graph", "elements") if "nodes" in (each := _fields(found.get(name)))), found)
        nodes, edges = inside.get("nodes"), next((inside[name] for name in EDGES if name in inside), None)
        if isinstance(nodes, dict):
            nodes = [{**_fields(each), NAMES[0]: name} for name, each in nodes.items()]
        parts = [[_fields(each.get("data")) or each for each in _records(part)] for part in (nodes, edges)]
        if not all(parts) or not any({*ends} <= parts[1][0].keys() for ends in ENDS):
            return None
        return cls(*parts, directed=inside.get("directed", found.get("directed")) is not False)

    @classmethod
    def exported(cls, records: Iterable[Record]) -> JSONGraph:
        """Those of Neo4j's records, of which each is a node or an edge."""
        parts: dict[str, list[Record]] = {"node": [], "relationship": []}
        for record in records:
            parts[record["type"]].append({name: value for name, value in record.items() if name != "type"})
        return cls(parts["node"], parts["relationship"])

    def build(self, place: str, flat: Flat) -> Graph:
        """The graph; `flat` tells the values in a field."""
        graph, names = PropertyGraph(place), list[str]()
        for number, node in enumerate(self.nodes):
            key = next((name for name in NAMES if _is_name(node.get(name))), "")
            names.append(str(node.get(key, number)))
            inside = _fields(node.get(HELD))
            held = {name: node[name] for name in node if name not in {NAMES[0], HELD if inside else ""}} | inside
            kinds = held.pop(KINDS) if isinstance(held.get(KINDS), list) else []
            graph.node(names[-1], [each for name in held for each in flat(held[name], name, 1)], map(str, kinds))
        known = {*names}
        for edge in self.edges:
            head, tail = (_end(edge.get(side), names, known, place) for side in self.ends)
            graph.edge(head, relation_of(edge, edge.get("key")), tail, directed=self.directed)
        return graph.build()


def is_exported(record: object) -> bool:
    """Whether a record is a node or an edge as Neo4j exports them, one a line."""
    if not isinstance(record, dict):
        return False
    needed = {"node": {"id"}, "relationship": {"start", "end"}}.get(str(record.get("type")))
    return needed is not None and needed <= record.keys()


def _end(end: object, names: list[str], known: set[str], place: str) -> str:
    """The node at the end of an edge: by its name, as an object that has one, or by its number among the nodes."""
    named: Any = next((end[name] for name in NAMES if name in end), None) if isinstance(end, dict) else end
    if not _is_name(named):
        raise InputError(f"{place}: found an edge to {str(end)[:50]!r}, expected a node")
    by_number = isinstance(named, int) and str(named) not in known and 0 <= named < len(names)
    return names[named] if by_number else str(named)


def _is_name(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _records(found: object) -> list[Record]:
    """What a list holds if that are objects, and nothing otherwise."""
    return found if isinstance(found, list) and all(isinstance(each, dict) for each in found) else []


def _fields(value: object) -> Record:
    return value if isinstance(value, dict) else {}
