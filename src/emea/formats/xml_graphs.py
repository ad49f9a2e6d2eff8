"""GraphML and GEXF: nodes and edges in XML, as networkx, Gephi, yEd and Neo4j write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

from emea.contracts import PLAIN, GraphReader, Reading
from emea.data import Graph
from emea.errors import InputError
from emea.formats._files import suffix
from emea.formats._property_graph import PropertyGraph, relation_of
from emea.formats._xml import open_xml

Element = ElementTree.Element
ROOTS = {".graphml": "graphml", ".gexf": "gexf"}
UNDIRECTED = {"undirected", "mutual"}
DIRECTED = {"true": "directed", "false": "undirected"}
DRAWN = {"NodeLabel", "EdgeLabel"}  # what yEd writes beside
LABELS = "labels"  # kinds of a node as Neo4j writes them, :Person:Author
NUMBERS: dict[str, Callable[[str], object]] = dict.fromkeys(("int", "integer", "long"), int) | dict.fromkeys(
    ("float", "double"), float
)


@dataclass(frozen=True)
class _Key:
    """An attribute that the file declares."""

    name: str
    of: str  # node, edge or all
    kind: str
    usual: str | None  # what nodes have that do not say


class XMLGraphs(GraphReader):
    """Nodes are entities, what they hold are values, edges are relations by their label."""

    description: ClassVar[str] = "graphs with nodes and edges as networkx, Gephi, yEd and Neo4j write them"
    suffixes: ClassVar[tuple[str, ...]] = (*ROOTS, ".xml")

    def holds_graph(self, path: Path) -> bool:
        """Whether the suffix or the first element says so."""
        if suffix(path) in ROOTS:
            return True
        with open_xml(path) as file:
            for _, first in ElementTree.iterparse(file, ("start",)):
                return _name(first) in ROOTS.values()
        return False

    def read_graph(self, path: Path, reading: Reading = PLAIN) -> Graph:  # noqa: ARG002 - nothing to choose
        """The graph: all nodes, then all edges, wherever they stand."""
        with open_xml(path) as file:
            root = ElementTree.parse(file).getroot()
        if _name(root) not in ROOTS.values():
            raise InputError(f"{path}: found '{_name(root)}', expected GraphML or GEXF")
        graph, keys = PropertyGraph(str(path)), _keys(root)
        for node in _all(root, "node"):
            values = [*_values(node, "node", keys)]
            kinds = next((str(value) for name, value in values if name == LABELS), node.get(LABELS, ""))
            label = [("label", text)] if (text := node.get("label")) and _lacks(values, "label") else []
            kept = [each for each in values if each[0] != LABELS or not kinds.startswith(":")]
            graph.node(_of(node, "id", path), label + kept, filter(None, kinds.split(":")) if kinds[:1] == ":" else ())
        usual = next((each.get("edgedefault") or each.get("defaultedgetype") for each in _all(root, "graph")), None)
        for edge in _all(root, "edge"):
            held = {"label": edge.get("label"), "kind": edge.get("kind"), **dict(_values(edge, "edge", keys))}
            ends = _of(edge, "source", path), _of(edge, "target", path)
            directed = DIRECTED.get(edge.get("directed", ""), edge.get("type", usual))
            graph.edge(ends[0], relation_of(held), ends[1], directed=directed not in UNDIRECTED)
        return graph.build()


def _keys(root: Element) -> dict[str, _Key]:
    """The attributes by their ids; those of GEXF, where a node's may be an edge's, with whose they are before it."""
    found: dict[str, _Key] = {}
    for key in _all(root, "key"):
        usual = next((each.text for each in key if _name(each) == "default"), None)
        name = key.get("attr.name", key.get("id", ""))
        found[key.get("id", "")] = _Key(name, key.get("for", "all"), key.get("attr.type", ""), usual)
    for group in _all(root, "attributes"):
        for key in _all(group, "attribute"):
            usual = next((each.text for each in key if _name(each) == "default"), None)
            whose, name = group.get("class", ""), key.get("title", key.get("id", ""))
            found[f"{whose} {key.get('id', '')}"] = _Key(name, whose, key.get("type", ""), usual)
    return found


def _values(element: Element, whose: str, keys: dict[str, _Key]) -> Iterator[tuple[str, object]]:
    """What a node or an edge holds, by attribute; then what it does not say, as usual."""
    said: set[str] = set()
    for data in element:
        if _name(data) == "data":
            yield from _told(data, data.get("key", ""), keys, said)
        elif _name(data) == "attvalues":
            for value in data:
                yield from _told(value, f"{whose} {value.get('for', value.get('id', ''))}", keys, said)
    for number, key in keys.items():
        if number not in said and key.of in {whose, "all"} and key.usual and key.usual.strip():
            yield key.name, _typed(key.usual, key.kind)


def _told(data: Element, number: str, keys: dict[str, _Key], said: set[str]) -> Iterator[tuple[str, object]]:
    said.add(number)
    key = keys.get(number, _Key(number.rpartition(" ")[2], "all", "", None))
    text = " ".join((data.get("value") or data.text or "").split())
    if text:
        yield key.name, _typed(text, key.kind)
    for each in data.iter():
        if _name(each) in DRAWN and each.text and each.text.strip():
            yield "label", " ".join(each.text.split())


def _typed(text: str, kind: str) -> object:
    """A number where the file says that it is one."""
    try:
        return NUMBERS.get(kind, str)(text)
    except ValueError:
        return text


def _lacks(values: list[tuple[str, object]], name: str) -> bool:
    return all(each != name for each, _ in values)


def _of(element: Element, name: str, path: Path) -> str:
    found = element.get(name)
    if found is None:
        raise InputError(f"{path}: found a {_name(element)} without '{name}', expected one")
    return found


def _all(root: Element, name: str) -> Iterator[Element]:
    """The elements of a name, at any depth."""
    return (each for each in root.iter() if isinstance(each.tag, str) and _name(each) == name)


def _name(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]
