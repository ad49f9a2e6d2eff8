"""Which columns of a table identify its rows, and which refer to rows: as a database declares, or by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from emea.formats._cells import Cells

ID_NAMES = ("id", "_id", "@id", "identifier", "uri", "iri", "uuid", "guid", "key", "code")
ID_ENDING = ("_id", "id", "_key", "_code", "_ref", "_fk")  # what a column that refers to a table may add to its name
References = Mapping[tuple[str, str], tuple[str, str]]  # table and column → the table and column that it refers to


@dataclass(frozen=True)
class Declared:
    """Keys and references of tables."""

    keys: Mapping[str, str] = field(default_factory=dict)  # table → the column that identifies its rows
    references: References = field(default_factory=dict)


NOTHING = Declared()


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
    return {name, name.removesuffix("s"), name.removesuffix("es"), name.removesuffix("ies") + "y"} - {""}
