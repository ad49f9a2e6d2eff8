"""Tables: graphs and pairs in TSV and CSV, alignments in TSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from emea.contracts import AlignmentWriter, GraphReader, PairReader
from emea.data import Alignment, Graph, Task
from emea.errors import InputError
from emea.formats._columns import GraphColumns
from emea.formats._files import decoded_lines, numbered_lines, suffix, writing
from emea.formats._writing import Column, names, sort_by_name, write_table

TRIPLE_HEADER = ("head", "relation", "tail", "kind")
PAIR_HEADER = ("source", "target", "weight")
ALIGNMENT_HEADER = ("source", "target", "confidence", "similarity")
BREAK = re.compile(r"[\t\r\n]")


class Table(GraphReader, PairReader, AlignmentWriter):
    """One triple or one pair a line; TSV is never quoted, CSV is where it must be."""

    description: ClassVar[str] = "tables of head, relation, tail[, kind] or source, target[, weight] in TSV and CSV"
    suffixes: ClassVar[tuple[str, ...]] = (".tsv", ".csv", ".txt")
    pair_suffixes: ClassVar[tuple[str, ...]] = (".tsv", ".csv", ".txt", "")  # none: as in benchmark folders

    def read_graph(self, path: Path) -> Graph:
        """The graph in a table of head, relation, tail, with literals where the column kind says so."""
        columns = GraphColumns()
        for number, row in _rows_under(path, TRIPLE_HEADER, required=3):
            kind = row[3].strip().lower() if len(row) > 3 else "entity"
            if kind not in ("entity", "literal"):
                raise InputError(f"{path}, line {number}: found the kind '{row[3]}', expected entity or literal")
            _refuse_breaks(path, number, row[:3] if kind == "entity" else row[:2])
            if kind == "entity":
                columns.relate(row[0], row[1], row[2])
            else:
                columns.describe(row[0], row[1], row[2])
        return columns.build()

    def read_pairs(self, path: Path) -> pa.Table:
        """Columns source, target, weight, and line: where in the file the pair stands."""
        sources, targets, weights, lines = [], [], [], []
        for number, row in _rows_under(path, PAIR_HEADER, required=2):
            _refuse_breaks(path, number, row[:2])
            sources.append(row[0])
            targets.append(row[1])
            weights.append(_weight(path, number, row[2]) if len(row) > 2 else 1.0)
            lines.append(number)
        columns = {
            "source": pa.array(sources, pa.large_string()),
            "target": pa.array(targets, pa.large_string()),
            "weight": pa.array(weights, pa.float32()),
            "line": pa.array(lines, pa.int64()),
        }
        return pa.table(columns)

    def write_alignment(self, alignment: Alignment, task: Task, path: Path) -> None:
        """Write the links with confidence and similarity, sorted by name."""
        links = sort_by_name(alignment)
        write_columns(path, ALIGNMENT_HEADER, [*names(links, task), links.confidence, links.similarity])


def write_columns(path: Path, header: Sequence[str], columns: Sequence[Column]) -> None:
    """Write named columns as TSV: text as it is, fractions with six significant digits, never quoted."""
    with writing(path) as file:
        write_table(file, header, columns)


def _rows_under(path: Path, header: tuple[str, ...], required: int) -> Iterator[tuple[int, list[str]]]:
    """The numbered rows below the header, where there is one; all must have as many columns as the first row."""
    expected = 0
    for number, row in _rows(path):
        if not expected:
            expected = len(row) if required <= len(row) <= len(header) else required
            if tuple(cell.strip().lower() for cell in row) == header[: len(row)] and len(row) == expected:
                continue
        if len(row) != expected:
            separator = "commas" if suffix(path) == ".csv" else "tabs"
            columns = f"{expected} separated by {separator} ({', '.join(header[:expected])})"
            raise InputError(f"{path}, line {number}: found {len(row)} columns, expected {columns}")
        yield number, row


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    if suffix(path) != ".csv":
        for number, line in numbered_lines(path):
            yield number, line.split("\t")
        return
    reader = csv.reader(decoded_lines(path), strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}; expected standard CSV quoting") from error


def _refuse_breaks(path: Path, number: int, names: list[str]) -> None:
    for name in names:
        if not name or BREAK.search(name):
            raise InputError(f"{path}, line {number}: found the name {name!r}, expected one without tab or newline")


def _weight(path: Path, number: int, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0.0 <= weight <= 1.0:
        raise InputError(f"{path}, line {number}: found the weight '{text}', expected a number from 0 to 1")
    return weight
