"""Which relations are contained in which: Pr(r ⊆ r'), estimated from pairs believed equal (PARIS eq. 12)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from emea.data import Links
from emea.kernels.joins import Edges, expand, lookup
from emea.kernels.limits import SMALLEST_DOUBT
from emea.kernels.segments import segment_sum, starts


def log_unlikely(probability: Tensor) -> Tensor:
    """log(1 − p)."""
    return torch.log((1 - probability).clamp(min=SMALLEST_DOUBT))


@dataclass(frozen=True, eq=False)
class Subrelations:
    """Pr(r ⊆ r') and Pr(r' ⊆ r): of the triples of one whose ends have counterparts, the share found as the other."""

    key: Tensor  # [relation pairs] sorted: r · target relations + r'
    found: Tensor  # [relation pairs] expected number of triples of r found as r'
    found_back: Tensor  # [relation pairs] expected number of triples of r' found as r
    seen: Tensor  # [source relations] expected number of triples whose ends both have counterparts
    seen_back: Tensor  # [target relations]
    prior: float = 0.0  # probability assumed without evidence
    strength: float = 0.0  # weight of the prior, in observed triples

    @classmethod
    def estimate(
        cls, source: Edges, target: Edges, equal: Links, *, prior: float = 0.0, strength: float = 0.0
    ) -> Subrelations:
        """Estimate from pairs believed equal, with a prior that weighs as much as `strength` triples."""
        forward, found, seen = _count_found(source, target, equal)
        backward, found_back, seen_back = _count_found(target, source, equal.swap())
        backward = backward % source.relations * target.relations + backward // source.relations
        key, row = torch.unique(torch.cat([forward, backward]), return_inverse=True)
        split = len(forward)
        return cls(
            key,
            segment_sum(found, row[:split], len(key)),
            segment_sum(found_back, row[split:], len(key)),
            seen,
            seen_back,
            prior,
            strength,
        )

    def of(self, relation: Tensor, target_relation: Tensor) -> tuple[Tensor, Tensor]:
        """Pr(r ⊆ r') and Pr(r' ⊆ r) for each row."""
        position = lookup(self.key, relation * len(self.seen_back) + target_relation)
        observed = position >= 0
        position = position.clamp(min=0)
        results = []
        for found, seen in ((self.found, self.seen[relation]), (self.found_back, self.seen_back[target_relation])):
            count = torch.where(observed, found[position], 0.0) if len(found) else torch.zeros_like(seen)
            results.append((count + self.prior * self.strength) / (seen + self.strength).clamp(min=SMALLEST_DOUBT))
        return results[0], results[1]


def _count_found(source: Edges, target: Edges, equal: Links) -> tuple[Tensor, Tensor, Tensor]:
    """Keys (r, r'), the expected number of triples of r found as r', and the expected number of triples of r whose ends
    both have counterparts, [source relations]."""
    order = torch.argsort(equal.source, stable=True)
    counterpart, weight = equal.target[order], equal.weight[order].double()
    count = torch.bincount(equal.source, minlength=source.entities)
    first = starts(count)
    edge, position = expand(first[source.head], count[source.head])  # triples × counterparts of the head
    row, tail_position = expand(first[source.tail[edge]], count[source.tail[edge]])  # × counterparts of the tail
    edge, position = edge[row], position[row]
    both = weight[position] * weight[tail_position]
    seen = 1 - torch.exp(segment_sum(log_unlikely(both), edge, len(source.head)))
    joined, *edges = target.between(counterpart[position], counterpart[tail_position])
    row, target_edge = expand(*edges)
    row = joined[row]
    key, group = torch.unique(edge[row] * target.relations + target.relation[target_edge], return_inverse=True)
    as_relation = 1 - torch.exp(segment_sum(log_unlikely(both[row]), group, len(key)))  # for each (triple, r')
    key, group = torch.unique(
        source.relation[key // target.relations] * target.relations + key % target.relations, return_inverse=True
    )
    return key, segment_sum(as_relation, group, len(key)), segment_sum(seen, source.relation, source.relations)
