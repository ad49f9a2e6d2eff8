"""Tables in which a record has several rows, and only the first of them has an id: OpenRefine's, and merged cells."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.formats._records import gathered

FEWEST = 2  # records that have several rows


def with_continued(table: pa.Table) -> tuple[pa.Table, str]:
    """The table with a row for each record, in which several values are a list, and what is said of it. Rows without a
    cell in the first column continue the one above if at least one more column is filled in the first row of each
    record, and empty in all others: an id alone may be missing."""
    flat = table.num_rows > FEWEST and not any(pa.types.is_nested(field.type) for field in table.schema)
    starts = _filled(table.column(0)) if flat and table.num_columns else np.ones(1, dtype=bool)
    if starts.all() or not starts[0]:
        return table, ""
    filled = [_filled(column) for column in table.columns]
    record = np.cumsum(starts) - 1
    ids = table.column(0).filter(pa.array(starts))
    alone = any(bool(each[starts].all()) and not each[~starts].any() for each in filled[1:])
    held = any(bool(each[~starts].any()) for each in filled[1:])
    if not alone or not held or len(np.unique(record[~starts])) < FEWEST or len(pc.unique(ids)) < len(ids):
        return table, ""
    columns = []
    for column, there in zip(table.columns, filled, strict=True):
        values = column.filter(pa.array(there)).combine_chunks()
        columns.append(gathered(values, record[there], len(ids)))
    said = f"{len(starts) - len(ids):,} rows without '{table.column_names[0]}' continue the one above, as in records"
    return pa.table(columns, names=table.column_names), said


def _filled(column: pa.ChunkedArray) -> np.ndarray:
    """Which cells hold something, [rows] bool."""
    there = column.is_valid()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        there = pc.and_(there, pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(column), ""), False))
    return np.asarray(there.to_numpy(), dtype=bool)
