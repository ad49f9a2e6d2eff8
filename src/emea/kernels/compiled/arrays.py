"""Compiled loops over vectors, rows and lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import float32, njit, uint16
from numba.extending import intrinsic
from torch import Tensor

from emea.kernels.compiled.run import ANY_ORDER, in_parts, places

ENTRIES = 2**14  # products that a thread takes at a time
LISTS = 2**12  # lists that it adds up at a time
QUERIES = 2**9  # queries whose nearest it finds at a time


def products(row: Tensor, column: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """left[row] · right[column] for each entry, [entries] float32; both are of bfloat16, which torch would convert
    first: that takes ten times as long."""
    result = torch.empty(len(row))
    in_parts(_products, ENTRIES, len(row), places(row), places(column), _bits(left), _bits(right), result)
    return result


def highest(index: Tensor, size: int, score: Tensor, count: int) -> Tensor:
    """The `count` highest scores of the rows of each index, the highest first, [size, count] float32; −∞ where there
    are fewer."""
    found = torch.full((size, count), -torch.inf)
    in_parts(_highest, -(-size // torch.get_num_threads()), size, places(index), score.float(), found)
    return found


def nearest(
    queries: Tensor, keys: Tensor, lists: tuple[Tensor, Tensor, Tensor], known: tuple[Tensor, Tensor], order: Tensor
) -> Tensor:
    """Ids of the keys with the largest products with each query, largest first, as many as are known, [queries, known]
    int32, −1 where fewer were found.

    They are those of the lists that the query visits, [queries, visited], −1 for none, where list i has the items from
    start[i] to start[i + 1]; and those that are known, with their products. The queries are taken in the given order:
    neighbours should visit the same lists. Both sides are of bfloat16.
    """
    value, found = (each.clone() for each in known)
    in_parts(_nearest, QUERIES, len(order), order, *lists, _bits(queries), _bits(keys), value, found)
    return found


def weighted(bunches: tuple[Tensor, Tensor, Tensor, Tensor], left: Tensor, right: Tensor) -> Tensor:
    """Each list's Σ of left[i]∘right[k] over its bunches and their items, [lists, features].

    List j has the bunches from start[j] to start[j + 1], and bunch b, with i = kind[b], the items k from begin[b] to
    begin[b + 1] of the last column: `bunches` are start, kind, begin and item.
    """
    columns = [places(each) for each in bunches]
    total = torch.empty(len(columns[0]) - 1, left.shape[1])
    in_parts(_weighted, LISTS, len(total), *columns, left.contiguous(), right.contiguous(), total)
    return total


def add_columns(view: Tensor, column: Tensor, sign: Tensor, total: Tensor) -> None:
    """Add the named columns of a view, each with its sign, to the total, [rows, columns]."""
    in_parts(_add_columns, LISTS, len(total), view, places(column), sign.contiguous(), total)


def positions(start: Tensor, column: Tensor, wanted: tuple[Tensor, Tensor]) -> Tensor:
    """The place of each wanted entry, a row and a column, −1 for an absent one, among those of a matrix, which are
    sorted: those of row i lie from start[i] to start[i + 1]."""
    row, other = wanted
    found = torch.empty(len(row), dtype=torch.int64)
    in_parts(_positions, ENTRIES, len(row), start, column, row.contiguous(), other.contiguous(), found)
    return found


def grouped(index: Tensor, size: int) -> Tensor:
    """The permutation that sorts rows by index, a number below `size`, and keeps their order otherwise, [rows]."""
    order, end = torch.empty_like(index), torch.bincount(index, minlength=size).cumsum(0)
    in_parts(_grouped, 1, 1, places(index), places(end), order)
    return order


def _bits(halves: Tensor) -> Tensor:
    return halves.contiguous().view(torch.uint16)


@intrinsic
def _widened(_typing: Any, _half: Any) -> Any:
    """The number whose upper half these bits are."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        upper = builder.shl(builder.zext(arguments[0], ir.IntType(32)), ir.Constant(ir.IntType(32), 16))
        return builder.bitcast(upper, ir.FloatType())

    return float32(uint16), generate


@njit(nogil=True, fastmath=ANY_ORDER)
def _product(one: Any, other: Any) -> Any:
    total = np.float32(0)
    for feature in range(one.shape[0]):
        total += _widened(one[feature]) * _widened(other[feature])  # type: ignore[call-arg]
    return total


@njit(nogil=True)
def _place(values: Any, value: Any) -> Any:
    """Put a value among descending ones, of which the last is lost; where it is now, or the end if it is too low."""
    place = len(values)
    while place > 0 and values[place - 1] < value:
        place -= 1
        if place + 1 < len(values):
            values[place + 1] = values[place]
        values[place] = value
    return place


def _products(first: int, last: int, row: Any, column: Any, left: Any, right: Any, result: Any) -> None:
    for entry in range(first, last):
        result[entry] = _product(left[row[entry]], right[column[entry]])


def _weighted(
    first: int, last: int, start: Any, kind: Any, begin: Any, item: Any, left: Any, right: Any, total: Any
) -> None:
    for each in range(first, last):
        own = total[each]
        own[:] = 0
        for bunch in range(start[each], start[each + 1]):
            factor = left[kind[bunch]]
            for place in range(begin[bunch], begin[bunch + 1]):
                row = right[item[place]]
                for feature in range(len(own)):
                    own[feature] += factor[feature] * row[feature]


def _add_columns(first: int, last: int, view: Any, column: Any, sign: Any, total: Any) -> None:
    for each in range(first, last):
        own, row = total[each], view[each]
        for feature in range(len(own)):
            own[feature] += sign[feature] * row[column[feature]]


def _positions(first: int, last: int, start: Any, column: Any, row: Any, other: Any, found: Any) -> None:
    for each in range(first, last):
        found[each] = -1
        if row[each] < 0:
            continue
        low, high = start[row[each]], start[row[each] + 1]
        while low < high:
            middle = (low + high) // 2
            if column[middle] < other[each]:
                low = middle + 1
            else:
                high = middle
        if low < start[row[each] + 1] and column[low] == other[each]:
            found[each] = low


def _grouped(_first: int, _last: int, index: Any, end: Any, order: Any) -> None:
    for row in range(len(index) - 1, -1, -1):
        end[index[row]] -= np.uint64(1)
        order[end[index[row]]] = row


def _highest(first: int, last: int, index: Any, score: Any, highest: Any) -> None:
    for row in range(len(index)):
        if first <= index[row] < last:
            _place(highest[index[row]], score[row])


def _nearest(
    first: int,
    last: int,
    order: Any,
    visited: Any,
    start: Any,
    item: Any,
    queries: Any,
    keys: Any,
    value: Any,
    found: Any,
) -> None:
    seen = np.full(len(keys), -1, np.int32)  # the last query that looked at each key
    for query in order[first:last]:
        for key in found[query]:
            if key >= 0:
                seen[key] = query
        for each in visited[query]:
            if each < 0:
                continue
            for key in item[start[each] : start[each + 1]]:
                if seen[key] == query:
                    continue
                seen[key] = query
                place = _place(value[query], _product(queries[query], keys[key]))
                if place < found.shape[1]:
                    for other in range(found.shape[1] - 1, place, -1):
                        found[query, other] = found[query, other - 1]
                    found[query, place] = key
