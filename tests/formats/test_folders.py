"""What lies in a folder beside tables, and headers in files of their own."""

import gzip
from pathlib import Path

import pytest
from small_graphs import literal_names, triple_names

from emea.errors import InputError
from emea.formats import read_graph
from emea.formats._selection import TYPE

PEOPLE, TOWNS = "id,name,town\n1,Anna,be\n2,Bo,th\n", "id,label\nbe,Bern\nth,Thun\n"
LICENCE = "MIT License\n\nPermission is hereby granted, free of charge, to any person\nobtaining a copy of this\n"


def folder_of(place: Path, files: dict[str, str]) -> Path:
    place.mkdir()
    for name, text in files.items():
        (place / name).write_text(text, encoding="utf-8")
    return place


def test_what_is_no_table_is_left_out_and_named(tmp_path: Path) -> None:
    tables = {"people.csv": PEOPLE, "towns.txt": TOWNS.replace(",", "\t")}
    litter = {".DS_Store": "\0", "Thumbs.db": "\0", "desktop.ini": "[x]", "~$people.xlsx": "x"}
    beside = {
        "README.txt": "All people, and where they live.\nSee the site.\n",
        "LICENSE.txt": LICENCE,
        "LICENSE": "MIT",
    }
    beside |= {"people.schema.json": "{}", "schema.sql": "x", "one.txt": "Made by hand, as of 2020."}
    alone = read_graph(folder_of(tmp_path / "a", tables))
    graph = read_graph(folder_of(tmp_path / "b", tables | litter | beside))
    assert triple_names(graph) == triple_names(alone)
    assert literal_names(graph) == literal_names(alone)
    listed = ", ".join(sorted(beside))
    assert (
        graph.notes[0] == f"{tmp_path / 'b'}: left out, since they are no tables, or JSON or XML beside some: {listed}"
    )
    assert not any("left out" in note for note in alone.notes)


def test_a_folder_of_json_alone_has_a_table_a_file(tmp_path: Path) -> None:
    people = '[{"id": 1, "name": "Anna", "town": "be"}, {"id": 2, "name": "Bo", "town": "th"}]'
    towns = '[{"id": "be", "label": "Bern"}, {"id": "th", "label": "Thun"}]'
    graph = read_graph(folder_of(tmp_path / "a", {"people.json": people, "towns.json": towns, "README.md": "x"}))
    alone = read_graph(folder_of(tmp_path / "b", {"people.csv": PEOPLE, "towns.csv": TOWNS}))
    assert triple_names(graph) == triple_names(alone)
    assert literal_names(graph) == literal_names(alone)


def test_a_table_that_is_broken_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"towns\.csv: found 1 column"):
        read_graph(folder_of(tmp_path / "a", {"people.csv": PEOPLE, "towns.csv": "Bern\nThun\n"}))


def test_headers_of_neo4j_in_files_of_their_own(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path / "export",
        {
            "person-header.csv": "id:ID(P),name,born:int,:LABEL\n",
            "person-part1.csv": "1,Anna,1980,Person\n2,Bo,1991,Person\n",
            "person_KNOWS_header.csv": ":START_ID(P),:END_ID(P)\n",
            "person_KNOWS.csv": "1,2\n2,3\n",
        },
    )
    (folder / "person-part2.csv.gz").write_bytes(gzip.compress(b"3,Cleo,,Person\n"))
    graph = read_graph(folder)
    knows = {("1", "person_KNOWS", "2"), ("2", "person_KNOWS", "3")}
    assert triple_names(graph) == knows | {(each, TYPE, "Person") for each in "123"}
    assert {row[2] for row in literal_names(graph)} == {"Anna", "Bo", "Cleo", "1980", "1991"}
    assert f"{folder}: person-header.csv names the columns of person-part1.csv, person-part2.csv.gz" in graph.notes


def test_a_header_may_name_the_columns_of_any_table(tmp_path: Path) -> None:
    files = {"people_header.tsv": "id\tname\n", "people.tsv": "1\tAnna\n2\tBo\n", "peoples.csv": "id,name\n7,Basques\n"}
    graph = read_graph(folder_of(tmp_path / "a", files))
    assert {row[:3] for row in literal_names(graph)} == {
        *(("people/1", "name", "Anna"), ("people/2", "name", "Bo"), ("peoples/7", "name", "Basques")),
    }
