"""Results of SPARQL queries as tables: their variables are the columns, and their terms the cells."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

MARK = "?"  # before the name of a variable, in TSV
TERM = r'^(?:<(?P<iri>[^<>]*)>|"(?P<text>.*)"(?:@[A-Za-z0-9-]+|\^\^<[^<>]*>|\^\^[\w:]+)?)$'
ESCAPED = re.compile(r'\\(u[0-9A-Fa-f]{4}|[tnr"\'\\])')
WRITTEN = {"t": "\t", "n": "\n", "r": "\r"}


def are_variables(header: Sequence[str]) -> bool:
    """Whether columns are called like variables."""
    return len(header) > 1 and all(len(name) > 1 and name.startswith(MARK) for name in header)


def terms_as_text(table: pa.Table) -> pa.Table:
    """A table of results whose cells are IRIs and values as Turtle writes them, as plain text."""
    columns = [pa.chunked_array([_plain(part) for part in column.chunks], column.type) for column in table.columns]
    return pa.table(columns, names=[name.removeprefix(MARK) for name in table.column_names])


def _plain(cells: pa.Array) -> pa.Array:
    """Cells without what marks their kind.

    >>> cells = ["<http://e.org/a>", '"Bern"@de', '"a \\\\"b\\\\""', "7", '"1"^^<x:y>']
    >>> _plain(pa.array(cells, pa.large_string())).to_pylist()
    ['http://e.org/a', 'Bern', 'a "b"', '7', '1']
    """
    found = pc.extract_regex(cells, TERM.replace(".*", r"(?s:.*)"))
    inside = pc.if_else(
        pc.equal(pc.struct_field(found, "iri"), ""), pc.struct_field(found, "text"), pc.struct_field(found, "iri")
    )
    plain = pc.if_else(found.is_valid(), inside, cells)
    if not pc.any(pc.match_substring(plain, "\\")).as_py():
        return plain
    return pa.array([ESCAPED.sub(_written, each) if "\\" in each else each for each in plain.to_pylist()], cells.type)


def _written(found: re.Match[str]) -> str:
    what = found[1]
    return chr(int(what[1:], 16)) if len(what) > 1 else WRITTEN.get(what, what)
