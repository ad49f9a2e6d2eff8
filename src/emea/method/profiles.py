"""Pairs, and those with the same evidence as one; the best rival of each pair; and what each level of evidence says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emea.evidence.comparison import UNKNOWN

LARGEST_CODE = 2**62


@dataclass(frozen=True, eq=False)
class Pairs:
    """Evidence about pairs of entities."""

    ends: np.ndarray  # [pairs, 2] entities; those of the target graph are numbered after those of the source graph
    levels: np.ndarray  # [pairs, fields] 0 is best, UNKNOWN says nothing
    frequent: np.ndarray  # [pairs] how much more frequent than usual the equal values are, as a logarithm
    less: np.ndarray  # [pairs] by how much less, if an entity of the pair did not count as having its values
    kind: np.ndarray  # [pairs] of the source, 0 if unknown
    target_kind: np.ndarray  # [pairs] of the target; within a graph both are as pairs between the graphs have them
    weight: np.ndarray  # [pairs] how many pairs each stands for


@dataclass(frozen=True, eq=False)
class Profiles:
    """Pairs of one kind with the same levels in every field, whose equal values are as frequent, have one profile.
    There are far fewer profiles than pairs, and what values say depends on nothing else."""

    of: np.ndarray  # [pairs] number of the pair's profile
    levels: np.ndarray  # [profiles, fields]
    kind: np.ndarray  # [profiles]
    frequent: np.ndarray  # [profiles]
    less: np.ndarray  # [profiles]

    @classmethod
    def build(cls, levels: np.ndarray, kind: np.ndarray, frequent: np.ndarray, less: np.ndarray) -> Profiles:
        """Of pairs with these levels, [pairs, fields] from −1 on, kinds from 0 on, frequencies, and by how much lower
        these are without one of the pair, [pairs] each."""
        code, other = (np.unique(column, return_inverse=True)[1].ravel() for column in (frequent, less))
        for column in (other, kind - 1, *levels.T):
            width = int(column.max(initial=0)) + 2
            if int(code.max(initial=0)) >= LARGEST_CODE // width:
                code = np.unique(code, return_inverse=True)[1].ravel()
            code = code * width + column + 1
        _, first, of = np.unique(code, return_index=True, return_inverse=True)
        return cls(of.ravel(), levels[first], kind[first], frequent[first], less[first])

    def sums(self, weight: np.ndarray) -> np.ndarray:
        """The weights of the pairs of each profile, [profiles]."""
        found: np.ndarray = np.bincount(self.of, weight, len(self.kind))
        return found


class Rivals:
    """The pairs of the same entity, for pairs with these entities on one side, [pairs]."""

    def __init__(self, entities: np.ndarray) -> None:
        self._order = np.argsort(entities, kind="stable")
        new = np.diff(entities[self._order], prepend=-1) != 0
        self._start, self._group = np.flatnonzero(new), np.cumsum(new) - 1

    def highest(self, probability: np.ndarray) -> np.ndarray:
        """The highest probability among the other pairs of the same entity, [pairs]; 0 if there are none."""
        own, group = probability[self._order], self._group
        if not len(self._start):
            return probability
        best = np.maximum.reduceat(own, self._start)[group]
        highest = np.flatnonzero(own == best)
        highest = highest[np.flatnonzero(np.diff(group[highest], prepend=-1))]  # one of each entity
        left = own.copy()
        left[highest] = 0.0
        best[highest] = np.maximum.reduceat(left, self._start)
        other: np.ndarray = np.empty_like(best)
        other[self._order] = best
        return other


def falling(matched: np.ndarray, unmatched: np.ndarray) -> np.ndarray:
    """The logarithm of how much more frequent each level is among matched pairs, [kinds, levels]. It falls from level
    to level: where it would rise, levels are pooled (isotonic regression as a minimum of maxima of means). So a level
    that hardly occurs takes nothing from those below it: "art" and "Fine arts" may be how all right pairs differ."""
    count = matched.shape[1]
    means = []  # from each level to it or any later one; summed from there, as shares differ by many orders
    for first in range(count):
        above, below = (np.cumsum(side[:, first:], 1) for side in (matched, unmatched))
        means.append(above / below)
    result = np.empty_like(matched)
    for level in range(count):
        highest = [from_first[:, level - first :].max(1) for first, from_first in enumerate(means[: level + 1])]
        result[:, level] = np.log(np.min(highest, 0))
    return result


def by_level(ratio: np.ndarray, kind: np.ndarray, level: np.ndarray) -> np.ndarray:
    """What levels say, given what each level of a kind does, [kinds, levels]; UNKNOWN says nothing."""
    return np.where(level != UNKNOWN, ratio[kind, level], 0.0)
