"""Nearest entities among a bounded number of others: the cost grows with the graphs, not with their product."""

from __future__ import annotations

import torch
from torch import Tensor

from emea.candidates.marks import Holders, Marks
from emea.kernels.devices import compiled
from emea.kernels.lists import Scan, centres, nearest_lists, scan
from emea.kernels.messages import Pattern, products

BLOCK = 2**22  # pairs compared at a time
ENOUGH = 4  # marks shared with a bounded number of entities that tell more than the nearest lists
LEAST = 0.1  # of its lists that an entity with enough marks visits


def nearest_both_ways(
    source: Tensor,
    target: Tensor,
    marks: Marks,
    *,
    count: int,
    looked_at: tuple[int, int],
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Ids of the nearest targets of each source and sources of each target, nearest first, [entities, count] int32, −1
    where fewer were found.

    Each entity looks at those that share one of its marks, and at those on the lists nearest to it: at most as many as
    `looked_at` says of each, and the fewer lists, the more marks it has. Entities whose vector is zero find nothing.
    """
    shared, scanned = looked_at
    plan = Scan.of(max(len(source), len(target)), scanned)
    middle = centres(source, target, plan.lists, generator)
    visited = [nearest_lists(side, middle, plan.visited) for side in (source, target)]
    empty = [~(side != 0).any(1) for side in (source, target)]
    for lists, none in zip(visited, empty, strict=True):
        lists[none] = -1

    def nearest(query: int, key: int, seen: Marks) -> Tensor:
        queries, keys, shelf = (source, target)[query], (source, target)[key], visited[key][:, 0]
        holders = Holders.of(seen.target, seen.known, ~empty[key])
        own = holders.within(torch.where(empty[query][:, None], -1, seen.source), shared)
        lists = _first(visited[query], (1 - (own >= 0).sum(1) / ENOUGH).clamp(min=LEAST))
        near = scan(queries, lists, keys, shelf, kept=count, longest=plan.longest, generator=generator)
        return _with_holders(queries, keys, near, holders, own, shared=shared, count=count)

    return nearest(0, 1, marks), nearest(1, 0, marks.swap())


def _first(lists: Tensor, share: Tensor) -> Tensor:
    """The first few of each row's lists, a share of them, −1 for the others."""
    place = torch.arange(lists.shape[1], device=lists.device)
    return torch.where(place < (share * lists.shape[1]).ceil()[:, None], lists, -1)


def _with_holders(
    queries: Tensor,
    keys: Tensor,
    near: tuple[Tensor, Tensor],
    holders: Holders,
    marks: Tensor,
    *,
    shared: int,
    count: int,
) -> Tensor:
    """The best of what a scan found and of the entities that share marks."""
    kernels = compiled(queries, torch.bfloat16)
    if kernels is not None:
        value, best = near[0].float().topk(count, 1)
        known = value, near[1].gather(1, best)
        start = torch.nn.functional.pad(holders.start, (0, 1), value=len(holders.entity))
        result: Tensor = kernels.nearest(queries, keys, (marks, start, holders.entity), known, holders.together(marks))
        return result
    result = torch.full((len(queries), count), -1, dtype=torch.int32, device=queries.device)
    for rows in torch.split(holders.together(marks), max(1, BLOCK // (2 * shared))):
        row, place, entity = holders.sharing(marks[rows])
        product = products(Pattern(row, entity.long(), (len(rows), len(keys))), queries[rows], keys)
        value = torch.full((len(rows), shared), -torch.inf, dtype=product.dtype, device=product.device)
        found = torch.full((len(rows), shared), -1, dtype=torch.int32, device=product.device)
        value[row, place], found[row, place] = product, entity
        value, best = value.topk(min(shared, 2 * count), 1, sorted=False)
        both = (
            torch.cat([value, near[0][rows].to(value.dtype)], 1),
            torch.cat([found.gather(1, best), near[1][rows]], 1),
        )
        result[rows] = _distinct(*both, count)
    return result


def _distinct(value: Tensor, found: Tensor, count: int) -> Tensor:
    """The `count` best of each row, each once, [rows, count]."""
    found, order = torch.sort(found, dim=1)
    value = value.gather(1, order)
    value[:, 1:][found[:, 1:] == found[:, :-1]] = -torch.inf
    value, best = value.topk(min(count, value.shape[1]), 1)
    found = torch.where(value > -torch.inf, found.gather(1, best), -1)
    return torch.nn.functional.pad(found, (0, count - found.shape[1]), value=-1)
