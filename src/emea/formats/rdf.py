"""RDF: graphs in N-Triples, N-Quads, Turtle and RDF/XML, pairs as owl:sameAs."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from emea.contracts import PLAIN, AlignmentWriter, GraphReader, GraphWriter, PairReader, PairWriter, Reading
from emea.data import Alignment, Graph, Task
from emea.errors import InputError, SettingsError
from emea.formats._columns import CHUNK, LANGUAGE_STRING, GraphColumns
from emea.formats._files import suffix, writing
from emea.formats._pairs import DIFFERENT, EQUAL, PairColumns, is_excluded, is_unmatched
from emea.formats._quads import SYNTAX, open_quads
from emea.formats._rdfxml import write_rdf_xml
from emea.formats._triples import ENTITY, row_blocks
from emea.formats._writing import alignment_pairs

LISTED = 5  # named graphs that an error lists
RANDOM_LABEL = re.compile(r"_:[a-f][0-9a-f]{19,31}")  # what the parser gives a node written as []


class RDF(GraphReader, GraphWriter, PairReader, PairWriter, AlignmentWriter):
    """IRIs and blank nodes are entities; literals keep their datatype and language."""

    description: ClassVar[str] = (
        "RDF graphs in N-Triples (.nt), N-Quads (.nq), Turtle (.ttl) and RDF/XML (.rdf, .xml, .owl); "
        "pairs as owl:sameAs (.nt, .ttl)"
    )
    suffixes: ClassVar[tuple[str, ...]] = tuple(SYNTAX)
    choices: ClassVar[tuple[str, ...]] = ("graph",)
    pair_suffixes: ClassVar[tuple[str, ...]] = (".nt", ".ttl")

    def read_graph(self, path: Path, reading: Reading = PLAIN) -> Graph:
        """The graph in a file; from N-Quads, the chosen one."""
        wanted = _graph_name(reading.graph)
        quads_only, is_default = suffix(path) == ".nq", isinstance(wanted, DefaultGraph)
        if not quads_only and not is_default:
            raise SettingsError(
                f"found the graph name {wanted} for {path}, expected none: only .nq files have named graphs"
            )
        columns, others = GraphColumns(), set[str]()
        with open_quads(path) as quads, _collector_paused():
            try:
                _collect(_chosen(quads, wanted, others) if quads_only else quads, columns)
            except _StatementAsNodeError as error:
                raise InputError(
                    f"{path}: found the triple {error} used as a node, expected an IRI or a blank node"
                ) from error
            graph = columns.build(rename=_stable_names)
        if others and not len(graph.entities):
            where = "outside named graphs" if is_default else f"in the graph {wanted}"
            listed = ", ".join(sorted(others)[:LISTED]) + (" and more" if len(others) > LISTED else "")
            raise InputError(
                f"{path} has no triples {where}; found some in {listed}, expected one of these graphs (--graph)"
            )
        return graph

    def write_graph(self, graph: Graph, path: Path) -> None:
        """Write the triples, then the literals, in the syntax given by the suffix."""
        self._write((triple for block in row_blocks(graph) for triple in _triples(block)), path)

    def holds_pairs(self, path: Path) -> bool:
        """Whether every triple states that two entities are the same or different."""
        with open_quads(path) as quads:
            found = False
            for quad in quads:
                if quad.predicate.value not in (*EQUAL, DIFFERENT):
                    return False
                found = True
        return found

    def read_pairs(self, path: Path) -> pa.Table:
        """The pairs stated to be the same, and those stated to be different as excluded; other triples are skipped."""
        columns = PairColumns()
        with open_quads(path) as quads:
            for quad in quads:
                name = quad.predicate.value
                if name not in (*EQUAL, DIFFERENT):
                    columns.skip("other relations")
                    continue
                if not isinstance(quad.subject, NamedNode) or not isinstance(quad.object, NamedNode):
                    raise InputError(f"{path}: found {quad.subject} paired with {quad.object}, expected IRIs")
                columns.add(quad.subject.value, quad.object.value, excluded=name == DIFFERENT)
        return columns.build(path, f"triples with {EQUAL[0]}")

    def write_pairs(self, pairs: pa.Table, path: Path) -> None:
        """Write one triple per pair: owl:sameAs, or owl:differentFrom if the pair is excluded; entities without
        counterpart cannot be written."""
        pairs = pairs.filter(pa.array(~is_unmatched(pairs)))
        relations = [NamedNode(DIFFERENT if excluded else EQUAL[0]) for excluded in is_excluded(pairs).tolist()]
        rows = zip(pairs["source"].to_pylist(), relations, pairs["target"].to_pylist(), strict=True)
        self._write((Triple(_iri(source), same, _iri(target)) for source, same, target in rows), path)

    def write_alignment(self, alignment: Alignment, task: Task, path: Path) -> None:
        """Write one owl:sameAs triple per link."""
        self.write_pairs(alignment_pairs(alignment, task), path)

    def _write(self, triples: Iterator[Triple], path: Path) -> None:
        syntax = SYNTAX[suffix(path)]
        with writing(path) as file:
            try:
                if syntax == RdfFormat.RDF_XML:
                    write_rdf_xml(file, triples)
                else:
                    serialize(triples, file, syntax)
            except ValueError as error:
                raise InputError(f"{path} cannot be written as {syntax.name}: found {error}") from error


GraphName = NamedNode | BlankNode | DefaultGraph


def _graph_name(name: str | None) -> GraphName:
    if name is None:
        return DefaultGraph()
    try:
        return BlankNode(name[2:]) if name.startswith("_:") else NamedNode(name)
    except ValueError as error:
        raise SettingsError(f"found the graph name {name}, expected an IRI ({error})") from error


def _chosen(quads: Iterable[Quad], wanted: GraphName, others: set[str]) -> Iterator[Quad]:
    """The statements of the chosen graph; the names of some other graphs are added to `others`."""
    for quad in quads:
        if quad.graph_name == wanted:
            yield quad
        elif len(others) <= LISTED:
            others.add("the default graph" if isinstance(quad.graph_name, DefaultGraph) else str(quad.graph_name))


class _StatementAsNodeError(Exception):
    """A triple was found instead of an entity or a literal."""


def _collect(quads: Iterator[Quad], columns: GraphColumns) -> None:
    """Collect the rows in parts. This loop dominates reading time, so it does nothing but unpack and append."""
    while True:
        rows = columns.rows
        add_head, add_relation, add_tail = rows.heads.append, rows.relations.append, rows.tails.append
        add_entity, add_attribute, add_value = rows.described.append, rows.attributes.append, rows.values.append
        add_datatype, add_language = rows.datatypes.append, rows.languages.append
        for head, relation, tail, _ in islice(quads, CHUNK):
            name = head.value if type(head) is NamedNode else _blank(head)
            if type(tail) is Literal:
                language = tail.language
                add_entity(name)
                add_attribute(relation.value)
                add_value(tail.value)
                add_datatype(tail.datatype.value if language is None else LANGUAGE_STRING)
                add_language(language or "")
            else:
                add_head(name)
                add_relation(relation.value)
                add_tail(tail.value if type(tail) is NamedNode else _blank(tail))
        if not rows.heads and not rows.values:
            return
        columns.pack()


def _blank(node: object) -> str:
    if not isinstance(node, BlankNode):
        raise _StatementAsNodeError(str(node))
    return f"_:{node.value}"


def _stable_names(entities: pa.Array) -> pa.Array:
    """The names, with randomly labelled blank nodes numbered instead, so that every reading gives the same names."""
    if not pc.any(pc.match_substring_regex(entities, f"^{RANDOM_LABEL.pattern}$")).as_py():
        return entities
    names = entities.to_pylist()
    taken = {name for name in names if name.startswith("_:")}
    free = (label for number in count(1) if (label := f"_:node{number}") not in taken)
    stable = [next(free) if RANDOM_LABEL.fullmatch(name) else name for name in names]
    return pa.array(stable, pa.large_string())


def _triples(block: pa.Table) -> Iterator[Triple]:
    """The rows as RDF triples."""
    for head, relation, tail, kind, datatype, language in zip(
        *(column.to_pylist() for column in block.columns), strict=True
    ):
        end = _node(tail) if kind == ENTITY else _literal(tail, datatype, language)
        yield Triple(_node(head), _iri(relation), end)


def _node(name: str) -> NamedNode | BlankNode:
    if not name.startswith("_:"):
        return _iri(name)
    try:
        return BlankNode(name[2:])
    except ValueError as error:
        raise ValueError(f"'{name}', expected a valid blank node label") from error


def _iri(name: str) -> NamedNode:
    try:
        return NamedNode(name)
    except ValueError as error:
        raise ValueError(f"'{name}', expected an IRI ({error})") from error


def _literal(value: str, datatype: str, language: str) -> Literal:
    try:
        return Literal(value, language=language) if language else Literal(value, datatype=NamedNode(datatype))
    except ValueError as error:
        kind = f"language '{language}'" if language else f"datatype '{datatype}'"
        raise ValueError(f"the {kind}, expected a valid one ({error})") from error


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the garbage collector, which would scan millions of live strings and free nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
