"""Where edges of two graphs meet between entities believed equal, by a compiled loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from emea.kernels.compiled.run import in_parts, places

PAIRS = 2**12  # whose edges a thread joins at a time


def met(
    pairs: tuple[Tensor, Tensor],
    begins: tuple[Tensor, Tensor, Tensor, Tensor],
    believed: tuple[Tensor, Tensor, Tensor, Tensor],
    ends: tuple[Tensor, Tensor, Tensor],
    *,
    alone: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Where edges of both graphs meet, for each pair (e, e') in turn: the pair's row, an edge e → n, the number of
    (n, n') among what is believed, and an edge e' → n'; without n' = e' if it is to be alone.

    `begins` are the start and the number of each source's edges among some, these, and the tail of every edge;
    `believed` the start and the number of each n's among some, these, and the target of every one; `ends` the start
    and the number of each target's edges, and their tails, which are sorted.
    """
    source, target = pairs
    graphs = *begins[:2], *map(places, begins[2:]), *believed[:2], *map(places, believed[2:]), *ends
    known = places(source), target.contiguous(), *graphs, torch.tensor([alone])
    count = torch.zeros_like(source)
    nothing = torch.empty(0, dtype=torch.int64)
    in_parts(_met, PAIRS, len(source), *known, count, nothing, nothing, nothing, nothing)
    start = torch.cumsum(count, 0) - count
    found = [torch.empty(int(count.sum()), dtype=torch.int64) for _ in range(3)]
    in_parts(_met, PAIRS, len(source), *known, count, start, *found)
    edge, equal, target_edge = found
    return torch.repeat_interleave(torch.arange(len(source)), count), edge, equal, target_edge


def _met(
    first: int,
    last: int,
    source: Any,
    target: Any,
    begin: Any,
    degree: Any,
    edges: Any,
    tail: Any,
    start: Any,
    count: Any,
    order: Any,
    counterpart: Any,
    low_of: Any,
    degree_of: Any,
    tail_of: Any,
    alone: Any,
    total: Any,
    place: Any,
    edge: Any,
    equal: Any,
    target_edge: Any,
) -> None:
    """Count what meets for each pair; if places are given, write it there instead."""
    filling = len(place) > 0
    for pair in range(first, last):
        own, number = target[pair], 0
        bottom, top = low_of[own], low_of[own] + degree_of[own]
        into = place[pair] if filling else 0
        for each in range(begin[source[pair]], begin[source[pair]] + degree[source[pair]]):
            near = tail[edges[each]]
            for position in range(start[near], start[near] + count[near]):
                wanted = np.int64(counterpart[order[position]])
                if alone[0] and wanted == own:
                    continue
                low, high = bottom, top
                while low < high:
                    middle = (low + high) // 2
                    if tail_of[middle] < wanted:
                        low = middle + 1
                    else:
                        high = middle
                while low < top and tail_of[low] == wanted:
                    if filling:
                        edge[into + number] = edges[each]
                        equal[into + number] = order[position]
                        target_edge[into + number] = low
                    number += 1
                    low += 1
        total[pair] = number
