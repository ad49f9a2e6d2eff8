"""Excel workbooks: every sheet with a header row is a table."""

from __future__ import annotations

import io
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from emea.contracts import PLAIN, PairReader, Reading
from emea.data import Graph
from emea.errors import InputError, SettingsError
from emea.formats._files import EXPANDED_TIMES, expands_too_far, one_line, open_bytes
from emea.formats._pairs import DECISION, PAIR_NAMES, PairColumns, checked_exclusion, checked_weight
from emea.formats._triples import usual_names
from emea.formats._values import as_text, typed_table
from emea.formats._wide import TableReader, rows_graph

if TYPE_CHECKING:
    from openpyxl import Workbook

Row = tuple[object, ...]
SAMPLE = 1000  # rows that tell how many columns there are, besides the header
ERRORS = {"#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"}  # what a formula came to
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, UnicodeError, EOFError, OSError, MemoryError, RuntimeError),
    SyntaxError,  # in XML: both of Python's reader and of lxml, which the library takes where it is installed
    *(KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError),  # the library's, on broken files
)


class Excel(TableReader, PairReader):
    """The header is the first row with at least two cells."""

    description: ClassVar[str] = "Excel workbooks (.xlsx)"
    suffixes: ClassVar[tuple[str, ...]] = (".xlsx",)
    pair_suffixes: ClassVar[tuple[str, ...]] = (".xlsx",)

    def read_tables(self, path: Path) -> dict[str, pa.Table]:
        """The sheets that are tables."""
        return _tables(path)[0]

    def read_graph(self, path: Path, reading: Reading = PLAIN) -> Graph:
        """The graph whose entities are the rows of all sheets."""
        tables, others = _tables(path)
        if not tables:
            found = f"only {', '.join(others)}" if others else "nothing"
            raise InputError(f"{path}: found {found}, expected a sheet with a header row and rows below it")
        graph = rows_graph(tables, path, reading)
        notes = [f"{path}: the sheet {name} is no table with a header row and is left out" for name in others]
        return replace(graph, notes=(*notes, *graph.notes))

    def holds_pairs(self, path: Path) -> bool:
        """Whether the first sheet has the columns source and target."""
        return {"source", "target"} <= {*usual_names(first_sheet(path)[0], PAIR_NAMES)}

    def read_pairs(self, path: Path) -> pa.Table:
        """Columns source, target, weight, excluded, and line: the number of the row; from the first sheet."""
        header, rows = first_sheet(path)
        names = usual_names(header, PAIR_NAMES)
        for name in ("source", "target"):
            if names.count(name) != 1:
                listed = ", ".join(header[:10]) or "none"
                raise InputError(f"{path}: found the columns {listed}, expected exactly one named {name}")
        columns, decided = PairColumns(), DECISION in names
        for number, row in rows:
            cells, where = dict(zip(names, row, strict=False)), f"{path}, row {number}"
            source, target = cells["source"], cells["target"]
            excluded = checked_exclusion(cells.get("excluded", ""), where)
            if decided:
                columns.decide(cells[DECISION], where, source, target, excluded=excluded, line=number)
            else:
                weight = checked_weight(cells.get("weight") or 1.0, where)
                columns.add(source, target, weight, excluded=excluded, line=number)
        return columns.build(path)


def first_sheet(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header of the first sheet, and the numbered rows below it that are not empty, as text."""
    with _opened(path) as workbook:
        sheet = workbook.worksheets[0]
        sheet.reset_dimensions()
        rows = [(number, _plain(row)) for number, row in enumerate(sheet.iter_rows(values_only=True), 1)]
    filled = [
        (number, ["" if cell is None else as_text(cell) for cell in row])
        for number, row in rows
        if any(cell is not None for cell in row)
    ]
    start = next((place for place, (_, row) in enumerate(filled) if sum(map(bool, row)) > 1), len(filled))
    header = filled[start][1] if start < len(filled) else []
    return header, [(number, row + [""] * (len(header) - len(row))) for number, row in filled[start + 1 :]]


def _tables(path: Path) -> tuple[dict[str, pa.Table], list[str]]:
    """The sheets that are tables, and the names of others that are not empty."""
    found, others = {}, []
    with _opened(path) as workbook:
        for sheet in workbook.worksheets:
            sheet.reset_dimensions()  # which a file may state wrongly
            rows = (_plain(row) for row in sheet.iter_rows(values_only=True))
            filled = (row for row in rows if any(cell is not None for cell in row))
            table, empty = _table(filled)
            if table is not None:
                found[sheet.title] = table
            elif not empty:
                others.append(sheet.title)
    return found, others


def _table(rows: Iterator[Row]) -> tuple[pa.Table | None, bool]:
    """The table below the header, or None; and whether there was no row at all."""
    empty = True
    for row in rows:
        empty = False
        if sum(cell is not None for cell in row) > 1:
            break
    else:
        return None, empty
    first = [*islice(rows, SAMPLE)]
    width = max(number for each in (row, *first) for number, cell in enumerate(each, 1) if cell is not None)
    header, below = _fitted(row, width), (_fitted(each, width) for each in chain(first, rows))
    names = [_name(cell, number) for number, cell in enumerate(header, 1)]
    table = typed_table(names, below)
    unnamed = [name for name, cell in zip(names, header, strict=True) if cell is None and not _holds_any(table[name])]
    return (table.drop_columns(unnamed) if table.num_rows else None), False


def _fitted(row: Row, width: int) -> Row:
    """The row with so many cells."""
    return (*row, *[None] * (width - len(row)))[:width]


def _holds_any(column: pa.ChunkedArray) -> bool:
    return bool(column.null_count < len(column))


def _name(cell: object, number: int) -> str:
    """The name of a column, on one line."""
    return " ".join(str(cell).split()) if cell is not None else f"column {number}"


def _plain(row: Sequence[object]) -> Row:
    """The cells, without empty texts and errors."""
    return tuple(None if isinstance(cell, str) and (cell in ERRORS or not cell.strip()) else cell for cell in row)


@contextmanager
def _opened(path: Path) -> Iterator[Workbook]:
    """The workbook, with the last values of its formulas."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise SettingsError(f"{path} needs openpyxl to be read: pip install 'emea[excel]'") from error
    with open_bytes(path) as raw, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and the like
        try:
            file = io.BytesIO(raw.read())
            _refuse_bombs(file, path)
            with closing(load_workbook(file, read_only=True, data_only=True)) as workbook:
                yield workbook
        except UNREADABLE as error:
            reason = one_line(str(error))
            raise InputError(f"{path} cannot be read: {reason}; expected an Excel workbook (.xlsx)") from error


def _refuse_bombs(file: io.BytesIO, path: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        expanded, packed = sum(part.file_size for part in archive.infolist()), len(file.getbuffer())
    if expands_too_far(expanded, packed):
        found = f"{expanded:,} bytes in {packed:,} compressed bytes"
        raise InputError(f"{path}: found {found}, expected at most {EXPANDED_TIMES} times as many")
