"""Both graphs joined into one for trained encoders, with target entities and relations numbered after the source's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from emea.data import Embeddings, Links, Task
from emea.kernels.joins import Edges, expand
from emea.kernels.messages import Pattern
from emea.kernels.segments import starts


@dataclass(frozen=True, eq=False)
class Joined:
    """The triples of both graphs and their inverses; no edge connects the two graphs."""

    head: Tensor  # [edges] sorted
    relation: Tensor  # [edges]
    tail: Tensor  # [edges]
    sources: int
    targets: int
    relations: int  # of both graphs, inverses included

    @classmethod
    def build(cls, task: Task, device: torch.device) -> Joined:
        """Join the graphs of a task."""
        source, target = Edges.build(task.source, device), Edges.build(task.target, device)
        return cls(
            torch.cat([source.head, target.head + source.entities]),
            torch.cat([source.relation, target.relation + source.relations]),
            torch.cat([source.tail, target.tail + source.entities]),
            source.entities,
            target.entities,
            source.relations + target.relations,
        )

    @property
    def entities(self) -> int:
        """Number of entities of both graphs."""
        return self.sources + self.targets

    @property
    def device(self) -> torch.device:
        """The device that holds the graphs."""
        return self.head.device

    @cached_property
    def neighbours(self) -> Pattern:
        """Distinct pairs of an entity and one of its neighbours, sorted, [entities, entities]."""
        key = torch.unique(self.head * self.entities + self.tail)
        return Pattern(key // self.entities, key % self.entities, (self.entities, self.entities))

    @cached_property
    def nearby(self) -> Pattern:
        """The same, with each entity also as its own neighbour."""
        loops = torch.arange(self.entities, device=self.device) * (self.entities + 1)
        key = torch.unique(torch.cat([self.head * self.entities + self.tail, loops]))
        return Pattern(key // self.entities, key % self.entities, (self.entities, self.entities))

    @cached_property
    def incident(self) -> Pattern:
        """Distinct pairs of an entity and one of its relations, sorted, [entities, relations]."""
        key = torch.unique(self.head * self.relations + self.relation)
        return Pattern(key // self.relations, key % self.relations, (self.entities, self.relations))

    def two_steps(self, busiest: int) -> tuple[Tensor, Tensor]:
        """Rows of the first and the second edge of all paths i → k → j with i ≠ j and at most `busiest` edges at k."""
        degree = torch.bincount(self.head, minlength=self.entities)
        start = starts(degree)
        passable = torch.where(degree <= busiest, degree, 0)
        first, second = expand(start[self.tail], passable[self.tail])
        apart = self.head[first] != self.tail[second]
        return first[apart], second[apart]

    def split(self, embeddings: Tensor) -> Embeddings:
        """The rows of each graph, scaled to length 1."""
        embeddings = torch.nn.functional.normalize(embeddings, dim=1)
        return Embeddings(embeddings[: self.sources], embeddings[self.sources :])

    def pairs(self, links: Links) -> tuple[Tensor, Tensor]:
        """Ids of the links' entities in the joined graph."""
        return links.source, links.target + self.sources
