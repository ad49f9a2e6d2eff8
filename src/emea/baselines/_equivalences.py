"""Pr(x ≡ x') of all pairs with any evidence, and the subrelations that follow from it (PARIS eq. 13 and 12)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from emea.data import Graph, Links, pair_keys
from emea.kernels.joins import Edges, expand
from emea.kernels.limits import EDGE_PAIR_BLOCK, TIED_SCORE
from emea.kernels.segments import cuts, segment_max, segment_sum, starts
from emea.rules._subrelations import Subrelations, log_unlikely

LEAST = 0.01  # least probability that two edges must give a pair to count


@dataclass(frozen=True, eq=False)
class Grouped:
    """A graph's edges grouped by tail and relation: all x with r(x, y), for each y and r."""

    edges: Edges
    first: Tensor  # [entities] first group of each y
    groups: Tensor  # [entities] how many it has
    relation: Tensor  # [groups] r
    start: Tensor  # [groups] position of its first member
    count: Tensor  # [groups] how many there are
    member: Tensor  # [edges] x
    functionality: Tensor  # [relations] fun⁻¹

    @classmethod
    def build(cls, graph: Graph, device: torch.device) -> Grouped:
        """Group the edges: those into y are the inverses of those out of it."""
        edges = Edges.build(graph, device)
        key, order = torch.sort(edges.head * edges.relations + edges.relation, stable=True)
        key, count = torch.unique_consecutive(key, return_counts=True)
        groups = torch.bincount(key // edges.relations, minlength=edges.entities)
        return cls(
            edges,
            starts(groups),
            groups,
            edges.inverse(key % edges.relations),
            starts(count),
            count,
            edges.tail[order],
            edges.inverse_functionality(),
        )


def assumed(source: Grouped, target: Grouped, theta: float) -> Subrelations:
    """The initial assumption: each relation is contained in every other with the same probability."""
    nothing = Links.empty().to(source.member.device)
    return Subrelations.estimate(source.edges, target.edges, nothing, prior=theta, strength=1.0)


def observed(source: Grouped, target: Grouped, equal: Links) -> Subrelations:
    """Pr(r ⊆ r') estimated from equal pairs, without a prior."""
    return Subrelations.estimate(source.edges, target.edges, equal)


@dataclass(frozen=True, eq=False)
class Equivalences:
    """Pairs and their probabilities."""

    links: Links
    strength: Tensor  # [pairs] −log(1 − Pr): distinguishes pairs that are all but certain

    def __getitem__(self, rows: Tensor) -> Equivalences:
        return Equivalences(self.links[rows], self.strength[rows])


def equivalences(
    source: Grouped, target: Grouped, equal: Links, subrelations: Subrelations, theta: float
) -> Equivalences:
    """Pr(x ≡ x') of all pairs for which it is at least θ, given equal pairs (y, y'); sorted."""
    pair, group = expand(source.first[equal.source], source.groups[equal.source])
    row, other = expand(target.first[equal.target[pair]], target.groups[equal.target[pair]])
    pair, group = pair[row], group[row]
    relation, target_relation = source.relation[group], target.relation[other]
    inside, around = subrelations.of(relation, target_relation)
    weight = equal.weight.double()[pair]
    said = log_unlikely(around * source.functionality[relation] * weight)
    said = said + log_unlikely(inside * target.functionality[target_relation] * weight)
    counted = said <= log_unlikely(said.new_tensor(LEAST))
    group, other, said = group[counted], other[counted], said[counted]

    size, targets = source.count[group] * target.count[other], target.edges.entities
    key, total = group.new_empty(0), said.new_empty(0)
    for begin, end in pairwise(cuts(size, EDGE_PAIR_BLOCK)):
        row, place = expand(torch.zeros_like(size[begin:end]), size[begin:end])
        left, right = group[begin:end][row], other[begin:end][row]
        one = source.member[source.start[left] + place // target.count[right]]
        two = target.member[target.start[right] + place % target.count[right]]
        key, index = torch.unique(torch.cat([key, pair_keys(one, two, targets)]), return_inverse=True)
        total = segment_sum(torch.cat([total, said[begin:end][row]]), index, len(key))
    probability = 1 - torch.exp(total)
    kept = probability >= theta
    return Equivalences(Links(key[kept] // targets, key[kept] % targets, probability[kept]), -total[kept])


def best_of_both(found: Equivalences, sources: int, targets: int) -> Links:
    """The pairs that are the best for both of their entities; tied pairs share their probability."""
    pairs, strength = found.links, found.strength
    forward = strength >= segment_max(strength, pairs.source, sources)[pairs.source] - TIED_SCORE
    backward = strength >= segment_max(strength, pairs.target, targets)[pairs.target] - TIED_SCORE
    best = pairs[forward & backward]
    rivals = torch.maximum(torch.bincount(best.source)[best.source], torch.bincount(best.target)[best.target])
    return Links(best.source, best.target, best.weight / rivals)
