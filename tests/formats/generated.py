"""A table of places, ten thousand of them, and the graph that its rows are."""

import csv
import datetime
from collections.abc import Collection
from pathlib import Path

from emea.data import Graph
from emea.formats import read_graph

ROWS = 10_000
IRI = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
Value = str | int | float | bool | datetime.date | None
DATATYPES = {str: "string", int: "integer", float: "double", bool: "boolean", datetime.date: "date"}


def places(rows: int = ROWS, *, without: Collection[str] = ()) -> dict[str, list[Value]]:
    """Columns named by IRIs; one refers to other rows, and some cells are empty."""
    numbers = range(rows)
    columns: dict[str, list[Value]] = {
        "name": [f'Place {n} in "é" 天\\' for n in numbers],
        "size": [None if n % 7 == 0 else n * n for n in numbers],
        "area": [n / 8 for n in numbers],
        "founded": [datetime.date(1800, 1, 1) + datetime.timedelta(n) for n in numbers],
        "open": [n % 3 == 0 for n in numbers],
        "within": [None if n == 0 else f"{IRI}place/{n // 10}" for n in numbers],
    }
    kept = {f"{IRI}{name}": column for name, column in columns.items() if name not in without}
    return {"id": [f"{IRI}place/{n}" for n in numbers], **kept}


def as_ntriples(folder: Path, columns: dict[str, list[Value]], *, dates: bool) -> Graph:
    """The graph of the same places, written as N-Triples; where a format has no dates they are text."""
    lines = []
    for name, column in columns.items():
        for subject, value in zip(columns["id"], column, strict=True):
            if value is None or name == "id":
                continue
            tail = f"<{value}>" if name == f"{IRI}within" else _literal(value, dates=dates)
            lines.append(f"<{subject}> <{name}> {tail} .")
    path = folder / "expected.nt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_graph(path)


def as_csv(folder: Path, columns: dict[str, list[Value]]) -> Graph:
    """The graph of the same places, written as CSV: every value is text."""
    path = folder / "expected.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*([_text(value) for value in column] for column in columns.values()), strict=True))
    return read_graph(path)


def assert_same(found: Graph, expected: Graph, *, datatypes: bool = True) -> None:
    """Both graphs hold the same names, triples and literals."""
    for name in ("entities", "relations", "attributes"):
        assert getattr(found, name).to_pylist() == getattr(expected, name).to_pylist(), name
    assert found.triples.tolist() == expected.triples.tolist()
    columns = found.literals.column_names if datatypes else ["entity", "attribute", "value"]
    keys = [("entity", "ascending"), ("attribute", "ascending"), ("value", "ascending")]
    tables = [graph.literals.select(columns).sort_by(keys).combine_chunks() for graph in (found, expected)]
    assert tables[0].equals(tables[1])


def _literal(value: Value, *, dates: bool) -> str:
    datatype = "string" if type(value) is datetime.date and not dates else DATATYPES[type(value)]
    text = _text(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"^^<{XSD}{datatype}>'


def _text(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
