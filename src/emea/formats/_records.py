"""Records whose fields may be missing or have several values, as the columns of a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from emea.formats._columns import CHUNK
from emea.formats._values import typed, united


class Records:
    """The records read so far."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._count = 0

    def add(self, values: list[tuple[str, object]]) -> None:
        """Add a record: the names of its fields and their values."""
        for name, value in values:
            self._columns.setdefault(name, _Column()).add(self._count, value)
        self._count += 1

    def table(self) -> pa.Table:
        """All records."""
        return pa.table({name: each.build(self._count) for name, each in self._columns.items()})


def gathered(values: pa.Array, rows: np.ndarray, count: int) -> pa.ChunkedArray:
    """Values as a column of so many rows, each in the row that it belongs to, in ascending order: of single values, or
    of lists if a row has several."""
    sizes = np.bincount(rows, minlength=count)
    if sizes.max(initial=0) > 1:
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return pa.chunked_array([pa.LargeListArray.from_arrays(pa.array(offsets), values)])
    place = np.zeros(count, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    return pa.chunked_array([values.take(pa.array(place, mask=sizes == 0))])


class _Column:
    """The values of a field, and the records they belong to."""

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._values: list[object] = []
        self._parts: list[pa.Array] = []

    def add(self, row: int, value: object) -> None:
        """Add a value of a record."""
        self._rows.append(row)
        self._values.append(value)
        if len(self._values) == CHUNK:
            self._pack()

    def build(self, count: int) -> pa.ChunkedArray:
        """The column for this many records: of single values, or of lists if a record has several."""
        self._pack()
        return gathered(united(self._parts).combine_chunks(), np.array(self._rows), count)

    def _pack(self) -> None:
        self._parts.append(typed(self._values))
        self._values = []
