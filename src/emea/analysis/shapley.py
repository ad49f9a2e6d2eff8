"""Shapley values: what each of a few players adds to a game, on average over all orders in which they can join."""

from __future__ import annotations

from math import factorial

import numpy as np


def coalitions(players: int) -> np.ndarray:
    """Who belongs to each coalition, [2^players, players] bool; the first is empty, the last has all.

    >>> coalitions(2).tolist()
    [[False, False], [True, False], [False, True], [True, True]]
    """
    found: np.ndarray = (np.arange(2**players)[:, None] >> np.arange(players)) % 2 == 1
    return found


def shapley(worth: np.ndarray) -> np.ndarray:
    """Of each player, [players], given what each of the coalitions is worth, [2^players]. They add up to what all are
    worth more than none.

    >>> shapley(np.array([0.0, 1.0, 0.0, 3.0])).tolist()
    [2.0, 1.0]
    """
    players = len(worth).bit_length() - 1
    members = coalitions(players)
    size = members.sum(1)
    weight = np.array([factorial(s) * factorial(max(0, players - 1 - s)) for s in range(players + 1)], dtype=float)
    weight /= factorial(players)
    found = np.empty(players)
    for player in range(players):
        without = np.flatnonzero(~members[:, player])
        found[player] = (weight[size[without]] * (worth[without + 2**player] - worth[without])).sum()
    return found
