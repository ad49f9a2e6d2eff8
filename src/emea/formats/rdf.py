"""RDF: graphs in N-Triples and Turtle, alignments as owl:sameAs."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyoxigraph import BlankNode, Literal, NamedNode, QuadParser, RdfFormat, parse

from emea.contracts import AlignmentWriter, GraphReader
from emea.data import Alignment, Graph, Task
from emea.errors import InputError
from emea.formats._columns import CHUNK, LANGUAGE_STRING, GraphColumns
from emea.formats._files import open_bytes, suffix, writing
from emea.formats._writing import names, sort_by_name

SYNTAX = {".nt": RdfFormat.N_TRIPLES, ".ttl": RdfFormat.TURTLE}
SAME_AS = "<http://www.w3.org/2002/07/owl#sameAs>"
RANDOM_LABEL = re.compile(r"_:[a-f][0-9a-f]{19,31}")  # what the parser gives to a node written []


class RDF(GraphReader, AlignmentWriter):
    """IRIs and blank nodes are entities; literals keep their datatype and language."""

    description: ClassVar[str] = "RDF graphs in N-Triples (.nt) and Turtle (.ttl); links as owl:sameAs N-Triples"
    suffixes: ClassVar[tuple[str, ...]] = tuple(SYNTAX)

    def read_graph(self, path: Path) -> Graph:
        """The graph in an N-Triples or Turtle file."""
        columns = GraphColumns()
        with open_bytes(path) as file, _collector_paused():
            try:
                _collect(parse(file, SYNTAX[suffix(path)]), columns)
            except SyntaxError as error:
                reason = error.msg.partition(": ")[2]
                raise InputError(
                    f"{path}, line {error.lineno}: {reason}; expected {SYNTAX[suffix(path)].name}"
                ) from error
            except _StatementAsNodeError as error:
                raise InputError(
                    f"{path}: found the triple {error} as a node, expected an IRI or a blank node"
                ) from error
            return columns.build(rename=_stable_names)

    def write_alignment(self, alignment: Alignment, task: Task, path: Path) -> None:
        """Write one owl:sameAs triple a line."""
        with writing(path) as file:
            sources, targets = (column.to_pylist() for column in names(sort_by_name(alignment), task))
            for source, target in zip(sources, targets, strict=True):
                file.write(f"{_node(source, path)} {SAME_AS} {_node(target, path)} .\n".encode())


class _StatementAsNodeError(Exception):
    """A triple stands where an entity or a literal was expected."""


def _collect(quads: QuadParser, columns: GraphColumns) -> None:
    """Take the rows in parts. The loop is the price of every file: it does nothing but append what it unpacks."""
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
    """The names with blank nodes that bear a random label numbered instead, so that reading twice gives the same."""
    names = entities.to_pylist()
    taken = {name for name in names if name.startswith("_:")}
    if not any(RANDOM_LABEL.fullmatch(name) for name in taken):
        return entities
    free = (label for number in count(1) if (label := f"_:node{number}") not in taken)
    stable = [next(free) if RANDOM_LABEL.fullmatch(name) else name for name in names]
    return pa.array(stable, pa.large_string())


def _node(name: str, path: Path) -> str:
    try:
        return str(NamedNode(name))
    except ValueError as error:
        raise InputError(
            f"{path} cannot be written: found the entity '{name}', expected IRIs only ({error})"
        ) from error


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Without the garbage collector, which would walk over millions of live strings and find nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
