"""Inverted file: vectors on lists around centres, of which each query scans the nearest few."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from emea.kernels.nearest import multiplies_halves

ROWS_A_CENTRE = 32  # of the sample from which the centres are found
STEPS = 3  # of k-means: more move the centres, but hardly what is found
LONGEST = 4  # times the mean length at which a list may be cut: many entities may look the same, and tell nothing


@dataclass(frozen=True, eq=False)
class Scan:
    """How many lists there are, how many of them a query visits, and where long ones are cut."""

    lists: int
    visited: int
    longest: int

    @classmethod
    def of(cls, keys: int, scanned: int) -> Scan:
        """About √keys lists, and as many visited as hold `scanned` vectors."""
        lists = max(1, math.isqrt(keys))
        visited = max(1, min(lists, round(scanned * lists / max(1, keys))))
        return cls(lists, visited, max(scanned, LONGEST * keys // lists))


def centres(rows: Tensor, count: int) -> Tensor:
    """Centres of vectors in random order by spherical k-means, [count, axes] float32."""
    middle = rows[:count].clone()
    for _ in range(STEPS):
        nearest = torch.cat([(part @ middle.T).argmax(1) for part in torch.split(rows, 2**14)])
        total = torch.zeros_like(middle).index_add_(0, nearest, rows)
        length = torch.linalg.vector_norm(total, dim=1, keepdim=True)
        middle = torch.where(length > 0, total / length.clamp(min=1e-12), middle)
    return middle


def multiplied(halves: Tensor) -> Tensor:
    """The same vectors in the precision that the device multiplies fastest."""
    return halves if multiplies_halves(halves.device) else halves.float()


def nearest_lists(vectors: Tensor, middle: Tensor, count: int) -> Tensor:
    """The lists whose centres are nearest to each vector, nearest first, [vectors, count] int32."""
    middle = multiplied(middle)
    parts = (multiplied(part) @ middle.T for part in torch.split(vectors, 2**13))
    found = [part.float().topk(min(count, len(middle)), 1).indices.int() for part in parts]
    return torch.cat(found) if found else torch.empty(0, count, dtype=torch.int32, device=vectors.device)


@dataclass(frozen=True, eq=False)
class Visits:
    """Who visits a list, and what is on it. A visit is numbered by its query and which of the query's lists it is."""

    keys: Tensor  # ids
    visits: Tensor

    @classmethod
    def plan(cls, visited: Tensor, shelf: Tensor, longest: int, generator: torch.Generator) -> list[Visits]:
        """Those of each list that has both. `visited` are the lists of each query, [queries, lists], `shelf` is that of
        each key, −1 for none. Of a list with more than `longest` keys as many are drawn."""
        lists = int(max(visited.max(), shelf.max())) + 1 if visited.numel() and len(shelf) else 0
        shuffled = torch.randperm(len(shelf), generator=generator).to(shelf.device)
        order = shuffled[torch.argsort(shelf[shuffled], stable=True)]
        visit = torch.argsort(visited.flatten(), stable=True)
        length, visits = (torch.bincount(each.flatten().long() + 1, minlength=lists + 1) for each in (shelf, visited))
        ends = zip(*(torch.cumsum(each, 0).tolist() for each in (length, visits)), strict=True)
        found = (  # from the end of "none" on
            cls(order[first : min(last, first + longest)], visit[begun:ended])
            for (first, begun), (last, ended) in pairwise(ends)
        )
        return [each for each in found if each.work]

    @property
    def work(self) -> int:
        """Dot products."""
        return len(self.keys) * len(self.visits)


@dataclass(frozen=True, eq=False)
class Found:
    """What visits found."""

    visit: Tensor  # [visits]
    value: Tensor  # [visits, found] float16: dot products
    key: Tensor  # [visits, found] int32

    @classmethod
    def nothing(cls, visits: int, count: int, device: torch.device) -> Found:
        """Room for what visits will find, up to `count` keys each."""
        value = torch.full((visits, count), -torch.inf, dtype=torch.float16, device=device)
        key = torch.full((visits, count), -1, dtype=torch.int32, device=device)
        return cls(torch.empty(visits, dtype=torch.int64, device=device), value, key)

    def fill(self, rows: Tensor | slice, found: Found) -> None:
        """Write down what visits found."""
        columns = slice(found.value.shape[1])
        self.visit[rows], self.value[rows, columns], self.key[rows, columns] = found.visit, found.value, found.key

    def __getitem__(self, rows: Tensor) -> Found:
        return Found(self.visit[rows], self.value[rows], self.key[rows])


def scan(queries: Tensor, keys: Tensor, these: list[Visits], *, lists: int, kept: int) -> Iterator[Found]:
    """The best `kept` keys of each visit to these lists; a query visits so many."""
    for each in these:
        own, count = multiplied(keys[each.keys]), min(kept, len(each.keys))
        for part in torch.split(each.visits, max(16, 2**22 // len(own))):
            product = multiplied(queries[part // lists]) @ own.T
            best = product.float().topk(count, 1, sorted=False)
            yield Found(part, best.values.half(), each.keys[best.indices].int())
