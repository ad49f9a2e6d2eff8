"""XML that is safe to parse: always UTF-8, well-formed, and without entities that expand too far."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from xml.parsers import expat

from emea.errors import InputError
from emea.formats._files import EXPANDED_SIZE, EXPANDED_TIMES, expands_too_far, open_bytes

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PIECE = 1 << 13  # bytes checked at a time, which limits how precisely an error's line is known
PROLOG = 1 << 20  # bytes allowed before the first element
DEPTH = 1_000  # levels of nested elements; beyond this, some parsers take quadratic time
ENTITIES, ENTITY_SIZE = 1_000, 1_000  # how many may be declared, and how long; they abbreviate the beginnings of IRIs

DECLARED = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
KNOWN_ENCODINGS = re.compile(
    r"utf-8|utf-8-sig|ascii|utf-16(-[lb]e)?|iso8859-\d+|cp125\d|koi8-[ru]|mac-roman|shift_jis|euc_(jp|kr)|gb\w+|big5"
)
WIDE_STARTS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"<\x00": "utf-16-le", b"\x00<": "utf-16-be"}
REFERENCE = re.compile(r"&([^\s&;#]+);")
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # not allowed in XML


class SafeXML(io.RawIOBase):
    """The bytes of an XML file from its first element on, preceded by a document type if it declares entities."""

    def __init__(self, path: Path, file: io.BufferedReader) -> None:
        self._path, self._file = path, file
        self._encoding = _encoding(path, file)
        self._decoder = codecs.getincrementaldecoder(self._encoding)()
        self._parser = self._guarded_parser()
        self._entities: dict[str, str] = {}
        self._longest = self._depth = self._lines = self._read = self._expanded = 0
        self._first_element = -1  # its byte offset
        self._ended = False
        self._ready = self._prolog()
        self.line = 1  # of the last byte passed on

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer with checked bytes."""
        if not self._ready:
            self._ready = self._piece()
        with memoryview(buffer) as view:
            size = min(len(view), len(self._ready))
            view[:size] = self._ready[:size]
        self.line += self._ready.count(b"\n", 0, size)
        self._ready = self._ready[size:]
        return size

    def expanded(self) -> str:
        """The text of the whole file with the entities that it declares replaced, for parsers that do not do so."""
        text = self.readall().removeprefix(self._document_type).decode()
        return REFERENCE.sub(
            lambda found: _quoted(self._entities[found[1]]) if found[1] in self._entities else found[0], text
        )

    def _guarded_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate("UTF-8", " ")  # with namespaces, so that an undeclared prefix is an error
        parser.EntityDeclHandler = self._declare
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        return parser

    def _prolog(self) -> bytes:
        """The first bytes, with the prolog replaced by the entities it declares and as many line breaks."""
        read = b""
        while self._first_element < 0 and not self._ended:
            read += self._piece()
            if len(read) > PROLOG:
                raise InputError(f"{self._path}: found no element in the first {PROLOG:,} bytes, expected RDF/XML")
        prolog, rest = read[: self._first_element], read[self._first_element :]
        declared = "".join(f'<!ENTITY {name} "{_quoted(value)}">' for name, value in self._entities.items())
        self._document_type = f"<!DOCTYPE rdf [{declared}]>".encode() if declared else b""
        return self._document_type + b"\n" * prolog.count(b"\n") + rest

    def _piece(self) -> bytes:
        """The next bytes, checked; empty at the end of the file."""
        while not self._ended:
            raw = self._file.read(PIECE)
            self._ended = not raw
            try:
                piece = self._decoder.decode(raw, final=not raw).encode()
            except UnicodeError as error:
                raise self._undecodable(error) from error
            if b"\0" in piece:  # expat would take it for UTF-16, whatever it is told
                line = self._lines + 1 + piece.count(b"\n", 0, piece.index(b"\0"))
                raise InputError(f"{self._path}, line {line}: found zeros, expected text in {self._encoding}")
            self._lines += piece.count(b"\n")
            try:
                self._parser.Parse(piece, self._ended)
            except expat.ExpatError as error:
                what = expat.errors.messages[error.code]
                raise InputError(
                    f"{self._path}, line {error.lineno}: {what}; expected complete, well-formed XML"
                ) from error
            self._count_references(piece)
            if piece:
                return piece
        return b""

    def _undecodable(self, error: UnicodeError) -> InputError:
        found, line = "bytes", self._lines + 1
        if isinstance(error, UnicodeDecodeError):
            found = f"byte 0x{error.object[error.start]:02x}"
            line += error.object.count(b"\n", 0, error.start)
        return InputError(f"{self._path}, line {line}: found {found}, expected text in {self._encoding}")

    def _count_references(self, piece: bytes) -> None:
        self._read += len(piece)
        self._expanded += piece.count(b"&") * self._longest
        if expands_too_far(self._expanded, self._read):
            self._refuse(
                f"found entities that expand to more than {EXPANDED_SIZE:,} bytes, "
                f"expected at most {EXPANDED_TIMES} times the bytes read"
            )

    def _start(self, _name: str, _attributes: dict[str, str]) -> None:
        if self._first_element < 0:
            self._first_element = self._parser.CurrentByteIndex
        self._depth += 1
        if self._depth > DEPTH:
            self._refuse(f"found more than {DEPTH:,} levels of nested elements, expected fewer")

    def _end(self, _name: str) -> None:
        self._depth -= 1

    def _declare(
        self, name: str, parameter: bool, value: str | None, _base: str | None, system: str | None, *_rest: str | None
    ) -> None:
        """Keep an entity that stands for plain text; any other could expand without limit or read other files."""
        if parameter or system is not None or value is None:
            self._refuse(f"found the external or parameter entity {name}, expected entities that stand for plain text")
        if "&" in value or "<" in value:
            self._refuse(f"found the entity {name} with markup or other entities in it, expected plain text")
        if len(value) > ENTITY_SIZE or len(self._entities) == ENTITIES:
            self._refuse(
                f"found the entity {name}, expected at most {ENTITIES:,} entities of {ENTITY_SIZE:,} characters"
            )
        self._entities.setdefault(name, value)
        self._longest = max(self._longest, len(value.encode()))

    def _refuse(self, what: str) -> NoReturn:
        raise InputError(f"{self._path}, line {self._parser.CurrentLineNumber}: {what}")


@contextmanager
def open_xml(path: Path) -> Iterator[SafeXML]:
    """An XML file, checked while it is read."""
    with open_bytes(path) as file:
        yield SafeXML(path, file)


def _encoding(path: Path, file: io.BufferedReader) -> str:
    """The encoding that the first bytes imply or declare; UTF-8 by default."""
    start = file.peek(PIECE)
    if start[:2] in WIDE_STARTS:
        return WIDE_STARTS[start[:2]]
    found = DECLARED.match(start.lstrip())
    declared = found[1].decode() if found else "utf-8"
    try:
        name = codecs.lookup(declared).name
    except LookupError:
        name = ""
    if not KNOWN_ENCODINGS.fullmatch(name):
        raise InputError(
            f"{path}, line 1: found the encoding {declared}, expected a supported one such as UTF-8 or windows-1252"
        )
    return "utf-8" if name.startswith("utf-16") else name  # the declaration was readable, so the file is not UTF-16


def _quoted(value: str) -> str:
    return value.replace('"', "&#34;").replace(">", "&#62;")
