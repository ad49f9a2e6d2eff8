"""Tables: graphs and pairs in TSV and CSV, alignments in TSV."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from emea.contracts import PLAIN, AlignmentWriter, GraphWriter, PairReader, PairWriter, Reading
from emea.data import Alignment, Graph, Task
from emea.errors import InputError
from emea.formats._columns import GraphColumns
from emea.formats._files import BREAK, stem, suffix, writing
from emea.formats._graph_tables import heads_graph
from emea.formats._keys import is_id_name
from emea.formats._layout import hint_of
from emea.formats._pairs import DECISION, PAIR_NAMES, PairColumns, checked_exclusion, checked_weight, needed_columns
from emea.formats._recognition import SAMPLE, kind_of_rows
from emea.formats._references import ends_of
from emea.formats._skipped import Skipped
from emea.formats._text_tables import SUFFIXES, holds_table, layout_notes, rows_below, separated_rows, text_table
from emea.formats._triples import (
    TRIPLE_DEFAULTS,
    TRIPLE_HEADER,
    TRIPLE_NAMES,
    add_row,
    are_triples,
    needed_header,
    recognised,
    row_blocks,
    usual_names,
)
from emea.formats._variables import are_variables
from emea.formats._wide import TableReader, rows_graph
from emea.formats._writing import Column, alignment_table, six_digits, write_lines, write_table

Row = list[str]
PAIR_HEADER = ("source", "target", "weight", "excluded", "similarity", DECISION)
ONLY_PAIRS = {"excluded", "similarity", "confidence", DECISION}  # columns that edges have not
NO_COLUMN = "\0"  # stands in no cell: that of a column which only a header can name
PAIR_DEFAULTS = ("", "", "1", "false", "", NO_COLUMN)
ALIASES: dict[tuple[str, ...], dict[str, str]] = {  # other names of columns, by header
    TRIPLE_HEADER: TRIPLE_NAMES,
    PAIR_HEADER: PAIR_NAMES,
}
OTHERWISE = "if that is not so, give --table"
FRACTION = re.compile(r"[01]\.[0-9]+")


class Table(TableReader, GraphWriter, PairReader, PairWriter, AlignmentWriter):
    """One triple or pair per line; TSV is never quoted, CSV only if it must be."""

    description: ClassVar[str] = (
        "TSV and CSV tables whose rows are entities, or head, relation, tail[, kind, datatype, language], "
        "or source, target[, weight, excluded]"
    )
    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    choices: ClassVar[tuple[str, ...]] = (*TableReader.choices, "lenient")
    pair_suffixes: ClassVar[tuple[str, ...]] = (*SUFFIXES, "")  # no suffix: as in benchmark folders

    def read_graph(self, path: Path, reading: Reading = PLAIN) -> Graph:
        """The graph in a table of head, relation and tail, where the column kind marks literals; or in one whose rows
        are entities."""
        graph = self._graph(path, reading)
        return replace(graph, notes=(*self.guessed(path), *graph.notes))

    def _graph(self, path: Path, reading: Reading) -> Graph:
        first = [row for _, row in islice(rows_below(path, Skipped(path) if reading.lenient else None), SAMPLE)]
        if not first:
            return GraphColumns().build()
        headed = are_triples(first[0], reading.model_copy(update={"table": None}))
        ends = ends_of(first[0]) is not None and not ONLY_PAIRS & {*usual_names(first[0], {})}
        if not headed and not ends and _heads_pairs(first[0]):
            raise InputError(f"{path} holds pairs; expected a graph (--seeds takes pairs)")
        if reading.table is None and are_variables(first[0]):
            return self._of_rows(path, reading)
        kind = reading.table or ("triples" if headed else "rows" if ends else kind_of_rows(first))
        if kind == "rows" or heads_graph(first[0]):
            graph = self._of_rows(path, reading)
            unsure = (
                reading.table is None and not ends and len(first[0]) == 3 and not is_id_name(first[0][0], path.stem)
            )
            notes = [f"{path}: {OTHERWISE} triples"] if unsure else []
            return replace(graph, notes=(*graph.notes, *notes))
        columns = GraphColumns()
        for number, row in _rows_under(path, TRIPLE_HEADER, TRIPLE_DEFAULTS, required=3):
            add_row(columns, row, path, number)
        graph = recognised(columns.build(), first[0], path)
        if headed or reading.table is not None:
            return graph
        note = f"{path}: read as triples (head, relation, tail) without a header; {OTHERWISE} rows for entities"
        return replace(graph, notes=(note, *graph.notes))

    def _of_rows(self, path: Path, reading: Reading) -> Graph:
        """The graph in a table whose rows are entities; those that cannot be read are skipped if that is wanted."""
        if not reading.lenient:
            return rows_graph(self.read_tables(path), path, reading)
        skipped = Skipped(path, "row")
        graph = rows_graph(self.read_tables(path, skipped), path, reading)
        return replace(graph, notes=(*graph.notes, *skipped.notes()))

    def read_tables(self, path: Path, skipped: Skipped | None = None) -> dict[str, pa.Table]:
        """The table whose first row names the columns, unless that is data, too."""
        return {stem(path): text_table(path, skipped)}

    def guessed(self, path: Path) -> tuple[str, ...]:
        """What was guessed of its encoding, its header, and what stands before that."""
        return layout_notes(path)

    def holds_graph(self, path: Path) -> bool:
        """Whether it is a table: text files may be prose."""
        return suffix(path) != ".txt" or holds_table(path)

    def write_graph(self, graph: Graph, path: Path) -> None:
        """Write the triples and, if there are any, the literals."""
        header = needed_header(graph)
        with writing(path) as file:
            _write_blocks(file, path, header, (block.select(header) for block in row_blocks(graph)))

    def holds_pairs(self, path: Path) -> bool:
        """Whether the header, or else the number of columns, is that of pairs; a fraction in the third is a weight."""
        for _, row in separated_rows(path):
            if _header_order(row, TRIPLE_HEADER, 3):
                return False
            if _heads_pairs(row):
                return True
            return len(row) == 2 or (len(row) in (3, 4) and FRACTION.fullmatch(row[2]) is not None)
        return False

    def read_pairs(self, path: Path) -> pa.Table:
        """Columns source, target, weight, excluded, and line: the line of the pair in the file."""
        columns = PairColumns()
        for number, row in _rows_under(path, PAIR_HEADER, PAIR_DEFAULTS, required=2):
            source, target, weight, said, _, decision = row
            where = f"{path}, line {number}"
            excluded = checked_exclusion(said, where)
            if decision == NO_COLUMN:
                columns.add(source, target, checked_weight(weight, where), excluded=excluded, line=number)
            else:
                source, target = unquoted(source), unquoted(target)
                columns.decide(unquoted(decision), where, source, target, excluded=excluded, line=number)
        return columns.build(path)

    def write_pairs(self, pairs: pa.Table, path: Path) -> None:
        """Write the names and, if there are any, weights and exclusions."""
        table = needed_columns(pairs)
        with writing(path) as file:
            _write_blocks(file, path, table.column_names, [table])

    def write_alignment(self, alignment: Alignment, task: Task, path: Path) -> None:
        """Write the links with confidence, similarity, labels, types and cardinality, sorted by name."""
        table = alignment_table(alignment, task)
        with writing(path) as file:
            _write_blocks(file, path, table.column_names, [table])


def write_columns(path: Path, header: Sequence[str], columns: Sequence[Column]) -> None:
    """Write named columns as TSV: text as it is, never quoted, and fractions with six significant digits."""
    with writing(path) as file:
        write_table(file, header, columns)


def _write_blocks(file: BinaryIO, path: Path, header: Sequence[str], blocks: Iterable[pa.Table]) -> None:
    """Write the header and all blocks of rows, as CSV or TSV."""
    if suffix(path) == ".csv":
        writer = csv.writer(codecs.getwriter("utf-8")(file))
        writer.writerow(header)
        for block in blocks:
            writer.writerows(zip(*(_cells(column).to_pylist() for column in block.columns), strict=True))
        return
    write_table(file, header, [[]] * len(header))
    for block in blocks:
        for column in block.columns:
            _refuse_breaks(column, path)
        write_lines(file, [_cells(column) for column in block.columns])


def _cells(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if pa.types.is_floating(column.type):
        return pa.array(six_digits(column.to_numpy()))
    return column.cast(pa.large_string())


def _refuse_breaks(column: pa.ChunkedArray, path: Path) -> None:
    if pa.types.is_large_string(column.type):
        found = pc.index(pc.match_substring_regex(column, BREAK.pattern), True).as_py()
        if found >= 0:
            what = f"found {column[found].as_py()[:100]!r}, expected text without tabs or newlines"
            raise InputError(f"{path} cannot be written: {what}; write CSV or Parquet instead")


def _rows_under(
    path: Path, header: tuple[str, ...], defaults: tuple[str, ...], required: int
) -> Iterator[tuple[int, Row]]:
    """The numbered rows, with one cell for each name in `header`. If the first row is a header, columns are matched by
    name and others ignored; otherwise they are in order. All rows must have as many columns as the first."""
    order: list[int | None] = []
    for number, row in separated_rows(path):
        if not order:
            order = _header_order(row, header, required)
            if order:
                continue
            if _names_some(row, header):
                expected = f"{', '.join(header[:required])} (and optionally {', '.join(header[required:])})"
                raise InputError(f"{path}, line {number}: found the columns {', '.join(row)}, expected {expected}")
            unnamed = sum(default != NO_COLUMN for default in defaults)  # columns that need no header
            order = list(range(len(row) if required <= len(row) <= unnamed else required))
        if len(row) != len(order):
            separator = "commas" if suffix(path) == ".csv" else "tabs"
            columns = f"{len(order)} separated by {separator} ({', '.join(header[: len(order)])}){hint_of(row[0])}"
            raise InputError(f"{path}, line {number}: found {len(row)} columns, expected {columns}")
        cells = list(defaults)
        for place, cell in zip(order, row, strict=True):
            if place is not None:
                cells[place] = cell
        yield number, cells
    if not order:
        raise InputError(f"{path} is empty; expected the columns {', '.join(header[:required])}")


def _header_order(row: Row, header: tuple[str, ...], required: int) -> list[int | None]:
    """The place in `header` of each column, or None if it has none; an empty list if the row is not a header."""
    given = usual_names(row, ALIASES[header])
    is_header = set(header[:required]) <= set(given) and all(given.count(name) <= 1 for name in header)
    return [header.index(name) if name in header else None for name in given] if is_header else []


def _heads_pairs(row: Row) -> bool:
    """Whether a row is the header of pairs and of nothing else: entities may have columns such as from and to."""
    plain = {cell.strip().lower() for cell in row}
    only = all(name in PAIR_HEADER for name in usual_names(row, PAIR_NAMES))
    return bool(_header_order(row, PAIR_HEADER, 2)) and (only or {"source", "target"} <= plain)


def _names_some(row: Row, header: tuple[str, ...]) -> bool:
    """Whether a row looks like a header with some of these names."""
    return sum(name in header for name in usual_names(row, ALIASES[header])) > 1


def unquoted(cell: str) -> str:
    """A cell without the quotes that spreadsheets put around text with a comma.

    >>> unquoted('"http://ex.org/Paris,_Texas"'), unquoted('"')
    ('http://ex.org/Paris,_Texas', '"')
    """
    is_quoted = len(cell) > 1 and cell[0] == cell[-1] == '"'
    return cell[1:-1].replace('""', '"') if is_quoted else cell
