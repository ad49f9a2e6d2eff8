"""Cells of a table as text: one row for each value, with the datatype of the column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.errors import InputError
from emea.formats._columns import STRING
from emea.formats._records import gathered
from emea.formats._values import texts

XSD = "http://www.w3.org/2001/XMLSchema#"
DEEPEST = 16  # levels of nesting


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a column that hold something."""

    row: np.ndarray  # [cells]
    text: pa.Array  # [cells] large_string
    datatype: str
    rows: int  # of the table

    def single(self) -> pa.Array:
        """One text for each row of the table, [rows]; null where there is none, the first where there are several."""
        place = np.full(self.rows, len(self.row), dtype=np.int64)
        np.minimum.at(place, self.row, np.arange(len(self.row)))
        return self.text.take(pa.array(place, mask=place == len(self.row)))


def flattened(table: pa.Table) -> pa.Table:
    """The table with the fields of nested records as columns, address.city, also of those in lists, which are several
    values; categories as what they stand for."""
    for _ in range(DEEPEST):
        if not any(_holds_records(field.type) for field in table.schema):
            return pa.table([_decoded(column) for column in table.columns], names=table.column_names)
        table = pa.table([_unlisted(column) for column in table.columns], names=table.column_names).flatten()
    raise InputError(f"found records nested more than {DEEPEST} levels deep, expected a table")


def _is_list(kind: pa.DataType) -> bool:
    return any(matches(kind) for matches in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def _holds_records(kind: pa.DataType) -> bool:
    """Whether cells are records, or lists of them; pairs of key and value are such."""
    while _is_list(kind):
        kind = kind.value_type
    return bool(pa.types.is_struct(kind) or pa.types.is_map(kind))


def _unlisted(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of lists of records as one of records whose fields are lists."""
    kind = column.type
    if pa.types.is_map(kind):
        kind = pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))
        column = pa.chunked_array([part.cast(kind) for part in column.chunks], kind)
    if not _holds_records(kind) or not _is_list(kind):
        return column
    values = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], kind)
    held, row = pc.list_flatten(values), pc.list_parent_indices(values).to_numpy()
    while _is_list(held.type):
        held, row = pc.list_flatten(held), row[pc.list_parent_indices(held).to_numpy()]
    fields = [gathered(pc.struct_field(held, place), row, len(values)) for place in range(held.type.num_fields)]
    names = [held.type.field(place).name for place in range(held.type.num_fields)]
    return pa.chunked_array([pa.StructArray.from_arrays([each.chunk(0) for each in fields], names)])


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def cells(column: pa.ChunkedArray, place: str) -> Cells:
    """The cells of a column as text; a list is several cells, and an empty one none."""
    rows = len(column)
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # of no rows
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], column.type)
    row = np.arange(rows)
    for _ in range(DEEPEST):
        if not _is_list(values.type):
            break
        row, values = row[pc.list_parent_indices(values).to_numpy()], pc.list_flatten(values)
    text, datatype = _text(values, place)
    held = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(text), ""), False).to_numpy(zero_copy_only=False)
    if held.all():
        return Cells(row, text, datatype, rows)
    return Cells(row[held], text.filter(pa.array(held)), datatype, rows)


def array_of(values: Iterable[Any]) -> pa.Array:
    """A column of Python values; as text if they are of several types.

    >>> array_of([1, "a", None]).to_pylist()
    ['1', 'a', None]
    """
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return texts(values)


def holds_bytes(column: pa.ChunkedArray) -> bool:
    """Whether a column holds bytes that are no text."""
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        return False
    try:
        column.cast(pa.large_string())
    except pa.ArrowInvalid:
        return True
    return False


def _text(values: pa.Array, place: str) -> tuple[pa.Array, str]:
    """Text, null where there is none, and the datatype."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _text(values.dictionary_decode(), place)
    if isinstance(kind, pa.UuidType):
        return pa.array([None if each is None else str(each) for each in values.to_pylist()], pa.large_string()), STRING
    if pa.types.is_float16(kind):  # for which Arrow has no arithmetic
        return _numbers(values.cast(pa.float32()))
    if pa.types.is_null(kind):
        return values.cast(pa.large_string()), STRING
    if pa.types.is_floating(kind):
        return _numbers(values)
    if pa.types.is_timestamp(kind):
        seconds = bool(pc.all(pc.equal(pc.floor_temporal(values, unit="second"), values)).as_py())
        moment = values.cast(pa.timestamp("s" if seconds else "us", kind.tz), safe=False)
        return pc.strftime(moment, format="%Y-%m-%dT%H:%M:%S").cast(pa.large_string()), f"{XSD}dateTime"
    kinds = (
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_integer, "integer"),
        (pa.types.is_decimal, "decimal"),
        (pa.types.is_date, "date"),
    )
    datatype = next((XSD + name for matches, name in kinds if matches(kind)), STRING)
    try:
        return values.cast(pa.large_string()), datatype
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(f"{place}: found the type {kind}, expected text, numbers, dates or lists of these") from error


def _numbers(values: pa.Array) -> tuple[pa.Array, str]:
    """Numbers as text; not-a-number counts as absent, and whole ones, which a missing cell has turned into fractions,
    as integers."""
    present = pc.if_else(pc.is_finite(values), values, None)
    whole = bool(pc.all(pc.and_(pc.equal(pc.floor(present), present), pc.less(pc.abs(present), 2.0**53))).as_py())
    if whole and present.null_count < len(present):
        return present.cast(pa.int64()).cast(pa.large_string()), f"{XSD}integer"
    return present.cast(pa.large_string()), f"{XSD}double"
