"""Links between concepts, classes and properties are stated by the relation made for them."""

import itertools
from pathlib import Path

import pyarrow as pa
import pytest
import torch

import emea
from emea.data import Alignment, Task
from emea.formats import read_pairs
from emea.formats._equality import stated_by_name
from emea.formats._writing import alignment_table
from emea.formats.rdf import RDF
from emea.formats.sssom import SSSOM

GRAPH = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://SIDE.example/> .
:class a owl:Class . :schema a rdfs:Class . :concept a skos:Concept . :both a skos:Concept, owl:Class .
:relation a owl:ObjectProperty . :thing a :class, :used . :bare rdfs:label "bare" ; :knows :thing .
"""
EXPECTED = {
    "bare": "owl:sameAs",
    "both": "skos:exactMatch",
    "class": "owl:equivalentClass",
    "concept": "skos:exactMatch",
    "relation": "owl:equivalentProperty",
    "schema": "owl:equivalentClass",
    "thing": "owl:sameAs",
    "used": "owl:equivalentClass",
}


@pytest.fixture
def linked(tmp_path: Path) -> tuple[Alignment, Task]:
    """Every entity with that of the same name, and a class with a concept."""
    for side in "ab":
        (tmp_path / f"{side}.ttl").write_text(GRAPH.replace("SIDE", side), encoding="utf-8")
    task = emea.read(tmp_path / "a.ttl", tmp_path / "b.ttl")
    names = [graph.entities.to_pylist() for graph in (task.source, task.target)]
    pairs = [(f"http://a.example/{name}", f"http://b.example/{name}") for name in EXPECTED]
    pairs.append(("http://a.example/class", "http://b.example/concept"))
    columns = zip(names, zip(*pairs, strict=True), strict=True)
    source, target = (torch.tensor([side.index(name) for name in column]) for side, column in columns)
    ones = torch.ones(len(pairs))
    return Alignment(source, target, ones, ones), task


def last(name: str) -> str:
    return name.rpartition("/")[2].rpartition(":")[2].strip("<>")


def test_a_class_that_is_only_used_is_shown_as_one(linked: tuple[Alignment, Task]) -> None:
    rows = {row["source"].rpartition("/")[2]: row for row in alignment_table(*linked).to_pylist()}
    assert [rows["used"][name] for name in ("source_label", "target_label", "source_type")] == ["used", "used", "Class"]
    assert [rows["thing"][name] for name in ("source_label", "source_type")] == [None, "class|used"]
    assert rows["relation"]["source_label"] is None


def test_sssom_says_which_kind_of_equality_holds(linked: tuple[Alignment, Task], tmp_path: Path) -> None:
    SSSOM().write_alignment(*linked, tmp_path / "links.sssom.tsv")
    lines = (tmp_path / "links.sssom.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in itertools.dropwhile(lambda line: line.startswith("#"), lines)]
    at = {name: rows[0].index(name) for name in ("subject_id", "predicate_id", "object_id")}
    told = {
        tuple(last(row[at[name]]) for name in ("subject_id", "object_id")): row[at["predicate_id"]] for row in rows[1:]
    }
    assert told == {("class", "concept"): "owl:sameAs"} | {(name, name): one for name, one in EXPECTED.items()}


@pytest.mark.parametrize("suffix", ["nt", "ttl"])
def test_rdf_says_the_same_and_is_read_back(linked: tuple[Alignment, Task], tmp_path: Path, suffix: str) -> None:
    path, (alignment, task) = tmp_path / f"links.{suffix}", linked
    RDF().write_alignment(alignment, task, path)
    text = path.read_text(encoding="utf-8")
    assert text.count("core#exactMatch>") == 2
    assert text.count("owl#equivalentClass>") == 3
    assert text.count("owl#equivalentProperty>") == 1
    assert text.count("owl#sameAs>") == 3
    assert RDF().holds_pairs(path)
    found = RDF().read_pairs(path)
    assert found.num_rows == len(alignment.source)
    one_to_one = tmp_path / "some.nt"
    one_to_one.write_text("".join(line for line in text.splitlines(keepends=True) if "sameAs" not in line), "utf-8")
    if suffix == "nt":
        assert len(read_pairs(one_to_one, task.source, task.target)) == 6


def test_who_is_in_no_graph_is_the_same(linked: tuple[Alignment, Task]) -> None:
    graph, nothing = linked[1].source, emea.Graph.build([], [], torch.empty(0, 3, dtype=torch.int64))
    pairs = pa.table({"source": ["http://a.example/class", "x"], "target": ["http://b.example/class", "y"]})
    assert stated_by_name(pairs, (graph, linked[1].target)).to_pylist() == ["owl:equivalentClass", "owl:sameAs"]
    assert stated_by_name(pairs, (graph, nothing)).to_pylist() == ["owl:sameAs"] * 2
