"""Which entities may be linked: by type, namespace or list; concepts and classes of vocabularies by default."""

from pathlib import Path

import pyarrow as pa
import pytest

import emea
from emea.contracts import Reading
from emea.data import Graph
from emea.errors import InputError
from emea.evidence.prepared import prepare
from emea.formats import read_graph
from emea.settings import load

TURTLE = """
@prefix : <http://a/> . @prefix b: <http://b/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
:berlin a :City ; :in :germany . :germany a :Country ; :name "Germany" . b:paris a :City ; :in b:france .
"""
ONTOLOGY = """
@prefix : <http://a/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Heart a owl:Class ; rdfs:subClassOf :Organ , :inBody .
:inBody a owl:Class . _:r a owl:Restriction ; owl:onProperty :partOf ; owl:someValuesFrom :Body .
:Organ a owl:Class . :Body a owl:Class . :partOf a owl:ObjectProperty .
"""


def chosen(graph: Graph) -> set[str]:
    return set(graph.entities.filter(pa.array(graph.linkable.numpy())).to_pylist())


def written(folder: Path, text: str) -> Path:
    (folder / "graph.ttl").write_text(text)
    return folder / "graph.ttl"


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        (Reading(type=("City",)), {"http://a/berlin", "http://b/paris"}),
        (Reading(type=("http://a/City", "Country")), {"http://a/berlin", "http://b/paris", "http://a/germany"}),
        (Reading(type=("City",), namespace=("http://b/",)), {"http://b/paris"}),
        (Reading(namespace=("http://b/",), exclude_type=("City",)), {"http://b/france"}),
    ],
)
def test_entities_are_chosen(tmp_path: Path, reading: Reading, expected: set[str]) -> None:
    graph = read_graph(written(tmp_path, TURTLE), reading)
    assert chosen(graph) == expected
    assert f"{len(expected)} of {len(graph.entities)} entities were chosen" in graph.notes[-1]


def test_entities_are_listed_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text("http://a/berlin\nhttp://a/unknown\n")
    graph = read_graph(written(tmp_path, TURTLE), Reading(entities=tmp_path / "some.txt"))
    assert chosen(graph) == {"http://a/berlin"}
    (tmp_path / "some.txt").write_text("nobody\n")
    with pytest.raises(InputError, match=r"some\.txt: found 'nobody', expected names of entities of the graph"):
        read_graph(written(tmp_path, TURTLE), Reading(entities=tmp_path / "some.txt"))


def test_an_unknown_type_is_refused_with_those_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"no entity of the type 'Citty'; found the types City, Country; did you mean City"
    ):
        read_graph(written(tmp_path, TURTLE), Reading(type=("Citty",)))
    with pytest.raises(InputError, match="no entity is left by --type, --namespace, expected at least one"):
        read_graph(written(tmp_path, TURTLE), Reading(type=("City",), namespace=("http://c/",)))


def test_classes_of_an_ontology_are_linked_by_default(tmp_path: Path) -> None:
    graph = read_graph(written(tmp_path, ONTOLOGY))
    assert chosen(graph) == {f"http://a/{name}" for name in ("Heart", "Organ", "Body", "inBody")}
    assert "the 4 classes may be linked; --type chooses others" in graph.notes[-1]
    assert chosen(read_graph(written(tmp_path, ONTOLOGY), Reading(type=("owl:ObjectProperty",)))) == {"http://a/partOf"}
    assert read_graph(written(tmp_path, TURTLE)).selected is None


def test_only_chosen_entities_are_linked(tmp_path: Path) -> None:
    for side in "ab":
        rows = [
            f'<http://{side}/{n}> a <http://{side}/{"Odd" if n % 2 else "Even"}> ; <http://p/name> "name of {n}" .'
            for n in range(40)
        ]
        (tmp_path / f"{side}.ttl").write_text("\n".join(rows))
    graphs = [read_graph(tmp_path / f"{side}.ttl", Reading(type=("Odd",))) for side in "ab"]
    task = emea.Task(graphs[0], graphs[1], emea.Links.empty())
    for kind in ("all", "names"):
        result = emea.align(task, load(assignments=[f"evidence.kind={kind}", "em.rounds=1"]))
        linked = result.to_arrow()["source"].to_pylist()
        assert {int(name.rpartition("/")[2]) % 2 for name in linked} == {1}
        assert len(linked) == 20


def test_the_same_iri_in_both_graphs_is_evidence(tmp_path: Path) -> None:
    for side in "ab":
        rows = [f"<http://x/{n}> <http://{side}/knows> <http://x/{(n * 7 + 1) % 30}> ." for n in range(30)]
        (tmp_path / f"{side}.nt").write_text("\n".join(rows))
    task = emea.read(tmp_path / "a.nt", tmp_path / "b.nt")
    result = emea.align(task, load(assignments=["evidence.kind=all", "em.rounds=2"]))
    names = zip(*(result.to_arrow()[side].to_pylist() for side in ("source", "target")), strict=True)
    assert sum(source == target for source, target in names) == 30
    ignoring = load(assignments=["evidence.kind=all", "evidence.shared_iris=ignore"]).evidence
    with pytest.raises(InputError, match="the graphs share no value"):
        prepare(task, ignoring).require_known()


def test_equal_numbers_of_rows_say_nothing(tmp_path: Path) -> None:
    for side, word in (("a", "alpha"), ("b", "beta")):
        rows = [f"{n},{word} {n * n},{word}" for n in range(20)]
        (tmp_path / f"{side}.csv").write_text("\n".join(["id,name,kind", *rows]))
    task = emea.read(tmp_path / "a.csv", tmp_path / "b.csv")
    prepared = prepare(task, load(assignments=["evidence.kind=all"]).evidence)
    assert "IRI" not in prepared.values[0].attributes.to_pylist()
