"""Joins on sorted keys: expanding ranges, looking up keys, and finding the edges between two entities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary, WeakValueDictionary

import torch
from torch import Tensor

from emea.data import Graph, Links
from emea.kernels.segments import starts
from emea.kernels.sieve import Sieve


def expand(start: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """Each row i becomes count[i] rows: (i, start[i]), (i, start[i] + 1), …; returns both columns.

    >>> [column.tolist() for column in expand(torch.tensor([5, 9]), torch.tensor([2, 1]))]
    [[0, 0, 1], [5, 6, 9]]
    """
    rows = torch.repeat_interleave(torch.arange(len(count), device=count.device), count)
    first = starts(count)
    return rows, torch.arange(len(rows), device=count.device) - first[rows] + start[rows]


def lookup(sorted_keys: Tensor, keys: Tensor) -> Tensor:
    """Position of each key among the sorted keys, -1 if absent."""
    if len(sorted_keys) == 0:
        return torch.full_like(keys, -1)
    position = torch.searchsorted(sorted_keys, keys).clamp(max=len(sorted_keys) - 1)
    return torch.where(sorted_keys[position] == keys, position, -1)


def sorted_distinct(keys: Tensor) -> Tensor:
    """The distinct keys, sorted. On a CPU in the place of the keys themselves: there may be very many."""
    found: Tensor
    if keys.device.type == "cpu":
        keys.numpy().sort()
        found = torch.unique_consecutive(keys)
    else:
        found = torch.unique(keys)
    return found


class BySource:
    """The counterparts of each source with their weights: in columns, as lists would take ten times the memory."""

    def __init__(self, links: Links, sources: int) -> None:
        order = torch.argsort(links.source, stable=True)
        self._start = [0, *torch.bincount(links.source, minlength=sources).cumsum(0).tolist()]
        self._target, self._weight = links.target[order], links.weight[order]

    def __getitem__(self, source: int) -> list[tuple[int, float]]:
        own = slice(self._start[source], self._start[source + 1])
        return list(zip(self._target[own].tolist(), self._weight[own].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Edges:
    """A graph's triples and their inverses, sorted by head and tail: (h, r, t) also appears as (t, r⁻¹, h)."""

    head: Tensor  # [edges]
    relation: Tensor  # [edges]; the inverse of r is r + the graph's number of relations
    tail: Tensor  # [edges]
    entities: int
    relations: int  # inverses included
    start: Tensor  # [entities] position of each head's first edge
    degree: Tensor  # [entities] edges of each head
    key: Tensor  # [edges] sorted: head · entities + tail

    @classmethod
    def build(cls, graph: Graph, device: torch.device) -> Edges:
        """Index a graph's triples and their inverses; once, as long as anything holds the result."""
        built = _BUILT.setdefault(graph, WeakValueDictionary())
        edges = built.get(device)
        if edges is None:
            edges = built[device] = cls._build(graph, device)
        return edges

    @classmethod
    def _build(cls, graph: Graph, device: torch.device) -> Edges:
        entities, relations = len(graph.entities), len(graph.relations)
        head, relation, tail = graph.triples.to(device).unbind(1)
        head, relation, tail = (
            torch.cat([head, tail]),
            torch.cat([relation, relation + relations]),
            torch.cat([tail, head]),
        )
        key, order = torch.sort(head * entities + tail, stable=True)
        degree = torch.bincount(head, minlength=entities)
        return cls(
            head[order],
            relation[order],
            tail[order],
            entities,
            2 * relations,
            starts(degree),
            degree,
            key,
        )

    def inverse(self, relation: Tensor) -> Tensor:
        """The inverse of each relation."""
        return (relation + self.relations // 2) % self.relations

    def leaving(self, head: int) -> tuple[list[int], list[int]]:
        """Relations and tails of the edges of one entity."""
        edges = slice(int(self.start[head]), int(self.start[head] + self.degree[head]))
        return self.relation[edges].tolist(), self.tail[edges].tolist()

    @cached_property
    def joined(self) -> tuple[Tensor, Tensor, Tensor]:
        """Sorted keys of the pairs of entities that an edge joins; for each, its first edge and the number of edges."""
        key, count = torch.unique_consecutive(self.key, return_counts=True)
        return key, starts(count), count

    @cached_property
    def sieve(self) -> Sieve:
        """Rejects most keys but those."""
        return Sieve.build(self.joined[0])

    def between(self, head: Tensor, tail: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The rows in which an edge leads from head to tail; for each, the position of its first edge and the number
        of edges."""
        key = head * self.entities + tail
        rows = self.sieve.passing(key)
        keys, start, count = self.joined
        position = lookup(keys, key[rows])
        rows, position = rows[position >= 0], position[position >= 0]
        return rows, start[position], count[position]

    def inverse_functionality(self) -> Tensor:
        """fun⁻¹(r) = distinct tails of r / edges of r, [relations] float64."""
        edges = torch.bincount(self.relation, minlength=self.relations)
        tails = torch.unique(self.relation * self.entities + self.tail) // self.entities
        return torch.bincount(tails, minlength=self.relations).double() / edges.clamp(min=1)


_BUILT: WeakKeyDictionary[Graph, WeakValueDictionary[torch.device, Edges]] = WeakKeyDictionary()
