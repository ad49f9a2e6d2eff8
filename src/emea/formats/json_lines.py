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
from emea.formats._json_records import Placed, kind_of, tables_in, unwrapped, without_actions
from emea.formats._property_graph import refuse_choices
from emea.formats._records import Records
from emea.formats._text import text_lines, whole_text
from emea.formats._wide import TableReader, rows_graph

WHOLE = (".json", ".geojson", ".srj")  # suffixes of files that are one value
MARK = "$"  # begins the kind of a value, which MongoDB writes around it
SURROGATE = re.compile("[\ud800-\udfff]")


class JSONLines(TableReader):
    """Nested records become columns such as address.city; a list is several values."""

    description: ClassVar[str] = (
        "JSON records, one a line (.jsonl, .ndjson), in an array or by keys (.json); GeoJSON; results of SPARQL (.srj)"
    )
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", *WHOLE)

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
        if isinstance(found, Iterator):
            return {stem(path): _table(found)}
        tables = tables_in(found, path)
        numbered = {
            name or stem(path): (
                (f"{path}, {name or 'record'} {number}", each) for number, each in enumerate(records, 1)
            )
            for name, records in tables.items()
        }
        return {name: _table(records) for name, records in numbered.items()}


def _table(found: Iterable[Placed]) -> pa.Table:
    """The table of records."""
    records = Records()
    for place, record in found:
        if not isinstance(record, dict):
            raise InputError(f"{place}: found {kind_of(record)}, expected a record in braces")
        try:
            records.add(list(_values(unwrapped(record), "", 0)))
        except ValueError as error:
            raise InputError(f"{place}: {error}") from error
    return records.table()


def _values(value: object, name: str, depth: int) -> Iterator[tuple[str, object]]:
    """The values in a record with the names of their fields."""
    if depth > DEEPEST:
        raise ValueError(f"found records nested more than {DEEPEST} levels deep, expected fewer")
    if isinstance(value, dict):
        for key, inner in value.items():
            is_kind = name and len(value) == 1 and key.startswith(MARK)
            yield from _values(inner, name if is_kind else f"{name}.{key}" if name else key, depth + 1)
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
        return without_actions(_lines(path))
    text = whole_text(path)  # often a single line, however long
    try:
        return _parsed(text, path, 1)
    except InputError:
        if not _begins_with_a_line(text):
            raise
        return without_actions(_lines(path))


def _begins_with_a_line(text: str) -> bool:
    """Whether the first line is a record of its own, and others follow."""
    first, _, others = text.lstrip().partition("\n")
    try:
        return bool(others.strip()) and isinstance(json.loads(first, parse_constant=_absent), dict)
    except (ValueError, RecursionError):
        return False


def _exported(records: Iterable[tuple[str, object]]) -> Iterator[dict[str, Any]]:
    """The records of Neo4j, each a node or an edge."""
    for place, record in records:
        if not is_exported(record):
            raise InputError(f"{place}: found a record that is no node and no relationship, expected one of these")
        yield cast(dict[str, Any], record)


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
