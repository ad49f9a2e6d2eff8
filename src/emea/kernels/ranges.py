"""Ranges of positions, in numpy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from emea.order import unique_numbers


def spread(start: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row i becomes count[i] rows: (i, start[i]), (i, start[i] + 1), …; returns both columns.

    >>> [column.tolist() for column in spread(np.array([5, 9]), np.array([2, 1]))]
    [[0, 0, 1], [5, 6, 9]]
    """
    row = np.repeat(np.arange(len(count)), count)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + start[row]


def distinct(pairs: np.ndarray) -> np.ndarray:
    """The distinct rows of two numbers that are not negative, sorted, [rows, 2]; faster than `np.unique` of rows.

    >>> distinct(np.array([[2, 1], [0, 3], [2, 1]])).tolist()
    [[0, 3], [2, 1]]
    """
    width = int(pairs[:, 1].max(initial=0)) + 1
    return np.stack(np.divmod(unique_numbers(pairs[:, 0].astype(np.int64) * width + pairs[:, 1]), width), 1)


def among(numbers: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Which numbers are among some that are sorted, [numbers] bool; `np.isin` hashes them, which takes longer.

    >>> among(np.array([3, 1, 7]), np.array([1, 2, 3])).tolist(), among(np.array([3]), np.array([])).tolist()
    ([True, True, False], [False])
    """
    if not len(some):
        return np.zeros(len(numbers), dtype=bool)
    found: np.ndarray = some[np.searchsorted(some, numbers).clip(max=len(some) - 1)] == numbers
    return found


def blocks(sizes: np.ndarray, block: int) -> Iterator[slice]:
    """Parts of rows of these sizes that are together hardly larger than a block, unless it is a single row.

    >>> list(blocks(np.array([3, 3, 3, 9]), 6))
    [slice(0, 1, None), slice(1, 3, None), slice(3, 4, None)]
    """
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.unique([0, *np.searchsorted(ends, np.arange(block, max(total, 1), block)), len(sizes)])
    yield from (slice(begin, end) for begin, end in pairwise(cuts.tolist()))
