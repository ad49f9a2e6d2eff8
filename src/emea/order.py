"""Sorted names, distinct rows and numbers, the columns of literals: what the order of ids in a graph rests on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emea.errors import InputError, shown

LITERAL_SCHEMA = pa.schema(
    [(name, pa.int64()) for name in ("entity", "attribute")]
    + [(name, pa.large_string()) for name in ("value", "datatype", "language")]
)


def sort_names(names: Iterable[str] | pa.Array) -> tuple[pa.Array, np.ndarray, pa.Array]:
    """Sorted names, the rank of each old position among them, and the sorting order."""
    array = names if isinstance(names, pa.Array) else pa.array(list(names), pa.large_string())
    if len(array) < 2 or pc.all(pc.less(array[:-1], array[1:])).as_py():  # which is quicker told than done
        rank = np.arange(len(array))
        return array, rank, pa.array(rank)
    order = pc.sort_indices(array)
    rank = np.empty(len(array), dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(array))
    return array.take(order), rank, order


def place_of(name: str, names: pa.Array) -> int | None:
    """Where a name stands among sorted ones: a dictionary of them would take as much memory again.

    >>> place_of("b", pa.array(["a", "b"])), place_of("c", pa.array(["a", "b"]))
    (1, None)
    """
    found = bisect_left(names, name, key=lambda each: each.as_py())
    return found if found < len(names) and names[found].as_py() == name else None


def unique_rows(*columns: np.ndarray) -> np.ndarray:
    """Positions of the distinct rows, sorted by the last column, then by the one before it, and so on."""
    order = np.lexsort(columns)
    keep = np.ones(len(order), dtype=bool)
    keep[1:] = np.any([column[order][1:] != column[order][:-1] for column in columns], axis=0)
    return order[keep]


def ascending(minor: np.ndarray, major: np.ndarray) -> bool:
    """Whether rows are distinct and sorted by the major column, then by the minor one, already."""
    step = np.diff(major)
    return bool(((step > 0) | ((step == 0) & (np.diff(minor) > 0))).all())


def unique_numbers(numbers: np.ndarray) -> np.ndarray:
    """The distinct integers, sorted. `np.unique` hashes them first, which takes ten times as long.

    >>> unique_numbers(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(numbers, axis=None)
    new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    found: np.ndarray = ordered[new]
    return found


def triple_rows(triples: object) -> np.ndarray:
    """Triples as numbers of head, relation and tail, [triples, 3].

    >>> triple_rows([(0, 0, 1)]).tolist()
    [[0, 0, 1]]
    """
    try:
        found = np.asarray(triples, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"found {shown(triples)} as triples, expected whole numbers: head, relation, tail") from None
    if found.size and found.shape[1:] != (3,):
        raise InputError(f"found triples of shape {list(found.shape)}, expected [triples, 3]: head, relation, tail")
    return found.reshape(-1, 3)


def ranked(numbers: np.ndarray, rank: np.ndarray, kind: str) -> np.ndarray:
    """The ranks of numbers that stand for names of a kind, which have to be there.

    >>> ranked(np.array([1, 0]), np.array([7, 3]), "entity").tolist()
    [3, 7]
    """
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(rank):
        odd = numbers[(numbers < 0) | (numbers >= len(rank))][0]
        raise InputError(f"found {kind} number {odd}, expected a place in a list of {len(rank):,}, the first being 0")
    found: np.ndarray = rank[numbers]
    return found


def literal_table(literals: pa.Table | None) -> pa.Table:
    """Literals with all their columns, in their order; datatype and language are empty where a reader leaves them out.

    >>> literal_table(pa.table({"value": ["Rome"], "entity": [0], "attribute": [0]})).column_names
    ['entity', 'attribute', 'value', 'datatype', 'language']
    """
    if literals is None or not literals.column_names:
        return LITERAL_SCHEMA.empty_table()
    if literals.schema.equals(LITERAL_SCHEMA):
        return literals
    if not {"entity", "attribute", "value"} <= {*literals.column_names} <= {*LITERAL_SCHEMA.names}:
        found = ", ".join(literals.column_names)
        raise InputError(f"found literals with the columns {found}, expected {', '.join(LITERAL_SCHEMA.names)}")
    if literals.num_rows and (empty := [each for each in literals.column_names if literals[each].null_count]):
        raise InputError(f"found literals without {empty[0]}, expected one in each row")
    nothing = pa.repeat(pa.scalar("", pa.large_string()), literals.num_rows)
    columns = [literals[name] if name in literals.column_names else nothing for name in LITERAL_SCHEMA.names]
    return pa.table(columns, LITERAL_SCHEMA.names).cast(LITERAL_SCHEMA)
