"""How alike different entities of both graphs are: read off pairs within a graph, and off links of their entities."""

from __future__ import annotations

import numpy as np

START = 0.8  # probability of the pairs that are linked at the start; links that became surer are trusted
STAYED = 3.0  # pairs, passed on and arrived: those that were seen outweigh them


class Coincidences:
    """Pairs within a graph (i, j) as the unmatched pairs between the graphs that they stand for.

    If j is linked to b, (i, b) is such a pair, and says better than (i, j) how alike different entities of both graphs
    are: within a graph entities may share its own wording. So the pair (i, j) passes on its weight, unless neither is
    linked. What is left counts as far as pairs that were passed on are as much alike between the graphs, too: a family
    of similar things may be in one graph only. And of k entities that are alike, k(k − 1) / 2 pairs are, but each of
    them has one counterpart at most: a pair counts the less, the more pairs of its entities are at least as good.
    """

    def __init__(
        self, pairs: np.ndarray, within: np.ndarray, sizes: tuple[int, int], competition: tuple[bool, bool]
    ) -> None:
        """From pairs between the graphs, and pairs within one, [pairs, 2] each. Entities of the target graph are
        numbered after those of the source graph in the latter, and in `ends` and `rivals`: the entities of the former,
        and those that have one counterpart at most."""
        self.pairs, self.within, (self.sources, self.width) = pairs, within, sizes
        self.ends = pairs + np.array([0, self.sources])
        self.rivals = self.ends[:, list(competition)]
        self.keys = pairs[:, 0] * self.width + pairs[:, 1]  # sorted

    def weights(
        self, weight: np.ndarray, probability: np.ndarray, score: np.ndarray, within: list[np.ndarray]
    ) -> tuple[list[np.ndarray], np.ndarray, float]:
        """How many unmatched pairs each pair within a graph stands for, by each of some scores, how many each between
        the graphs does, and how many are not listed, given the weights of the former, and how probable the latter are
        and their scores."""
        best = np.full(self.sources + self.width, -1)
        order = np.argsort(probability, kind="stable")
        for end in self.ends.T:
            best[end[order]] = order
        sure = np.where(best >= 0, probability[best], 0.0) if len(probability) else np.zeros(len(best))
        rows = [self._beside(one, other, best) for one, other in self._both()]
        passed, between, rest = self._passed(weight, sure, rows, len(score))
        trusted, arrived, _ = self._passed(weight, ((sure - START) / (1 - START)).clip(min=0.0), rows, len(score))
        given = np.flatnonzero(between)
        between[given] /= crowded(self.rivals[given], score[given])
        left = [_stay(each, trusted, score, arrived) / crowded(self.within, each) for each in within]
        return [(weight - passed) * share for share in left], between, rest

    def _both(self) -> tuple[np.ndarray, np.ndarray]:
        """The pairs within a graph in both directions."""
        return self.within.T, self.within.T[::-1]

    def _passed(
        self, weight: np.ndarray, sure: np.ndarray, rows: list[np.ndarray], count: int
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """What each pair within a graph passes on if entities are linked this surely, what arrives at each pair between
        the graphs, and at those that are not listed; of a pair whose entities both are linked either takes half."""
        passed, arrived, rest = np.zeros(len(weight)), np.zeros(count), 0.0
        for (one, other), row in zip(self._both(), rows, strict=True):
            share = weight * sure[other] * (1 - 0.5 * sure[one])
            arrived += np.bincount(row[row >= 0], share[row >= 0], count)
            rest += float(share[row < 0].sum())
            passed += share
        return passed, arrived, rest

    def _beside(self, one: np.ndarray, other: np.ndarray, best: np.ndarray) -> np.ndarray:
        """The row of the pair of each entity with what the other one of its graph is linked to, −1 if there is none."""
        linked: np.ndarray = best[other]
        if not len(self.keys):
            return linked
        source, target = self.pairs[linked].T
        of_source = other < self.sources
        key = np.where(of_source, one * self.width + target, source * self.width + one - self.sources)
        place = np.searchsorted(self.keys, key).clip(max=len(self.keys) - 1)
        found: np.ndarray = np.where((linked >= 0) & (self.keys[place] == key), place, -1)
        return found


def _stay(place: np.ndarray, passed: np.ndarray, score: np.ndarray, arrived: np.ndarray) -> np.ndarray:
    """Of the weight of pairs with such scores that passed on, the share that arrived at pairs with such a score or a
    better one, [within]: 1 where nothing speaks for a pair."""
    found, good = np.ones(len(place)), np.flatnonzero(place > 0)
    if passed.any():
        share = (_above(place[good], score, arrived) + STAYED) / (_above(place[good], place, passed) + STAYED)
        found[good] = share.clip(max=1.0)
    return found


def _above(least: np.ndarray, score: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weight of all that have at least such scores, which are above 0."""
    some = np.flatnonzero((score > 0) & (weight > 0))
    some = some[np.argsort(score[some])]
    above = np.append(np.cumsum(weight[some][::-1])[::-1], 0.0)
    return np.asarray(above[np.searchsorted(score[some], least)])


def crowded(ends: np.ndarray, score: np.ndarray) -> np.ndarray:
    """How many pairs of either entity, [pairs, entities], have at least the score of each pair, itself included,
    [pairs]; 1 for pairs for which nothing speaks."""
    count, good = np.ones(len(score)), np.flatnonzero(score > 0)
    if not ends[good].size:
        return count
    level = np.tile(np.unique(-score[good], return_inverse=True)[1].ravel(), ends.shape[1])
    first = ends[good].T.ravel() * (int(level.max()) + 1)  # of the keys of an entity, whose best pairs come first
    keys = np.sort(first + level)
    better = np.searchsorted(keys, first + level, side="right") - np.searchsorted(keys, first)
    count[good] = better.reshape(-1, len(good)).max(0)
    return count
