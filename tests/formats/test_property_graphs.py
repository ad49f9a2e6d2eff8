"""Nodes and edges, as graph databases and drawing programs write them, are the graph that they were."""

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from small_graphs import literal_names, triple_names

import emea
from emea.contracts import Reading
from emea.errors import InputError, SettingsError
from emea.formats import read_graph

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def people(kind: type[nx.Graph] = nx.DiGraph) -> nx.Graph:
    graph = kind()
    graph.add_node("7", label="Anna Ödegård", born=1980, height=1.71)
    graph.add_node("9", label="Bo & Co", born=1991)
    graph.add_node("11", label="Cleo")
    graph.add_edge("7", "9", label="knows", since=2001)
    graph.add_edge("9", "11", label="employs")
    return graph


def written(path: Path, what: str | dict[str, Any] | list[Any]) -> Path:
    path.write_text(what if isinstance(what, str) else json.dumps(what), encoding="utf-8")
    return path


def in_every_way(folder: Path, graph: nx.Graph) -> list[Path]:
    nx.write_graphml(graph, folder / "a.graphml")
    nx.write_gexf(graph, folder / "a.gexf")
    (folder / "a.xml").write_bytes((folder / "a.graphml").read_bytes())
    (folder / "b.xml").write_bytes((folder / "a.gexf").read_bytes())
    written(folder / "links.json", nx.node_link_data(graph, edges="links"))
    written(folder / "edges.json", nx.node_link_data(graph, edges="edges"))
    return sorted(folder.iterdir())


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.Graph])
def test_what_networkx_writes_is_what_it_holds(tmp_path: Path, kind: type[nx.Graph]) -> None:
    held = emea.graph(people(kind))
    assert triple_names(held) >= {("7", "knows", "9"), ("9", "employs", "11")}
    assert (("9", "knows", "7") in triple_names(held)) == (kind is nx.Graph)
    paths = in_every_way(tmp_path, people(kind))
    assert len(paths) == 6
    for path in paths:
        graph = read_graph(path)
        assert triple_names(graph) == triple_names(held), path
        assert {row[:3] for row in literal_names(graph)} == {row[:3] for row in literal_names(held)}, path
        assert "3 nodes are entities" in graph.notes[0]
        assert "employs, knows; values of edges" in graph.notes[0]


def test_cytoscape(tmp_path: Path) -> None:
    graph = people()
    for node, held in graph.nodes(data=True):
        held["name"] = f"N{node}"
    read = read_graph(written(tmp_path / "c.json", nx.cytoscape_data(graph)))
    assert triple_names(read) == {("7", "knows", "9"), ("9", "employs", "11")}
    assert ("7", "label", "Anna Ödegård") in {row[:3] for row in literal_names(read)}


def test_json_graph_format(tmp_path: Path) -> None:
    nodes = {"x": {"label": "Anna", "metadata": {"born": 1980}}, "y": {"label": "Bo"}}
    edges = [{"source": "x", "relation": "knows", "target": "y", "directed": True}]
    read = read_graph(written(tmp_path / "j.json", {"graph": {"directed": True, "nodes": nodes, "edges": edges}}))
    assert triple_names(read) == {("x", "knows", "y")}
    assert {("x", "label", "Anna"), ("x", "metadata.born", "1980")} <= {row[:3] for row in literal_names(read)}


def test_edges_of_d3_may_count_nodes(tmp_path: Path) -> None:
    nodes = [{"name": "Myriel", "group": 1}, {"name": "Napoleon", "group": 1}, {"name": "Valjean", "group": 2}]
    links = [{"source": 1, "target": 0, "value": 1}, {"source": {"name": "Valjean"}, "target": "Myriel"}]
    read = read_graph(written(tmp_path / "miserables.json", {"nodes": nodes, "links": links}))
    assert triple_names(read) == {("Napoleon", "related", "Myriel"), ("Valjean", "related", "Myriel")}
    assert {row[1:3] for row in literal_names(read) if row[0] == "Valjean"} == {("name", "Valjean"), ("group", "2")}


NEO4J = """{"type":"node","id":"0","labels":["User","Admin"],"properties":{"name":"Adam","age":42,"kids":["Sam","Al"]}}
{"type":"node","id":"1","labels":["User"],"properties":{"name":"Jim"}}
{"id":"0","type":"relationship","label":"KNOWS","properties":{"since":93},"start":{"id":"0","labels":[]},"end":{"id":"1"}}
"""


@pytest.mark.parametrize("name", ["all.json", "all.jsonl"])
def test_records_of_neo4j(tmp_path: Path, name: str) -> None:
    read = read_graph(written(tmp_path / name, NEO4J))
    assert triple_names(read) == {("0", "KNOWS", "1"), ("0", TYPE, "User"), ("0", TYPE, "Admin"), ("1", TYPE, "User")}
    assert {row[:3] for row in literal_names(read)} == {
        ("0", "name", "Adam"), ("0", "age", "42"), ("0", "kids", "Sam"), ("0", "kids", "Al"), ("1", "name", "Jim"),
    }  # fmt: skip


GRAPHML = """<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
<key id="n" for="node" attr.name="name" attr.type="string"/>
<key id="c" for="node" attr.name="colour" attr.type="string"><default>grey</default></key>
<key id="y" for="node" yfiles.type="nodegraphics"/>
<graph id="G" edgedefault="directed">
<node id="n0" labels=":User:Admin"><data key="labels">:User:Admin</data><data key="n">Adam</data>
<data key="c">red</data></node>
<node id="n1"><data key="y"><y:ShapeNode><y:NodeLabel>Bo
 Smith</y:NodeLabel></y:ShapeNode></data><graph edgedefault="directed"><node id="n1::n0"/></graph></node>
<edge id="e0" source="n0" target="n1" label="KNOWS"><data key="label">KNOWS</data></edge>
<edge source="n1" target="n1::n0" directed="false"/>
</graph></graphml>"""


def test_graphml_of_neo4j_and_yed(tmp_path: Path) -> None:
    read = read_graph(written(tmp_path / "g.graphml", GRAPHML))
    assert triple_names(read) == {
        ("n0", "KNOWS", "n1"), ("n1", "related", "n1::n0"), ("n1::n0", "related", "n1"),
        ("n0", TYPE, "User"), ("n0", TYPE, "Admin"),
    }  # fmt: skip
    assert {row[:3] for row in literal_names(read)} == {
        ("n0", "name", "Adam"), ("n0", "colour", "red"), ("n1", "label", "Bo Smith"), ("n1", "colour", "grey"),
        ("n1::n0", "colour", "grey"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.graphml", "<graphml><graph><node/></graph></graphml>", "found a node without 'id'"),
        ("a.graphml", "<graphml><graph><node id=''/></graph></graphml>", "found the node ''"),
        ("a.graphml", "<graphml><graph><node id='a'/><node id='a'/></graph></graphml>", "two nodes called 'a'"),
        ("a.graphml", "<graphml><graph><node id='a'/><edge source='a'/></graph></graphml>", "edge without 'target'"),
        ("a.gexf", "<nodes/>", "found 'nodes', expected GraphML or GEXF"),
        ("a.json", '{"nodes":[{"id":1}],"links":[{"source":1,"target":null}]}', "found an edge to 'None'"),
        ("a.json", '{"nodes":[{"id":1}],"links":[{"source":1,"target":""}]}', "found an edge to ''"),
        ("a.jsonl", NEO4J + "7\n", "line 4: found a record that is no node and no relationship"),
    ],
)
def test_faults_are_told(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_graph(written(tmp_path / name, text))


def test_records_that_lists_call_nodes_are_rows(tmp_path: Path) -> None:
    """Nodes without edges are records, as any list is."""
    rows = [{"id": "a", "name": "Bern"}, {"id": "b", "name": "Thun"}]
    assert read_graph(written(tmp_path / "a.json", {"nodes": rows})).entities.to_pylist() == ["a", "b"]


def test_json_with_a_record_a_line_is_read_whatever_its_suffix(tmp_path: Path) -> None:
    lines = '{"id":"a","name":"Bern"}\n{"id":"b","name":"Thun"}\n'
    read = read_graph(written(tmp_path / "a.json", lines))
    assert literal_names(read) == literal_names(read_graph(written(tmp_path / "a.jsonl", lines)))


def test_two_drawings_are_linked(tmp_path: Path) -> None:
    nx.write_graphml(people(), tmp_path / "a.graphml")
    other = nx.relabel_nodes(people(), {"7": "x1", "9": "x2", "11": "x3"})
    written(tmp_path / "b.json", nx.node_link_data(other, edges="links"))
    result = emea.align(emea.read(tmp_path / "a.graphml", tmp_path / "b.json"))
    found = {(row["source"], row["target"]) for row in result.links().to_pylist()}
    assert found == {("7", "x1"), ("9", "x2"), ("11", "x3")}


NODES = """personId:ID(Person),name,born:int,aliases:string[],:LABEL,note:IGNORE
1,Keanu Reeves,1964,Keanu;K. Reeves,Person;Actor,x
2,Lana Wachowski,1965,,Person,x
"""
FILMS = """:ID(Film),title,:LABEL
1,The Matrix,Film
tt2,Speed Racer,Film
"""
ROLES = """:START_ID(Person),role,:END_ID(Film),:TYPE
1,Neo,1,ACTED_IN
2,,tt2,DIRECTED
"""


def test_tables_that_neo4j_imports(tmp_path: Path) -> None:
    for name, text in {"people.csv": NODES, "films.csv": FILMS, "roles.csv": ROLES}.items():
        written(tmp_path / name, text)
    graph = read_graph(tmp_path)
    assert triple_names(graph) == {
        ("Person/1", "ACTED_IN", "Film/1"),  # ids of two spaces
        ("2", "DIRECTED", "tt2"),
        *(("Person/1", TYPE, kind) for kind in ("Person", "Actor")),
        ("2", TYPE, "Person"),
        ("Film/1", TYPE, "Film"),
        ("tt2", TYPE, "Film"),
    }
    assert {row[:3] for row in literal_names(graph)} == {
        *(("Person/1", *value) for value in (("name", "Keanu Reeves"), ("born", "1964"), ("aliases", "Keanu"))),
        ("Person/1", "aliases", "K. Reeves"),
        *(("2", *value) for value in (("name", "Lana Wachowski"), ("born", "1965"))),
        *(("Film/1", "title", "The Matrix"), ("tt2", "title", "Speed Racer")),
    }
    with pytest.raises(SettingsError, match=r"found --id-column for .*, expected none: the file says what nodes"):
        read_graph(tmp_path, Reading(id_column="name"))
    path = written(tmp_path / "links.json", nx.node_link_data(people(), edges="links"))
    with pytest.raises(SettingsError, match=r"found --id-column for .*links\.json, expected none: the file says"):
        read_graph(path, Reading(id_column="name"))


def test_a_table_of_nodes_and_edges_as_neo4j_writes_it(tmp_path: Path) -> None:
    rows = ["_id,_labels,name,_start,_end,_type,since", "7,:Person:Author,Anna,,,,", "9,,Bo,,,,", ",,,7,9,KNOWS,2001"]
    graph = read_graph(written(tmp_path / "all.csv", "\n".join(rows)))
    assert triple_names(graph) == {("7", "KNOWS", "9"), ("7", TYPE, "Person"), ("7", TYPE, "Author")}
    assert {row[:3] for row in literal_names(graph)} == {("7", "name", "Anna"), ("9", "name", "Bo")}
    alone = read_graph(written(tmp_path / "knows.csv", ":START_ID,:END_ID\n7,9\n7,8\n"))
    assert triple_names(alone) == {("7", "knows", "9"), ("7", "knows", "8")}


def test_a_column_called_id_with_a_line_before_it_makes_no_nodes(tmp_path: Path) -> None:
    graph = read_graph(written(tmp_path / "records.csv", "_id,name\n7,Anna\n9,Bo\n"))
    assert "its rows are entities, named by the column '_id'" in graph.notes[0]


@pytest.mark.parametrize("ends", [("7", ""), ("", "9")])
def test_an_edge_in_a_table_has_two_ends(tmp_path: Path, ends: tuple[str, str]) -> None:
    path = written(tmp_path / "knows.csv", ":START_ID,:END_ID,:TYPE\n7,9,KNOWS\n" + ",".join([*ends, "KNOWS"]))
    with pytest.raises(InputError, match="found an edge to '', expected names of nodes, on one line"):
        read_graph(path)


def folder_of(place: Path, tables: dict[str, str]) -> Path:
    place.mkdir()
    for name, text in tables.items():
        written(place / f"{name}.csv", text)
    return place


def test_a_folder_of_nodes_and_edges_as_gephi_writes_it(tmp_path: Path) -> None:
    nodes = "Id,Label,born\n1,Anna,1980\n2,Bo,1991\n3,Cleo,1970\n"
    edges = "Source,Target,Type,Id,Label,Weight\n1,2,Directed,0,knows,1.0\n2,3,Directed,1,employs,2\n"
    graph = read_graph(folder_of(tmp_path / "graph", {"nodes": nodes, "edges": edges}))
    assert {row for row in triple_names(graph) if row[1] != TYPE} == {
        ("nodes/1", "knows", "nodes/2"),
        ("nodes/2", "employs", "nodes/3"),
    }
    assert {row[:3] for row in literal_names(graph)} >= {("nodes/1", "Label", "Anna"), ("nodes/3", "born", "1970")}
    assert any(
        "its rows are no entities but relations, from 'Source' to 'Target'; left" in each for each in graph.notes
    )
    assert not any("edges: its rows are entities" in each for each in graph.notes)


def test_a_folder_of_entities_and_triples(tmp_path: Path) -> None:
    triples = "head,relation,tail\nq1,knows,q2\nq2,likes,q1\n"  # no head repeats
    graph = read_graph(folder_of(tmp_path / "graph", {"entities": "id,name\nq1,Anna\nq2,Bo\n", "triples": triples}))
    assert {row for row in triple_names(graph) if row[1] != TYPE} == {
        ("entities/q1", "knows", "entities/q2"),
        ("entities/q2", "likes", "entities/q1"),
    }


@pytest.mark.parametrize("ways", ["Directed", "Undirected"])
def test_edges_without_a_name_are_called_like_their_table_and_go_as_they_say(tmp_path: Path, ways: str) -> None:
    edges = f"Source,Target,Type,Note\n1,2,{ways},one\n1,1,{ways},two\n"
    graph = read_graph(folder_of(tmp_path / "graph", {"nodes": "Id,Label\n1,Anna\n2,Bo\n", "edges": edges}))
    assert {row[1] for row in triple_names(graph) if row[1] != TYPE} == {"edges"}
    there = {(head, tail) for head, relation, tail in triple_names(graph) if relation != TYPE}
    back = {("nodes/2", "nodes/1")} if ways == "Undirected" else set()
    assert there == {("nodes/1", "nodes/2"), ("nodes/1", "nodes/1")} | back


PEOPLE, FILMS_TOO = "id,name\n1,Anna\n2,Bo\n", "id,title\n1,Film A\n2,Film B\n3,Film C\n"


@pytest.mark.parametrize(
    "joining",
    [
        "person_id,film_id\n1,1\n1,2\n2,1\n2,\n",
        "id,person_id,film_id\n7,1,1\n8,1,2\n9,2,1\n",  # counted, as Django does
        "film_id,person_id,updated\n1,1,2020-01-02\n2,1,2020-01-02\n1,2,2020-01-03\n",
    ],
)
def test_rows_that_only_join_two_tables_are_relations_called_like_the_table(tmp_path: Path, joining: str) -> None:
    graph = read_graph(folder_of(tmp_path / "films", {"people": PEOPLE, "films": FILMS_TOO, "roles": joining}))
    pairs = {("people/1", "films/1"), ("people/1", "films/2"), ("people/2", "films/1")}
    found = {row for row in triple_names(graph) if row[1] != TYPE}
    assert {(head, tail) if head < tail else (tail, head) for head, _, tail in found} == {(b, a) for a, b in pairs}
    assert {row[1] for row in found} == {"roles"}
    assert {row[2] for row in triple_names(graph) if row[1] == TYPE} == {"people", "films"}


def test_a_table_that_joins_each_row_once_is_a_relation(tmp_path: Path) -> None:
    first = {"films": FILMS_TOO, "genres": "id,name\n1,Drama\n2,Comedy\n"}
    graph = read_graph(folder_of(tmp_path / "films", {**first, "film_genres": "film_id,genre_id\n1,2\n2,2\n3,1\n"}))
    assert {row for row in triple_names(graph) if row[1] != TYPE} == {
        ("films/1", "film_genres", "genres/2"),
        ("films/2", "film_genres", "genres/2"),
        ("films/3", "film_genres", "genres/1"),
    }


@pytest.mark.parametrize(
    "things",
    [
        "id,person_id,film_id,seat\n7,1,1,5\n8,2,1,6\n",  # with ids, and more to say
        "person_id,film_id,at,price\n1,1,2020-01-02,7\n1,2,2020-01-02,8\n2,1,2020-01-03,7\n",
        "title,person_id,film_id\nA trip,1,1\nA trip,1,2\nBoats,2,1\n",  # a title that recurs
        "person_id,film_id,review\n1,1,fine\n1,2,fine\n2,1,so so\n",
        "seen_id,person_id,film_id\n7,1,1\n7,1,2\n8,2,1\n",  # an id that recurs
        "flight,source,target\nLH 1,1,2\nLH 2,2,1\nLH 3,1,1\n",
        "task,start,end\nWash,1,2\nDry,2,1\nFold,1,1\n",
    ],
)
def test_rows_that_are_things_of_their_own_stay_entities(tmp_path: Path, things: str) -> None:
    graph = read_graph(folder_of(tmp_path / "films", {"people": PEOPLE, "films": FILMS_TOO, "seen": things}))
    assert {row[2] for row in triple_names(graph) if row[1] == TYPE} == {"people", "films", "seen"}


def test_a_table_is_not_one_of_edges_because_its_name_contains_the_word(tmp_path: Path) -> None:
    ledger = "from,to,memo\n1,2,rent\n2,1,rent\n"
    graph = read_graph(folder_of(tmp_path / "bank", {"accounts": "id,name\n1,Anna\n2,Bo\n", "ledger": ledger}))
    assert {row[2] for row in triple_names(graph) if row[1] == TYPE} == {"accounts", "ledger"}


def test_a_column_of_ids_that_is_named_makes_entities_of_edges(tmp_path: Path) -> None:
    tables = {"nodes": "Id,Label\n1,Anna\n2,Bo\n", "edges": "Id,Source,Target\n1,1,2\n2,2,1\n"}
    folder = folder_of(tmp_path / "graph", tables)
    assert len(read_graph(folder).entities) == 3  # with the type
    assert len(read_graph(folder, Reading(id_column="Id")).entities) == 6


def test_ends_that_could_be_of_several_tables_are_values(tmp_path: Path) -> None:
    edges = "source,target\n1,2\n2,1\n1,1\n"
    graph = read_graph(folder_of(tmp_path / "graph", {"people": PEOPLE, "films": FILMS_TOO, "edges": edges}))
    assert {row[1] for row in triple_names(graph)} == {TYPE}


def test_bulk_files_of_neo4j_and_what_stands_beside_them(tmp_path: Path) -> None:
    tables = {
        "export.nodes.Person": "id:ID(Person){label:Person},name\n1,Anna\n2,Bo\n",
        "export.relationships.KNOWS": ":START_ID(Person),:END_ID(Person),:TYPE\n1,2,KNOWS\n",
        "stats": "day,count\n2020-01-01,7\n2020-01-02,8\n",
    }
    graph = read_graph(folder_of(tmp_path / "db", tables))
    assert triple_names(graph) == {("1", "KNOWS", "2"), ("1", TYPE, "Person"), ("2", TYPE, "Person")}
    assert "nodes or edges are left out: stats" in graph.notes[-1]


def test_an_empty_file_beside_tables_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.csv is empty; expected a header and rows below it$"):
        read_graph(folder_of(tmp_path / "films", {"people": PEOPLE, "nothing": ""}))
