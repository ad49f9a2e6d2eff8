"""RDF: what becomes of IRIs, blank nodes and literals, and owl:sameAs."""

import gzip
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse, serialize
from small_graphs import aligned, literal_names, triple_names

from emea.contracts import Reading
from emea.errors import InputError, SettingsError
from emea.formats import read_graph
from emea.formats.rdf import RDF

LANGUAGE_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
SCHEMA = "http://www.w3.org/2001/XMLSchema#"
TURTLE = """@prefix : <http://example.org/> .
:a :knows :b , _:c .
_:c :name "Zoë"@fr , "42" , 42 .
:only :born "1999-01-01"^^<http://www.w3.org/2001/XMLSchema#date> .
"""


def written(tmp_path: Path, text: str, name: str = "graph.ttl") -> Path:
    path = tmp_path / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["graph.ttl", "graph.ttl.gz", "graph.TTL"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_turtle(tmp_path: Path, name: str, mark: str) -> None:
    graph = RDF().read_graph(written(tmp_path, mark + TURTLE, name))
    base = "http://example.org/"
    assert graph.entities.to_pylist() == ["_:c", base + "a", base + "b", base + "only"]
    assert triple_names(graph) == {(base + "a", base + "knows", base + "b"), (base + "a", base + "knows", "_:c")}
    assert literal_names(graph) == {
        ("_:c", base + "name", "Zoë", LANGUAGE_STRING, "fr"),
        ("_:c", base + "name", "42", SCHEMA + "string", ""),
        ("_:c", base + "name", "42", SCHEMA + "integer", ""),
        (base + "only", base + "born", "1999-01-01", SCHEMA + "date", ""),
    }


def test_nodes_without_a_label_are_named_the_same_each_time(tmp_path: Path) -> None:
    path = written(tmp_path, "<a:a> <a:p> [ <a:p> [] ] . _:node1 <a:p> <a:a> .")
    first, second = RDF().read_graph(path), RDF().read_graph(path)
    assert first.entities.to_pylist() == second.entities.to_pylist() == ["_:node1", "_:node2", "_:node3", "a:a"]
    assert first.triples.tolist() == second.triples.tolist()


def test_many_rows_are_packed_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emea.formats._statements.CHUNK", 3)
    lines = [f'<a:{n}> <a:p{n % 2}> <a:{n * 7 % 10}> .\n<a:{n}> <a:q> "{n}"@en .\n' for n in range(10)]
    graph = RDF().read_graph(written(tmp_path, "".join(lines), "graph.nt"))
    assert triple_names(graph) == {(f"a:{n}", f"a:p{n % 2}", f"a:{n * 7 % 10}") for n in range(10)}
    assert literal_names(graph) == {(f"a:{n}", "a:q", str(n), LANGUAGE_STRING, "en") for n in range(10)}


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
nodes = st.sampled_from([NamedNode(f"http://example.org/{name}") for name in ("a", "é", "c")])
literals = st.one_of(
    st.builds(Literal, words),
    st.builds(lambda word, language: Literal(word, language=language), words, st.sampled_from(["en", "zh-hant"])),
    st.builds(lambda word: Literal(word, datatype=NamedNode(SCHEMA + "token")), words),
)


@given(st.lists(st.builds(Triple, nodes, nodes, st.one_of(nodes, literals)), min_size=1, max_size=8))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, triples: list[Triple]) -> None:
    path = tmp_path_factory.mktemp("rdf") / "graph.nt"
    path.write_bytes(serialize(triples, format=RdfFormat.N_TRIPLES) or b"")
    graph = RDF().read_graph(path)
    found: set[tuple[str, ...]] = {*triple_names(graph), *literal_names(graph)}
    expected: set[tuple[str, ...]] = set()
    for head, relation, tail in triples:
        end = [tail.value]
        if isinstance(tail, Literal):
            end = [tail.value, tail.datatype.value, tail.language or ""]
        expected.add((head.value, relation.value, *end))
    assert found == expected


def test_an_error_names_file_and_line(tmp_path: Path) -> None:
    path = written(tmp_path, "<a:a> <a:p> <a:b> .\n<a:a> <a:p> <no scheme> .\n", "graph.nt")
    with pytest.raises(InputError, match=f"{re.escape(str(path))}, line 2: .*expected N-Triples"):
        RDF().read_graph(path)


def test_a_triple_as_object_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found the triple <a:a> <a:p> <a:b> used as a node"):
        RDF().read_graph(written(tmp_path, "<a:a> <a:p> <<( <a:a> <a:p> <a:b> )>> ."))


@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(b"<a:a> <a:p> <a:b> .", mtime=0)[:-9]],
    ids=["none", "cut off"],
)
def test_a_broken_archive_is_an_input_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "graph.nt.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"graph\.nt\.gz cannot be read"):
        RDF().read_graph(path)


QUADS = {
    "nq": """<a:a> <a:p> <a:b> .
<a:a> <a:p> <a:c> <a:g> .
<a:a> <a:q> "x" <a:g> .
<a:a> <a:p> <a:d> _:g .
""",
    "trig": """<a:a> <a:p> <a:b> .
<a:g> { <a:a> <a:p> <a:c> ; <a:q> "x" }
GRAPH _:g { <a:a> <a:p> <a:d> . }
""",
    "jsonld": """[{"@id": "a:a", "a:p": {"@id": "a:b"}},
{"@id": "a:g", "@graph": [{"@id": "a:a", "a:p": {"@id": "a:c"}, "a:q": "x"}]},
{"@id": "_:g", "@graph": [{"@id": "a:a", "a:p": {"@id": "a:d"}}]}]
""",
}


@pytest.mark.parametrize(("graph", "tails"), [(None, {"a:b"}), ("a:g", {"a:c"}), ("_:g", {"a:d"})])
@pytest.mark.parametrize("name", ["graph.nq", "graph.nq.gz", "graph.trig", "graph.jsonld"])
def test_one_of_several_graphs(tmp_path: Path, name: str, graph: str | None, tails: set[str]) -> None:
    path = written(tmp_path, QUADS[name.split(".")[1]], name)
    assert {tail for _, _, tail in triple_names(read_graph(path, Reading(graph=graph)))} == tails


@pytest.mark.parametrize("ending", QUADS)
def test_a_graph_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path, ending: str) -> None:
    name = f"graph.{ending}"
    expected = f"{name} has no triples in the graph <a:x>; found some in <a:g>, _:g, the default graph"
    with pytest.raises(InputError, match=re.escape(expected)):
        read_graph(written(tmp_path, QUADS[ending], name), Reading(graph="a:x"))


def test_a_file_with_named_graphs_only_is_refused_with_their_names(tmp_path: Path) -> None:
    many = "".join(f"<a:a> <a:p> <a:b> <a:g{number}> .\n" for number in range(20))
    with pytest.raises(
        InputError, match=r"no triples outside named graphs; found some in <a:g0>, .*<a:g4> and more.*--gra"
    ):
        read_graph(written(tmp_path, many, "graph.nq"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.nq", '<a:a> <a:p> <a:b> <a:g> .\n<a:a> <a:q> "x" <a:g> .'),
        ("a.trig", '<a:g> { <a:a> <a:p> <a:b> ; <a:q> "x" }'),
        ("a.jsonld", '[{"@id": "a:g", "@graph": [{"@id": "a:a", "a:p": {"@id": "a:b"}, "a:q": "x"}]}]'),
    ],
)
def test_a_single_named_graph_needs_no_choice(tmp_path: Path, name: str, content: str) -> None:
    path = written(tmp_path, content, name)
    graph = read_graph(path)
    assert triple_names(graph) == {("a:a", "a:p", "a:b")}
    assert graph.notes == (f"{path}: all triples are in the graph <a:g>",)
    assert graph.literals == read_graph(path, Reading(graph="a:g")).literals


def test_choices_without_effect_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="found the graph name no iri, expected an IRI"):
        read_graph(written(tmp_path, "", "graph.nq"), Reading(graph="no iri"))
    path = written(tmp_path, TURTLE)
    with pytest.raises(
        SettingsError, match=r"found --graph for .*graph\.ttl, expected none: only \.nq, \.trig, \.jsonld"
    ):
        read_graph(path, Reading(graph="a:g"))
    with pytest.raises(SettingsError, match=r"found --context for .*graph\.ttl, expected none: only \.jsonld files"):
        read_graph(path, Reading(context=path))


def test_what_formulas_quote_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, "{ <a:a> <a:p> <a:b> } <a:says> <a:c> . <a:d> = <a:e> .", "graph.n3")
    graph = read_graph(path)
    assert {relation for _, relation, _ in triple_names(graph)} == {"a:says", "http://www.w3.org/2002/07/owl#sameAs"}
    assert graph.notes == (f"{path}: statements inside formulas were left out",)


def test_pairs_are_same_as_and_exclusions_different_from(tmp_path: Path) -> None:
    owl, skos = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2004/02/skos/core#"
    relations = [owl + "sameAs", owl + "differentFrom", skos + "exactMatch", "a:p", owl + "equivalentClass"]
    lines = [f"<a:{number}> <{relation}> <b:{number}> ." for number, relation in enumerate(relations)]
    pairs = RDF().read_pairs(written(tmp_path, "\n".join(lines)))
    assert pairs["source"].to_pylist() == ["a:0", "a:1", "a:2", "a:4"]
    assert pairs["target"].to_pylist() == ["b:0", "b:1", "b:2", "b:4"]
    assert pairs["excluded"].to_pylist() == [False, True, False, False]


def test_links_are_same_as(tmp_path: Path) -> None:
    sources, targets = ["http://b.org/é", "http://a.org/x"], ["urn:t:1", "urn:t:2"]
    RDF().write_alignment(*aligned(sources, targets), tmp_path / "links.nt")
    triples = list(parse(path=tmp_path / "links.nt"))
    same_as = "http://www.w3.org/2002/07/owl#sameAs"
    found = [(quad.subject.value, quad.predicate.value, quad.object.value) for quad in triples]
    assert found == [("http://a.org/x", same_as, "urn:t:2"), ("http://b.org/é", same_as, "urn:t:1")]


def test_links_of_other_names_are_refused_and_leave_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'Bern', expected an IRI"):
        RDF().write_alignment(*aligned(["a:a", "Bern"], ["a:b", "a:c"]), tmp_path / "links.nt")
    assert list(tmp_path.iterdir()) == []


def test_pairs_in_n_triples_are_what_the_serializer_writes(tmp_path: Path) -> None:
    names = ["http://ex.org/a", "http://ex.org/天?b#c", "urn:x:é", "http://[::1]/%C3%A9'", "a:b"]
    pairs = pa.table({"source": names, "target": names[::-1], "excluded": [False, True, False, False, True]})
    RDF().write_pairs(pairs, tmp_path / "links.nt")
    same = [NamedNode(f"http://www.w3.org/2002/07/owl#{name}") for name in ("sameAs", "differentFrom")]
    rows = zip(names, pairs["excluded"].to_pylist(), names[::-1], strict=True)
    triples = [Triple(NamedNode(source), same[excluded], NamedNode(target)) for source, excluded, target in rows]
    assert (tmp_path / "links.nt").read_bytes() == serialize(triples, format=RdfFormat.N_TRIPLES)
