"""Who competes with whom: the one place that knows what a cardinality means for pairs that share an entity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from emea.data import Candidates, Counterparts, Links
from emea.kernels.limits import SMALLEST_DIVISOR, TIED_PROBABILITY
from emea.kernels.segments import segment_best, segment_max, segment_sum
from emea.settings import MatchingSettings


class Competition(NamedTuple):
    """Which entities have one counterpart at most, so that the pairs of each compete with each other."""

    source: bool = True
    target: bool = True

    @classmethod
    def of(cls, settings: MatchingSettings) -> Competition:
        """As the cardinality says: if many sources may be linked to one target, only the pairs of a source compete."""
        sources, targets = settings.cardinality.split("-to-")
        return cls(source=targets == "one", target=sources == "one")

    def swap(self) -> Competition:
        """The same seen from the target."""
        return Competition(self.target, self.source)

    @property
    def distinct(self) -> tuple[bool, bool]:
        """Whether different entities of the source graph, and of the target graph, are different things: several can
        share a counterpart only where it may have several."""
        return self.target, self.source

    def taken(self, pairs: Candidates, links: Links) -> Tensor:
        """Whether each pair is one of the links, or ruled out by one, [pairs] bool."""
        found = pairs.touches(links, *self)
        return found if any(self) else found | pairs.among(links)

    def seen(self, beliefs: Counterparts) -> Counterparts:
        """The beliefs, both ways as the side that competes sees them. If none does, what an entity's counterparts have
        together is what the most probable has, and the others the less, the less probable they are."""
        if all(self):
            return beliefs
        forward, backward, pairs = beliefs.forward, beliefs.backward, beliefs.candidates
        if not any(self):
            forward = _undivided(forward, pairs.source, pairs.sources)
            backward = _undivided(backward, pairs.target, pairs.targets)
        else:
            forward = backward = forward if self.source else backward
        return Counterparts(pairs, forward, backward, beliefs.source_none, beliefs.target_none)

    def winners(self, beliefs: Counterparts) -> Tensor:
        """Rows of the pairs that are the most probable of all they compete with; ties are left out."""
        pairs, won = beliefs.candidates, beliefs.agreement > 0
        for once, index, size, belief in (
            (self.source, pairs.source, pairs.sources, beliefs.forward),
            (self.target, pairs.target, pairs.targets, beliefs.backward),
        ):
            if once:
                best = segment_best(index, size, belief, tolerance=TIED_PROBABILITY)
                won = won & torch.zeros_like(won).index_fill_(0, best[best >= 0], value=True)
        return won.nonzero()[:, 0]

    def totals(self, pairs: np.ndarray, z: np.ndarray, sizes: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """Σ z over the pairs of each pair's source, and over those of its target, [pairs] each. Where both may have
        several counterparts, these are one thing: pairs with other entities of the same thing are left out."""
        source, target = (np.bincount(column, z, size)[column] for column, size in zip(pairs.T, sizes, strict=True))
        if any(self):
            return source, target
        thing = things(pairs, np.log(z.clip(1e-300)), sizes)
        first, second = pairs[:, 0], pairs[:, 1] + sizes[0]
        source_alike, target_alike = (
            np.bincount(index, z)[index] for index in (_groups(first, thing[second]), _groups(second, thing[first]))
        )
        return source - source_alike + z, target - target_alike + z

    def probability(self, z: np.ndarray, of_source: np.ndarray, of_target: np.ndarray) -> np.ndarray:
        """Of each pair with the odds z against "none", given its totals, [pairs]: if both entities have one counterpart
        or none, p = z / (1 + Σ z of the source + Σ z of the target − z)."""
        sums = [total for total, once in zip((of_source, of_target), self, strict=True) if once or not any(self)]
        found: np.ndarray = z / (1 + sum(sums) - (len(sums) - 1) * z)
        return found

    def shares(self, pairs: np.ndarray, confidence: np.ndarray, sizes: tuple[int, int]) -> np.ndarray:
        """By what confidence is to be multiplied so that pairs which compete have 1 together at most, [pairs]: the
        surest keeps its own, and the others divide what is left; several that are the surest divide all. Pairs that are
        the surest of both entities come first, so that no pair yields to one which has to yield itself."""
        sides = [(column, size) for once, column, size in zip(self, pairs.T, sizes, strict=True) if once]
        share = np.ones(len(pairs))
        for first in (True, False):
            lowered = confidence * share
            surest = [_surest(lowered, *side) for side in sides]
            if first:
                surest = [np.logical_and.reduce(surest)] * len(sides)
            more = np.ones(len(pairs))
            for own, (column, size) in zip(surest, sides, strict=True):
                total, kept = (np.bincount(column, each, size) for each in (lowered, np.where(own, lowered, 0.0)))
                left = (1 - kept) / np.maximum(total - kept, SMALLEST_DIVISOR)
                left[(total <= 1) | (first & (kept == 0))] = 1.0
                more = np.where(own, more, np.minimum(more, left[column]))
            share *= more
        return share

    def unmatched(self, probability: np.ndarray, of_source: np.ndarray, of_target: np.ndarray) -> np.ndarray:
        """How surely each pair is wrong because its entities have another counterpart, given how sure the best other
        pair of its source and of its target is, [pairs]; who may have several can have this one, too."""
        sides = zip((of_source, of_target), self, strict=True)
        found: np.ndarray = np.maximum(*(other if once else other * (1 - probability) for other, once in sides))
        return found


ONE_TO_ONE = Competition()
LOG_ODDS = (-50.0, 30.0)  # of a pair before it competes, at least and at most


def against_none(log_odds: np.ndarray) -> np.ndarray:
    """The odds of pairs against "none", given their logarithms, same shape."""
    odds: np.ndarray = np.exp(log_odds.clip(*LOG_ODDS))
    return odds


def competing(
    pairs: np.ndarray, odds: np.ndarray, sizes: tuple[int, int], competition: Competition = ONE_TO_ONE
) -> np.ndarray:
    """The probability of each pair, given the logarithm of its odds against "none", [pairs]."""
    z = against_none(odds)
    return competition.probability(z, *competition.totals(pairs, z, sizes))


def _undivided(belief: Tensor, index: Tensor, size: int) -> Tensor:
    """The beliefs of each index, scaled so that the highest is their sum, at most 1, [pairs]."""
    highest, total = segment_max(belief, index, size), segment_sum(belief, index, size).clamp(max=1.0)
    return belief * (total / highest.clamp(min=SMALLEST_DIVISOR))[index]


def _groups(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """A number for each row, the same for rows that agree in both columns."""
    found: np.ndarray = np.unique(np.stack([first, second], 1), axis=0, return_inverse=True)[1].ravel()
    return found


def things(pairs: np.ndarray, odds: np.ndarray, sizes: tuple[int, int]) -> np.ndarray:
    """The number of the thing that each entity is, [sources + targets]: pairs that are the surest of their source or of
    their target, and likelier than not, join their entities to one thing. `odds` are logarithms."""
    ends, size = pairs + np.array([0, sizes[0]]), sum(sizes)
    best = np.zeros(size)
    for column in ends.T:
        np.maximum.at(best, column, odds)
    source, target = ends[(odds > 0) & (odds >= best[ends].min(1))].T
    joined = coo_matrix((np.ones(len(source)), (source, target)), (size, size))
    found: np.ndarray = connected_components(joined, directed=False)[1]
    return found


def _surest(confidence: np.ndarray, column: np.ndarray, size: int) -> np.ndarray:
    """Whether each pair is surer than all others of its entity, [pairs] bool."""
    best = np.zeros(size)
    np.maximum.at(best, column, confidence)
    found: np.ndarray = confidence >= best[column] - TIED_PROBABILITY
    found &= np.bincount(column, found, size)[column] == 1
    return found
