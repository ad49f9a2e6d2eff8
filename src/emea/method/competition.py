"""Who competes with whom: the one place that knows what a cardinality means for pairs that share an entity."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from emea.data import Candidates, Counterparts, Links
from emea.kernels.limits import SMALLEST_DIVISOR, TIED_PROBABILITY
from emea.kernels.segments import segment_best
from emea.settings import MatchingSettings

LIKELY = 0.5  # probability from which a pair joins what its entities are


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
        """The beliefs, both ways as the sides that compete see them. If no side does, each pair stands against "none"
        alone."""
        if all(self):
            return beliefs
        forward, backward, pairs = beliefs.forward, beliefs.backward, beliefs.candidates
        if not any(self):
            forward = forward / (forward + beliefs.source_none[pairs.source]).clamp(min=SMALLEST_DIVISOR)
            backward = backward / (backward + beliefs.target_none[pairs.target]).clamp(min=SMALLEST_DIVISOR)
            return replace(beliefs, forward=forward, backward=backward)
        own = forward if self.source else backward
        return replace(beliefs, forward=own, backward=own)

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
        thing = things(pairs, z / (1 + z), sizes)
        ends = pairs + np.array([0, sizes[0]])
        alike = (np.unique(own * len(thing) + thing[other], return_inverse=True)[1] for own, other in _both(ends))
        source_alike, target_alike = (np.bincount(index.ravel(), z)[index.ravel()] for index in alike)
        return source - source_alike + z, target - target_alike + z

    def probability(self, z: np.ndarray, of_source: np.ndarray, of_target: np.ndarray) -> np.ndarray:
        """Of each pair with the odds z against "none", given its totals, [pairs]: if both entities have one counterpart
        or none, p = z / (1 + Σ z of the source + Σ z of the target − z)."""
        sums = [total for total, once in zip((of_source, of_target), self, strict=True) if once or not any(self)]
        found: np.ndarray = z / (1 + sum(sums) - (len(sums) - 1) * z)
        return found

    def unmatched(self, probability: np.ndarray, of_source: np.ndarray, of_target: np.ndarray) -> np.ndarray:
        """How surely each pair is wrong because its entities have another counterpart, given how sure the best other
        pair of its source and of its target is, [pairs]; who may have several can have this one, too."""
        sides = zip((of_source, of_target), self, strict=True)
        found: np.ndarray = np.maximum(*(other if once else other * (1 - probability) for other, once in sides))
        return found


def things(pairs: np.ndarray, sure: np.ndarray, sizes: tuple[int, int]) -> np.ndarray:
    """The number of the thing that each entity is, [sources + targets]: the surest pair of each, if it is likely, joins
    its entities to one thing."""
    ends, size = pairs + np.array([0, sizes[0]]), sum(sizes)
    rows = np.concatenate([_surest(column, sure) for column in ends.T])
    source, target = ends[rows[sure[rows] >= LIKELY]].T
    joined = coo_matrix((np.ones(len(source)), (source, target)), (size, size))
    found: np.ndarray = connected_components(joined, directed=False)[1]
    return found


def _surest(entity: np.ndarray, sure: np.ndarray) -> np.ndarray:
    """Row of the surest pair of each entity."""
    order = np.lexsort((-sure, entity))
    return order[np.unique(entity[order], return_index=True)[1]]


def _both(ends: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Source and target, and target and source, of each pair."""
    source, target = ends.T
    return (source, target), (target, source)
