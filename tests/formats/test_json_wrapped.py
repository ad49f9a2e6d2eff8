"""Records in JSON as programs wrap them: what is around them is no part of them."""

import json
from pathlib import Path

import pytest
from small_graphs import literal_names, triple_names

from emea.formats import read_graph
from emea.formats._selection import TYPE

PLAIN = [{"id": "p1", "name": "Anna", "age": 40}, {"id": "p2", "name": "Bo", "age": 31}]
TOLD = {("p1", "name", "Anna"), ("p1", "age", "40"), ("p2", "name", "Bo"), ("p2", "age", "31")}
FIELDS = [{"name": each["name"], "age": each["age"]} for each in PLAIN]


def wrapped(name: str) -> list[dict[str, object]]:
    return [{"id": row["id"], name: held} for row, held in zip(PLAIN, FIELDS, strict=True)]


COLUMNS = ["id", "name", "age"]
ROWS = [[row[name] for name in COLUMNS] for row in PLAIN]


@pytest.mark.parametrize(
    "document",
    [
        {"records": wrapped("fields"), "offset": "x"},  # Airtable
        [{"pk": row["id"], "fields": held} for row, held in zip(PLAIN, FIELDS, strict=True)],  # Django
        {"took": 3, "hits": {"total": 2, "hits": wrapped("_source")}},  # Elasticsearch
        {"responseHeader": {"status": 0}, "response": {"numFound": 2, "docs": PLAIN}},  # Solr
        {"columns": COLUMNS, "index": [0, 1], "data": ROWS},  # pandas, orient="split"
        {name: {str(number): row[name] for number, row in enumerate(PLAIN)} for name in COLUMNS},  # and as it does
        [COLUMNS, *ROWS],
        {"range": "A1:C3", "values": [COLUMNS, *ROWS]},  # Google Sheets
        [{"_id": {"$oid": row["id"]}, "name": row["name"], "age": {"$numberLong": str(row["age"])}} for row in PLAIN],
    ],
)
def test_records_are_what_they_hold(document: object, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document))
    graph = read_graph(tmp_path / "a.json")
    assert graph.entities.to_pylist() == ["p1", "p2"]
    assert {row[:3] for row in literal_names(graph)} == TOLD


def test_actions_of_elasticsearch_name_the_records_below(tmp_path: Path) -> None:
    lines = [each for row, held in zip(PLAIN, FIELDS, strict=True) for each in ({"index": {"_id": row["id"]}}, held)]
    lines.insert(2, {"delete": {"_id": "p9"}})
    (tmp_path / "a.ndjson").write_text("\n".join(map(json.dumps, lines)) + "\n")
    assert {row[:3] for row in literal_names(read_graph(tmp_path / "a.ndjson"))} == TOLD
    (tmp_path / "a.ndjson").write_text('{"index": {"size": 3}}\n{"index": {"size": 4}}\n')  # records of this field
    assert {row[1:3] for row in literal_names(read_graph(tmp_path / "a.ndjson"))} == {
        ("index.size", "3"), ("index.size", "4"),
    }  # fmt: skip


def test_documents_of_json_api_are_tables_by_type(tmp_path: Path) -> None:
    people = [
        {"type": "people", "attributes": {"name": row["name"]}, "id": row["id"],
         "relationships": {"town": {"data": {"type": "towns", "id": town}, "links": {"self": "x"}}}}
        for row, town in zip(PLAIN, ("be", "th"), strict=True)
    ]  # fmt: skip
    towns = [{"type": "towns", "id": town, "attributes": {"label": town.upper()}} for town in ("be", "th")]
    (tmp_path / "a.json").write_text(json.dumps({"data": people, "included": towns, "meta": {"total": 2}}))
    graph = read_graph(tmp_path / "a.json")
    assert triple_names(graph) == {
        *(("people/p1", "town", "towns/be"), ("people/p2", "town", "towns/th")),
        *((f"people/{each}", TYPE, "people") for each in ("p1", "p2")),
        *((f"towns/{each}", TYPE, "towns") for each in ("be", "th")),
    }
    assert ("towns/be", "label", "BE") in {row[:3] for row in literal_names(graph)}


def test_several_lists_are_several_tables(tmp_path: Path) -> None:
    (tmp_path / "db.json").write_text(
        json.dumps({"people": PLAIN, "towns": [{"id": "be"}, {"id": "th"}], "version": 3})
    )
    entities = {"people", "people/p1", "people/p2", "towns", "towns/be", "towns/th"}
    assert {*read_graph(tmp_path / "db.json").entities.to_pylist()} == entities


def test_fields_that_only_share_such_a_name_stay(tmp_path: Path) -> None:
    rows = [{"label": "x", "attributes": {"size": 3}}, {"label": "y", "attributes": {"size": 4}}]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    assert read_graph(tmp_path / "a.json").attributes.to_pylist() == ["attributes.size", "label"]
