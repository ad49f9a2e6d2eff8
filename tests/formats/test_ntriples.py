"""N-Triples are read by the line, with the result that the parser has for the whole file."""

from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from emea.contracts import Reading
from emea.data import Graph
from emea.errors import InputError
from emea.formats import _files, _statements
from emea.formats._ntriples import SURELY_IRI

ODD = {
    "literals": '<a:a> <a:p> "x" .\n<a:a> <a:p> "y z"@EN-us .\n<a:a> <a:p> "1"^^<a:int> .\n',
    "escapes": r'<a:a> <a:p> "say \"no\"\n\ttwice\r" .' + "\n" + r'<a:a> <a:p> "\\" .' + "\n" + r'<a:a> <a:p> "\\\"" .',
    "unicode escapes": r"<a:\u00e9> <a:p> <a:\U0001F600> ." + "\n" + r'<a:a> <a:p> "\u00e9\b\f\'" .' + "\n",
    "an escape at the end": '<a:a> <a:p> "x\\" .\n',
    "escaped datatype": r'<a:a> <a:p> "x"^^<a:\u0061> .' + "\n",
    "a direction": '<a:a> <a:p> "x"@en--ltr .\n',
    "signs in a literal": '<a:a> <a:p> "a <b> {c} | ^ ` . \t # \x00\x0b" .\n',
    "comments": '# one\n<a:a> <a:p> <a:b> . # two "x"\n<a:a> <a:p> "x" . # three\n  # four <a:a> <a:p> <a:b> .\n',
    "blank nodes": "_:b <a:p> _:c .\n<a:a> <a:p> _:b .\n_:abcdef0123456789abcdef <a:p> <a:a> .\n",
    "empty lines": "\n\n<a:a> <a:p> <a:b> .\n   \n\t\n",
    "carriage returns": '<a:a> <a:p> <a:b> .\r\n<a:a> <a:p> "x" .\r\n\r\n',
    "a lone carriage return": '<a:a> <a:p> <a:b> .\r<a:a> <a:p> "x" .\n',
    "tabs": '<a:a>\t<a:p>\t<a:b>\t.\n<a:a>\t<a:p>\t"x"\t.\n',
    "no space": '<a:a><a:p><a:b>.\n<a:a><a:p>"x"^^<a:d>.\n',
    "much space": '  <a:a>  <a:p>  <a:b>  .  \n<a:a> <a:p> "x" ^^ <a:d>   .\n<a:a> <a:p>  "x"@en .\n',
    "no newline at the end": "<a:a> <a:p> <a:b> .\n<a:a> <a:p> <a:c> .",
    "a byte order mark": "\ufeff<a:a> <a:p> <a:b> .\n",
    "the same again": '<a:a> <a:p> <a:b> .\n<a:a> <a:p> <a:b> .\n<a:a> <a:p> "x" .\n<a:a> <a:p> "\\u0078" .\n',
    "literals in the order of lines": r'<a:a> <a:p> "\u007a" .' + '\n<a:a> <a:p> "y" .\n' + r'<a:a> <a:p> "\u0078" .',
    "odd but valid IRIs": "<http://user@ex.org:80/> <a:%C3%A9> <http://[::1]/a?b#c> .\n<a://> <urn:x:y> <a:> .\n",
    "a relative base": "<file:///a> <a:p> <a:b> .\n",
    "too few parts": '<a:a> <a:p> <a:b> .\n<a:a> <a:p> "x"\n',
    "a line of three parts": "<a:a> <a:p> <a:b>\n.\n",
    "too many parts": "<a:a> <a:p> <a:b> <a:c> .\n",
    "two in a line": "<a:a> <a:p> <a:b> . <a:a> <a:p> <a:c> .\n",
    "two literals": '<a:a> <a:p> "x" "y" .\n',
    "relative IRIs": "<a:a> <a:p> <a:b> .\n<a> <a:p> <a:b> .\n",
    "a wrong escape in an IRI": "<a:%zz> <a:p> <a:b> .\n",
    "an IRI like a blank node": "<_:a> <a:p> <a:b> .\n",
    "a tail like a blank node": "<a:a> <a:p> <_:b> .\n",
    "a relation like a blank node": "<a:a> <_:p> <a:b> .\n",
    "signs that no IRI has": "<a:a> <a:p> <a:{b}> .\n",
    "no character of an IRI": "<a:a> <a:p> <a:\ue000> .\n",
    "a control character": "<a:a> <a:p> <a:\x00> .\n",
    "a wrong port": "<http://ex.org:a/> <a:p> <a:b> .\n",
    "a wrong language": '<a:a> <a:p> "x"@abcdefghijkl .\n',
    "a wrong datatype": '<a:a> <a:p> "x"^^<b> .\n',
    "a datatype that needs a language": '<a:a> <a:p> "x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .\n',
    "a literal as head": '"x" <a:p> <a:b> .\n',
    "a triple as tail": "<a:a> <a:p> <<( <a:a> <a:p> <a:b> )>> .\n",
    "something else": "<a:a> <a:p> <a:b> .\n\nnot RDF\n",
}


def outcome(path: Path, *, lenient: bool = False, by_line: bool = True) -> object:
    """What is read, or the error."""
    try:
        with patch.object(_statements, "BY_LINE", ".nt" if by_line else "no suffix"):
            return content(_statements.read_statements(path, Reading(lenient=lenient)))
    except InputError as error:
        return str(error)


def content(graph: Graph) -> object:
    names = [column.to_pylist() for column in (graph.entities, graph.relations, graph.attributes)]
    return names, graph.triples.tolist(), graph.literals.to_pylist(), graph.repeated, graph.notes


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_lines_are_read_as_the_parser_reads_them(tmp_path: Path, text: str, lenient: bool) -> None:
    path = tmp_path / "odd.nt"
    path.write_bytes(text.encode())
    assert outcome(path, lenient=lenient) == outcome(path, lenient=lenient, by_line=False)


@pytest.mark.parametrize("block", [1, 50, 1000])
def test_blocks_of_any_size_give_the_same_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    names = [name for name in ODD if isinstance(outcome(_written(tmp_path, ODD[name]), by_line=False), tuple)]
    path = _written(
        tmp_path, "".join(ODD[name].removeprefix("\ufeff") + "\n" for name in names if name[:6] != "a lone")
    )
    expected = outcome(path, by_line=False)
    assert isinstance(expected, tuple)
    assert len(names) >= 20
    monkeypatch.setattr(_files, "BLOCK", block)
    with patch.object(_statements, "open_quads", side_effect=AssertionError):
        assert outcome(path) == expected


def test_an_invalid_byte_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "odd.nt"
    path.write_bytes(b"<a:a> <a:p> <a:b> .\n<a:a> <a:p> <a:\xff> .\n")
    assert outcome(path) == outcome(path, by_line=False)
    assert "line 2" in str(outcome(path))


PIECES = st.sampled_from(
    [*'<>"\\ \t\n\r.#@^_:%a{', "\\n", '\\"', "\\\\", "<a:a>", " <a:p> ", '"x"', " .\n", "^^<a:d>", "é", "\x00"]
)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(PIECES, max_size=6).map("".join), min_size=1, max_size=4))
def test_any_lines_are_read_as_the_parser_reads_them(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    text = "".join(
        f'<a:a> <a:p> "{line}" .\n<a:a> <a:p> <a:{line}> .\n<a:a> <a:p> "x"{line} .\n{line}\n' for line in lines
    )
    for part in (text, *text.splitlines(keepends=True)):
        path = _written(tmp_path_factory.getbasetemp(), part)
        assert outcome(path) == outcome(path, by_line=False)


@settings(max_examples=100, deadline=None)
@given(st.from_regex(r"\A[a-z]{1,3}:(//)?[a-zA-Z0-9.:@/?#%\[\]~é\ud7ff\uf900\U0001fffd-]*\Z"))
def test_what_surely_is_an_iri_is_one(name: str) -> None:
    if pc.match_substring_regex(pa.array([name]), SURELY_IRI)[0].as_py():
        assert NamedNode(name).value == name


def test_every_character_that_surely_may_be_in_an_iri_may() -> None:
    characters = [chr(code) for code in range(1, 0x20000) if not 0xD800 <= code < 0xE000]
    names = pa.array([f"a:a{each}" for each in characters], pa.large_string())
    sure = names.filter(pc.match_substring_regex(names, SURELY_IRI))
    assert len(sure) > 100_000
    for name in sure.to_pylist():
        NamedNode(name)


def _written(folder: Path, text: str) -> Path:
    path = folder / "some.nt"
    path.write_bytes(text.encode())
    return path
