"""Which columns of a table identify its rows, and which refer to rows: as a database declares, or by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from emea.errors import InputError
from emea.formats._cells import Cells

ID_NAMES = ("id", "_id", "@id", "identifier", "uri", "iri", "uuid", "guid", "key", "code")
SHARED = ("key", "code")  # which things of one kind may have in common
ID_ENDING = ("_id", "id", "_key", "_code", "_ref", "_fk")  # what a column that refers to a table may add to its name
LISTED = 12  # columns that a message lists
WORD, NO_WORD = r"\pL.*\pL", r"[\pN/:]"  # two letters, and neither numbers nor what URIs have
MOSTLY = 0.5  # share of the ids that are words, from which they tell something
NEARLY = 0.05  # share of the rows that may lack an id of their own in a column worth naming
References = Mapping[tuple[str, str], tuple[str, str]]  # table and column → the table and column that it refers to


@dataclass(frozen=True)
class Declared:
    """Keys and references of tables."""

    keys: Mapping[str, str] = field(default_factory=dict)  # table → the column that identifies its rows
    references: References = field(default_factory=dict)


NOTHING = Declared()


def id_column(name: str, table: pa.Table, wanted: str | None) -> str | None:
    """The column that names the rows: as wanted, by its name, or the first one if no cell of it repeats."""
    if wanted is not None:
        for each in _named(table, wanted):
            return each
        raise InputError(f"table {name}: found bytes that are no text in the column {wanted}, expected names")
    likely = _likely(name, table)
    found = next((each for each in likely if _identifies(table[each])), None)
    return found or next((each for each in likely if _nearly_identifies(each, name, table[each])), None)


def _likely(name: str, table: pa.Table) -> list[str]:
    """The columns called like ids, and the first one: before one that is called like the table alone, unless it holds
    numbers, which may only count rows."""
    columns = table.column_names
    likely: list[str] = [each for each in columns if is_id_name(each, name)]
    likely.sort(key=lambda each: (*ID_NAMES, each.lower()).index(each.lower()))
    first = columns[:1]
    if first and first[0] not in likely and not _all(table[first[0]], pc.utf8_is_digit):
        bare = [each for each in likely if each.strip().lower() in _singulars(name) - {*ID_NAMES}]
        return [*(each for each in likely if each not in bare), *first, *bare]
    return [*likely, *first]


def nearly_id(name: str, table: pa.Table) -> str:
    """What to say of a column that would name the rows but for a few of them; nothing if there is none."""
    for each in _likely(name, table):
        column = table[each]
        if pa.types.is_nested(column.type) or not len(column):
            continue
        unfit = len(column) - int(pc.count_distinct(column, mode="only_valid").as_py())
        if unfit <= NEARLY * len(column):
            return f", such as '{each}', which all but {unfit:,} of {len(column):,} rows have to themselves"
    return ""


def tables_without(
    tables: Mapping[str, pa.Table], wanted: str | None, place: str | Path, notes: list[str]
) -> list[str]:
    """The tables that lack the id column named for all of them; refused if every table does."""
    if wanted is None:
        return []
    lacking = [name for name, table in tables.items() if not _named(table, wanted)]
    if len(lacking) == len(tables):
        named = dict.fromkeys(column for table in tables.values() for column in table.column_names)
        listed = ", ".join(list(named)[:LISTED]) + (" …" if len(named) > LISTED else "")
        where = f" in {len(tables)} tables" if len(tables) > 1 else ""
        raise InputError(f"{place}: found the columns {listed}{where}, expected one named {wanted} (--id-column)")
    if lacking:
        listed = ", ".join(lacking[:LISTED]) + (" …" if len(lacking) > LISTED else "")
        notes.append(f"{place}: no column '{wanted}' in {listed}; what names the rows there is found as usual")
    return lacking


def _named(table: pa.Table, wanted: str) -> list[str]:
    """The columns with this name, or else those that differ from it in case alone."""
    columns = table.column_names
    return [each for each in columns if each == wanted] or [each for each in columns if each.lower() == wanted.lower()]


def _identifies(column: pa.ChunkedArray) -> bool:
    """Whether each row has its own cell."""
    if pa.types.is_nested(column.type) or not len(column) or column.null_count:
        return False
    return int(pc.count_distinct(column).as_py()) == len(column)


def _nearly_identifies(name: str, table: str, column: pa.ChunkedArray) -> bool:
    """Whether a column that is called like an id, or holds addresses, is one although a few rows are there twice, or
    some things have several rows."""
    if pa.types.is_nested(column.type) or not len(column) or column.null_count:
        return False
    distinct = int(pc.count_distinct(column).as_py()) / len(column)
    called = is_id_name(name, table) and name.strip().lower() not in SHARED
    return (called and distinct >= 1 - NEARLY) or (distinct >= MOSTLY and _all(column, _are_addresses))


def _are_addresses(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.match_substring_regex(texts, r"^https?://\S+$")


def _all(column: pa.ChunkedArray, kind: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> bool:
    """Whether all cells are texts of a kind."""
    if pa.types.is_integer(column.type):
        return kind is pc.utf8_is_digit
    return pa.types.is_large_string(column.type) and pc.all(kind(column)).as_py() is True


def are_words(ids: pa.Array) -> bool:
    """Whether most ids are words, which are compared as other values are: numbers and letters that only count rows,
    such as C-17, are the same in any two tables."""
    plain = pc.and_(pc.match_substring_regex(ids, WORD), pc.invert(pc.match_substring_regex(ids, NO_WORD)))
    return bool((pc.mean(plain.cast(pa.int8())).as_py() or 0.0) >= MOSTLY)


def as_ids(held: Cells, ids: pa.Array, by: Cells) -> Cells:
    """Cells that refer to rows by the values of a column, as the ids of these rows."""
    found = ids.take(pc.index_in(held.text, by.single()))
    known = found.is_valid().to_numpy(zero_copy_only=False)
    return Cells(held.row[known], found.drop_null(), held.datatype, held.rows)


def is_id_name(column: str, table: str) -> bool:
    """Whether a column of a table is named as one that identifies its rows."""
    return column.strip().lower() in ID_NAMES or _stem(column) in _singulars(table)


def refers(column: str, table: str, *, own: bool) -> bool:
    """Whether a column is named after a table: country, country_id, birth_country_id or countryId after countries; or
    a parent in the same one."""
    stem = _stem(column)
    return any(stem == name or stem.endswith(f"_{name}") for name in _singulars(table)) or (own and stem == "parent")


def _stem(column: str) -> str:
    """A column's name without what marks it as one of ids."""
    plain = column.strip().lower().replace(" ", "_")
    return next((plain.removesuffix(ending) for ending in ID_ENDING if plain.endswith(ending)), plain)


def _singulars(table: str) -> set[str]:
    name = table.lower().rpartition(".")[2]
    irregular = name.removesuffix("people") + "person" if name.endswith("people") else ""
    return {name, name.removesuffix("s"), name.removesuffix("es"), name.removesuffix("ies") + "y", irregular} - {""}
