"""Reflection by relations: the layer that RREA and Dual-AMN share."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from emea.encoders._joined import Joined
from emea.kernels.messages import Pattern, edge_softmax, mean, products, take, weighted_sum


@dataclass(frozen=True, eq=False)
class Reflections:
    """The edges (i, j) of a layer and how each reflects: a *bundle* for each set of relations that joins two entities.

    M_r h = h − 2(h·r̂)r̂ keeps norms and distances. Where several relations join i and j, r̂ is their normalised mean.
    A message M_r h_j is needed through h_j·r̂ only, once for each (j, r̂): Σ α M_r h_j = Σ α h_j − 2 Σ α (h_j·r̂) r̂.
    """

    edges: Pattern  # [entities, entities], one entry per edge
    turned: Pattern  # [entities, bundles], one entry per edge: r̂ of each
    reflected: Pattern  # [entities, bundles]: the distinct (j, r̂)
    message: Tensor  # [edges] which of them
    members: Pattern  # [bundles, relations]

    @classmethod
    def build(cls, graph: Joined) -> Reflections:
        """Gather the relations between each two entities."""
        edges = graph.neighbours
        position = torch.searchsorted(
            edges.row * graph.entities + edges.column, graph.head * graph.entities + graph.tail
        )
        # a set of relations is told by the sum of random numbers, one for each relation
        draw = torch.Generator().manual_seed(0)
        marks = torch.randint(2**62, (graph.relations,), generator=draw).to(graph.device)
        sums = torch.zeros(len(edges.row), dtype=torch.int64, device=graph.device)
        sums = sums.index_add(0, position, marks[graph.relation])
        kinds, bundle = torch.unique(sums, return_inverse=True)
        members = torch.unique(bundle[position] * graph.relations + graph.relation)
        message, which = torch.unique(edges.column * len(kinds) + bundle, return_inverse=True)
        return cls(
            edges,
            Pattern(edges.row, bundle, (graph.entities, len(kinds))),
            Pattern(message // len(kinds), message % len(kinds), (graph.entities, len(kinds))),
            which,
            Pattern(members // graph.relations, members % graph.relations, (len(kinds), graph.relations)),
        )

    def directions(self, relations: Tensor) -> Tensor:
        """r̂ of each bundle, [bundles, dimension]."""
        return torch.nn.functional.normalize(mean(self.members, relations), dim=1)

    def along(self, features: Tensor, directions: Tensor) -> Tensor:
        """h_j·r̂ of each edge, [edges]."""
        return take(products(self.reflected, features, directions), self.message)

    def attention(self, logits: Tensor) -> Tensor:
        """α: softmax over the edges of each entity, [edges]."""
        return edge_softmax(logits, self.edges.row, self.edges.shape[0])

    def gather(self, attention: Tensor, along: Tensor, features: Tensor, directions: Tensor) -> Tensor:
        """Σ_{j,r} α M_r h_j of each entity, [entities, dimension]."""
        straight = weighted_sum(self.edges, attention, features)
        return straight - 2 * weighted_sum(self.turned, attention * along, directions)
