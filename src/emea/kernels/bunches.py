"""Sums of relation features times neighbour features over each entity's edges, without building a row per edge."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from emea.kernels.devices import compiled
from emea.kernels.joins import Edges
from emea.kernels.limits import BUNCH_BLOCK, LARGE_BUNCH_BLOCK, MANY_NUMBERS
from emea.kernels.segments import cuts


@dataclass(frozen=True, eq=False)
class Bunches:
    """A graph's edges grouped by head and relation. Edges of a bunch share both, so their tails are summed first.

    Σ_{(e, r, n)} a(r)∘b(n) = Σ_r a(r) ∘ Σ_n b(n)
    """

    tail: Tensor  # [edges] sorted by head and relation
    tail_start: Tensor  # [bunches + 1] position of each bunch's first tail, and the end
    relation: Tensor  # [bunches]
    start: Tensor  # [entities + 1] position of each head's first bunch, and the end

    @classmethod
    def build(cls, edges: Edges) -> Bunches:
        """Group a graph's edges."""
        key, order = torch.sort(edges.head * edges.relations + edges.relation, stable=True)
        key, count = torch.unique_consecutive(key, return_counts=True)
        heads = torch.arange(edges.entities + 1, device=key.device)
        return cls(
            edges.tail[order],
            torch.nn.functional.pad(torch.cumsum(count, 0), (1, 0)),
            key % edges.relations,
            torch.searchsorted(key // edges.relations, heads),
        )

    def weighted(self, relations: Tensor, entities: Tensor) -> Tensor:
        """Σ a(r)∘b(n) over each entity's edges, [entities, features], where a is [relations, features] and b is
        [entities, features]."""
        kernels = compiled(entities, torch.float32) if len(self.tail) * entities.shape[1] > MANY_NUMBERS else None
        if kernels is not None:
            found: Tensor = kernels.weighted(
                (self.start, self.relation, self.tail_start, self.tail), relations, entities
            )
            return found
        total = torch.empty_like(entities)
        block = BUNCH_BLOCK if total.device.type == "cpu" else LARGE_BUNCH_BLOCK
        for first, last in pairwise(cuts(self.start.diff(), block)):
            low, high = int(self.start[first]), int(self.start[last])
            tails = self.tail[int(self.tail_start[low]) : int(self.tail_start[high])]
            terms = _sums(tails, entities, self.tail_start[low : high + 1] - self.tail_start[low])
            terms *= relations[self.relation[low:high]]
            every = torch.arange(high - low, device=total.device)
            total[first:last] = _sums(every, terms, self.start[first : last + 1] - low)
        return total


def _sums(index: Tensor, features: Tensor, start: Tensor) -> Tensor:
    """Sum of features[index] from each start to the next, [starts − 1, features]."""
    sums: Tensor = torch.nn.functional.embedding_bag(index, features, start, mode="sum", include_last_offset=True)
    return sums
