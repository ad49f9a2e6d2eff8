"""Every syntax of RDF gives the same graph, and what we write in it is read again."""

import random
from pathlib import Path

import pytest
import rdflib
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple, serialize
from small_graphs import literal_names, triple_names

from emea.data import Graph
from emea.formats import read_graph
from emea.formats.rdf import RDF

STATEMENTS = 10_000
XSD = "http://www.w3.org/2001/XMLSchema#"
WORDS = ["Zürich", "東京", "القاهرة", "naïve", "a\"b'c", "x\\y", "tab\there", "line\nbreak", "𝔘nicode", "<&>", ""]
DATATYPES = [f"{XSD}{name}" for name in ("string", "integer", "date", "boolean", "double", "gYear")]
LANGUAGES = ["en", "de-ch", "zh-hant-tw", "ar"]
WRITTEN = [suffix for suffix in RDF.suffixes if suffix != ".nt"]


def entity(choice: random.Random) -> NamedNode | BlankNode:
    number = choice.randrange(1500)
    if number % 10 == 0:
        return BlankNode(f"b{number}")
    return NamedNode(f"http://example.org/{choice.choice(['é', '東', 'q?a=b&c=', 'p#'])}{number}")


def literal(choice: random.Random) -> Literal:
    text = f"{choice.choice(WORDS)} {choice.randrange(100)}"
    if choice.random() < 0.5:
        return Literal(text, language=choice.choice(LANGUAGES))
    return Literal(text, datatype=NamedNode(choice.choice(DATATYPES)))


@pytest.fixture(scope="module")
def triples() -> list[Triple]:
    choice = random.Random(0)
    found: dict[Triple, None] = {}
    while len(found) < STATEMENTS:
        relation = NamedNode(f"http://example.org/relation/r{choice.randrange(20)}")
        end = literal(choice) if choice.random() < 0.4 else entity(choice)
        found[Triple(entity(choice), relation, end)] = None
    return list(found)


@pytest.fixture(scope="module")
def expected(triples: list[Triple], tmp_path_factory: pytest.TempPathFactory) -> Graph:
    path = tmp_path_factory.mktemp("triples") / "graph.nt"
    serialize(triples, path, RdfFormat.N_TRIPLES)
    graph = read_graph(path)
    assert len(graph.triples) + graph.literals.num_rows == STATEMENTS
    return graph


def same(found: Graph, expected: Graph) -> bool:
    return (
        found.entities.equals(expected.entities)
        and found.relations.equals(expected.relations)
        and found.triples.equal(expected.triples)
        and found.attributes.equals(expected.attributes)
        and literal_names(found) == literal_names(expected)
    )


@pytest.mark.parametrize(
    ("name", "syntax"),
    [
        ("graph.ttl", RdfFormat.TURTLE),
        ("graph.nq", RdfFormat.N_QUADS),
        ("graph.trig", RdfFormat.TRIG),
        ("graph.n3", RdfFormat.N3),
        ("graph.jsonld", RdfFormat.JSON_LD),
    ],
)
def test_every_syntax_gives_the_same_graph(
    triples: list[Triple], expected: Graph, tmp_path: Path, name: str, syntax: RdfFormat
) -> None:
    prefixes = {"e": "http://example.org/", "r": "http://example.org/relation/"}
    serialize(triples, tmp_path / name, syntax, prefixes=None if syntax == RdfFormat.JSON_LD else prefixes)
    assert same(read_graph(tmp_path / name), expected)


@pytest.mark.parametrize("suffix", WRITTEN)
def test_what_is_written_is_read_again(expected: Graph, tmp_path: Path, suffix: str) -> None:
    RDF().write_graph(expected, tmp_path / f"graph{suffix}")
    assert same(read_graph(tmp_path / f"graph{suffix}"), expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")  # its own
@pytest.mark.parametrize(
    ("name", "theirs"), [("graph.rdf", "xml"), ("graph.jsonld", "json-ld"), ("graph.ttl", "turtle")]
)
def test_what_rdflib_writes_is_read_the_same(tmp_path: Path, name: str, theirs: str) -> None:
    graph, space = rdflib.Graph(), rdflib.Namespace("http://example.org/")
    for number in range(50):
        graph.add((space[f"é{number}"], space.knows, space[f"é{number * 7 % 50}"]))
        graph.add((space[f"é{number}"], space.name, rdflib.Literal(f"Zoë {number}\n<&>", lang="fr")))
        graph.add((space[f"é{number}"], space.size, rdflib.Literal(number)))
    (tmp_path / name).write_text(graph.serialize(format=theirs), encoding="utf-8")
    (tmp_path / "graph.nt").write_text(graph.serialize(format="nt"), encoding="utf-8")
    found, expected = read_graph(tmp_path / name), read_graph(tmp_path / "graph.nt")
    assert (len(found.triples), found.literals.num_rows) == (50, 100)
    assert triple_names(found) == triple_names(expected)
    assert literal_names(found) == literal_names(expected)
