"""Where the true counterparts rank among the targets of a pool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from emea.analysis.measures import Ranking
from emea.data import Alignment, Candidates, Embeddings, Links, pair_keys
from emea.kernels.joins import expand, lookup
from emea.kernels.limits import RANK_BLOCK, TIED_PROBABILITY, TIED_SIMILARITY
from emea.kernels.segments import cuts, segment_sum, starts

CONVERTED = 2**14  # halves of so many targets are converted at a time
COMPARED = 2**22  # candidates that are compared with the known pairs of their sources at a time
ROWS = 512  # sources whose similarities to all targets are held at a time, at most

CSLS = "csls"  # the decoding by similarity, which every pair has; other scores are those of candidates only


class Score(NamedTuple):
    """What ranks the candidates."""

    values: Tensor  # [pairs]
    read: Callable[[Tensor], Tensor]  # values → scores, higher is better: of a few at a time, as there may be many
    tied: float  # scores that differ by no more are tied

    def at(self, rows: Tensor) -> Tensor:
        """The scores of some pairs."""
        return self.read(self.values[rows].double())


@dataclass(frozen=True, eq=False)
class Answer:
    """What is evaluated: the links, and the candidates under one or more decodings."""

    links: Alignment
    source: Tensor  # [pairs] candidates, sorted by source and target
    target: Tensor  # [pairs]
    scores: dict[str, Score]  # by decoding
    linkable: Tensor  # [targets] bool: those that may be linked
    given: Links  # pairs the run was given: they are not evaluated
    tail: Callable[[Links, Tensor, Tensor], Tensor] | None = None  # see `beyond_candidates`

    @property
    def targets(self) -> int:
        """Nodes in the target graph."""
        return len(self.linkable)


def by_similarity(similarity: Tensor) -> Score:
    """Similarities as scores of a decoding."""
    return Score(similarity, lambda values: values, TIED_SIMILARITY)


def by_probability(probability: Tensor) -> Score:
    """Probabilities as scores of a decoding."""
    return Score(probability, lambda values: torch.log(values.clamp(min=1e-300)), TIED_PROBABILITY)


def by_odds(probability: Tensor) -> Score:
    """Probabilities that are not normalised over the candidates: those near 1 differ in what is left."""
    return Score(probability, lambda values: torch.logit(values, eps=1e-15), TIED_PROBABILITY)


def rows_of(subject: Answer, known: Links) -> Tensor:
    """Row of each known pair among the candidates, -1 if it is not a candidate, [known]."""
    return lookup(pair_keys(subject.source, subject.target, subject.targets), known.keys(subject.targets))


def beyond_candidates(subject: Answer, known: Links, pools: Tensor, rows: Tensor | None = None) -> Tensor | None:
    """For each known pair, how many targets of each pool are ahead of it by similarity and how many are level with it,
    among those that are not candidates and among all, [pools, known, 4]; None if nobody knows. `pools` is
    [pools, targets] bool. If `rows` are given, all others are 0."""
    if subject.tail is None or not len(known):
        return None
    every = torch.arange(len(known), device=known.source.device)
    counted = subject.tail(known, every if rows is None else rows, pools)
    if rows is None:
        return counted
    return counted.new_zeros(len(pools), len(known), 4).index_copy_(1, rows, counted)


def ranks(
    subject: Answer, known: Links, pool: Tensor, decoding: str, outside: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Optimistic and pessimistic rank of each known pair in the pool, [known] each; `outside`, which is the same for
    all decodings, is computed if it is not given.

    By similarity a pair is ranked among all targets. By any other score every candidate ranks above every target that
    is not one, and those follow by similarity. A source without candidates has the worst rank. Other true targets of
    the same source are not rivals.
    """
    is_candidate = rows_of(subject, known) >= 0
    better, as_good = compared(subject, known, pool, decoding)
    best, worst = 1 + better, torch.where(is_candidate, as_good, float(pool.sum()))
    if outside is None:
        counted = beyond_candidates(subject, known, pool[None])
        outside = None if counted is None else counted[0]
    if outside is not None:
        ahead, level, ahead_of_all, level_of_all = outside.unbind(1)
        if decoding == CSLS:
            best = 1 + ahead_of_all
            worst = best + level_of_all
        else:
            best = torch.where(is_candidate, best, best + ahead)
            worst = torch.where(is_candidate, worst, best + level)
    return torch.where(_candidates_of(subject, known)[1] > 0, best, worst), worst


def compared(subject: Answer, known: Links, pool: Tensor, decoding: str) -> tuple[Tensor, Tensor]:
    """How many candidates of the same source in the pool are better than each known pair, and how many at least as
    good, itself included, [known] each; all of them if it is no candidate."""
    score, row = subject.scores[decoding], rows_of(subject, known)
    is_candidate = row >= 0
    right = torch.full((len(known),), -torch.inf, dtype=torch.float64, device=row.device)
    right[is_candidate] = score.at(row[is_candidate])
    also_true = torch.zeros(len(subject.source), dtype=torch.bool, device=row.device)
    also_true[row[is_candidate]] = True
    start, count = _candidates_of(subject, known)
    better, as_good = torch.zeros_like(right), torch.zeros_like(right)
    for first, last in pairwise(cuts(count, COMPARED)):
        pair, candidate = expand(start[first:last], count[first:last])  # each known pair beside its source's candidates
        pair += first
        rivals = ~also_true[candidate] | (candidate == row[pair])
        rivals &= pool[subject.target[candidate]]
        ahead = score.at(candidate) - right[pair]
        better += segment_sum((rivals & (ahead > score.tied)).double(), pair, len(known))
        as_good += segment_sum((rivals & (ahead >= -score.tied)).double(), pair, len(known))
    return better, as_good


def _candidates_of(subject: Answer, known: Links) -> tuple[Tensor, Tensor]:
    """Where the candidates of each known pair's source begin, and how many there are, [known] each."""
    start = torch.searchsorted(subject.source, known.source)
    return start, torch.searchsorted(subject.source, known.source, right=True) - start


def ranking(best: Tensor, worst: Tensor, weight: Tensor | None = None) -> Ranking:
    """The measures of ranks; if weights are given, [ranks], as weighted means."""
    rank = (best + worst) / 2
    shared = (best == 1) / (worst - best + 1)
    return Ranking(*(average(values, weight) for values in (rank <= 1, rank <= 10, 1 / rank, rank, shared)))


def count_beyond(embeddings: Embeddings, pairs: Candidates) -> Callable[[Links, Tensor, Tensor], Tensor]:
    """Counts targets by CSLS; for `Answer.tail`."""
    ordered = bool((pairs.source[1:] >= pairs.source[:-1]).all())  # as the search returns them
    order = None if ordered else torch.argsort(pairs.source, stable=True)
    count = torch.bincount(pairs.source, minlength=pairs.sources)
    first = starts(count)
    block = max(1, min(ROWS, RANK_BLOCK // max(1, pairs.targets)))

    def tail(links: Links, rows: Tensor, pools: Tensor) -> Tensor:
        """Among each pool's targets that are not candidates, and among all: how many beat the link in each of the rows,
        how many tie, [pools, rows, 4]."""
        counts = []
        order_true, true = (
            torch.argsort(links.source, stable=True),
            torch.bincount(links.source, minlength=pairs.sources),
        )
        first_true, sources, targets = starts(true), embeddings.source, embeddings.target  # fetched once
        for part in torch.split(rows, block):
            source, target = links.source[part], links.target[part]
            csls = _cosines(sources[source], targets).mul_(2).sub_(pairs.target_density)
            right = csls.gather(1, target[:, None])
            row, position = expand(first_true[source], true[source])
            csls[row, links.target[order_true[position]]] = -torch.inf  # itself, and other true targets of its source
            beyond = torch.ones_like(csls, dtype=torch.bool)
            row, position = expand(first[source], count[source])
            beyond[row, pairs.target[position if order is None else order[position]]] = False
            counts.append(_ahead_and_level(csls, right, beyond, pools))
        return torch.cat(counts, 1).double()

    return tail


def _cosines(rows: Tensor, columns: Tensor) -> Tensor:
    """[rows, columns] in single precision, also of halves."""
    if rows.dtype == torch.float32:
        return rows @ columns.T
    found = torch.empty(len(rows), len(columns), device=rows.device)
    for part, out in zip(torch.split(columns, CONVERTED), torch.split(found, CONVERTED, 1), strict=True):
        out.copy_(rows.float() @ part.float().T)
    return found


def _ahead_and_level(csls: Tensor, right: Tensor, beyond: Tensor, pools: Tensor) -> Tensor:
    """How many targets of each pool are above the right one of each row, and how many level with it: of those `beyond`
    its candidates, [rows, targets] bool, then of all, [pools, rows, 4]. Few are as good as the right one."""
    row, target = (csls >= right - TIED_SIMILARITY).nonzero(as_tuple=True)
    ahead, outside = csls[row, target] > (right + TIED_SIMILARITY)[row, 0], beyond[row, target]
    found = torch.stack([ahead & outside, ~ahead & outside, ahead, ~ahead], 1)
    inside = pools[:, target, None]
    counts = csls.new_zeros(len(pools), len(csls), found.shape[1])
    return counts.index_add_(1, row, (inside & found).to(counts.dtype))


def average(values: Tensor, weight: Tensor | None = None) -> float:
    """The mean, weighted if weights are given; 0 of nothing."""
    if weight is not None and len(values):
        return float((values.double() * weight).sum() / weight.sum())
    return float(values.double().mean()) if len(values) else 0.0
