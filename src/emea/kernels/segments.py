"""Sums, maxima and normalisations over segments: rows with the same index."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from emea.kernels.devices import compiled
from emea.kernels.limits import MANY_ROWS, RANKED_ROWS, TIED_SCORE

LOWEST = -1e30  # stands for log 0; finite, so that the difference of two is a number


def segment_sum(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Sum of the values of each index, [size]."""
    return torch.zeros(size, dtype=values.dtype, device=values.device).index_add_(0, index, values)


def segment_max(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Largest value of each index, [size]; LOWEST for an index without values."""
    lowest = torch.full((size,), LOWEST, dtype=values.dtype, device=values.device)
    return lowest.scatter_reduce(0, index, values, "amax")


def segment_logsumexp(values: Tensor, index: Tensor, size: int, slack: float = LOWEST) -> Tensor:
    """log(exp(slack) + Σ exp(value)) of each index, [size]."""
    peak = segment_max(values, index, size).clamp(min=slack)
    total = segment_sum((values - peak[index]).exp_(), index, size) + torch.exp(slack - peak)
    return torch.log(total) + peak


def segment_softmax(values: Tensor, index: Tensor, size: int, slack: float = LOWEST) -> Tensor:
    """exp(value) over the sum of exp(slack) and all exp(value) of its index, [rows]."""
    return (values - segment_logsumexp(values, index, size, slack)[index]).exp_()


def segment_best(index: Tensor, size: int, *scores: Tensor, tolerance: float = TIED_SCORE) -> Tensor:
    """Row with the best score of each index, [size]; later scores break ties in earlier ones. -1 if rows are tied in
    all scores, or if an index has no row: position never breaks a tie."""
    rows = (scores[0] >= (segment_max(scores[0], index, size) - tolerance)[index]).nonzero()[:, 0]
    for score in scores[1:]:
        best = segment_max(score[rows], index[rows], size)
        rows = rows[score[rows] >= best[index[rows]] - tolerance]
    single = torch.bincount(index[rows], minlength=size) == 1
    chosen = torch.full((size,), -1, dtype=torch.int64, device=index.device)
    rows = rows[single[index[rows]]]
    chosen[index[rows]] = rows
    return chosen


def segment_choice(index: Tensor, size: int, none: Tensor, *scores: Tensor) -> Tensor:
    """Rows with the best score of their index, if it exceeds `none`, [chosen]; ties as in `segment_best`."""
    best = segment_best(index, size, *scores)
    rows = best[best >= 0]
    return rows[scores[0][rows] > none[index[rows]]]


def starts(count: Tensor) -> Tensor:
    """Position of the first row of each of several consecutive groups of these sizes, [groups]."""
    return torch.cumsum(count, 0) - count


def cuts(sizes: Tensor, block: int) -> list[int]:
    """Where to cut rows of these sizes so that no part is much larger than a block, unless it is a single row; both
    ends included."""
    ends = torch.cumsum(sizes, 0)
    total = int(ends[-1]) if len(ends) else 0
    steps = torch.arange(block, max(total, block), block, device=sizes.device)
    return [0, *sorted({*torch.searchsorted(ends, steps).tolist()} - {0, len(sizes)}), len(sizes)]


def mutual_rows(first: Tensor, second: Tensor, forward: Tensor, backward: Tensor) -> Tensor:
    """Rows with the best forward score of their first index and the best backward score of their second; ties are left
    out."""
    sizes = (int(index.max()) + 1 if len(index) else 0 for index in (first, second))
    best, back = (
        segment_best(index, size, score)
        for index, size, score in zip((first, second), sizes, (forward, backward), strict=True)
    )
    rows = best[best >= 0]
    return rows[back[second[rows]] == rows]


def segment_top(index: Tensor, size: int, score: Tensor, count: int) -> Tensor:
    """Whether fewer than `count` rows of the same index have a higher score, [rows] bool; in single precision."""
    if len(index) <= MANY_ROWS or compiled(index) is None:
        return segment_rank(index, size, score) < count
    return score.float() >= segment_highest(index, size, score, count)[:, -1][index]


def segment_highest(index: Tensor, size: int, score: Tensor, count: int) -> Tensor:
    """The `count` highest scores of each index, the highest first, [size, count] in single precision; −∞ where there
    are fewer."""
    kernels = compiled(index) if len(index) > MANY_ROWS else None
    if kernels is not None:
        found: Tensor = kernels.highest(index, size, score, count)
        return found
    order = torch.argsort(score.float(), descending=True)
    order = order[torch.argsort(index[order], stable=True)]
    row = index[order]
    place = torch.arange(len(row), device=row.device) - starts(torch.bincount(row, minlength=size))[row]
    first = place < count
    highest = torch.full((size, count), -torch.inf, device=score.device)
    highest[row[first], place[first]] = score[order[first]].float()
    return highest


def segment_rank(index: Tensor, size: int, score: Tensor) -> Tensor:
    """How many rows of the same index have a higher score, [rows]; scores equal in single precision share a rank."""
    count = torch.bincount(index, minlength=size)
    if len(index) <= RANKED_ROWS:
        return _ranks(index, count, score)
    rank = torch.empty_like(index)
    for first, last in pairwise(cuts(count, RANKED_ROWS)):  # sorting takes several times the memory of the scores
        rows = ((index >= first) & (index < last)).nonzero()[:, 0]
        rank[rows] = _ranks(index[rows] - first, count[first:last], score[rows])
    return rank


def _ranks(index: Tensor, count: Tensor, score: Tensor) -> Tensor:
    """The same, at once; `count` is the number of rows of each index."""
    bits = (score.float() + 0.0).view(torch.int32).long()  # -0.0 becomes 0.0
    rising = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)  # integers in the same order as the scores
    key, order = torch.sort((index << 32) + (0x7FFFFFFF - rising))  # by index, highest score first
    new = torch.ones(len(order), dtype=torch.bool, device=index.device)
    new[1:] = key[1:] != key[:-1]
    first = new.nonzero()[:, 0][new.cumsum(0) - 1] if len(order) else order  # of those with the same score
    rank = torch.empty_like(order)
    rank[order] = first - starts(count)[key >> 32]
    return rank
