"""From RDF statements to a graph."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, parse

from emea.contracts import Reading
from emea.data import Graph
from emea.errors import InputError, SettingsError
from emea.formats._columns import CHUNK, LANGUAGE_STRING, GraphColumns, Rows
from emea.formats._files import TornError, line_blocks, open_bytes, suffix
from emea.formats._ntriples import Lines, check_iris, not_blank
from emea.formats._quads import RELATIVE, TRIPLE_TERM, Opened, bounded_terms, guarded, open_quads, own_iri
from emea.formats._salvage import salvaged
from emea.formats._skipped import Skipped
from emea.formats._validity import HINT, UnreadableError

LISTED = 5  # named graphs that an error lists
RANDOM_LABEL = re.compile(r"_:[a-f][0-9a-f]{19,31}")  # what the parser gives a node written as []
DATASETS = (".nq", ".trig", ".jsonld")  # suffixes of files with named graphs
BY_LINE = ".nt"  # of files with a statement in each line
FORMULAS = ".n3"  # of files with statements that are only quoted

GraphName = NamedNode | BlankNode | DefaultGraph


def read_statements(path: Path, reading: Reading) -> Graph:
    """The graph in a file or, if it has several, the chosen one; a single named graph needs no choice."""
    try:
        return _read(path, reading)
    except _OneNamedError as only:
        graph = _read(path, reading.model_copy(update={"graph": only.name}))
        return replace(graph, notes=(f"{path}: all triples are in the graph <{only.name}>", *graph.notes))


def _read(path: Path, reading: Reading) -> Graph:
    try:
        if suffix(path) == BY_LINE and (graph := _by_line(path)) is not None:
            return graph
        with open_quads(path, reading) as opened:
            return _graph(opened, path, reading)
    except UnreadableError as error:
        if not reading.lenient:
            raise InputError(f"{error}; {HINT}") from error
    except TornError:
        if not reading.lenient:
            raise
    skipped = Skipped(path)
    with bounded_terms(path):
        graph = _graph(salvaged(path, reading, skipped), path, reading)
    return replace(graph, notes=(*graph.notes, *skipped.notes()))


def _by_line(path: Path) -> Graph | None:
    """The graph in N-Triples, read by the line; None if the parser has to read all of it, or to say what is wrong."""
    columns, nested = GraphColumns(), 0
    try:
        with _collector_paused(), bounded_terms(path), open_bytes(path) as file:
            for block in line_blocks(path, file):
                lines, rows = Lines(block), Rows()
                nested += lines.others.count(TRIPLE_TERM)
                guarded(path, nested)
                described = _unpack(parse(lines.others, RdfFormat.N_TRIPLES, base_iri=own_iri(path)), rows)
                lines.add_to(columns, rows, described)
        graph = _built(columns, path)
        check_iris(not_blank(graph.entities), graph.relations, graph.attributes)
    except (SyntaxError, ValueError, _StatementAsNodeError):
        return None
    return graph


def _graph(opened: Opened, path: Path, reading: Reading) -> Graph:
    """The graph of the statements, or of those in the chosen graph."""
    if suffix(path) not in (*DATASETS, FORMULAS):
        graph = graph_of(opened.quads, path)
        return replace(graph, notes=(*opened.notes, *graph.notes))
    chosen = _Chosen(reading)
    graph = graph_of(chosen.of(opened.quads), path)
    if suffix(path) != FORMULAS:
        chosen.check(graph, path)
    elif chosen.others:
        opened.notes.append(f"{path}: statements inside formulas were left out")
    return replace(graph, notes=(*opened.notes, *graph.notes))


def graph_of(quads: Iterator[Quad], path: Path) -> Graph:
    """The graph of all statements; a note says if names were relative."""
    columns = GraphColumns()
    with _collector_paused():
        try:
            _collect(quads, columns)
        except _StatementAsNodeError as error:
            raise UnreadableError(
                f"{path}: found the triple {error} used as a node, expected an IRI or a blank node"
            ) from error
    return _built(columns, path)


def _built(columns: GraphColumns, path: Path) -> Graph:
    graph = _with_blank_note(columns.build(rename=_stable_names), path)
    names = (graph.entities, graph.relations, graph.attributes)
    relative = sum(pc.sum(pc.starts_with(each, RELATIVE)).as_py() or 0 for each in names)
    if not relative:
        return graph
    what = "name begins" if relative == 1 else "names begin"
    note = f"{path}: {relative:,} {what} with {RELATIVE}, the base of relative IRIs in files that state none"
    return replace(graph, notes=(*graph.notes, note))


def _with_blank_note(graph: Graph, path: Path) -> Graph:
    """The graph, and a note if none of the things it describes has a name."""
    blank = pc.starts_with(graph.entities, "_:").to_numpy(zero_copy_only=False)
    if not blank.any():
        return graph
    described = np.zeros(len(blank), dtype=bool)
    described[graph.triples.numpy()[:, 0]] = described[graph.literals["entity"].to_numpy()] = True
    if (described & ~blank).any():
        return graph
    note = (
        f"{path}: all {described.sum():,} things described are blank nodes, which are linked only with "
        "--set evidence.anonymous=true; expected IRIs (in JSON-LD, an @id each)"
    )
    return replace(graph, notes=(*graph.notes, note))


class _Chosen:
    """The statements of one of the graphs in a file, and the names of some of the others."""

    def __init__(self, reading: Reading) -> None:
        self._wanted = _graph_name(reading.graph)
        self.others = set[str]()

    def of(self, quads: Iterable[Quad]) -> Iterator[Quad]:
        """The statements of the chosen graph."""
        wanted, others = self._wanted, self.others
        for quad in quads:
            if quad.graph_name == wanted:
                yield quad
            elif len(others) <= LISTED:
                others.add("the default graph" if isinstance(quad.graph_name, DefaultGraph) else str(quad.graph_name))

    def check(self, graph: Graph, path: Path) -> None:
        """Refuse a graph without statements if others have some."""
        if not self.others or len(graph.entities):
            return
        is_default = isinstance(self._wanted, DefaultGraph)
        if is_default and len(self.others) == 1 and (only := min(self.others)).startswith("<"):
            raise _OneNamedError(only[1:-1])
        where = "outside named graphs" if is_default else f"in the graph {self._wanted}"
        listed = ", ".join(sorted(self.others)[:LISTED]) + (" and more" if len(self.others) > LISTED else "")
        raise InputError(
            f"{path} has no triples {where}; found some in {listed}, expected one of these graphs (--graph)"
        )


def _graph_name(name: str | None) -> GraphName:
    if name is None:
        return DefaultGraph()
    try:
        return BlankNode(name[2:]) if name.startswith("_:") else NamedNode(name)
    except ValueError as error:
        raise SettingsError(f"found the graph name {name}, expected an IRI ({error})") from error


class _OneNamedError(Exception):
    """All statements are in one named graph."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class _StatementAsNodeError(Exception):
    """A triple was found instead of an entity or a literal."""


def _collect(quads: Iterator[Quad], columns: GraphColumns) -> None:
    """Collect the rows in parts."""
    while True:
        _unpack(islice(quads, CHUNK), columns.rows)
        if not columns.rows.heads and not columns.rows.values:
            return
        columns.pack()


def _unpack(quads: Iterable[Quad], rows: Rows) -> list[int]:
    """Add statements to the rows; says which of them are about literals. This loop dominates reading time, so it does
    nothing but unpack and append."""
    described: list[int] = []
    add_head, add_relation, add_tail = rows.heads.append, rows.relations.append, rows.tails.append
    add_entity, add_attribute, add_value = rows.described.append, rows.attributes.append, rows.values.append
    add_datatype, add_language, add_number = rows.datatypes.append, rows.languages.append, described.append
    for number, (head, relation, tail, _) in enumerate(quads):
        name = head.value if type(head) is NamedNode else _blank(head)
        if type(tail) is Literal:
            language = tail.language
            add_number(number)
            add_entity(name)
            add_attribute(relation.value)
            add_value(tail.value)
            add_datatype(tail.datatype.value if language is None else LANGUAGE_STRING)
            add_language(language or "")
        else:
            add_head(name)
            add_relation(relation.value)
            add_tail(tail.value if type(tail) is NamedNode else _blank(tail))
    return described


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
