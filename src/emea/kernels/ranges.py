"""Ranges of positions, in numpy."""

from __future__ import annotations

import numpy as np


def spread(start: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row i becomes count[i] rows: (i, start[i]), (i, start[i] + 1), …; returns both columns.

    >>> [column.tolist() for column in spread(np.array([5, 9]), np.array([2, 1]))]
    [[0, 0, 1], [5, 6, 9]]
    """
    row = np.repeat(np.arange(len(count)), count)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + start[row]
