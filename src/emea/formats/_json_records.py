"""Where a document in JSON holds its records, and what programs wrap them in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from emea.errors import InputError

KEYS = ("key", "_id", "@id", "key of the record")  # what these are called, unless a record has such a field
FEWEST, PLAIN_VALUES = 5, (str, int | float)  # entries of a dictionary at least, which are all of one kind
DEEP = 3  # levels at which records are looked for
SHOWN = 60  # characters of the names of lists that a message shows
WRAPPED = (
    "attributes",
    "fields",
    "_source",
)  # what holds the fields of a record: JSON:API; Airtable, Django; Elasticsearch
TYPED = (("type", "id"), ("model", "pk"), ("_index", "_id"))  # what tells the table of such a record, and its id
ACTIONS = ({"index"}, {"create"}, {"update"}, {"delete"})  # of Elasticsearch, on lines before records
Placed = tuple[str, object]  # a record, and where it stands


def tables_in(found: object, path: Path) -> dict[str, list[Any]]:
    """The records in a document by the names of their tables; a single table has none."""
    lists = {"": found} if isinstance(found, list) else _held(found, path) if isinstance(found, dict) else None
    if lists is None:
        raise InputError(f"{path}: found {kind_of(found)}, expected an array of records; one record a line is .jsonl")
    tables: dict[str, list[Any]] = {}
    for name, records in lists.items():
        for record in _named(records) if _are_rows(records) else records:
            tables.setdefault(_type_of(record) or name, []).append(record)
    return tables if len(tables) > 1 else {"": next(iter(tables.values()), [])}


def kind_of(value: object) -> str:
    """What a value is, for a message."""
    kinds = {dict: "an object", list: "an array", str: "text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def unwrapped(record: object) -> object:
    """A record with what it is wrapped in beside its own fields: those of another name come first.

    >>> unwrapped({"id": 7, "type": "people", "attributes": {"name": "Anna"}})
    {'id': 7, 'type': 'people', 'name': 'Anna'}
    """
    if not isinstance(record, dict):
        return record
    if record.get("type") == "Feature" and "geometry" in record:
        return _feature(record)
    inside = next((name for name in WRAPPED if isinstance(record.get(name), dict)), None)
    if inside is None or not any(key in record for _, key in TYPED):
        return record
    others = {("id" if name == "pk" else name): each for name, each in record.items() if name != inside}
    related = _fields(others.pop("relationships", None))
    found = {**others, **{name: each for name, each in record[inside].items() if name not in others}}
    return {**found, **{name: _ends(_fields(each).get("data")) for name, each in related.items()}}


def without_actions(records: Iterable[Placed]) -> Iterator[Placed]:
    """The records of a file for Elasticsearch, each with the id that the line before gives it."""
    given: dict[str, Any] = {}
    for place, record in records:
        if isinstance(record, dict) and {*record} in ACTIONS and _is_action(next(iter(record.values()))):
            given = {name: each for name, each in next(iter(record.values())).items() if name == "_id"}
        else:
            yield place, {**given, **record} if given and isinstance(record, dict) else record
            given = {}


def _is_action(value: object) -> bool:
    return isinstance(value, dict) and all(name.startswith("_") for name in value)


def _type_of(record: object) -> str:
    """The table that a wrapped record names."""
    if not isinstance(record, dict) or not any(isinstance(record.get(name), dict) for name in WRAPPED):
        return ""
    return next((str(record[kind]) for kind, key in TYPED if {kind, key} <= record.keys()), "")


def _held(found: dict[str, Any], path: Path) -> dict[str, list[Any]]:
    """The records in an object: features of GeoJSON, all of its values, each with its key, or those of its lists of
    records; and of a dictionary of texts or numbers, a record for each."""
    if {"@context", "@graph"} & found.keys():
        raise InputError(f"{path}: found JSON-LD, expected an array of records; name the file .jsonld")
    if isinstance(bindings := _fields(found.get("results")).get("bindings"), list):  # of a SPARQL query
        return {"": [{name: _fields(each).get("value") for name, each in _fields(row).items()} for row in bindings]}
    if found.get("type") == "FeatureCollection" and isinstance(found.get("features"), list):
        return {"": found["features"]}
    if isinstance(found.get("columns"), list) and _are_rows(rows := [found["columns"], *_listed(found.get("data"))]):
        return {"": rows}
    if len(found) >= FEWEST and any(all(isinstance(each, kind) for each in found.values()) for kind in PLAIN_VALUES):
        return {"": [{"key": key, "value": value} for key, value in found.items()]}
    if _are_columns(found):
        return {"": [dict(zip(found, row, strict=True)) for row in zip(*map(dict.values, found.values()), strict=True)]}
    inner = _lists(found, DEEP) if len(found) < FEWEST else {}
    records = [each for each in found.values() if isinstance(each, dict)]
    if records and len(records) == len(found) and len(inner) != 1:
        key = next((name for name in KEYS if not any(name in record for record in records)), KEYS[-1])
        return {"": [{**record, key: name} for name, record in zip(found, records, strict=True)]}
    lists = _lists(found, 1) or inner
    if not lists:
        raise InputError(
            f"{path}: found an object, expected records: in an array, by their keys, or one a line (.jsonl)"
        )
    return lists


def _lists(found: dict[str, Any], depth: int) -> dict[str, list[Any]]:
    """The lists of records in an object, down to a depth; those inside records are theirs."""
    lists: dict[str, list[Any]] = {}
    for name, each in found.items():
        if isinstance(each, list) and (any(isinstance(one, dict) for one in each) or _are_rows(each)):
            lists.setdefault(name, []).extend(each)
        elif isinstance(each, dict) and depth > 1:
            lists |= _lists(each, depth - 1)
    return lists


def _are_rows(found: list[Any]) -> bool:
    """Whether a list is a table by rows, the first of which names the columns."""
    lists = len(found) > 1 and all(isinstance(row, list) for row in found)
    header = found[0] if lists else []
    named = bool(header) and len({*map(str, header)}) == len(header) and all(isinstance(each, str) for each in header)
    return named and all(len(row) <= len(header) for row in found)


def _named(rows: list[Any]) -> list[dict[str, Any]]:
    """Rows as records; the last cells may be missing."""
    return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]


def _are_columns(found: dict[str, Any]) -> bool:
    """Whether an object is a table by columns, whose rows are counted, as pandas writes it."""
    columns = [*found.values()]
    counted = (
        bool(columns) and isinstance(columns[0], dict) and [*columns[0]] == [str(n) for n in range(len(columns[0]))]
    )
    return counted and bool(columns[0]) and all(isinstance(each, dict) and [*each] == [*columns[0]] for each in columns)


def _feature(feature: dict[str, Any]) -> dict[str, object]:
    """The properties of a feature of GeoJSON, and its position if it is a point; outlines are left out."""
    properties, geometry = _fields(feature.get("properties")), _fields(feature.get("geometry"))
    place = geometry.get("coordinates") if geometry.get("type") == "Point" else None
    point = dict(zip(("longitude", "latitude"), place, strict=False)) if isinstance(place, list) else {}
    own = {"id": feature["id"]} if "id" in feature else {}
    return {**own, **properties, **{name: each for name, each in point.items() if name not in properties}}


def _ends(data: object) -> object:
    """The ids of what a record is related to."""
    return [_fields(each).get("id") for each in data] if isinstance(data, list) else _fields(data).get("id")


def _fields(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
