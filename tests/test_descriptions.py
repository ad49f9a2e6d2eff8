"""What describes an entity: values, kind, position, neighbours; and what is never linked."""

from pathlib import Path

import numpy as np
import pytest

from emea.data import Graph
from emea.evidence.descriptions import (
    FILLERS,
    ON_PROPERTY,
    TYPE,
    Description,
    _edges,
    _narrowest,
    describe,
    linkable_of,
)
from emea.evidence.values import read_values
from emea.formats import read_graph
from emea.settings import EvidenceSettings

PREFIXES = """
@prefix : <http://x.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix obo: <http://www.geneontology.org/formats/oboInOwl#> .
"""


def described(tmp_path: Path, turtle: str, **settings: bool) -> tuple[Graph, Description]:
    (tmp_path / "graph.ttl").write_text(PREFIXES + turtle)
    graph = read_graph(tmp_path / "graph.ttl")
    chosen = EvidenceSettings(kind="all", **settings)
    return graph, describe(graph, read_values(graph, chosen), chosen)


def number(graph: Graph, name: str) -> int:
    return graph.entities.to_pylist().index(f"http://x.org/{name}")


def values(found: Description, entity: int) -> set[str]:
    return {found.values.forms[form] for form in found.values.value[found.values.entity == entity].tolist()}


def test_what_one_triple_mentions_of_another_source_is_not_linked(tmp_path: Path) -> None:
    turtle = """
    :heart rdfs:label "heart" ; :from <http://pages.org/heart> ; :in <http://places.org/1> ; :near :lung .
    :liver rdfs:label "liver" ; :from <http://pages.org/liver> , <urn:isbn:1> ; :in <http://places.org/1> .
    <http://pages.org:80/other> rdfs:label "other" .
    """
    graph, found = described(tmp_path, turtle)
    left_out = {name for name, yes in zip(graph.entities.to_pylist(), found.linkable.tolist(), strict=True) if not yes}
    assert left_out == {"http://pages.org/heart", "http://pages.org/liver"}
    _, found = described(tmp_path, turtle, anonymous=True)
    assert found.linkable.all()
    _, found = described(tmp_path, turtle + '<http://pages.org/> rdfs:label "pages" .')
    assert found.linkable.all(), "something is said of that host"


def test_vocabulary_blank_nodes_synonym_nodes_and_deprecated_terms_are_not_linked(tmp_path: Path) -> None:
    turtle = """
    :heart a :Term ; rdfs:label "heart" ; obo:hasRelatedSynonym :s1 ; :part [ :weight "300" ] .
    :s1 rdfs:label "cor" .
    :old a :Term ; rdfs:label "old heart" ; owl:deprecated true .
    :track a :Term ; :album :disc . :disc a :Term ; :title "One" .
    """
    graph, found = described(tmp_path, turtle)
    linkable = {name for name, yes in zip(graph.entities.to_pylist(), found.linkable.tolist(), strict=True) if yes}
    assert linkable == {"http://x.org/Term", "http://x.org/heart", "http://x.org/track", "http://x.org/disc"}
    assert values(found, number(graph, "heart")) == {"s heart", "s cor", "n 300"}  # as its own
    used = found.values.attribute[found.values.entity == number(graph, "heart")]
    names = {found.values.attributes[place].as_py() for place in used.tolist()}
    assert {"/".join(part.rpartition("/")[2] for part in name.split(" / ")) for name in names} == {
        "rdf-schema#label",
        "oboInOwl#hasRelatedSynonym/rdf-schema#label",
        "part/weight",
    }
    assert described(tmp_path, turtle, anonymous=True)[1].linkable.all()


def test_an_event_without_a_name_describes_whom_it_happened_to_wherever_it_took_place(tmp_path: Path) -> None:
    graph, found = described(
        tmp_path,
        """:ada :born [ :year 1815 ; :at :london ] . :london rdfs:label "London" .
        :eve :birth :event . :event :year 1 ; :at :rome .""",
    )
    assert "n 1815" in values(found, number(graph, "ada"))
    assert "n 1" not in values(found, number(graph, "eve")), "her birth has a name, and may be linked itself"


def test_positions_are_recognised_by_name_and_range(tmp_path: Path) -> None:
    graph, found = described(tmp_path, ":a :lat 52.5 ; :long 13.4 ; :flat 3.0 . :b :lat 500 ; :long 2 .")
    assert found.position[number(graph, "a")].tolist() == [52.5, 13.4]
    assert np.isnan(found.position[number(graph, "b")]).all()
    assert values(found, number(graph, "a")) == {"n 3"}  # the position itself is no value any more


def test_the_point_of_a_node_that_describes_a_place_is_its_position(tmp_path: Path) -> None:
    places = " ".join(f':p{i} :geometry :g{i} . :g{i} :wkt "POINT(13.{i} 52.5)" .' for i in range(3))
    graph, found = described(tmp_path, places)
    assert found.position[number(graph, "p1")].tolist() == [52.5, 13.1]


def test_the_kind_is_the_narrowest_type_that_is_not_rare(tmp_path: Path) -> None:
    rare = ":odd a :Special . :Special rdfs:subClassOf :City . "
    turtle = rare + " ".join(f":c{i} a :City . :r{i} a :River ." for i in range(150))
    graph, found = described(tmp_path, turtle)
    assert found.kind[number(graph, "odd")] == found.kind[number(graph, "c1")] != found.kind[number(graph, "r1")]
    assert found.kind[number(graph, "City")] == -1


@pytest.mark.parametrize(
    "said",
    [":{0}{1} skos:inScheme :{0} .", ':{0}{1} :group "{0}" ; :title "{0} no {1}" .'],
    ids=["scheme", "attribute"],
)
def test_without_types_schemes_or_an_attribute_with_few_values_name_kinds(tmp_path: Path, said: str) -> None:
    graph, found = described(tmp_path, " ".join(said.format(side, i) for side in ("left", "right") for i in range(20)))
    kinds = {side: {int(found.kind[number(graph, f"{side}{i}")]) for i in range(20)} for side in ("left", "right")}
    assert [len(each) for each in kinds.values()] == [1, 1]
    assert kinds["left"] != kinds["right"]
    assert all(-1 not in each for each in kinds.values())


def test_an_attribute_with_few_holders_of_each_value_names_no_kinds(tmp_path: Path) -> None:
    towns = " ".join(
        f':t{town}h{i} :town "town {town}" ; :title "{town} no {i}" .' for town in range(25) for i in range(16)
    )
    _, found = described(tmp_path, towns)
    assert (found.kind == -1).all()
    assert found.naming_kinds == -1


def test_a_restriction_leads_to_its_filler(tmp_path: Path) -> None:
    graph, found = described(
        tmp_path, ":hand rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :partOf ; owl:someValuesFrom :arm ] ."
    )
    hand, arm = number(graph, "hand"), number(graph, "arm")
    direct = [row for row in found.edges.tolist() if row[0] == hand and row[2] == arm]
    assert len(direct) == 1
    assert [arm, direct[0][1] + found.relations, hand] in found.edges.tolist()


def test_an_entity_without_a_name_is_known_by_those_of_its_neighbours(tmp_path: Path) -> None:
    graph, found = described(
        tmp_path, ':berlin :name "Berlin" ; :zone :z . :rome :name "Rome" ; :mayor :m . :m :name "M" .'
    )
    assert values(found, number(graph, "z")) == {"s berlin"}
    assert values(found, number(graph, "m")) == {"s m"}


def test_kinds_bear_the_names_of_their_classes(tmp_path: Path) -> None:
    things = "".join(f":e{i} a :{'TimeZone' if i % 2 else 'city'} ; rdfs:label 'n{i}' ." for i in range(10))
    graph, found = described(tmp_path, things)
    assert [found.kinds[found.kind[number(graph, name)]] for name in ("e0", "e1")] == ["city", "time zone"]


def test_the_narrowest_kind_that_is_not_rare_counts() -> None:
    held = np.array([[0, 7], [1, 7], [2, 7], [1, 5], [2, 5], [2, 9], [3, 4], [4, 5]])
    kind, kinds = _narrowest(held, np.array([True, True, True, True, False]))
    assert (kind.tolist(), kinds.tolist()) == ([1, 0, 0, -1, -1], [5, 7])
    kind, kinds = _narrowest(held[:3], np.ones(3, dtype=bool))
    assert (kind.tolist(), kinds.tolist()) == ([0, 0, 0], [7])
    for entities, expected in ((200, [5, 7]), (300, [5, 7]), (301, [])):  # held by a hundredth at least
        assert _narrowest(held, np.ones(entities, dtype=bool))[1].tolist() == expected


def test_a_restriction_leads_from_its_class_to_its_filler() -> None:
    """Of the classes 1 and 4, the restrictions 2 and 5 say that 1 has a 3 by the property 0, and 4 a 0 by the property
    3; that 6 is a 1 says nothing of the kind."""
    names = {"is": 0, ON_PROPERTY: 1, FILLERS[0]: 2, FILLERS[1]: 3, TYPE: 4}
    triples = [(1, 0, 2), (2, 1, 0), (2, 2, 3), (4, 0, 5), (5, 1, 3), (5, 3, 0), (6, 0, 1)]
    found, relations = _edges(np.array([*triples, (1, 4, 6)]), names, len(names))
    ahead = {*triples, (1, 5, 3), (4, 6, 0)}
    assert relations == 7
    assert {tuple(edge) for edge in found.tolist()} == ahead | {(t, r + 7, h) for h, r, t in ahead}


def test_one_type_is_a_kind_as_others_have_none(tmp_path: Path) -> None:
    graph, found = described(
        tmp_path, "".join(f':{place} a :TownHall ; rdfs:label "{place} x" .' for place in range(3))
    )
    assert found.kinds == ("town hall",)
    assert [found.kind[number(graph, name)] for name in ("0", "2", "TownHall")] == [0, 0, -1]


def test_a_node_that_holds_a_name_is_not_linked_whatever_its_triple(tmp_path: Path) -> None:
    graph, found = described(tmp_path, ':heart :hasSynonym :node . :node rdfs:label "cor" .')
    assert [bool(found.linkable[number(graph, name)]) for name in ("heart", "node")] == [True, False]
    assert "s cor" in values(found, number(graph, "heart"))


@pytest.mark.parametrize(("several", "attached"), [(1, 19), (2, 19), (3, 0)])
def test_nodes_that_usually_describe_several_are_entities(several: int, attached: int, tmp_path: Path) -> None:
    """Of streets that only one is in nine in ten are attached to it, or none."""
    one = "".join(f':h{place:02} :in :t{place:02} . :t{place:02} rdfs:label "{place} x" .' for place in range(19))
    more = "".join(
        f':m :in :s{place} . :n :in :s{place} . :s{place} rdfs:label "{place} y" .' for place in range(several)
    )
    graph, _ = described(tmp_path, one + more)
    settings = EvidenceSettings(kind="all")
    found = linkable_of(graph, read_values(graph, settings), settings)[1]
    streets = [number(graph, f"t{place:02}") for place in range(19)]
    assert graph.triples[:, 2][found[found >= 0]].tolist() == (streets if attached else [])
    assert (found >= 0).sum() == attached
