"""SQLite: every table with its keys and references, and what is refused."""

import gzip
import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from generated import as_csv, as_ntriples, assert_same, places
from small_graphs import literal_names, triple_names

from emea.contracts import Reading
from emea.errors import InputError
from emea.formats import read_graph

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
XSD = "http://www.w3.org/2001/XMLSchema#"
GEOGRAPHY = """
CREATE TABLE country (code TEXT PRIMARY KEY, number INTEGER UNIQUE, title TEXT);
CREATE TABLE city (key INTEGER PRIMARY KEY, label TEXT, land TEXT REFERENCES Country, twin INT REFERENCES city(KEY),
                   numbered INT REFERENCES country(number), mixed);
CREATE TABLE capital (of TEXT PRIMARY KEY REFERENCES country(code), since INT);
CREATE TABLE twinned (a INT, b INT, PRIMARY KEY (a, b), FOREIGN KEY (a, b) REFERENCES city(key, twin));
CREATE TABLE empty (id INTEGER PRIMARY KEY);
CREATE VIEW large AS SELECT * FROM city;
INSERT INTO country VALUES ('CH', 756, 'Switzerland'), ('FR', 250, 'France');
INSERT INTO city VALUES (5, 'Bern', 'CH', NULL, 756, 1), (6, 'Paris', 'FR', 5, 250, 'two');
INSERT INTO city VALUES (7, 'Lost', 'XX', 9, 1, 2.5);
INSERT INTO capital VALUES ('CH', 1848);
INSERT INTO twinned VALUES (5, 6);
"""


def database(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as opened:
        opened.executescript(script)
    return path


@pytest.fixture
def geography(tmp_path: Path) -> Path:
    return database(tmp_path / "world.sqlite", GEOGRAPHY)


def test_ten_thousand_rows_are_the_same_graph_as_elsewhere(tmp_path: Path) -> None:
    columns = places(without=["open"])
    path = tmp_path / "places.db"
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("CREATE TABLE places (" + ", ".join(f'"{name}"' for name in columns) + ")")
        cells = [[str(cell) if isinstance(cell, date) else cell for cell in column] for column in columns.values()]
        opened.executemany(f"INSERT INTO places VALUES ({', '.join('?' * len(columns))})", zip(*cells, strict=True))
        opened.commit()
    graph = read_graph(path)
    assert_same(graph, as_ntriples(tmp_path, columns, dates=False))
    assert_same(graph, as_csv(tmp_path, columns), datatypes=False)


def test_declared_references_are_relations(geography: Path) -> None:
    graph = read_graph(geography)
    assert triple_names(graph) == {
        ("city/5", "land", "country/CH"),
        ("city/6", "land", "country/FR"),
        ("city/7", "land", "country/XX"),  # as the file says, though no such row is there
        ("city/6", "twin", "city/5"),
        ("city/7", "twin", "city/9"),
        ("city/5", "numbered", "country/CH"),  # by a column that is not the key
        ("city/6", "numbered", "country/FR"),
        ("capital/CH", "of", "country/CH"),
        *((f"city/{number}", TYPE, "city") for number in (5, 6, 7)),
        *((f"country/{code}", TYPE, "country") for code in ("CH", "FR")),
        ("capital/CH", TYPE, "capital"),
        ("twinned/5", TYPE, "twinned"),
    }


def test_keys_are_ids_and_values_keep_their_types(geography: Path) -> None:
    values = literal_names(read_graph(geography))
    assert {row[:4] for row in values if row[0].startswith("city/")} == {
        ("city/5", "label", "Bern", f"{XSD}string"),
        ("city/6", "label", "Paris", f"{XSD}string"),
        ("city/7", "label", "Lost", f"{XSD}string"),
        ("city/5", "mixed", "1", f"{XSD}string"),
        ("city/6", "mixed", "two", f"{XSD}string"),
        ("city/7", "mixed", "2.5", f"{XSD}string"),
    }
    assert ("capital/CH", "since", "1848", f"{XSD}integer", "") in values


def test_another_id_column_is_heeded_by_references(tmp_path: Path) -> None:
    path = database(
        tmp_path / "world.db",
        "CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO a VALUES (1, 'one'), (2, 'two');"
        "CREATE TABLE b (id INTEGER PRIMARY KEY, name TEXT, a_id INT REFERENCES a(id));"
        "INSERT INTO b VALUES (9, 'x', 2);",
    )
    graph = read_graph(path, Reading(id_column="name"))
    assert ("b/x", "a_id", "a/two") in triple_names(graph)


def test_tables_of_extensions_and_columns_of_bytes_are_left_out(tmp_path: Path) -> None:
    path = database(
        tmp_path / "notes.sqlite3",
        "CREATE TABLE note (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT, photo BLOB, plain BLOB);"
        "CREATE VIRTUAL TABLE search USING fts5(text); INSERT INTO search VALUES ('x');"
        "INSERT INTO note VALUES (1, 'a', x'ff00', CAST('b' AS BLOB)), (2, 'c', NULL, NULL);",
    )
    graph = read_graph(path)
    assert {row[:3] for row in literal_names(graph)} == {("1", "text", "a"), ("2", "text", "c"), ("1", "plain", "b")}
    assert any("columns of bytes that are no text are left out: photo" in note for note in graph.notes)


def test_the_file_is_not_changed_and_may_be_compressed(geography: Path) -> None:
    before = geography.read_bytes()
    geography.chmod(0o400)
    expected = read_graph(geography)
    assert geography.read_bytes() == before
    assert [path.name for path in geography.parent.iterdir()] == [geography.name]
    packed = geography.with_name("world.sqlite.gz")
    packed.write_bytes(gzip.compress(before))
    assert_same(read_graph(packed), expected)


@pytest.mark.parametrize("kept", [0.3, 0.99])
def test_truncated_files_are_refused(geography: Path, kept: float) -> None:
    whole = geography.read_bytes()
    geography.write_bytes(whole[: int(len(whole) * kept)])
    with pytest.raises(InputError, match=r"world\.sqlite cannot be read: .*; expected an SQLite database$"):
        read_graph(geography)


def test_other_files_and_empty_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_text("id,name\n1,a\n" * 100)
    with pytest.raises(InputError, match=r"a\.db cannot be read: file is not a database; expected an SQLite database$"):
        read_graph(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"a\.db holds no table, expected at least one$"):
        read_graph(path)
    database(tmp_path / "b.db", "CREATE TABLE t (id INTEGER PRIMARY KEY);")
    with pytest.raises(InputError, match=r"b\.db holds no table, expected at least one$"):
        read_graph(tmp_path / "b.db")
    with pytest.raises(InputError, match=r"c\.db does not exist; expected a file$"):
        read_graph(tmp_path / "c.db")
    assert not (tmp_path / "c.db").exists()
