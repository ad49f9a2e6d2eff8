"""How much the linked neighbours of two entities support the pair."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from emea.evidence.comparison import UNKNOWN
from emea.evidence.descriptions import Description
from emea.kernels.ranges import spread

SUPPORT = np.array([0.02, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0])  # from which a pair has a better level
LINKED = 0.3  # probability from which a pair counts as linked


class Support:
    """Counts, for given pairs, the neighbours of the source that are linked to neighbours of the target."""

    def __init__(self, first: Description, second: Description, pairs: np.ndarray) -> None:
        self.pairs, self.first = pairs, first.edges
        self.sizes = len(first.linkable), len(second.linkable)
        self.relations = 2 * max(first.relations, second.relations) + 1
        self.degree = [np.bincount(side.edges[:, 0], minlength=len(side.linkable)) for side in (first, second)]
        self.start = np.cumsum(self.degree[0]) - self.degree[0]
        key = second.edges[:, 0] * self.sizes[1] + second.edges[:, 2]
        order = np.argsort(key, kind="stable")
        self.key, self.relation = key[order], second.edges[order, 1]

    def levels(self, probability: np.ndarray) -> np.ndarray:
        """Level of support of each pair, given how probable the first of them are, [pairs]: 0 is the most, UNKNOWN if
        no neighbour is linked. A neighbour counts by how surely it is linked, by how often the relations to it
        correspond, and the less the more others it has as neighbours."""
        level, linked = np.full(len(self.pairs), UNKNOWN, dtype=np.int8), self.linked(probability)
        if linked is None:
            return level
        kinds, share = linked.kinds, linked.share
        found = self._walk(self.pairs, linked.links)
        kind = found.relation * self.relations + found.back
        place = np.searchsorted(kinds, kind).clip(max=max(0, len(kinds) - 1))
        fits = (found.back >= 0) & (kinds[place] == kind) if len(kinds) else np.zeros(len(kind), dtype=bool)
        said = np.zeros(len(kind))
        said[fits] = found.weight[fits] * share[place[fits]] * self._rarity(found.near[fits], found.other[fits])
        neighbour, index = np.unique(found.row * self.sizes[0] + found.near, return_inverse=True)
        best = np.zeros(len(neighbour))
        np.maximum.at(best, index.ravel(), said)
        support = np.bincount(neighbour // self.sizes[0], best, len(self.pairs))
        known = (np.bincount(found.row, minlength=len(self.pairs)) > 0) & (self.degree[1][self.pairs[:, 1]] > 0)
        level[known] = len(SUPPORT) - np.searchsorted(SUPPORT, support[known], side="right")
        return level

    def linked(self, probability: np.ndarray) -> Linked | None:
        """The links among the pairs, given how probable these are, and which relations correspond between linked
        entities; None if there are none."""
        rows = np.flatnonzero(probability > LINKED)
        if not len(rows) or not len(self.first) or not len(self.key):
            return None
        links = _Links.build(self.pairs[rows], probability[rows], self.sizes[0])
        return Linked(links, *self._correspondence(links))

    def pieces(self, pair: np.ndarray, linked: Linked | None) -> list[tuple[int, int, int, int, float, float]]:
        """What the support of one pair, [2], is made of, given the links: neighbour of the source and of the target,
        the relations to them, how surely they are linked, and what that says."""
        if linked is None:
            return []
        found = self._walk(pair[None], linked.links)
        share_of = dict(zip(linked.kinds.tolist(), linked.share.tolist(), strict=True))
        rarity = self._rarity(found.near, found.other)
        best: dict[int, tuple[int, int, int, int, float, float]] = {}
        for near, other, relation, back, weight, rare in zip(
            *(
                column.tolist()
                for column in (found.near, found.other, found.relation, found.back, found.weight, rarity)
            ),
            strict=True,
        ):
            said = weight * rare * share_of.get(relation * self.relations + back, 0.0) if back >= 0 else 0.0
            if said > best.get(near, (0,) * 5 + (0.0,))[5]:
                best[near] = (near, other, relation, back, weight, said)
        return list(best.values())

    def _correspondence(self, links: _Links) -> tuple[np.ndarray, np.ndarray]:
        """Sorted keys of pairs of relations, and the share of the first one's edges between linked entities that the
        second one has, too."""
        found = self._walk(links.pairs, links)
        weight = found.weight * links.weight[found.row]
        total = np.bincount(found.relation[found.first], weight[found.first], self.relations)
        hit = found.back >= 0
        kinds, index = np.unique(found.relation[hit] * self.relations + found.back[hit], return_inverse=True)
        return kinds, np.bincount(index.ravel(), weight[hit], len(kinds)) / (total[kinds // self.relations] + 1)

    def _rarity(self, near: np.ndarray, other: np.ndarray) -> np.ndarray:
        """How much a linked neighbour tells: little if it has many neighbours itself."""
        share = np.minimum(self.sizes[0] / self.degree[0][near], self.sizes[1] / self.degree[1][other])
        rarity: np.ndarray = np.log(np.maximum(2, share)) / math.log(max(3, self.sizes[1]))
        return rarity

    def _walk(self, pairs: np.ndarray, links: _Links) -> _Paths:
        """From each pair's source by a relation to a neighbour, from there by a link, and back to the pair's target."""
        row, edge = spread(self.start[pairs[:, 0]], self.degree[0][pairs[:, 0]])
        relation, near = self.first[edge, 1], self.first[edge, 2]
        again, link = spread(links.start[near], links.count[near])
        row, relation, near = row[again], relation[again], near[again]
        other, weight = links.pairs[link, 1], links.weight[link]
        key = pairs[row, 1] * self.sizes[1] + other
        begin = np.searchsorted(self.key, key)
        found = np.searchsorted(self.key, key, side="right") - begin
        again, place = spread(begin, np.maximum(1, found))
        back = np.where(found[again] > 0, self.relation[place.clip(max=len(self.relation) - 1)], -1)
        first = np.ones(len(again), dtype=bool)
        first[1:] = again[1:] != again[:-1]
        return _Paths(row[again], relation[again], near[again], other[again], weight[again], back, first)


@dataclass(frozen=True, eq=False)
class _Links:
    """Probable pairs by source."""

    pairs: np.ndarray  # [links, 2]
    weight: np.ndarray
    start: np.ndarray  # [sources]
    count: np.ndarray  # [sources]

    @classmethod
    def build(cls, pairs: np.ndarray, weight: np.ndarray, sources: int) -> _Links:
        order = np.argsort(pairs[:, 0], kind="stable")
        count = np.bincount(pairs[:, 0], minlength=sources)
        return cls(pairs[order], weight[order], np.cumsum(count) - count, count)


@dataclass(frozen=True, eq=False)
class Linked:
    """Probable pairs, and which relations correspond between linked entities."""

    links: _Links
    kinds: np.ndarray  # sorted keys of pairs of relations
    share: np.ndarray  # of the first one's edges that the second one has, too


@dataclass(frozen=True, eq=False)
class _Paths:
    """Ways from a pair's source over a link to its target, and ways that find no edge at the end."""

    row: np.ndarray  # of the pair
    relation: np.ndarray  # from the source
    near: np.ndarray  # its neighbour
    other: np.ndarray  # what this is linked to
    weight: np.ndarray  # of the link
    back: np.ndarray  # relation from the target to it, −1 if there is none
    first: np.ndarray  # bool: the first of the ways that differ only in the relation back
