"""Marks: the known pairs within two steps of an entity, the rarest few. Entities that share one may be the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from emea.data import Links, Task
from emea.kernels.joins import Edges, expand
from emea.kernels.nearest import multiplies_halves
from emea.kernels.segments import cuts, segment_sum, segment_top, starts
from emea.settings import SimilaritySettings

KEPT = 8  # marks of an entity: more are commoner ones, which crowd out what the rare ones tell
LOOKED_AT = 64  # neighbours of an entity whose marks it takes over, those of lowest degree first
BLOCK = 2**22  # rows
PAYS = (2**28, 2**32)  # pairs beyond which looking at few of them pays; on devices that multiply halves fast, later


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The neighbours of each entity of a graph, those of lowest degree first."""

    head: Tensor  # [neighbours] sorted
    tail: Tensor  # [neighbours]
    degree: Tensor  # [entities] number of neighbours

    @classmethod
    def of(cls, edges: Edges) -> Neighbourhood:
        """From a graph's edges."""
        key = edges.joined[0]
        head, tail = key // edges.entities, key % edges.entities
        degree = torch.bincount(head, minlength=edges.entities)
        order = torch.argsort(degree[tail], stable=True)
        order = order[torch.argsort(head[order], stable=True)]
        return cls(head[order], tail[order], degree)

    def marks(self, labelled: Tensor) -> Tensor:
        """The marks of each entity, [entities, KEPT] int32, −1 where there are fewer; `labelled` is the entity of each
        known pair. Marks are rated as propagation weighs them: by how many ways lead to them, and by rarity."""
        entities, device = len(self.degree), labelled.device
        number = torch.full((entities,), -1, dtype=torch.int64, device=device)
        number[labelled] = torch.arange(len(labelled), device=device)
        near, around = self._near(number)
        weight = around.clamp(min=1).float().rsqrt()
        holders = torch.bincount(
            near[near >= 0].long(),
            weights=(self.degree + 1).clamp(max=LOOKED_AT + 1).float()[:, None].expand_as(near)[near >= 0],
            minlength=len(labelled),
        )
        rarity = holders.clamp(min=1).float().rsqrt()
        place = torch.arange(len(self.head), device=device) - starts(self.degree)[self.head]
        used = (place < LOOKED_AT) & (around[self.tail] > 0)
        head, tail = self.head[used], self.tail[used]
        rows = torch.bincount(head, minlength=entities)
        marks = torch.full((entities, KEPT), -1, dtype=torch.int32, device=device)
        start = starts(rows)
        for first, last in pairwise(cuts((rows + 1) * KEPT, BLOCK)):
            edge = slice(int(start[first]), int(start[first]) + int(rows[first:last].sum()))
            every = torch.arange(first, last, device=device)
            to, via = torch.cat([head[edge], every]), torch.cat([tail[edge], every])
            _best(near[via], weight[via], to, rarity, marks)
        return marks

    def _near(self, number: Tensor) -> tuple[Tensor, Tensor]:
        """The rarest known pairs next to each entity, its own included, [entities, KEPT]; and how many there are."""
        known = number[self.tail] >= 0
        head, mark = self.head[known], number[self.tail[known]]
        count = torch.bincount(head, minlength=len(self.degree))
        place = torch.arange(len(head), device=head.device) - starts(count)[head]
        near = torch.full((len(self.degree), KEPT), -1, dtype=torch.int32, device=head.device)
        kept = place < KEPT - 1
        near[head[kept], place[kept] + 1] = mark[kept].int()
        near[:, 0] = number.int()
        return near, count + (number >= 0)


def _best(near: Tensor, weight: Tensor, to: Tensor, rarity: Tensor, marks: Tensor) -> None:
    """Write the best marks of some entities: those of their neighbours, [rows, KEPT], each with its weight."""
    row, column = (near >= 0).nonzero().unbind(1)
    if not len(row):
        return
    mark = near[row, column].long()
    key, group = torch.unique(to[row] * len(rarity) + mark, return_inverse=True)
    entity, mark = key // len(rarity), key % len(rarity)
    score = segment_sum(weight[row], group, len(key)) * rarity[mark]
    low = int(entity[0])
    entities = int(entity[-1]) - low + 1
    kept = segment_top(entity - low, entities, score, KEPT)  # ties may exceed it
    entity, mark = entity[kept], mark[kept]
    place = torch.arange(len(entity), device=entity.device) - starts(torch.bincount(entity - low))[entity - low]
    inside = place < KEPT
    marks[entity[inside], place[inside]] = mark[inside].int()


@dataclass(frozen=True, eq=False)
class Holders:
    """The entities that hold each mark."""

    entity: Tensor  # [holdings] sorted by mark
    start: Tensor  # [marks]
    count: Tensor  # [marks]

    @classmethod
    def of(cls, marks: Tensor, known: int, kept: Tensor) -> Holders:
        """From the marks of the entities that are kept, [entities] bool."""
        entity, column = ((marks >= 0) & kept[:, None]).nonzero().unbind(1)
        mark, order = torch.sort(marks[entity, column], stable=True)
        count = torch.bincount(mark, minlength=known)
        return cls(entity[order].int(), starts(count), count)

    def within(self, marks: Tensor, budget: int) -> Tensor:
        """Each row's marks with the fewest holders, as many as have at most `budget` holders together, the rarest
        first; −1 for the others."""
        held = torch.where(marks >= 0, self.count[marks.clamp(min=0).long()], 0)
        held, order = torch.sort(torch.where(held > 0, held, budget + 1), dim=1, stable=True)
        return torch.where(held.cumsum(1) <= budget, marks.gather(1, order), -1)

    def sharing(self, marks: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The holders of each row's marks, those of `within`: row, place in it, and entity."""
        row, column = (marks >= 0).nonzero().unbind(1)
        mark = marks[row, column].long()
        item, position = expand(self.start[mark], self.count[mark])
        held = torch.zeros(marks.shape, dtype=torch.int64, device=marks.device)
        held[row, column] = self.count[mark]
        before = held.cumsum(1) - held
        return row[item], before[row, column][item] + position - self.start[mark][item], self.entity[position]

    @staticmethod
    def together(marks: Tensor) -> Tensor:
        """An order of the rows in which those that share their commonest marks, of `within`, follow each other: what
        they compare themselves with is then still in a processor's cache."""
        last = (marks >= 0).sum(1) - 1
        commonest = [
            torch.where(at >= 0, marks.gather(1, at.clamp(min=0)[:, None])[:, 0], -1) for at in (last - 1, last)
        ]
        order = torch.argsort(commonest[0])
        return order[torch.argsort(commonest[1][order], stable=True)]


@dataclass(frozen=True, eq=False)
class Marks:
    """Marks of both graphs."""

    source: Tensor  # [sources, KEPT]
    target: Tensor  # [targets, KEPT]
    known: int  # pairs

    @classmethod
    def near(cls, pairs: Links, source: Neighbourhood, target: Neighbourhood) -> Marks:
        """From the pairs that are known."""
        return cls(source.marks(pairs.source), target.marks(pairs.target), len(pairs))

    def swap(self) -> Marks:
        """The same, seen from the target."""
        return Marks(self.target, self.source, self.known)


def is_bounded(settings: SimilaritySettings, pairs: int, device: torch.device) -> bool:
    """Whether the search among this many pairs looks at a bounded number for each entity."""
    return pairs > (PAYS[multiplies_halves(device)] if settings.bounded is None else settings.bounded)


def marking(graphs: Task, settings: SimilaritySettings, device: torch.device) -> Callable[[Links], Marks] | None:
    """What makes marks of known pairs, if there are so many pairs of linkable entities that the search needs them."""
    sources, targets = (int(graph.linkable.sum()) for graph in (graphs.source, graphs.target))
    if not is_bounded(settings, sources * targets, device):
        return None
    sides = [Neighbourhood.of(Edges.build(graph, device)) for graph in (graphs.source, graphs.target)]
    return lambda pairs: Marks.near(pairs, *sides)
