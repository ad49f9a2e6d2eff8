"""Triples in tables: the same columns mean the same in every format."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import emea
from emea.contracts import Reading
from emea.errors import InputError, SettingsError
from emea.formats import read_graph

OURS = pa.table(
    {"tail": ["de", "fr", "paris"], "head": ["berlin", "paris", "berlin"], "relation": ["in", "in", "twin"]}
)
SUBJECTS = pa.table(
    {
        "subject": ["q1", "q2", "q1", "q2"],
        "predicate": ["near", "near", "people", "people"],
        "object": ["q2", "q1", "3677", "2103"],
    }
)


def as_sheet(table: pa.Table, path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (table.column_names, *(row.values() for row in table.to_pylist())):
        book.active.append(list(row))
    book.save(path)


def as_database(table: pa.Table, path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE facts ({', '.join(table.column_names)})")
        database.executemany("INSERT INTO facts VALUES (?, ?, ?)", [tuple(row.values()) for row in table.to_pylist()])


WRITERS: dict[str, Callable[[pa.Table, Path], object]] = {
    "csv": csv.write_csv,
    "parquet": parquet.write_table,
    "feather": feather.write_feather,
    "json": lambda table, path: path.write_text(json.dumps(table.to_pylist())),
    "jsonl": lambda table, path: path.write_text("\n".join(map(json.dumps, table.to_pylist()))),
    "xlsx": as_sheet,
    "sqlite": as_database,
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_columns_named_like_parts_of_triples_hold_triples(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"facts.{suffix}"
    WRITERS[suffix](OURS, path)
    graph = read_graph(path)
    assert repr(graph) == "Graph(4 entities, 2 relations, 3 triples, 0 literals)"
    assert read_graph(path, Reading(table="rows")).literals.num_rows == 9
    WRITERS[suffix](SUBJECTS, other := tmp_path / f"others.{suffix}")
    graph = read_graph(other)
    assert repr(graph) == "Graph(2 entities, 1 relations, 2 triples, 2 literals)"
    assert "taken as values, not entities: the tails of people" in graph.notes[-1]


def test_a_program_may_hold_triples() -> None:
    assert repr(emea.graph(OURS)) == "Graph(4 entities, 2 relations, 3 triples, 0 literals)"
    assert emea.graph(OURS.append_column("nr", pa.array([1, 2, 3])), id="nr").literals.num_rows == 12


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_kind_and_a_language_are_no_triple(suffix: str, tmp_path: Path) -> None:
    books = pa.table({"id": ["a", "b"], "kind": ["novel", "poem"], "language": ["de", "en"]})
    WRITERS[suffix](books, path := tmp_path / f"books.{suffix}")
    assert repr(read_graph(path)) == "Graph(2 entities, 0 relations, 0 triples, 4 literals)"


def test_what_is_no_triple_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps([{"head": "a", "relation": "in", "tail": ["b", "c"]}]))
    with pytest.raises(InputError, match=r"facts\.json, row 1: found several values in the column tail, expected one"):
        read_graph(path)
    path.write_text(json.dumps([{"head": "a", "relation": "in"}]))
    with pytest.raises(
        InputError, match=r"found the columns head, relation, expected exactly one named tail, or --table rows"
    ):
        read_graph(path)
    with pytest.raises(SettingsError, match="found 2 tables, expected a single one of triples"):
        emea.read({"a": OURS, "b": OURS}, OURS, readings=(Reading(table="triples"), Reading()))
