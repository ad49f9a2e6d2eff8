"""RDF as a stream of statements, with errors that give the line."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from pyoxigraph import QuadParser, RdfFormat, parse

from emea.errors import InputError
from emea.formats._files import BUFFER, one_line, open_bytes, suffix
from emea.formats._xml import SafeXML, open_xml

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

SYNTAX = {
    ".nt": RdfFormat.N_TRIPLES,
    ".ttl": RdfFormat.TURTLE,
    ".nq": RdfFormat.N_QUADS,
    ".rdf": RdfFormat.RDF_XML,
    ".xml": RdfFormat.RDF_XML,
    ".owl": RdfFormat.RDF_XML,
}
TRIPLE_TERM = b"<<("
TRIPLE_TERMS = 1_000  # allowed in a file; the parser's stack would overflow at about 10,000 nested ones


class _Shallow(io.RawIOBase):
    """A file of N-Triples, N-Quads or Turtle; an error if its triples could be nested too deeply."""

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
        if self._found > TRIPLE_TERMS:
            raise InputError(f"{self._path}: found more than {TRIPLE_TERMS:,} triples used as nodes, expected IRIs")
        return size


@contextmanager
def open_quads(path: Path) -> Iterator[QuadParser]:
    """The statements in a file, in the syntax given by its suffix."""
    syntax = SYNTAX[suffix(path)]
    with ExitStack() as stack:
        file: io.BufferedReader | SafeXML
        if syntax == RdfFormat.RDF_XML:
            file = stack.enter_context(open_xml(path))
        else:
            file = io.BufferedReader(_Shallow(path, stack.enter_context(open_bytes(path))), BUFFER)
        try:
            yield parse(cast(BinaryIO, file), syntax)
        except SyntaxError as error:
            line = f"line {error.lineno}" if error.lineno else "line 1"
            reason = error.msg.partition(": ")[2]
            if isinstance(file, SafeXML):  # whose parser does not report a line
                line, reason = f"line {file.line} or shortly before", error.msg
            raise InputError(f"{path}, {line}: {one_line(reason)}; expected {syntax.name}") from error
