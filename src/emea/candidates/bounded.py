"""Nearest entities among a bounded number of others: the cost grows with the graphs, not with their product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from emea.candidates.kept import KeptEmbeddings
from emea.candidates.marks import Holders, Marks
from emea.engine import Engine, Kept, ranges
from emea.kernels.devices import at_a_time, compiled
from emea.kernels.lists import ROWS_A_CENTRE, Found, Scan, Visits, centres, nearest_lists, scan
from emea.kernels.messages import Pattern, products
from emea.kernels.segments import cuts

BLOCK = 2**22  # pairs compared at a time, on a CPU
LISTED = 2**25  # the same on lists, in a block
PART = 2**12  # entities whose nearest are found at a time
VECTORS = 2**15  # whose lists are found at a time
ENOUGH = 4  # marks shared with a bounded number of entities that tell more than the nearest lists
_Limits = tuple[int, int, int]  # lists that an entity visits, entities it keeps, and those it may share marks with

LEAST = 0.1  # of its lists that an entity with enough marks visits


def nearest_both_ways(
    kept: KeptEmbeddings,
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
    engine, sizes = kept.engine, kept.shape[:2]
    plan = Scan.of(max(sizes), scanned)
    drawn = [torch.randperm(size, generator=generator)[: ROWS_A_CENTRE * plan.lists // 2] for size in sizes]
    mixed = torch.randperm(sum(map(len, drawn)), generator=generator)
    sample = tuple(each.to(kept.device) for each in (*drawn, mixed))
    middle = engine.map(partial(_centres, plan.lists), [sample], *kept.sides).kept()[0]
    visited = []
    for side, size in zip(kept.sides, sizes, strict=True):
        blocks = ((rows,) for rows in ranges(size, VECTORS))
        visited.append(torch.cat([*engine.map(partial(_nearest_lists, plan.visited), blocks, side, middle)]))

    def nearest(query: int, key: int, seen: Marks) -> Tensor:
        present, shelf = (visited[query][:, 0] >= 0), visited[key][:, 0]
        holders = Holders.of(seen.target, seen.known, shelf >= 0)
        own = holders.within(torch.where(present[:, None], seen.source, -1), shared)
        lists = _first(visited[query], (1 - (own >= 0).sum(1) / ENOUGH).clamp(min=LEAST))
        visits = Visits.plan(lists, shelf, plan.longest, generator)
        queries = _Queries(holders.together(own), own, lists.shape[1], count, shared)
        return queries.nearest(engine, (kept.sides[query], kept.sides[key]), visits, holders)

    return nearest(0, 1, marks), nearest(1, 0, marks.swap())


def _centres(count: int, first: Tensor, second: Tensor, mixed: Tensor, *sides: Tensor) -> Tensor:
    """Centres of a sample of both sides, in the order in which it was mixed."""
    rows = torch.cat([side[drawn] for side, drawn in zip(sides, (first, second), strict=True)]).float()[mixed]
    return centres(rows, count).to(sides[0].dtype)


def _nearest_lists(count: int, rows: slice, vectors: Tensor, middle: Tensor) -> Tensor:
    """The nearest lists of some vectors, −1 for those that are zero."""
    some = vectors[rows]
    lists = nearest_lists(some, middle, count)
    lists[~(some != 0).any(1)] = -1
    return lists


@dataclass(frozen=True, eq=False)
class _Queries:
    """Entities that look for their nearest, in parts; those of a part look at much the same others."""

    order: Tensor  # [queries]
    marks: Tensor  # [queries, marks] those of `Holders.within`
    lists: int  # that each visits
    count: int  # to be found
    shared: int  # at most looked at because they share marks

    def nearest(
        self, engine: Engine, sides: tuple[Kept[Tensor], Kept[Tensor]], visits: list[Visits], holders: Holders
    ) -> Tensor:
        """Scan the lists, some at a time; then find the best of each part's entities among what all lists say."""
        part, listed = (at_a_time(each, self.order.device) for each in (PART, LISTED))
        rows = torch.split(self.order, part)
        place = torch.empty_like(self.order)
        place[self.order] = torch.arange(len(place), device=place.device)
        work = torch.tensor([each.work for each in visits])
        blocks = [(visits[first:last],) for first, last in pairwise(cuts(work, listed))] if visits else []
        limits, known = (self.lists, self.count, self.shared), engine.share((holders, place))
        scanned = engine.exchange(partial(_lists_scanned, limits, part), blocks, len(rows), known, *sides)
        parts = ((some, self.marks[some], heard) for some, heard in zip(rows, scanned, strict=True))
        found = [*engine.map(partial(_nearest_of_part, limits), parts, known, *sides)]
        result = torch.empty(len(place), self.count, dtype=torch.int32, device=place.device)
        for some, best in zip(rows, found, strict=True):
            result[some] = best
        return result


def _lists_scanned(
    limits: _Limits, size: int, visits: list[Visits], known: tuple[Holders, Tensor], *sides: Tensor
) -> list[Found]:
    """What the visits to some lists find, for each part of so many entities."""
    (lists, count, _), place, (queries, keys) = limits, known[1], sides
    found = Found.nothing(sum(len(each.visits) for each in visits), count, place.device)
    done = 0
    for some in scan(queries, keys, visits, lists=lists, kept=count):
        found.fill(slice(done, done + len(some.visit)), some)
        done += len(some.visit)
    part, order = torch.sort(place[found.visit // lists] // size, stable=True)
    found_by = torch.bincount(part, minlength=-(-len(place) // size)).tolist()
    return [found[some] for some in torch.split(order, found_by)]


def _nearest_of_part(
    limits: _Limits,
    rows: Tensor,
    marks: Tensor,
    scanned: Iterator[Found],
    known: tuple[Holders, Tensor],
    *sides: Tensor,
) -> Tensor:
    """The nearest of some entities, among what scans found for them and who shares their marks."""
    (lists, count, shared), (holders, place), (queries, keys) = limits, known, sides
    near, first = Found.nothing(len(rows) * lists, count, rows.device), int(place[rows[0]])
    for some in scanned:
        near.fill((place[some.visit // lists] - first) * lists + some.visit % lists, some)
    found = near.value.view(len(rows), -1), near.key.view(len(rows), -1)
    return _with_holders(queries[rows], keys, found, holders, marks, shared=shared, count=count)


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
        every = torch.arange(len(queries))
        result: Tensor = kernels.nearest(queries, keys, (marks, start, holders.entity), known, every)
        return result
    result = torch.full((len(queries), count), -1, dtype=torch.int32, device=queries.device)
    block = max(1, at_a_time(BLOCK, queries.device) // (2 * shared))
    for rows in torch.split(torch.arange(len(queries), device=queries.device), block):
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
