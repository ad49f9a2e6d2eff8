"""The usual lines of N-Triples, split as bytes many at a time; the parser reads the others, and has the last word on
what IRIs, datatypes and languages may be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import NamedNode, RdfFormat, parse

from emea.formats._columns import LANGUAGE_STRING, GraphColumns, LiteralColumns, Rows
from emea.formats._fields import cut

BLANK, NEWLINE, QUOTE, BACKSLASH, DOT = (ord(each) for each in ' \n"\\.')
# What each byte stands for: itself if it may not be in an IRI, otherwise 0; tabs separate as blanks do.
MEANING = bytes(each or 1 if each <= BLANK or each in b'<>"{}|^`\\' else 0 for each in range(256))
MEANING = MEANING.replace(b"\t", b" ")
UNDERSCORE, BLANK_NODE = ord("_"), "_:"
START = b"<> <> "  # what is special in the beginning of a line of the usual form
LINK, DESCRIPTION = START + b"<> \n", START + b'"'
ESCAPES = {'\\"': '"', r"\n": "\n", r"\t": "\t", r"\r": "\r"}  # the usual ones
ESCAPED = np.frombuffer("".join(each[1] for each in ESCAPES).encode(), np.uint8)
PATH = (
    r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?\x{A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}\x{10000}-\x{1FFFD}-]"
    r"|%[0-9A-Fa-f]{2})*"
)
SURELY_IRI = rf"^[A-Za-z][A-Za-z0-9+.-]*:(?://[A-Za-z0-9.-]+(?:/{PATH})?|[A-Za-z0-9]{PATH})(?:#{PATH})?$"


def check_iris(*columns: pa.Array) -> None:
    """A ValueError if a name is not an IRI."""
    for names in columns:
        for name in names.filter(pc.invert(pc.match_substring_regex(names, SURELY_IRI))).to_pylist():
            NamedNode(name)


def not_blank(entities: pa.Array) -> pa.Array:
    """The names that are not those of blank nodes."""
    return entities.filter(pc.invert(pc.starts_with(entities, BLANK_NODE)))


class Lines:
    """The lines of a block of N-Triples, those of the usual form apart from the others. A ValueError says that only the
    parser can read them, or tell what is wrong."""

    def __init__(self, block: bytes) -> None:
        block = block.replace(b"\r\n", b"\n") if b"\r" in block else block
        if b"\r" in block:
            raise ValueError("found a carriage return, which may end a line")
        self._block = block if block.endswith(b"\n") else block + b"\n"
        self._bytes = np.frombuffer(self._block, np.uint8)
        meaning = np.frombuffer(self._block.translate(MEANING), np.uint8)
        self._place = np.flatnonzero(meaning != 0)  # [special bytes] in the block
        self._code = meaning[self._place]
        self._last = np.flatnonzero(self._code == NEWLINE)  # [lines] the special byte that ends it
        self._first = np.append(0, self._last[:-1] + 1)
        self._end = self._place[self._last]  # [lines] in the block
        self._start = np.append(0, self._end[:-1] + 1)
        self._links, self._descriptions = self._find_links(), self._find_descriptions()
        other = np.ones(len(self._end), dtype=bool)
        other[self._links] = other[self._descriptions] = False
        rows = np.flatnonzero(other).tolist()
        lines = [self._block[self._start[row] : self._end[row] + 1] for row in rows]
        self.others = b"".join(lines)
        self._stating = np.array(
            [row for row, line in zip(rows, lines, strict=True) if line.lstrip(b" \t")[0] not in b"\n#"]
        )

    def add_to(self, columns: GraphColumns, others: Rows, described: Sequence[int]) -> None:
        """Add all triples to the columns. The parser has read the other lines into rows, and `described` are those of
        its statements with literals. Literals stay in the order of lines."""
        if len(others.heads) + len(others.values) != len(self._stating):
            raise ValueError("found lines with several statements or none")
        if others.heads:
            columns.add_triples(*others.triples())
        if len(self._links):
            columns.add_triples(*self._triples())
        if not others.values:
            if len(self._descriptions):
                columns.add_literals(*self._literals())
            return
        order = np.argsort(np.append(self._descriptions, self._stating[described]))
        both = zip(self._literals(), others.literals(), strict=True)
        columns.add_literals(*(_joined(pair).take(pa.array(order)) for pair in both))

    def _find_links(self) -> np.ndarray:
        """The lines that are `<head> <relation> <tail> .`."""
        rows, place = self._begun(self._last - self._first + 1 == len(LINK), LINK)
        dot = self._bytes[place[8] + 1] == DOT
        dot &= self._bytes[place[6] + 1] != UNDERSCORE
        found: np.ndarray = rows[(place[7] + 1 == place[8]) & (place[8] + 2 == place[9]) & dot]
        return found

    def _find_descriptions(self) -> np.ndarray:
        """The lines that are `<entity> <attribute> "value"` and anything without quotes, all with usual escapes."""
        escapes = np.flatnonzero(self._code == BACKSLASH)
        rare = ~np.isin(self._bytes[self._place[escapes] + 1], ESCAPED)
        _, quotes = self._counted(self._quotes())
        _, escapes = self._counted(escapes[rare])
        return self._begun((quotes == 2) & (escapes == 0), DESCRIPTION)[0]

    def _quotes(self) -> np.ndarray:
        """The special bytes that are quotes without a backslash, in a line without two backslashes side by side."""
        found = np.flatnonzero(self._code == QUOTE)
        unescaped: np.ndarray = found[self._bytes[self._place[found] - 1] != BACKSLASH]
        return unescaped

    def _triples(self) -> tuple[pa.DictionaryArray, pa.DictionaryArray]:
        """Heads and after them tails, and relations."""
        place = self._place[self._first[self._links] + np.arange(8)[:, None]]
        head, relation, tail = cut(self._block, place[0] + 1, place[1], place[3] + 1, place[4], place[6] + 1, place[7])
        return pa.concat_arrays([head, tail]).dictionary_encode(), relation.dictionary_encode()

    def _literals(self) -> LiteralColumns:
        """Entities, attributes, values, datatypes and languages."""
        place = self._place[self._first[self._descriptions] + np.arange(7)[:, None]]
        quotes = self._quotes()
        before, _ = self._counted(quotes)
        closing = self._place[quotes[before[self._descriptions] + 1]]
        names = place[0] + 1, place[1], place[3] + 1, place[4]
        rest = place[6] + 1, closing, closing + 1, self._end[self._descriptions]
        entity, attribute, value, kind = cut(self._block, *names, *rest)
        return entity.dictionary_encode(), attribute.dictionary_encode(), _unescaped(value), *_kinds(kind)

    def _counted(self, special: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How many of these special bytes are before each line, and how many in it, [lines]."""
        before = np.searchsorted(special, self._first)
        return before, np.searchsorted(special, self._last) - before

    def _begun(self, chosen: np.ndarray, special: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Those of the chosen lines that begin with `<head> <relation> ` and go on with these special bytes, and where
        they are, [special bytes, lines]."""
        rows = np.flatnonzero(chosen & (self._last - self._first + 1 >= len(special)))
        index = self._first[rows] + np.arange(len(special))[:, None]
        place = self._place[index]
        fits = (self._code[index] == np.frombuffer(special, np.uint8)[:, None]).all(0) & (place[0] == self._start[rows])
        fits &= self._bytes[place[0] + 1] != UNDERSCORE  # <_:name> is no IRI, and no blank node
        for number in (1, 2, 4, 5):  # nothing between > and the blank, nor between that and what follows
            fits &= place[number] + 1 == place[number + 1]
        return rows[fits], place[:, fits]


def _unescaped(values: pa.Array) -> pa.Array:
    """The values with what the usual escapes stand for; no backslash in them is escaped."""
    if pc.any(pc.match_substring(values, "\\")).as_py():
        for escape, meant in ESCAPES.items():
            values = pc.replace_substring(values, escape, meant)
    return values


def _kinds(endings: pa.Array) -> tuple[pa.DictionaryArray, pa.DictionaryArray]:
    """The datatypes and languages told by what follows the values."""
    encoded = endings.dictionary_encode()
    text = "".join(f'<a:a> <a:a> ""{ending}\n' for ending in encoded.dictionary.to_pylist())
    datatypes, languages = [], []
    for quad in parse(text, RdfFormat.N_TRIPLES):
        said = quad.object.language
        datatypes.append(quad.object.datatype.value if said is None else LANGUAGE_STRING)
        languages.append(said or "")
    datatype, language = (pa.array(each, pa.large_string()).take(encoded.indices) for each in (datatypes, languages))
    return datatype.dictionary_encode(), language.dictionary_encode()


def _joined(parts: Sequence[pa.Array]) -> pa.Array:
    return pa.concat_arrays(pa.chunked_array(parts).unify_dictionaries().chunks)
