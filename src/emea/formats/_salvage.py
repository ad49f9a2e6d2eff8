"""Reads what can be read of a faulty file, and counts the statements that are skipped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Generic, TypeVar
from xml.parsers import expat

from pyoxigraph import Quad, QuadParser, RdfFormat, Triple, parse

from emea.contracts import Reading
from emea.formats._files import one_line, open_bytes
from emea.formats._horned import OntologySyntax, as_rdf_xml
from emea.formats._json_ld import json_ld_document, mapped
from emea.formats._quads import TRIPLE_TERM, Opened, guarded, own_iri, recognised
from emea.formats._skipped import Skipped
from emea.formats._turtle import Braces, Statement, single_triples, statements
from emea.formats._validity import TRIPLE_AS_NODE, valid
from emea.formats._xml import open_xml

Read = TypeVar("Read")
BATCH = 1_000  # parts that are parsed together
POSITION = re.compile(r"Parser error (at|between) .*?: ")
BRACES: dict[RdfFormat, Braces] = {RdfFormat.TRIG: "graphs", RdfFormat.N3: "nodes"}
NOT_UTF8 = "surrogateescape"  # bytes that are not UTF-8 are kept for the parser to refuse


@dataclass(frozen=True)
class Part:
    """A part of a file that can be parsed on its own, between what it needs of the rest."""

    text: bytes
    line: int
    before: bytes = b""
    after: bytes = b""

    @property
    def frame(self) -> tuple[bytes, bytes]:
        """What the part stands between."""
        return self.before, self.after


@dataclass(frozen=True)
class Salvage(Generic[Read]):
    """Parses parts of a file, many at a time; where that fails, halves of them, down to each on its own."""

    parse: Callable[[bytes], list[Read]]
    rescue: Callable[[Part, SyntaxError], Iterable[Read]]  # what can be had of a part that cannot be parsed

    def read(self, parts: Iterable[Part]) -> Iterator[Read]:
        """What the parts hold, in their order."""
        for _, group in groupby(parts, key=lambda part: part.frame):
            while batch := list(islice(group, BATCH)):
                yield from self._read(batch)

    def _read(self, batch: list[Part]) -> Iterator[Read]:
        before, after = batch[0].frame
        try:
            yield from self.parse(before + b"".join(part.text for part in batch) + after)
        except SyntaxError as error:
            if len(batch) == 1:
                yield from self.rescue(batch[0], error)
                return
            middle = len(batch) // 2
            yield from self._read(batch[:middle])
            yield from self._read(batch[middle:])


def salvaged(path: Path, reading: Reading, skipped: Skipped) -> Opened:
    """The statements of a file that can be read."""
    syntax = recognised(path)
    if isinstance(syntax, OntologySyntax):
        quads: Iterator[Quad] = parse(as_rdf_xml(path, syntax), RdfFormat.RDF_XML, lenient=True)
        return Opened(valid(quads, lambda reason, _: skipped.add(reason)))
    if syntax == RdfFormat.JSON_LD:
        notes: list[str] = []
        document = json_ld_document(path, reading.context)
        quads = _errors_skipped(parse(document, syntax, base_iri=own_iri(path), lenient=True), skipped)
        return Opened(valid(mapped(quads, path, notes), lambda reason, _: skipped.add(reason)), notes)
    return Opened(_Pieces(path, syntax, skipped).quads())


def _errors_skipped(quads: QuadParser, skipped: Skipped) -> Iterator[Quad]:
    """The statements, with errors between them skipped."""
    while True:
        try:
            yield next(quads)
        except StopIteration:
            return
        except SyntaxError as error:
            skipped.add(_reason(error))


def _reason(error: SyntaxError) -> str:
    """What is wrong, without the position in the part."""
    return one_line(POSITION.sub("", error.msg))


@dataclass(frozen=True)
class _Pieces:
    """A file in one of the syntaxes of RDF, read in pieces."""

    path: Path
    syntax: RdfFormat
    skipped: Skipped

    def quads(self) -> Iterator[Quad]:
        """The statements that can be read."""
        if self.syntax == RdfFormat.RDF_XML:
            return Salvage(self._parse, self._rescue_element).read(self._elements())
        if self.syntax in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS):
            return Salvage(self._parse, self._skip).read(self._lines())
        return Salvage(self._parse, self._rescue_statement).read(self._statements())

    def _parse(self, document: bytes) -> list[Quad]:
        guarded(self.path, document.count(TRIPLE_TERM))
        found = list(parse(document, self.syntax, base_iri=own_iri(self.path)))
        if any(isinstance(quad.object, Triple) for quad in found):
            raise SyntaxError(TRIPLE_AS_NODE)
        return found

    def _skip(self, part: Part, error: SyntaxError) -> list[Quad]:
        self.skipped.add(_reason(error), part.line)
        return []

    def _lines(self) -> Iterator[Part]:
        with open_bytes(self.path, self.skipped.add) as file:
            for number, line in enumerate(file, 1):
                yield Part(line, number)

    def _statements(self) -> Iterator[Part]:
        """Each statement, with the directives that count where it stands and in the braces of its graph."""
        with open_bytes(self.path, self.skipped.add) as file:
            text = file.read().decode(errors=NOT_UTF8)
        header = b""
        for each in statements(text, BRACES.get(self.syntax)):
            if each.directive:
                header = self._directed(header, each)
                continue
            opened, closed = (b"", b"") if each.graph is None else (each.graph.encode(errors=NOT_UTF8), b"}\n")
            yield Part(each.text.encode(errors=NOT_UTF8) + b"\n", each.line, header + opened, closed)

    def _directed(self, header: bytes, directive: Statement) -> bytes:
        """The directives with one more, in full and each prefix once."""
        parser = parse(header + directive.text.encode(errors=NOT_UTF8), self.syntax, base_iri=own_iri(self.path))
        try:
            list(parser)
        except SyntaxError as error:
            self.skipped.add(_reason(error), directive.line)
            return header
        prefixes = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in parser.prefixes.items())
        return f"@base <{parser.base_iri}> .\n{prefixes}".encode()

    def _rescue_statement(self, part: Part, error: SyntaxError) -> list[Quad]:
        """The triples of a statement that can be read."""
        singles = single_triples(part.text.decode(errors=NOT_UTF8))
        if len(singles) < 2:
            return self._skip(part, error)
        found: list[Quad] = []
        for text, further in singles:
            try:
                found += self._parse(part.before + text.encode(errors=NOT_UTF8) + part.after)
            except SyntaxError as own:
                self.skipped.add(_reason(own), part.line + further)
        return found

    def _elements(self) -> Iterator[Part]:
        """Each element below the root."""
        with open_xml(self.path) as file:
            data = file.read() or b""
        starts = _Starts(data)
        if not starts.places:
            yield Part(data, 1)
            return
        before, after = data[: starts.places[0][0]], data[starts.end :]
        ends = [*(offset for offset, _ in starts.places[1:]), starts.end]
        for (start, line), end in zip(starts.places, ends, strict=True):
            yield Part(data[start:end], line, before, after)

    def _rescue_element(self, part: Part, error: SyntaxError) -> list[Quad]:
        """The statements of an element whose IRIs and languages are valid; none if something else is wrong."""
        document = part.before + part.text + part.after
        try:
            found = list(parse(document, self.syntax, base_iri=own_iri(self.path), lenient=True))
        except SyntaxError:
            return self._skip(part, error)

        def skip(reason: str, text: str) -> None:
            before = max(0, part.text.find(text.encode()))
            self.skipped.add(reason, part.line + part.text.count(b"\n", 0, before))

        return list(valid(found, skip))


class _Starts:
    """Where the elements below the root of RDF/XML begin."""

    def __init__(self, data: bytes) -> None:
        self.places: list[tuple[int, int]] = []  # offset and line
        self.end = len(data)  # of what is below the root
        self._depth, self._root = 0, ""
        self._parser = expat.ParserCreate("UTF-8", " ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._stop
        self._parser.Parse(data, True)

    def _start(self, name: str, _attributes: dict[str, str]) -> None:
        self._root = self._root or name
        if self._depth == 1 and self._root.endswith("22-rdf-syntax-ns# RDF"):
            self.places.append((self._parser.CurrentByteIndex, self._parser.CurrentLineNumber))
        self._depth += 1

    def _stop(self, _name: str) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.end = self._parser.CurrentByteIndex
