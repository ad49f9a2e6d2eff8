"""Values of Python as columns of a table: of one type where they agree, and text where they do not."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from itertools import islice

import pyarrow as pa

from emea.formats._columns import CHUNK

MIDNIGHT = datetime.time()
WIDER = (({pa.int64(), pa.float64()}, pa.float64()), ({pa.date32(), pa.timestamp("us")}, pa.timestamp("us")))
UNFIT = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError)  # a number beyond 64 bits, moments of two time zones


def typed_table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> pa.Table:
    """The table of these rows."""
    parts: list[list[pa.Array]] = [[] for _ in names]
    rows = iter(rows)
    while block := list(islice(rows, CHUNK)):
        for part, values in zip(parts, zip(*block, strict=True), strict=True):
            part.append(typed(values))
    return pa.table([united(part) for part in parts], names=list(names))


def typed(values: Sequence[object]) -> pa.Array:
    """A column: whole numbers among fractions are fractions, moments that are all midnight are dates, and values of
    other types together are text.

    >>> str(typed([1, 2.5]).type), typed([1, None, "a", True]).to_pylist()
    ('double', ['1', None, 'a', 'true'])
    """
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {str}:
        return pa.array(values, pa.large_string())
    if kinds == {datetime.datetime} and all(value is None or _is_midnight(value) for value in values):
        return pa.array(values, pa.date32())
    if len(kinds) <= 1 or kinds == {int, float}:
        try:
            return pa.array(values)
        except UNFIT:
            pass
    return texts(values)


def united(parts: Sequence[pa.Array]) -> pa.ChunkedArray:
    """One column of several parts, each of its own type."""
    types = {part.type for part in parts} - {pa.null()}
    common = next((wider for narrower, wider in WIDER if types == narrower), None) or next(iter(types), pa.null())
    if len(types) < 2 or any(types == narrower for narrower, _ in WIDER):
        try:
            return pa.chunked_array([part.cast(common) for part in parts], common)
        except pa.ArrowInvalid:  # a whole number that is no fraction exactly
            pass
    return pa.chunked_array([texts(part.to_pylist()) for part in parts], pa.large_string())


def _is_midnight(value: object) -> bool:
    return isinstance(value, datetime.datetime) and value.timetz() == MIDNIGHT


def texts(values: Iterable[object]) -> pa.Array:
    """A column of text."""
    return pa.array([None if value is None else as_text(value) for value in values], pa.large_string())


def as_text(value: object) -> str:
    """A value as text, the same for whole numbers of both types, and for dates and moments at midnight.

    >>> as_text(2.0), as_text(datetime.datetime(2001, 2, 3)), as_text(datetime.datetime(2001, 2, 3, 4))
    ('2', '2001-02-03', '2001-02-03T04:00:00')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat().removesuffix(f"T{MIDNIGHT}")
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
