"""JSON records: one a line (.jsonl, .ndjson), or an array of them or an object that holds them (.json)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, cast

import pyarrow as pa

from emea.contracts import PLAIN, Reading
from emea.data import Graph
from emea.errors import InputError
from emea.formats._cells import DEEPEST
from emea.formats._files import stem, suffix
from emea.formats._json_graphs import JSONGraph, is_exported
from emea.formats._property_graph import refuse_choices
from emea.formats._records import Records
from emea.formats._text import text_lines, whole_text
from emea.formats._wide import TableReader, rows_graph

KINDS = {dict: "an object", list: "an array", str: "text", bool: "true or false", type(None): "null"}
WHOLE = {".json", ".geojson"}  # suffixes of files that are one value
KEYS = ("key", "_id", "@id", "key of the record")  # what these are called, unless a record has such a field
FEWEST, PLAIN_VALUES = 5, (str, int | float)  # entries of a dictionary at least, which are all of one kind
SHOWN = 60  # characters of the names of lists that a message shows
SURROGATE = re.compile("[\ud800-\udfff]")


class JSONLines(TableReader):
    """Nested records become columns such as address.city; a list is several values."""

    description: ClassVar[str] = "JSON records, one a line (.jsonl, .ndjson), in an array or by keys (.json); GeoJSON"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", ".json", ".geojson")

    def read_graph(self, path: Path, reading: Reading = PLAIN) -> Graph:
        """The graph of records as rows; or that of nodes and edges, if the file holds such."""
        found = _found(path)
        graph = JSONGraph.of(found)
        if graph is None and isinstance(found, Iterator):
            first = next(found, None)
            found = chain([] if first is None else [first], found)
            if first is not None and is_exported(first[1]):
                graph = JSONGraph.exported(_exported(found))
        if graph is not None:
            refuse_choices(reading, str(path))
            return graph.build(str(path), _values)
        return rows_graph(self._tables(found, path), path, reading)

    def read_tables(self, path: Path) -> dict[str, pa.Table]:
        """The table of all records, named like the file."""
        return self._tables(_found(path), path)

    def _tables(self, found: object, path: Path) -> dict[str, pa.Table]:
        records = Records()
        for place, record in found if isinstance(found, Iterator) else _numbered(found, path):
            if not isinstance(record, dict):
                found = KINDS.get(type(record), "a number")
                raise InputError(f"{place}: found {found}, expected a record in braces")
            try:
                records.add(list(_values(record, "", 0)))
            except ValueError as error:
                raise InputError(f"{place}: {error}") from error
        return {stem(path): records.table()}


def _values(value: object, name: str, depth: int) -> Iterator[tuple[str, object]]:
    """The values in a record with the names of their fields."""
    if depth > DEEPEST:
        raise ValueError(f"found records nested more than {DEEPEST} levels deep, expected fewer")
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _values(inner, f"{name}.{key}" if name else key, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner, name, depth + 1)
    elif value is not None:
        for text in (name, value):
            if isinstance(text, str) and not text.isascii() and SURROGATE.search(text):
                raise ValueError(f"found {text[:50]!a}, half a character, expected text in Unicode")
        yield name, value


def _lines(path: Path) -> Iterator[tuple[str, object]]:
    """The records of a file with one a line, and where they stand."""
    for number, line in enumerate(text_lines(path, guess=False), 1):
        if text := line.strip():
            yield f"{path}, line {number}", _parsed(text, path, number)


def _found(path: Path) -> object:
    """What a file holds as one value; of one with a record a line, the records and where they stand."""
    if suffix(path) not in WHOLE:
        return _lines(path)
    text = whole_text(path)  # often a single line, however long
    try:
        return _parsed(text, path, 1)
    except InputError:
        if not _begins_with_a_line(text):
            raise
        return _lines(path)


def _begins_with_a_line(text: str) -> bool:
    """Whether the first line is a record of its own, and others follow."""
    first, _, others = text.lstrip().partition("\n")
    try:
        return bool(others.strip()) and isinstance(json.loads(first, parse_constant=_absent), dict)
    except (ValueError, RecursionError):
        return False


def _numbered(found: object, path: Path) -> Iterator[tuple[str, object]]:
    """The records of an array, or of an object that holds them, and where they stand."""
    if isinstance(found, dict):
        found = _held(found, path)
    if not isinstance(found, list):
        kind = KINDS.get(type(found), "a number")
        raise InputError(f"{path}: found {kind}, expected an array of records; one record a line is .jsonl")
    for number, record in enumerate(found, 1):
        yield f"{path}, record {number}", record


def _exported(records: Iterable[tuple[str, object]]) -> Iterator[dict[str, Any]]:
    """The records of Neo4j, each a node or an edge."""
    for place, record in records:
        if not is_exported(record):
            raise InputError(f"{place}: found a record that is no node and no relationship, expected one of these")
        yield cast(dict[str, Any], record)


def _held(found: dict[str, Any], path: Path) -> list[Any]:
    """The records in an object: features of GeoJSON, all of its values, each with its key, or those of its only list of
    records; and of a dictionary of texts or numbers, a record for each."""
    if {"@context", "@graph"} & found.keys():
        raise InputError(f"{path}: found JSON-LD, expected an array of records; name the file .jsonld")
    if isinstance(bindings := _fields(found.get("results")).get("bindings"), list):  # of a SPARQL query
        return [{name: _fields(each).get("value") for name, each in _fields(row).items()} for row in bindings]
    if found.get("type") == "FeatureCollection" and isinstance(found.get("features"), list):
        return [_feature(each) if _is_record(each) else each for each in found["features"]]
    if len(found) >= FEWEST and any(all(isinstance(each, kind) for each in found.values()) for kind in PLAIN_VALUES):
        return [{"key": key, "value": value} for key, value in found.items()]
    records = [each for each in found.values() if isinstance(each, dict)]
    if records and len(records) == len(found):
        key = next((name for name in KEYS if not any(name in record for record in records)), KEYS[-1])
        return [{**record, key: name} for name, record in zip(found, records, strict=True)]
    lists = {name: each for name, each in found.items() if isinstance(each, list) and any(map(_is_record, each))}
    if len(lists) != 1:
        listed = f" with the lists {', '.join(lists)[:SHOWN]}" if lists else ""
        raise InputError(
            f"{path}: found an object{listed}, expected records: in an array, by their keys, or one a line (.jsonl)"
        )
    return next(iter(lists.values()))


def _feature(feature: dict[str, Any]) -> dict[str, object]:
    """The properties of a feature of GeoJSON, and its position if it is a point; outlines are left out."""
    properties, geometry = _fields(feature.get("properties")), _fields(feature.get("geometry"))
    place = geometry.get("coordinates") if geometry.get("type") == "Point" else None
    point = dict(zip(("longitude", "latitude"), place, strict=False)) if isinstance(place, list) else {}
    own = {"id": feature["id"]} if "id" in feature else {}
    return {**own, **properties, **{name: each for name, each in point.items() if name not in properties}}


def _fields(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_record(value: object) -> bool:
    return isinstance(value, dict)


def _parsed(text: str, path: Path, first: int) -> object:
    """A value in JSON that begins on a line."""
    try:
        return json.loads(text, parse_constant=_absent)
    except json.JSONDecodeError as error:
        line, column = first + error.lineno - 1, error.colno
        raise InputError(f"{path}, line {line}, column {column}: {error.msg}; expected JSON") from error
    except (RecursionError, ValueError) as error:  # ValueError: a number of thousands of digits
        raise InputError(f"{path}, line {first}: found JSON that is too deep or too long, expected records") from error


def _absent(_: str) -> None:
    """What JSON has no word for, such as NaN."""
