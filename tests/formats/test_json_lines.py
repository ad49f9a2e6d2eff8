"""JSON records: one a line or in an array, nested, with fields missing and of several types."""

import gzip
import json
from pathlib import Path

import pytest
from generated import as_csv, as_ntriples, assert_same, places
from small_graphs import literal_names, triple_names

from emea.errors import InputError
from emea.formats import read_graph

XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.mark.parametrize("name", ["places.jsonl", "places.json"])
def test_ten_thousand_rows_are_the_same_graph_as_elsewhere(tmp_path: Path, name: str) -> None:
    columns = places()
    rows = zip(*columns.values(), strict=True)
    records = [
        {key: value for key, value in zip(columns, row, strict=True) if value is not None or number % 2}
        for number, row in enumerate(rows)
    ]
    path = tmp_path / name
    if name == "places.json":
        path.write_text(json.dumps(records, default=str, indent=1))
    else:
        path.write_text("\n".join(json.dumps(record, default=str, ensure_ascii=False) for record in records) + "\n\n")
    graph = read_graph(path)
    assert_same(graph, as_ntriples(tmp_path, columns, dates=False))
    assert_same(graph, as_csv(tmp_path, columns), datatypes=False)


def test_nested_records_lists_and_several_types(tmp_path: Path) -> None:
    path = tmp_path / "people.ndjson.gz"
    lines = [
        '{"id": 1, "name": "Ann", "address": {"city": "Bern", "at": {"x": 1.5}}, "knows": [2, 3], "mixed": 1}',
        "",
        '{"id": 2, "name": "Bob", "works": [{"at": "a", "since": 2001}, {"at": "b"}], "mixed": "two", "none": null}',
        '{"id": 3, "address": {"city": "Paris"}, "mixed": true, "large": 123456789012345678901, "odd": NaN}',
    ]
    path.write_bytes(gzip.compress("\r\n".join(lines).encode()))
    graph = read_graph(path)
    assert triple_names(graph) == set()
    assert {row[:4] for row in literal_names(graph)} == {
        ("1", "name", "Ann", f"{XSD}string"),
        ("2", "name", "Bob", f"{XSD}string"),
        ("1", "address.city", "Bern", f"{XSD}string"),
        ("3", "address.city", "Paris", f"{XSD}string"),
        ("1", "address.at.x", "1.5", f"{XSD}double"),
        ("1", "knows", "2", f"{XSD}integer"),
        ("1", "knows", "3", f"{XSD}integer"),
        ("2", "works.at", "a", f"{XSD}string"),
        ("2", "works.at", "b", f"{XSD}string"),
        ("2", "works.since", "2001", f"{XSD}integer"),
        ("1", "mixed", "1", f"{XSD}string"),
        ("2", "mixed", "two", f"{XSD}string"),
        ("3", "mixed", "true", f"{XSD}string"),
        ("3", "large", "123456789012345678901", f"{XSD}string"),
    }


def test_types_may_change_after_many_records(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text(
        "".join(f'{{"id": "r{n}", "a": {n}, "b": {n}}}\n' for n in range(20_000)) + '{"id":"x","a":0.5,"b":""}'
    )
    values = {row[:4] for row in literal_names(read_graph(path))}
    assert {("r3", "a", "3", f"{XSD}double"), ("x", "a", "0.5", f"{XSD}double")} <= values
    assert {("r3", "b", "3", f"{XSD}string"), ("r19999", "b", "19999", f"{XSD}string")} <= values


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"id": 1}\n\n{"id": 2', r"a\.jsonl, line 3, column \d+: .*; expected JSON$"),
        ("a.jsonl", '{"id": 1\r\n{"id": 2}\n', r"a\.jsonl, line 1, column \d+: .*; expected JSON$"),
        ("a.jsonl", '{"id": 1}\n[1, 2]', r"line 2: found an array, expected a record in braces$"),
        ("a.jsonl", "id,name\n1,a\n", r"line 1, column 1: Expecting value; expected JSON$"),
        ("a.jsonl", "7", r"line 1: found a number, expected a record in braces$"),
        ("a.jsonl", "", r"a\.jsonl is empty"),
        ("a.jsonl", "[" * 100_000, r"line 1: found JSON that is too deep or too long, expected records$"),
        ("a.jsonl", '{"a": ' * 30 + "1" + "}" * 30, r"line 1: found records nested more than 16 levels deep"),
        ("a.jsonl", '{"id": 1}\n{"id": "\\ud800"}', r"line 2: found '\\ud800', half a character, expected text"),
        ("a.jsonl", '{"id": "é"}\n'.encode("utf-16")[:-1], r"found broken UTF-16; save it as UTF-8$"),
        ("a.json", '[{"id": "é"}]'.encode("utf-16")[:-1], r"found broken UTF-16; save it as UTF-8$"),
        ("a.jsonl", '{"id": "é"}'.encode("cp1252"), r"line 1: found byte 0xe9, expected text in UTF-8; save it so$"),
        ("a.json", '[{"id": "é"}]'.encode("cp1252"), r"line 1: found byte 0xe9, expected text in UTF-8; save it so$"),
        ("a.jsonl", b'{"id": "\xff"}', r"line 1: found byte 0xff, expected text in UTF-8; save it so$"),
        ("a.json", '[{"id": 1},\n {"id": 2},\n {"id": ', r"a\.json, line 3, column 9: Expecting value; expected JSON$"),
        ("a.json", '[{"id": 1}, 2]', r"record 2: found a number, expected a record in braces$"),
        (
            "a.json",
            '{"id": 1}',
            r"found an object, expected records: in an array, by their keys, or one a line \(\.jsonl\)$",
        ),
        (
            "a.json",
            '{"a": [{"b": 1}], "c": [{"d": 1}, 7]}',
            r"a\.json, c 2: found a number, expected a record in braces$",
        ),
        ("a.json", "[[1, 2], [3, 4]]", r"record 1: found an array, expected a record in braces$"),
        ("a.json", '{"a": [1, 2]}', r"found an object, expected records: in an array"),
        ("a.json", '{"id": "a", "name": "b"}', r"found an object, expected records"),  # one record
        ("a.json", '{"a": "b", "c": 1, "d": 2, "e": 3, "f": 4}', r"found an object, expected records"),
        (
            "a.json",
            '{"@context": {}, "@id": "a"}',
            r"found JSON-LD, expected an array of records; name the file \.jsonld$",
        ),
        ("a.json", "", r"a\.json, line 1, column 1: Expecting value; expected JSON$"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message):
        read_graph(path)


@pytest.mark.parametrize("name", ["firms.jsonl", "firms.json", "firms.jsonl.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be-sig"])
def test_records_are_read_in_the_encodings_of_unicode(tmp_path: Path, name: str, encoding: str) -> None:
    records = [{"id": str(number), "Straße": "Müller – 5 €"} for number in range(9)]
    text = "\r\n".join(json.dumps(each, ensure_ascii=False) for each in records)
    text = json.dumps(records, ensure_ascii=False) if name == "firms.json" else text
    data = b"\xfe\xff" + text.encode("utf-16-be") if encoding == "utf-16-be-sig" else text.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    graph = read_graph(tmp_path / name)
    assert len(graph.entities) == len(records)
    assert {row[1:3] for row in literal_names(graph)} >= {("Straße", "Müller – 5 €")}


FIRMS = {"acme": {"name": "Acme", "city": "Bern"}, "zeta": {"name": "Zeta"}}


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (FIRMS, "key"),
        ({name: {**firm, "key": "x"} for name, firm in FIRMS.items()}, "_id"),
        ({"total": 2, "links": {}, "pages": [], "data": [{"id": name, **firm} for name, firm in FIRMS.items()]}, "id"),
    ],
)
def test_an_object_may_hold_the_records(tmp_path: Path, data: dict[str, object], key: str) -> None:
    (tmp_path / "firms.json").write_text(json.dumps(data))
    graph = read_graph(tmp_path / "firms.json")
    assert graph.entities.to_pylist() == ["acme", "zeta"]
    assert f"named by the column '{key}'" in graph.notes[0]
    assert {row[:3] for row in literal_names(graph)} >= {("acme", "name", "Acme"), ("acme", "city", "Bern")}


@pytest.mark.parametrize("values", [["Austria", "Bern", "", "D", "E"], [1, 2.5, 3, 4, 5]])
def test_a_dictionary_is_a_table_of_keys_and_values(tmp_path: Path, values: list[object]) -> None:
    (tmp_path / "lands.json").write_text(json.dumps(dict(zip("abcde", values, strict=True))))
    graph = read_graph(tmp_path / "lands.json")
    assert graph.entities.to_pylist() == ["a", "b", "c", "d", "e"]
    told = {row[0]: row[2] for row in literal_names(graph) if row[1] == "value"}
    assert told == {key: str(value) for key, value in zip("abcde", values, strict=True) if value != ""}


@pytest.mark.parametrize("suffix", ["json", "geojson"])
def test_features_of_geojson_are_records(tmp_path: Path, suffix: str) -> None:
    point = {"type": "Point", "coordinates": [7.4, 46.9]}
    square = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}
    features = [
        {"type": "Feature", "id": "a", "properties": {"name": "Bern"}, "geometry": point},
        {"type": "Feature", "id": "b", "properties": {"name": "Square"}, "geometry": square},
        {"type": "Feature", "id": "c", "properties": None, "geometry": None},
    ]
    (tmp_path / f"a.{suffix}").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    graph = read_graph(tmp_path / f"a.{suffix}")
    assert graph.entities.to_pylist() == ["a", "b", "c"]
    assert {row[:3] for row in literal_names(graph)} == {
        *(("a", "name", "Bern"), ("a", "longitude", "7.4"), ("a", "latitude", "46.9"), ("b", "name", "Square")),
    }


def test_json_and_xml_beside_tables_describe_them(tmp_path: Path) -> None:
    (tmp_path / "city.jsonl").write_text('{"id": "b", "name": "Bern"}')
    (tmp_path / "land.csv").write_text("id,name\nCH,Switzerland\n")
    (tmp_path / "datapackage.json").write_text('{"resources": []}')
    (tmp_path / "pom.xml").write_text("<project/>")
    (tmp_path / "~$open.xlsx").write_bytes(b"")
    assert read_graph(tmp_path).entities.to_pylist() == ["city", "city/b", "land", "land/CH"]
