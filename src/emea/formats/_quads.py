"""RDF as a stream of statements, with errors that give the line."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast
from urllib.parse import quote

from pyoxigraph import Quad, RdfFormat, parse

from emea.contracts import PLAIN, Reading
from emea.errors import InputError
from emea.formats._files import BUFFER, one_line, open_bytes, suffix
from emea.formats._horned import FUNCTIONAL, MANCHESTER, XML, OntologySyntax, as_rdf_xml
from emea.formats._json_ld import json_ld_document, mapped
from emea.formats._packing import unpacked_name
from emea.formats._validity import UnreadableError, refuse, valid
from emea.formats._xml import SafeXML, open_xml

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

SYNTAX = {
    ".nt": RdfFormat.N_TRIPLES,
    ".ttl": RdfFormat.TURTLE,
    ".nq": RdfFormat.N_QUADS,
    ".trig": RdfFormat.TRIG,
    ".n3": RdfFormat.N3,
    ".jsonld": RdfFormat.JSON_LD,
    ".rdf": RdfFormat.RDF_XML,
    ".xml": RdfFormat.RDF_XML,
    ".owl": RdfFormat.RDF_XML,
}
ONTOLOGIES = {".ofn": FUNCTIONAL, ".owx": XML, ".omn": MANCHESTER}
PROLOG = rb"(?>\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)*+"
COMMENTS = rb"(?>\s|#[^\n]*\n)*+"
OTHERS: dict[RdfFormat | OntologySyntax, re.Pattern[bytes]] = {  # what people also store with the suffixes of RDF/XML
    XML: re.compile(PROLOG + rb"<Ontology[\s>]", re.DOTALL),
    FUNCTIONAL: re.compile(COMMENTS + rb"(Prefix|Ontology)\s*\("),
    MANCHESTER: re.compile(COMMENTS + rb"(Prefix|Ontology):"),
    RdfFormat.TURTLE: re.compile(COMMENTS + rb"(?i:@?prefix\s+[\w.-]*:|@?base)\s*<"),
}
ELEMENT, RDF_MARK = re.compile(PROLOG + rb"<[^\W\d]", re.DOTALL), b"22-rdf-syntax-ns#"  # of XML, and of RDF in it
RELATIVE = "file:///"  # how the names begin that were completed because a file states no base
TRIPLE_TERM = b"<<("
TRIPLE_TERMS = 1_000  # allowed in a file; the parser's stack would overflow at about 10,000 nested ones


@dataclass(frozen=True)
class Opened:
    """The statements of a file, and what there is to say about it once they are read."""

    quads: Iterator[Quad]
    notes: list[str] = field(default_factory=list)


def recognised(path: Path) -> RdfFormat | OntologySyntax:
    """The syntax of a file: given by its suffix or, for those of RDF/XML, by how it begins."""
    if suffix(path) in ONTOLOGIES:
        return ONTOLOGIES[suffix(path)]
    syntax = SYNTAX[suffix(path)]
    if syntax != RdfFormat.RDF_XML:
        return syntax
    start = _start(path)
    return next((other for other, pattern in OTHERS.items() if pattern.match(start)), syntax)


def holds_rdf(path: Path) -> bool:
    """Whether a file with a suffix of RDF/XML does not begin as other XML."""
    start = _start(path)
    return recognised(path) != RdfFormat.RDF_XML or RDF_MARK in start or not ELEMENT.match(start)


def _start(path: Path) -> bytes:
    with open_bytes(path) as file:
        return file.peek(BUFFER)


def own_iri(path: Path) -> str:
    """The base of relative IRIs if the file states none: the same in every folder.

    >>> own_iri(Path("some/folder/graph 1.ttl.gz"))
    'file:///graph%201.ttl'
    """
    return RELATIVE + quote(unpacked_name(path))


@contextmanager
def open_quads(path: Path, reading: Reading = PLAIN) -> Iterator[Opened]:
    """The statements in a file."""
    syntax = recognised(path)
    with bounded_terms(path), ExitStack() as stack:
        file: io.BufferedReader | SafeXML | None = None
        try:
            if isinstance(syntax, OntologySyntax):
                yield Opened(valid(parse(as_rdf_xml(path, syntax), RdfFormat.RDF_XML, lenient=True), refuse(path)))
            elif syntax == RdfFormat.JSON_LD:
                yield _json_ld(path, reading)
            else:
                if syntax == RdfFormat.RDF_XML:
                    file = stack.enter_context(open_xml(path))
                else:
                    file = io.BufferedReader(_Shallow(path, stack.enter_context(open_bytes(path))), BUFFER)
                yield Opened(parse(cast(BinaryIO, file), syntax, base_iri=own_iri(path)))
        except SyntaxError as error:
            raise UnreadableError(f"{path}{_place(error, file)}; expected {syntax.name}") from error


@contextmanager
def bounded_terms(path: Path) -> Iterator[None]:
    """Say what is wrong where the parser, which keeps terms in a buffer of a certain size, says it is out of memory."""
    try:
        yield
    except MemoryError as error:
        if "buffer maximal size" not in str(error):
            raise
        raise InputError(f"{path}: found a name or value of more than 16 MB, expected shorter ones") from error


def _json_ld(path: Path, reading: Reading) -> Opened:
    """The statements of JSON-LD. The parser would leave out those with invalid IRIs in silence, unless told not to."""
    notes: list[str] = []
    quads = parse(json_ld_document(path, reading.context), RdfFormat.JSON_LD, base_iri=own_iri(path), lenient=True)
    return Opened(valid(mapped(quads, path, notes), refuse(path)), notes)


def _place(error: SyntaxError, file: io.BufferedReader | SafeXML | None) -> str:
    """Where an error is, as far as its parser says so, and what it is."""
    if isinstance(file, SafeXML):
        return f", line {file.line} or shortly before: {one_line(error.msg)}"
    if error.lineno:
        return f", line {error.lineno}: {one_line(error.msg.partition(': ')[2])}"
    return f": {one_line(error.msg)}"


def guarded(path: Path, found: int) -> None:
    """Refuse a file in which so many triples are nodes that their nesting might overflow the parser's stack."""
    if found > TRIPLE_TERMS:
        raise InputError(f"{path}: found more than {TRIPLE_TERMS:,} triples used as nodes, expected IRIs")


class _Shallow(io.RawIOBase):
    """A file of N-Triples, N-Quads, Turtle, TriG or N3; an error if its triples could be nested too deeply."""

    def __init__(self, path: Path, file: io.BufferedReader) -> None:
        self._path, self._file = path, file
        self._found, self._last = 0, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        size = self._file.readinto(buffer)
        with memoryview(buffer) as view:
            piece = self._last + view[:size].tobytes()
        self._last = piece[-len(TRIPLE_TERM) + 1 :]
        self._found += piece.count(TRIPLE_TERM)
        guarded(self._path, self._found)
        return size
