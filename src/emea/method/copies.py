"""Entities of one graph that are the same throughout: where chance would hardly make any, they are one thing twice."""

from __future__ import annotations

import numpy as np

from emea.evidence.descriptions import Description
from emea.evidence.wholes import as_given
from emea.kernels.ranges import distinct

LEAST = 2  # different values that copies have: two people of one name need not be the same
BEYOND = 10.0  # times as many pairs of such entities as chance would make, from which they are copies


def copies(side: Description, pairs: np.ndarray) -> np.ndarray:
    """Which pairs of entities of a graph have the same values of all attributes, and the same position, [pairs] bool;
    none of them if attributes that do not depend on each other would make about as many."""
    values, own = as_given(side.values), np.flatnonzero(side.linkable)
    draw, size = np.random.default_rng(0), len(side.linkable)
    mark = draw.integers(1, 2**62, len(values.forms), dtype=np.uint64)
    held: list[tuple[np.ndarray, np.ndarray]] = []  # of each attribute, the entities that have it, and their values
    every = np.zeros(size, dtype=np.uint64)
    different = np.bincount(distinct(np.stack([values.entity, values.value], 1))[:, 0], minlength=size)
    for rows in values.rows:
        entity, index = np.unique(values.entity[rows], return_inverse=True)
        total = np.zeros(len(entity), dtype=np.uint64)
        np.add.at(total, index.ravel(), mark[values.value[rows]])
        held.append((entity, total))
        every[entity] += total * draw.integers(1, 2**62, dtype=np.uint64)
    one, other = pairs.T
    place = np.nan_to_num(side.position, nan=np.inf)
    same: np.ndarray = (every[one] == every[other]) & (different[one] >= LEAST) & (place[one] == place[other]).all(1)
    if not same.any():
        return same
    likely = 1.0
    for entity, total in held:
        count = np.unique(total[side.linkable[entity]], return_counts=True)[1].astype(float)
        count = np.append(count, len(own) - count.sum())
        likely *= (count * (count - 1)).sum() / (len(own) * (len(own) - 1.0))
    same &= bool(same.sum() > BEYOND * likely * len(own) * (len(own) - 1) / 2)
    return same
