"""Inverted file: vectors on lists around centres, of which each query scans the nearest few."""

from __future__ import annotations

import math
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


def centres(first: Tensor, second: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Centres of both sets of vectors by spherical k-means on a sample, [count, axes]."""
    chosen = [
        torch.randperm(len(side), generator=generator)[: ROWS_A_CENTRE * count // 2].to(side.device)
        for side in (first, second)
    ]
    rows = torch.cat([side[each] for side, each in zip((first, second), chosen, strict=True)]).float()
    rows = rows[torch.randperm(len(rows), generator=generator).to(rows.device)]
    middle = rows[:count].clone()
    for _ in range(STEPS):
        nearest = torch.cat([(part @ middle.T).argmax(1) for part in torch.split(rows, 2**14)])
        total = torch.zeros_like(middle).index_add_(0, nearest, rows)
        length = torch.linalg.vector_norm(total, dim=1, keepdim=True)
        middle = torch.where(length > 0, total / length.clamp(min=1e-12), middle)
    return middle.to(first.dtype)


def multiplied(halves: Tensor) -> Tensor:
    """The same vectors in the precision that the device multiplies fastest."""
    return halves if multiplies_halves(halves.device) else halves.float()


def nearest_lists(vectors: Tensor, middle: Tensor, count: int) -> Tensor:
    """The lists whose centres are nearest to each vector, nearest first, [vectors, count] int32."""
    middle = multiplied(middle)
    parts = (multiplied(part) @ middle.T for part in torch.split(vectors, 2**13))
    found = [part.float().topk(min(count, len(middle)), 1).indices.int() for part in parts]
    return torch.cat(found) if found else torch.empty(0, count, dtype=torch.int32, device=vectors.device)


def scan(
    queries: Tensor,
    visited: Tensor,
    keys: Tensor,
    shelf: Tensor,
    *,
    kept: int,
    longest: int,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """The best `kept` keys of each list that a query visits: dot products, [queries, visited · kept] float16, and ids
    int32, −1 where a list has fewer.

    `visited` are the lists of each query, `shelf` is that of each key, −1 for none. Of a list with more than `longest`
    keys as many are drawn.
    """
    shape, device = (len(queries), visited.shape[1] * kept), queries.device
    value = torch.full(shape, -torch.inf, dtype=torch.float16, device=device)
    found = torch.full(shape, -1, dtype=torch.int32, device=device)
    lists = int(max(visited.max(), shelf.max())) + 1 if visited.numel() and len(shelf) else 0
    shuffled = torch.randperm(len(keys), generator=generator).to(device)
    order = shuffled[torch.argsort(shelf[shuffled], stable=True)]
    slot = torch.argsort(visited.flatten(), stable=True)  # a slot is a query and one of its lists
    length, visits = (torch.bincount(each.flatten().long() + 1, minlength=lists + 1) for each in (shelf, visited))
    ends = zip(*(torch.cumsum(each, 0).tolist() for each in (length, visits)), strict=True)
    for (first, begun), (last, ended) in pairwise(ends):  # from the end of "none" on
        ids, slots = order[first : min(last, first + longest)], slot[begun:ended]
        own = multiplied(keys[ids])
        for part in torch.split(slots, max(16, 2**22 // max(1, len(ids)))) if len(ids) else ():
            query, count = part // visited.shape[1], min(kept, len(ids))
            product = multiplied(queries[query]) @ own.T
            best = product.float().topk(count, 1, sorted=False)
            place = ((part % visited.shape[1]) * kept)[:, None] + torch.arange(count, device=device)
            value[query[:, None], place] = best.values.half()
            found[query[:, None], place] = ids[best.indices].int()
    return value, found
