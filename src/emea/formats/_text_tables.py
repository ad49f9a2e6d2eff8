"""Text tables: their rows, where the header is among them, and what its columns are called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from emea.errors import InputError
from emea.formats._columns import CHUNK
from emea.formats._files import SEPARATORS, quoted_rows, suffix
from emea.formats._layout import (
    agree_on_columns,
    are_ends,
    data_in_header,
    header_fault,
    hint_of,
    lacks_name,
    separator_of,
    separator_of_text,
    titles,
)
from emea.formats._recognition import SAMPLE
from emea.formats._skipped import Skipped
from emea.formats._text import encoding_notes, text_lines
from emea.formats._variables import are_variables, terms_as_text

Row = list[str]
Numbered = tuple[int, Row]  # a row, and its line
STATED = re.compile(r"sep=(.)\s*$")  # what Excel reads as the separator
TABS = "\t"
SUFFIXES = (".tsv", ".csv", ".txt")
QUOTED = re.compile(r'"[^"\t]*"(\t"[^"\t]*")+\s*$')  # a header whose names are all quoted, as R writes it
NULL = "\\N"  # an empty cell in files of MySQL and PostgreSQL
EDGE = ["source", "target"]  # what the columns of edges without a header are called


def separated_rows(path: Path, skipped: Skipped | None = None) -> Iterator[Numbered]:
    """The numbered rows; if `skipped` is there to be told, without those that cannot be read."""
    fault, unheard = (None, None) if skipped is None else (skipped.add, Skipped(path).add)
    first = next(text_lines(path, unheard), "")
    if said := STATED.match(first):
        yield from quoted_rows(path, islice(text_lines(path, fault), 1, None), said[1], 1, skip=fault)
        return
    separator = TABS
    if suffix(path) == ".csv":
        separator = separator_of(text_lines(path, unheard))
    elif suffix(path) == ".txt" and TABS not in first:
        separator = separator_of_text(text_lines(path, unheard))
    if suffix(path) == ".csv" or separator != TABS or QUOTED.match(first):
        yield from quoted_rows(path, text_lines(path, fault), separator, skip=fault)
        return
    for number, line in enumerate(text_lines(path, fault), 1):
        if text := line.rstrip("\r\n"):
            yield number, text.split(TABS)


def rows_below(path: Path, skipped: Skipped | None = None) -> Iterator[Numbered]:
    """The same from the header on."""
    return _below(path, skipped)[1]


def holds_table(path: Path) -> bool:
    """Whether most lines of a text file have the same columns, which prose has not; so has an empty one."""
    return agree_on_columns(text_lines(path, Skipped(path).add))


def layout_notes(path: Path) -> tuple[str, ...]:
    """Sentences on what was guessed of how a file is written."""
    before, rows = _below(path, Skipped(path))
    first = [*islice(rows, SAMPLE)]
    notes = [*encoding_notes(path)]
    if before:
        shown = next((cell for _, row in before for cell in row if cell.strip()), "")
        lines = f"line {first[0][0]}" if first else "the header"
        notes.append(f"{path}: what stands before {lines} is taken for a title and left out ('{shown.strip()}')")
    names, odd = _names(path, first), data_in_header([row for _, row in first])
    if odd:
        called = "source and target, since they hold the same things" if names == EDGE else "columns are numbered"
        called = f"columns are called {called}" if names == EDGE else called
        notes.append(f"{path}: the first row is no header, since it has {odd}, like those below: {called}")
    elif first and len(names) > len(first[0][1]):
        place = "first" if not names[0] else "last"
        notes.append(f"{path}: the header names one column less than the rows have: the {place} one is numbered")
    return tuple(notes)


def text_table(path: Path, skipped: Skipped | None = None, header: Row | None = None) -> pa.Table:
    """The table whose first row names the columns, unless that is data, too, or a header is given; rows of other
    lengths are refused or skipped."""
    rows = rows_below(path, skipped) if header is None else separated_rows(path, skipped)
    first = [*islice(rows, SAMPLE)]
    if header is None:
        check_header(path, first)
        headed = data_in_header([row for _, row in first]) is None
        given = _names(path, first)
    else:
        headed, given = False, header
    names = [name.strip() or f"column {number}" for number, name in enumerate(given, 1)]
    rows = chain(first[headed:], rows)
    parts: list[list[pa.Array]] = [[] for _ in names]
    while block := list(islice(rows, CHUNK)):
        for number, row in block:
            if len(row) != len(names):
                fault = f"found {len(row)} column{'s' * (len(row) != 1)}, expected {len(names)} as in the header"
                if skipped is None:
                    raise InputError(f"{path}, line {number}: {fault}; --lenient skips it")
                skipped.add(fault, number)
        kept = [row for _, row in block if len(row) == len(names)]
        for place, part in enumerate(parts):
            part.append(_without_null(pa.array([row[place] for row in kept], pa.large_string())))
    table = pa.table([pa.chunked_array(part, pa.large_string()) for part in parts], names=names)
    return terms_as_text(table) if are_variables(names) else table


def _without_null(cells: pa.Array) -> pa.Array:
    absent = pc.equal(cells, NULL)
    return pc.if_else(absent, pa.scalar("", cells.type), cells) if pc.any(absent).as_py() else cells


def check_header(path: Path, first: Sequence[Numbered]) -> None:
    """Refuse a file that is no table, or whose first row cannot be the header of the others."""
    if not first:
        raise InputError(f"{path} is empty; expected a header and rows below it")
    header = first[0][1]
    separator = "commas" if suffix(path) == ".csv" else "tabs"
    if hint := hint_of(",".join(header)):
        raise InputError(f"{path}: found no table, expected columns separated by {separator}{hint}")
    if not _lacks_name(path, first) and (fault := header_fault(first)):
        raise InputError(f"{path}: {fault}")
    if len(header) < 2:
        other = next((name for mark, name in SEPARATORS.items() if mark in "".join(header)), None)
        found = f"{path}: found {len(header)} column, expected several separated by {separator}"
        raise InputError(found + (f"; it looks separated by {other}: call it .csv" if other else ""))


def _below(path: Path, skipped: Skipped | None) -> tuple[list[Numbered], Iterator[Numbered]]:
    """The rows before the header, and the others."""
    rows = separated_rows(path, skipped)
    first = [*islice(rows, SAMPLE)]
    is_other = bool(first) and bool(hint_of(",".join(first[0][1])))
    count = 0 if is_other else titles([row for _, row in first])
    return first[:count], chain(first[count:], rows)


def _names(path: Path, first: Sequence[Numbered]) -> Row:
    """What the columns are called; one without a name is called nothing yet."""
    if not first:
        return []
    rows = [row for _, row in first]
    if data_in_header(rows) is not None:
        return EDGE if are_ends(rows) else [""] * len(rows[0])
    lacking = _lacks_name(path, first)
    return ["", *rows[0]] if lacking == "first" else [*rows[0], ""] if lacking == "last" else rows[0]


def _lacks_name(path: Path, first: Sequence[Numbered]) -> str | None:
    """Which column the header does not name."""
    if len(first) < 2:
        return None
    line = next(islice(text_lines(path, Skipped(path).add), first[1][0] - 1, None), "")
    return lacks_name([row for _, row in first], sure=TABS in line or line.startswith('"'))
