"""Faults of public files: refused with their line, skipped with --lenient, and relative IRIs completed."""

import logging
import re
from pathlib import Path

import pytest
import rdflib
from small_graphs import literal_names, triple_names

from emea.contracts import Reading
from emea.data import Graph
from emea.errors import InputError
from emea.formats import read_graph, read_pair_names

LENIENT = Reading(lenient=True)
STRING = "http://www.w3.org/2001/XMLSchema#string"
LANGUAGE_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
XML = """<?xml version="1.0" encoding="UTF-8"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"{base}
  xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:e="http://example.org/">
{body}</rdf:RDF>
"""
SYMMETRIC = '<rdf:Description rdf:about="SymmetricProperty"><e:p rdf:resource="#x"/></rdf:Description>\n'
TAGGED = """<e:Work rdf:about="http://example.org/1">
  <e:title xml:lang="fr">Sonate</e:title>
  <e:title xml:lang="hunengfreeng">Szonáta</e:title>
</e:Work>
"""
BRACKET = """<e:Work rdf:about="http://example.org/2">
  <e:title>Trio</e:title>
  <e:see rdf:resource="http://example.org/a[b"/>
</e:Work>
"""
TURTLE = """@prefix e: <http://example.org/> .
e:1 a e:Work ; e:title "Sonate"@fr , "Szonáta"@hunengfreeng ;
  e:see <http://example.org/a[b> , e:3 .
e:2 e:title "Trio" .
"""


def written(tmp_path: Path, text: str, name: str = "works.rdf") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def statements(graph: Graph) -> set[tuple[str, ...]]:
    return {*triple_names(graph), *literal_names(graph)}


def skipped_in(graph: Graph) -> str:
    (note,) = [note for note in graph.notes if "skipped" in note]
    return note


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("", ("file:///SymmetricProperty", "http://example.org/p", "file:///works.rdf#x")),
        (
            ' xml:base="http://data.org/doremus/"',
            ("http://data.org/doremus/SymmetricProperty", "http://example.org/p", "http://data.org/doremus/#x"),
        ),
    ],
)
def test_relative_iris_are_completed(tmp_path: Path, base: str, expected: tuple[str, str, str]) -> None:
    path = written(tmp_path, XML.format(base=base, body=SYMMETRIC))
    graph = read_graph(path)
    assert triple_names(graph) == {expected}
    note = f"{path}: 2 names begin with file:///, the base of relative IRIs in files that state none"
    assert graph.notes == (() if base else (note,))


@pytest.mark.parametrize("name", ["works.ttl", "works.trig", "works.n3"])
def test_relative_iris_do_not_depend_on_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    graphs = [read_graph(written(folder, "<a> <#p> <../b> .", name)) for folder in (tmp_path, tmp_path / "elsewhere")]
    assert triple_names(graphs[0]) == triple_names(graphs[1]) == {("file:///a", f"file:///{name}#p", "file:///b")}
    with_base = read_graph(written(tmp_path, "@base <http://data.org/x/> . <a> <#p> <../b> .", name))
    assert triple_names(with_base) == {("http://data.org/x/a", "http://data.org/x/#p", "http://data.org/b")}


@pytest.mark.parametrize(
    ("body", "message", "skipped", "kept"),
    [
        (
            TAGGED,
            r"language tag 'hunengfreeng': A subtag may be eight characters",
            "1 statement was skipped (line 6: found the language 'hunengfreeng', expected a valid one (A subtag may be",
            ("http://example.org/1", "http://example.org/title", "Sonate", LANGUAGE_STRING, "fr"),
        ),
        (
            BRACKET,
            r"IRI 'http://example\.org/a\[b': Invalid IRI code point '\['",
            "1 statement was skipped (line 6: found the IRI 'http://example.org/a[b', expected a valid one (Inv",
            ("http://example.org/2", "http://example.org/title", "Trio", STRING, ""),
        ),
    ],
)
def test_a_fault_in_rdf_xml(tmp_path: Path, body: str, message: str, skipped: str, kept: tuple[str, ...]) -> None:
    path = written(tmp_path, XML.format(base="", body=body))
    with pytest.raises(
        InputError, match=rf"works\.rdf, line \d+ or shortly before: .*{message}.*; --lenient skips it$"
    ):
        read_graph(path)
    graph = read_graph(path, LENIENT)
    assert skipped in skipped_in(graph)
    subject = kept[0]
    type_ = (subject, "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://example.org/Work")
    assert statements(graph) == {type_, kept}


def by_rdflib(path: Path, theirs: str) -> set[tuple[str, ...]]:
    """What rdflib makes of a file; it accepts IRIs and languages as they are."""
    logging.getLogger("rdflib").setLevel(logging.ERROR)
    found = set()
    for head, relation, tail in rdflib.Graph().parse(path, format=theirs):
        end = [str(tail)]
        if isinstance(tail, rdflib.Literal):
            kind = LANGUAGE_STRING if tail.language else str(tail.datatype or STRING)
            end = [str(tail), kind, (tail.language or "").lower()]
        found.add((str(head), str(relation), *end))
    return found


@pytest.mark.parametrize(
    ("name", "theirs", "text"),
    [
        ("works.rdf", "xml", XML.format(base=' xml:base="http://a.org/"', body=SYMMETRIC + TAGGED + BRACKET)),
        ("works.ttl", "turtle", TURTLE),
        ("works.trig", "turtle", TURTLE),
        ("works.n3", "turtle", TURTLE),
    ],
)
def test_only_what_is_faulty_is_skipped(tmp_path: Path, name: str, theirs: str, text: str) -> None:
    path = written(tmp_path, text, name)
    whole, found = by_rdflib(path, theirs), statements(read_graph(path, LENIENT))
    assert found < whole
    lost = whole - found
    assert {row[-1] for row in lost} == {"hunengfreeng", "http://example.org/a[b"}
    assert len(lost) == 2


def test_turtle_keeps_the_rest_of_a_statement(tmp_path: Path) -> None:
    path = written(tmp_path, TURTLE, "works.ttl")
    with pytest.raises(
        InputError, match=r"works\.ttl, line 2: A subtag may be .*; expected Turtle; --lenient skips it$"
    ):
        read_graph(path)
    graph = read_graph(path, LENIENT)
    assert ("http://example.org/1", "http://example.org/see", "http://example.org/3") in triple_names(graph)
    assert skipped_in(graph) == (
        f"{path}: 2 statements were skipped (line 2: A subtag may be eight characters in length at maximum; "
        "line 3: Invalid IRI code point '[')"
    )


BROKEN = {
    "not a term": "<a:x> <a:p> bad .",
    "undeclared prefix": "<a:x> <a:p> no:where .",
    "open string": '<a:x> <a:p> "open .',
    "open string between": "<a:x> <a:p> 'open ; <a:p> <a:b> .",
    "space in an IRI": "<a:x> <a:p> <a:y z> .",
    "open list": "<a:x> <a:p> ( <a:y> .",
    "open node": "<a:x> <a:p> [ <a:q> <a:y> .",
    "no verb": "<a:x> <a:y> .",
    "escape": '<a:x> <a:p> "\\q" .',
    "prefix": "@prefix x: <a:[> .",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("graph.ttl", "PREFIX e: <http://example.org/>\n", ""),
        ("graph.trig", "@prefix e: <http://example.org/> .\n", "<a:g> { <a:n> <a:p> <a:m> }\n"),
        ("graph.trig", "@prefix e: <http://example.org/> .\n{\n", "}\n"),
        ("graph.n3", "@prefix e: <http://example.org/> .\n", "{ <a:n> <a:p> <a:m> . } => {} ."),
    ],
)
def test_statements_around_a_broken_one_are_read(tmp_path: Path, name: str, before: str, after: str, text: str) -> None:
    first = 'e:a e:p e:b ; e:q "one. two"@en , 1.5 , [ e:r e:c ] . # a comment. "with a quote\n'
    last = "e:c e:p '''long\n. string''' , ( e:d 2 ) .\n"
    whole = read_graph(written(tmp_path, before + first + last + after, name))
    path = written(tmp_path, before + first + text + "\n" + last + after, name)
    with pytest.raises(InputError, match=rf"{name}, line {before.count(chr(10)) + 2}: .*; --lenient skips it$"):
        read_graph(path)
    graph = read_graph(path, LENIENT)
    assert statements(graph) - statements(whole) <= {("a:x", "a:p", "a:b")}  # of the string that is open between
    assert statements(graph) >= statements(whole)
    assert f"skipped (line {before.count(chr(10)) + 2}: " in skipped_in(graph)


def test_lines_of_triples_are_skipped_and_counted(tmp_path: Path) -> None:
    faults = [
        "<a:a> <a:p> <a:[> .",
        "<a> <a:p> <a:b> .",
        '<a:a> <a:p> "x"@abcdefghi .',
        "<a:a> <a:p> .",
        "\xff",
        "junk",
        ".",
    ]
    good = [f"<a:{number}> <a:p> <a:b> ." for number in range(5000)]
    lines = good[:2500] + faults + good[2500:]
    path = tmp_path / "graph.nt"
    path.write_bytes("\n".join(lines).encode("latin-1"))
    with pytest.raises(
        InputError, match=r"graph\.nt, line 2501: Invalid IRI code point '\['; expected N-Triples; --len"
    ):
        read_graph(path)
    graph = read_graph(path, LENIENT)
    assert len(graph.triples) == 5000
    assert re.search(r"7 statements were skipped \(line 2501: .*; line 2505: .*; and more\)", skipped_in(graph))


def test_nothing_is_said_about_a_file_without_faults(tmp_path: Path) -> None:
    graph = read_graph(written(tmp_path, "<a:a> <a:p> <a:b> .", "graph.nt"), LENIENT)
    assert graph.notes == ()


def test_triples_used_as_nodes_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, "<a:a> <a:p> <a:b> , <<( <a:a> <a:p> <a:b> )>> .\n<a:c> <a:p> <a:d> .", "graph.ttl")
    with pytest.raises(InputError, match=r"used as a node, expected an IRI or a blank node; --lenient skips it$"):
        read_graph(path)
    graph = read_graph(path, LENIENT)
    assert triple_names(graph) == {("a:a", "a:p", "a:b"), ("a:c", "a:p", "a:d")}
    assert "line 1: a triple is used as a node" in skipped_in(graph)


def test_triples_inside_triples_do_not_overflow_either(tmp_path: Path) -> None:
    deep = "<a:a> <a:p> " + "<<( <a:a> <a:p> " * 30_000 + "<a:b>" + " )>>" * 30_000 + " ."
    with pytest.raises(InputError, match="found more than 1,000 triples used as nodes"):
        read_graph(written(tmp_path, f"<a:[> <a:p> <a:b> .\n{deep}", "graph.ttl"), LENIENT)


def test_an_element_that_is_not_rdf_is_skipped_whole(tmp_path: Path) -> None:
    wrong = '<rdf:Description rdf:aboutEach="http://example.org/1">\n<e:title>No</e:title></rdf:Description>\n'
    path = written(tmp_path, XML.format(base="", body=wrong + BRACKET))
    graph = read_graph(path, LENIENT)
    assert {row[2] for row in statements(graph)} == {"http://example.org/Work", "Trio"}
    assert re.search(r"2 statements were skipped \(line 4: .*aboutEach.*; line 8: ", skipped_in(graph))


def test_xml_that_is_not_well_formed_is_refused_anyway(tmp_path: Path) -> None:
    path = written(tmp_path, XML.format(base="", body=BRACKET.replace("</e:title>", "")))
    with pytest.raises(InputError, match=r"mismatched tag; expected complete, well-formed XML$"):
        read_graph(path, LENIENT)


def test_pairs_are_never_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, "<a:[> <http://www.w3.org/2002/07/owl#sameAs> <a:b> .", "pairs.nt")
    with pytest.raises(InputError, match=r"expected N-Triples$"):
        read_pair_names(path)


@pytest.mark.parametrize(
    ("start", "entity"),
    [
        ("@prefix : <http://example.org/> .\n:a :p :b .", "http://example.org/a"),
        ("# a comment\nBASE <http://example.org/>\n<a> <p> <b> .", "http://example.org/a"),
        (XML.format(base=' xml:base="http://example.org/"', body=SYMMETRIC), "http://example.org/SymmetricProperty"),
    ],
)
@pytest.mark.parametrize("name", ["graph.owl", "graph.rdf"])
def test_turtle_with_the_suffix_of_rdf_xml_is_recognised(tmp_path: Path, name: str, start: str, entity: str) -> None:
    assert entity in read_graph(written(tmp_path, start, name)).entities.to_pylist()
