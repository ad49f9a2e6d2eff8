"""RDF: graphs in N-Triples, N-Quads, Turtle, TriG, N3, JSON-LD and RDF/XML, pairs as owl:sameAs and the like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from emea.contracts import PLAIN, AlignmentWriter, GraphReader, GraphWriter, PairReader, PairWriter, Reading
from emea.data import Alignment, Graph, Task
from emea.errors import InputError, SettingsError
from emea.formats._equality import stated
from emea.formats._files import suffix, writing
from emea.formats._ntriples import check_iris
from emea.formats._pairs import DIFFERENT, EQUAL, PairColumns, is_excluded, is_unmatched
from emea.formats._quads import SYNTAX, holds_rdf, open_quads
from emea.formats._rdfxml import write_rdf_xml
from emea.formats._selection import expanded
from emea.formats._statements import DATASETS, read_statements
from emea.formats._triples import ENTITY, row_blocks
from emea.formats._writing import alignment_pairs, sort_by_name


class RDF(GraphReader, GraphWriter, PairReader, PairWriter, AlignmentWriter):
    """IRIs and blank nodes are entities; literals keep their datatype and language."""

    description: ClassVar[str] = (
        "RDF graphs in N-Triples (.nt), N-Quads (.nq), Turtle (.ttl), TriG (.trig), N3 (.n3), JSON-LD (.jsonld) and "
        "RDF/XML (.rdf, .xml, .owl); pairs as owl:sameAs (.nt, .ttl)"
    )
    suffixes: ClassVar[tuple[str, ...]] = tuple(SYNTAX)
    choices: ClassVar[tuple[str, ...]] = ("graph", "context", "lenient")
    pair_suffixes: ClassVar[tuple[str, ...]] = (".nt", ".ttl")

    def holds_graph(self, path: Path) -> bool:
        """Whether a document in XML is RDF, or an ontology."""
        return suffix(path) != ".xml" or holds_rdf(path)

    def read_graph(self, path: Path, reading: Reading = PLAIN) -> Graph:
        """The graph in a file or, if it has several, the chosen one."""
        _check_choices(path, reading)
        return read_statements(path, reading)

    def write_graph(self, graph: Graph, path: Path) -> None:
        """Write the triples, then the literals, in the syntax given by the suffix."""
        self._write((triple for block in row_blocks(graph) for triple in _triples(block)), path)

    def write_graphs(self, graphs: Sequence[tuple[Graph, str | None]], path: Path) -> None:
        """Write several graphs into one file, each under its name, in a syntax that has named graphs."""
        named = ((graph, DefaultGraph() if name is None else _iri(name)) for graph, name in graphs)
        rows = ((triple, name) for graph, name in named for block in row_blocks(graph) for triple in _triples(block))
        quads = (Quad(each.subject, each.predicate, each.object, name) for each, name in rows)
        with _written(path) as file:
            serialize(quads, file, SYNTAX[suffix(path)])

    def holds_pairs(self, path: Path) -> bool:
        """Whether every triple states that two entities are the same or different."""
        with open_quads(path) as opened:
            found = False
            for quad in opened.quads:
                if quad.predicate.value not in (*EQUAL, DIFFERENT):
                    return False
                found = True
        return found

    def read_pairs(self, path: Path) -> pa.Table:
        """The pairs stated to be the same, and those stated to be different as excluded; other triples are skipped."""
        columns = PairColumns()
        with open_quads(path) as opened:
            for quad in opened.quads:
                name = quad.predicate.value
                if name not in (*EQUAL, DIFFERENT):
                    columns.skip("other relations")
                    continue
                if not isinstance(quad.subject, NamedNode) or not isinstance(quad.object, NamedNode):
                    raise InputError(f"{path}: found {quad.subject} paired with {quad.object}, expected IRIs")
                columns.add(quad.subject.value, quad.object.value, excluded=name == DIFFERENT)
        return columns.build(path, f"triples with {EQUAL[0]}")

    def write_pairs(self, pairs: pa.Table, path: Path) -> None:
        """Write one triple per pair: its predicate, owl:sameAs if it has none, or owl:differentFrom if the pair is
        excluded; entities without counterpart cannot be written."""
        pairs = pairs.filter(pa.array(~is_unmatched(pairs)))
        if suffix(path) == ".nt" and (lines := _plain_lines(pairs)) is not None:
            with writing(path) as file:
                file.write(lines)
            return
        relations = map(NamedNode, _relations(pairs).to_pylist())
        rows = zip(pairs["source"].to_pylist(), relations, pairs["target"].to_pylist(), strict=True)
        self._write((Triple(_iri(source), same, _iri(target)) for source, same, target in rows), path)

    def write_alignment(self, alignment: Alignment, task: Task, path: Path) -> None:
        """Write one triple per link, by the relation made for its entities: owl:sameAs, skos:exactMatch …"""
        predicates = stated(sort_by_name(alignment), task)
        self.write_pairs(alignment_pairs(alignment, task).append_column("predicate", predicates), path)

    def _write(self, triples: Iterator[Triple], path: Path) -> None:
        syntax = SYNTAX[suffix(path)]
        with _written(path) as file:
            if syntax == RdfFormat.RDF_XML:
                write_rdf_xml(file, triples)
            else:
                serialize(triples, file, syntax)


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    """A file to write; an error says what no RDF can hold."""
    with writing(path) as file:
        try:
            yield file
        except ValueError as error:
            instead = "a table (.csv, .parquet) takes any names"
            syntax = SYNTAX[suffix(path)].name
            raise InputError(f"{path} cannot be written as {syntax}: found {error}; {instead}") from error


def _plain_lines(pairs: pa.Table) -> pa.Buffer | bytes | None:
    """The pairs in N-Triples; None if some name is no IRI."""
    source, target = (
        pa.concat_arrays([pa.array([], pa.large_string()), *pairs[side].cast(pa.large_string()).chunks])
        for side in ("source", "target")
    )
    try:
        check_iris(source, target)
    except ValueError:
        return None
    before, between, after, nothing = (pa.scalar(text, pa.large_string()) for text in ("<", "> <", "> .\n", ""))
    lines = pc.binary_join_element_wise(before, source, between, _relations(pairs), between, target, after, nothing)
    return lines.buffers()[2] if len(lines) else b""


def _relations(pairs: pa.Table) -> pa.Array:
    """The relation that states each pair, [pairs]."""
    same = pa.repeat(pa.scalar(EQUAL[0], pa.large_string()), pairs.num_rows)
    if "predicate" in pairs.column_names:
        known = pc.unique(pairs["predicate"])
        full = pa.array([expanded(each) for each in known.to_pylist()], pa.large_string())
        same = full.take(pc.index_in(pairs["predicate"].combine_chunks(), known))
    return pc.if_else(pa.array(is_excluded(pairs)), pa.scalar(DIFFERENT, pa.large_string()), same)


def _check_choices(path: Path, reading: Reading) -> None:
    """Refuse choices that have no effect on files with this suffix."""
    if reading.graph is not None and suffix(path) not in DATASETS:
        raise SettingsError(
            f"found --graph for {path}, expected none: only {', '.join(DATASETS)} files have named graphs"
        )
    if reading.context is not None and suffix(path) != ".jsonld":
        raise SettingsError(f"found --context for {path}, expected none: only .jsonld files have contexts")


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
