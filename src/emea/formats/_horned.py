"""Ontologies in the syntaxes of OWL, turned into RDF/XML by py-horned-owl."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from emea.errors import InputError
from emea.formats._files import one_line, open_bytes
from emea.formats._validity import is_panic
from emea.formats._xml import DEPTH, open_xml

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>\s]*>|#[^\n]*|[()]', re.DOTALL)
LINE = re.compile(r"(?:Pos|Span)\(\((\d+), (\d+)\)")
BYTE = re.compile(r"Byte(?:Position|Span)\((\d+)")
QUOTED = re.compile(r'ValidityError\("((?:[^"\\]|\\.)*)"')
SHOWN = 40  # characters of the text at an error


@dataclass(frozen=True)
class OntologySyntax:
    """A syntax for ontologies."""

    name: str
    code: Literal["owx", "ofn", "omn"]


XML = OntologySyntax("OWL/XML", "owx")
FUNCTIONAL = OntologySyntax("OWL functional syntax", "ofn")
MANCHESTER = OntologySyntax("Manchester syntax", "omn")


def as_rdf_xml(path: Path, syntax: OntologySyntax) -> str:
    """The ontology in a file as RDF/XML."""
    try:
        from pyhornedowl import open_ontology_from_string
    except ImportError as error:
        raise InputError(f"{path}: {syntax.name} needs a package: pip install 'emea[owl]'") from error
    text = _text(path, syntax)
    try:
        return str(open_ontology_from_string(text, syntax.code).save_to_string("rdf"))
    except ValueError as error:
        raise InputError(f"{path}{_place(str(error), text)}, expected {syntax.name}") from error
    except BaseException as error:
        if not is_panic(error):
            raise
        raise InputError(f"{path}: found text on which py-horned-owl fails, expected {syntax.name}") from error


def _text(path: Path, syntax: OntologySyntax) -> str:
    """The text of a file, checked for what would overflow the parser's stack."""
    if syntax == XML:
        with open_xml(path) as file:
            return file.expanded()
    with open_bytes(path) as plain:
        data = plain.read()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: found byte 0x{data[error.start]:02x}, expected text in UTF-8"
        ) from error
    depth = 0
    for token in TOKEN.finditer(text):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth > DEPTH:
            line = text.count("\n", 0, token.start()) + 1
            raise InputError(f"{path}, line {line}: found more than {DEPTH:,} levels of parentheses, expected fewer")
    return text


def _place(message: str, text: str) -> str:
    """Where an error is, as far as the parser says so, and what it found there."""
    reason = QUOTED.search(message)
    if at := LINE.search(message):
        line, column = int(at[1]), int(at[2])
        rest = (text.split("\n")[line - 1 : line] or [""])[0][column - 1 :]
    elif at := BYTE.search(message):
        before = text.encode()[: int(at[1])].decode(errors="ignore")
        line, rest = before.count("\n") + 1, text[len(before) :].partition("\n")[0]
    else:
        return f": {one_line(message)}"
    found = f"'{one_line(rest[:SHOWN])}'" if rest.strip() else "the end of a line"
    return f", line {line}: found {found}" + (f" ({one_line(reason[1])})" if reason else "")
