"""A table of edges alone is a graph; a table of pairs is none."""

from pathlib import Path

import pytest
from small_graphs import literal_names, triple_names

import emea
from emea.contracts import Reading
from emea.errors import InputError
from emea.formats import read_graph

EDGES = {("a1", "related", "a2"), ("a2", "related", "a3"), ("a3", "related", "a1"), ("a1", "related", "a3")}
PEOPLE = [
    f"{first} {last}" for first in ("Anna", "Bo", "Cleo", "Dara") for last in ("Berg", "Costa", "Ito", "Lind", "Oh")
]
LINES = "a1,a2\na2,a3\na3,a1\na1,a3\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.csv", "source,target\n" + LINES),
        ("e.csv", "from,to\n" + LINES),
        (
            "e.csv",
            "Source,Target,Type,Weight\na1,a2,Directed,1\na2,a3,Directed,2\na3,a1,Directed,2\na1,a3,Directed,1\n",
        ),
        ("e.csv", "x,y\n" + LINES),
        ("e.csv", LINES),
        ("e.csv", "head,tail\n" + LINES),
        ("e.tsv", LINES.replace(",", "\t")),
        ("e.txt", LINES.replace(",", " ")),
        ("e.txt", "# edges\n# FromNodeId\tToNodeId\n" + LINES.replace(",", "\t")),
        ("e.jsonl", "\n".join(f'{{"from": "{head}", "to": "{tail}"}}' for head, _, tail in sorted(EDGES))),
    ],
)
def test_edges_alone_are_a_graph_of_one_relation(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    graph = read_graph(tmp_path / name)
    assert triple_names(graph) == EDGES
    assert "its rows are no entities but relations, from " in graph.notes[-1]
    assert f"{name}, table" not in graph.notes[-1]


def test_edges_may_be_named_and_lead_between_two_kinds(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("source,target,label\na,b,knows\nb,c,knows\nc,a,likes\n")
    assert triple_names(read_graph(tmp_path / "e.csv")) == {
        ("a", "knows", "b"), ("b", "knows", "c"), ("c", "likes", "a"),
    }  # fmt: skip
    (tmp_path / "e.csv").write_text("head,tail\nAnna,Film\nBo,Film\nBo,Play\n")
    graph = read_graph(tmp_path / "e.csv")
    assert triple_names(graph) == {("Anna", "related", "Film"), ("Bo", "related", "Film"), ("Bo", "related", "Play")}
    assert ("Anna", "id", "Anna") in {row[:3] for row in literal_names(graph)}  # words are compared, numbers are not


@pytest.mark.parametrize("rows", ["a1,b1\na2,b2\na3,b3\n", "a,a\nb,b\nc,d\n"])
def test_pairs_are_no_edges(rows: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("source,target\n" + rows)
    with pytest.raises(InputError, match=r"p\.csv holds pairs; expected a graph .*have the columns head and tail$"):
        read_graph(tmp_path / "p.csv")
    (tmp_path / "p.csv").write_text("source,target,confidence\n" + LINES.replace("\n", ",1\n"))
    with pytest.raises(InputError, match=r"holds pairs; expected a graph \(--seeds takes pairs\)$"):
        read_graph(tmp_path / "p.csv")


@pytest.mark.parametrize(
    "text",
    [
        "id,name\n1,a\n2,b\n3,c\n",
        "flight,source,target\nLH 1,1,2\nLH 2,2,1\nLH 3,1,2\n",
        "start,end\n2001,2004\n2001,2005\n2002,2006\n",
        "1,Rum\n2,Gin\n3,Rum\n",
        "employee,boss\ne1,e2\ne2,e3\ne3,e3\n",
    ],
)
def test_rows_with_something_to_say_stay_entities(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    graph = read_graph(tmp_path / "t.csv")
    assert not any("relations, from" in note for note in graph.notes)
    assert len(graph.triples) == 0 or "employee" in text  # which refers to rows of its own table


def test_rows_of_edges_may_be_wanted_as_entities(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("source,target\n" + LINES)
    assert len(read_graph(tmp_path / "e.csv", Reading(table="rows")).triples) == 0


def test_two_lists_of_edges_are_linked_by_their_names(tmp_path: Path) -> None:
    for name, number in (("a.csv", 20), ("b.csv", 17)):
        rows = [f"{PEOPLE[each]},{PEOPLE[(each * 7 + 3) % 17]}" for each in range(number)]
        (tmp_path / name).write_text("\n".join(["from,to", *rows]) + "\n")
    links = emea.align(emea.read(tmp_path / "a.csv", tmp_path / "b.csv")).links().to_pylist()
    assert {(row["source"], row["target"]) for row in links} >= {(each, each) for each in PEOPLE[:16]}
