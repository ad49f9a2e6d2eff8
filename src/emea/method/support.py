"""How much the linked neighbours of two entities support the pair."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from emea.evidence.comparison import UNKNOWN
from emea.evidence.descriptions import Description
from emea.kernels.ranges import spread
from emea.method.profiles import by_level

SUPPORT = np.array([0.02, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0])  # from which a pair has a better level
LINKED = 0.3  # probability from which a pair counts as linked


class Support:
    """Counts, for given pairs, the neighbours of the source that are linked to neighbours of the target."""

    def __init__(self, first: Description, second: Description, pairs: np.ndarray) -> None:
        self.pairs, self.first = pairs, first.edges
        self.sizes = len(first.linkable), len(second.linkable)
        self.relations = 2 * max(first.relations, second.relations) + 1
        self.inverse = _inverses(first.relations), _inverses(second.relations)
        self.degree = [np.bincount(side.edges[:, 0], minlength=len(side.linkable)) for side in (first, second)]
        self.start = np.cumsum(self.degree[0]) - self.degree[0]
        key = second.edges[:, 0] * self.sizes[1] + second.edges[:, 2]
        order = np.argsort(key, kind="stable")
        self.key, self.relation = key[order], second.edges[order, 1]

    def levels(self, probability: np.ndarray, told: Told | None = None) -> np.ndarray:
        """Level of support of each pair, given how probable the first of them are, [pairs]: 0 is the most, UNKNOWN if
        no neighbour is linked. A neighbour counts by how surely it is linked, by how often the relations to it
        correspond, and the less the more others it has as neighbours. Given what was said of the pairs before, a
        neighbour whose own values speak against its link counts as if this did not rest on the pair: otherwise two
        pairs might vouch for each other."""
        linked = self.linked(probability)
        if linked is None:
            return np.full(len(self.pairs), UNKNOWN, dtype=np.int8)
        links, found = linked.links, self._walk(self.pairs, linked.links)
        said = links.weight[found.link] * linked.fitting(found) * self._rarity(links.pairs[found.link])
        neighbour, index = np.unique(found.row * self.sizes[0] + links.pairs[found.link, 0], return_inverse=True)
        row = neighbour // self.sizes[0]

        def summed(said: np.ndarray) -> np.ndarray:
            best = np.zeros(len(neighbour))
            np.maximum.at(best, index.ravel(), said)
            return np.bincount(row, best, len(self.pairs))

        support = summed(said)
        around = np.bincount(row, minlength=len(self.pairs)) * (self.degree[1][self.pairs[:, 1]] > 0)
        if told is not None:
            support = summed(said * self._alone(found, linked, probability, (support, around), told))
        return _levels(support, around)

    def _alone(
        self,
        found: _Paths,
        linked: Linked,
        probability: np.ndarray,
        supported: tuple[np.ndarray, np.ndarray],
        told: Told,
    ) -> np.ndarray:
        """How much less sure the link on each way would be without the support of the way's pair, as a factor, [ways];
        1 where the link's own values do not speak against it, or where it is known."""
        is_link, factor = np.zeros(len(self.pairs), dtype=bool), np.ones(len(found.row))
        is_link[: len(probability)] = probability > LINKED
        of, sure = linked.links.row[found.link], linked.links.weight[found.link]
        ways = np.flatnonzero((found.back >= 0) & is_link[found.row] & (told.values[of] < 0) & (sure < 1))
        if not len(ways):
            return factor
        back, of, sure, pair = found[ways].turned(self.inverse), of[ways], sure[ways], found.row[ways]
        given = probability[pair] * linked.fitting(back) * self._rarity(self.pairs[pair])
        _, same = np.unique(pair * len(self.pairs) + of, return_inverse=True)
        most = np.zeros(len(same))
        np.maximum.at(most, same.ravel(), given)
        given = most[same.ravel()]
        support, around = supported
        without = _levels(support[of] - given, around[of] - (given > 0))
        levels = _levels(support[of], around[of]), without
        before, after = (by_level(told.ratio, told.kind[of], level) for level in levels)
        factor[ways] = expit(logit(sure) - np.maximum(0.0, before - after)) / sure
        return factor

    def linked(self, probability: np.ndarray) -> Linked | None:
        """The links among the pairs, given how probable these are, and which relations correspond between linked
        entities; None if there are none."""
        rows = np.flatnonzero(probability > LINKED)
        if not len(rows) or not len(self.first) or not len(self.key):
            return None
        links = _Links.build(self.pairs, rows, probability, self.sizes[0])
        return Linked(links, *self._correspondence(links), self.relations)

    def pieces(self, pair: np.ndarray, linked: Linked | None) -> list[tuple[int, int, int, int, float, float]]:
        """What the support of one pair, [2], is made of, given the links: neighbour of the source and of the target,
        the relations to them, how surely they are linked, and what that says."""
        if linked is None:
            return []
        links, found = linked.links, self._walk(pair[None], linked.links)
        weight = links.weight[found.link]
        said = weight * linked.fitting(found) * self._rarity(links.pairs[found.link])
        best: dict[int, tuple[int, int, int, int, float, float]] = {}
        columns = *links.pairs[found.link].T, found.relation, found.back, weight, said
        for each in zip(*(column.tolist() for column in columns), strict=True):
            if each[5] > best.get(each[0], (0,) * 5 + (0.0,))[5]:
                best[each[0]] = each
        return list(best.values())

    def _correspondence(self, links: _Links) -> tuple[np.ndarray, np.ndarray]:
        """Sorted keys of pairs of relations, and the share of the first one's edges between linked entities that the
        second one has, too."""
        found = self._walk(links.pairs, links)
        weight = links.weight[found.link] * links.weight[found.row]
        total = np.bincount(found.relation[found.first], weight[found.first], self.relations)
        hit = found.back >= 0
        kinds, index = np.unique(found.relation[hit] * self.relations + found.back[hit], return_inverse=True)
        return kinds, np.bincount(index.ravel(), weight[hit], len(kinds)) / (total[kinds // self.relations] + 1)

    def _rarity(self, pairs: np.ndarray) -> np.ndarray:
        """How much linked neighbours tell, [pairs]: little if they have many neighbours themselves."""
        degrees = (degree[column].clip(min=1) for degree, column in zip(self.degree, pairs.T, strict=True))
        share = np.minimum(*(size / degree for size, degree in zip(self.sizes, degrees, strict=True)))
        rarity: np.ndarray = np.log(np.maximum(2, share)) / math.log(max(3, self.sizes[1]))
        return rarity

    def _walk(self, pairs: np.ndarray, links: _Links) -> _Paths:
        """From each pair's source by a relation to a neighbour, from there by a link, and back to the pair's target."""
        row, edge = spread(self.start[pairs[:, 0]], self.degree[0][pairs[:, 0]])
        relation, near = self.first[edge, 1], self.first[edge, 2]
        again, link = spread(links.start[near], links.count[near])
        row, relation = row[again], relation[again]
        key = pairs[row, 1] * self.sizes[1] + links.pairs[link, 1]
        begin = np.searchsorted(self.key, key)
        found = np.searchsorted(self.key, key, side="right") - begin
        again, place = spread(begin, np.maximum(1, found))
        back = np.where(found[again] > 0, self.relation[place.clip(max=len(self.relation) - 1)], -1)
        first = np.ones(len(again), dtype=bool)
        first[1:] = again[1:] != again[:-1]
        return _Paths(row[again], relation[again], link[again], back, first)


@dataclass(frozen=True, eq=False)
class Told:
    """What was said of the pairs before."""

    ratio: np.ndarray  # [kinds, levels] by levels of support
    kind: np.ndarray  # [pairs]
    values: np.ndarray  # [pairs] by their own values


@dataclass(frozen=True, eq=False)
class _Links:
    """Probable pairs by source."""

    pairs: np.ndarray  # [links, 2]
    row: np.ndarray  # of each among all pairs
    weight: np.ndarray
    start: np.ndarray  # [sources]
    count: np.ndarray  # [sources]

    @classmethod
    def build(cls, pairs: np.ndarray, rows: np.ndarray, probability: np.ndarray, sources: int) -> _Links:
        rows = rows[np.argsort(pairs[rows, 0], kind="stable")]
        count = np.bincount(pairs[rows, 0], minlength=sources)
        return cls(pairs[rows], rows, probability[rows], np.cumsum(count) - count, count)


@dataclass(frozen=True, eq=False)
class Linked:
    """Probable pairs, and which relations correspond between linked entities."""

    links: _Links
    kinds: np.ndarray  # sorted keys of pairs of relations
    share: np.ndarray  # of the first one's edges that the second one has, too
    relations: int

    def fitting(self, found: _Paths) -> np.ndarray:
        """How often the two relations of each way correspond, [ways]."""
        if not len(self.kinds):
            return np.zeros(len(found.row))
        kind = found.relation * self.relations + found.back
        place = np.searchsorted(self.kinds, kind).clip(max=len(self.kinds) - 1)
        return np.where((found.back >= 0) & (self.kinds[place] == kind), self.share[place], 0.0)


@dataclass(frozen=True, eq=False)
class _Paths:
    """Ways from a pair's source over a link to its target, and ways that find no edge at the end."""

    row: np.ndarray  # of the pair
    relation: np.ndarray  # from the source to its neighbour
    link: np.ndarray  # of the neighbour
    back: np.ndarray  # relation from the target to what the neighbour is linked to, −1 if there is none
    first: np.ndarray  # bool: the first of the ways that differ only in the relation back

    def __getitem__(self, ways: np.ndarray) -> _Paths:
        return _Paths(self.row[ways], self.relation[ways], self.link[ways], self.back[ways], self.first[ways])

    def turned(self, inverse: tuple[np.ndarray, np.ndarray]) -> _Paths:
        """The same ways from the link over the pair, given the inverse of each relation of both graphs."""
        return replace(self, relation=inverse[0][self.relation], back=inverse[1][self.back])


def _levels(support: np.ndarray, around: np.ndarray) -> np.ndarray:
    """The level of support by so many linked neighbours, UNKNOWN if there is none."""
    level = len(SUPPORT) - np.searchsorted(SUPPORT, support, side="right")
    return np.where(around > 0, level, UNKNOWN).astype(np.int8)


def _inverses(relations: int) -> np.ndarray:
    """Of each relation and of each inverse, which is numbered after all relations."""
    return np.roll(np.arange(2 * relations), relations)
