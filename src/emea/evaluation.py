"""Ranks, precision and recall, calibration and significance; the only place that opens a `Reference`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from scipy.special import stdtr
from torch import Tensor

from emea.data import Alignment, Candidates, Counterparts, Links, Reference, Task
from emea.em import Result, Round
from emea.kernels.joins import expand, lookup
from emea.kernels.segments import segment_best, segment_sum
from emea.rules.paris import PARIS, PARISSettings

TIED = 1e-6  # similarities closer than this are tied
PROBABLY_TIED = 1e-4  # and so are logarithms of probabilities: what such a similarity makes of them, times sharpness
BINS = 15  # of equal mass, for the calibration error
STRIPES = 20  # of a distribution
POINTS = 100  # at most, of a curve
LEVELS = (0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)  # of confidence, which are on it


@dataclass(frozen=True, eq=False)
class Answer:
    """What is to be evaluated: the links, and the candidates under one or more decodings."""

    links: Alignment
    source: Tensor  # [pairs] candidates, sorted by source and target
    target: Tensor  # [pairs]
    scores: dict[str, tuple[Tensor, float]]  # decoding → [pairs], higher is better, and how close is a tie
    targets: int  # entities in the target graph
    given: Links  # pairs the run was given: they are no part of what is evaluated
    values: int = 0  # how many of the targets, the last ones, are literal values
    tail: Callable[[Links, Tensor], Tensor] | None = None  # how many targets outside the candidates beat each pair


def answer(result: Result) -> Answer:
    """What a run in memory has to say: `csls` is the encoder alone, `transport` its probabilities, `probability` the
    final beliefs, which are all that another method than the loop has."""
    pairs, scores = result.counterparts.candidates, {}
    if result.last is not None:
        scores["csls"] = pairs.similarity.double(), TIED
        scores["transport"] = log_probability(result.last.believed.forward)
        scores["probability"] = log_probability(result.counterparts.forward)
    else:  # not normalised over the candidates: those near 1 differ in what is left
        scores["probability"] = torch.logit(result.counterparts.forward.double(), eps=1e-15), PROBABLY_TIED
    given = (result.task.seeds + result.task.validation).to(pairs.source.device)
    values = pairs.targets - len(result.task.target.entities)
    tail = None if result.last is None else _tail(result.last, pairs)
    return Answer(result.alignment, pairs.source, pairs.target, scores, pairs.targets, given, values, tail)


def log_probability(probability: Tensor) -> tuple[Tensor, float]:
    """Probabilities as scores of a decoding."""
    return torch.log(probability.double().clamp(min=1e-300)), PROBABLY_TIED


def evaluate(subject: Result | Answer, reference: Reference) -> dict[str, Any]:
    """All measures of a run: ranks for both pools and each decoding, and the links in both readings."""
    if isinstance(subject, Result):
        subject = answer(subject)
    known, pools = _pools(subject, reference)
    outside = _outside(subject, known, torch.stack(list(pools.values())))
    ranking: dict[str, dict[str, Any]] = {}
    for row, (pool, inside) in enumerate(pools.items()):
        ahead = None if outside is None else outside[row]
        ranking[pool] = {name: ranking_measures(*ranks(subject, known, inside, name, ahead)) for name in subject.scores}
    return {
        "reference": len(known),
        "ranking": ranking,
        "alignment": {
            "known sources": alignment_measures(subject, known, strict=False),
            "strict": alignment_measures(subject, known, strict=True),
        },
    }


def round_hits(ended: Round, task: Task, reference: Reference) -> dict[str, float]:
    """Hit@1 of both parts after a round, among the test targets: the encoder by CSLS, and q* (paper, fig. 5)."""
    pairs = ended.believed.candidates
    row = lookup(ended.refined.candidates.keys(), pairs.keys())
    refined = torch.where(row >= 0, ended.refined.forward[row.clamp(min=0)].double(), 0.0)
    scores = {"neural": (pairs.similarity.double(), TIED), "compatibility": log_probability(refined)}
    given = (task.seeds + task.validation).to(pairs.source.device)
    nothing = pairs.cosine[:0]
    links = Alignment(pairs.source[:0], pairs.target[:0], nothing, nothing)
    subject = Answer(links, pairs.source, pairs.target, scores, pairs.targets, given, tail=_tail(ended, pairs))
    known, pools = _pools(subject, reference)
    hits = {}
    for name in scores:
        best, worst = ranks(subject, known, pools["test targets"], name)
        hits[name] = _mean((best + worst) / 2 <= 1)
    return hits


def compatibility(result: Result, reference: Reference) -> dict[str, Any]:
    """How compatible the encoder's predictions for the test sources are, and how compatible the truth is (paper,
    appendix A): g of the PARIS rule at each source, all other predictions taken for true, its mean and the shares in
    STRIPES from 0 to 1; and the share of the predictions that claim a target which another source claims, too."""
    assert result.last is not None
    pairs, task = result.last.believed.candidates, result.task
    device = pairs.source.device
    known, given = reference.open().to(device), (task.seeds + task.validation).to(device)
    best = segment_best(pairs.source, pairs.sources, pairs.similarity)
    rows = best[best >= 0]
    predicted = Links.build(pairs.source[rows], pairs.target[rows])
    predicted = predicted[~torch.isin(predicted.source, given.source)]
    rule = PARIS(task, PARISSettings(evidence="best"), device)
    found: dict[str, Any] = {}
    for name, links in (("predicted", predicted), ("true", known)):
        every = links + given.certain()
        beliefs = _taken_for_true(every, pairs)
        value = rule.factors(beliefs, result.last.embeddings)[torch.isin(every.source, known.source)]
        shares = torch.histc(value.float(), STRIPES, 0, 1) / max(len(value), 1)
        found[name] = {"mean": _mean(value), "shares": shares.tolist()}
    claims = torch.bincount((predicted + given).target, minlength=pairs.targets)
    tested = predicted[torch.isin(predicted.source, known.source)]
    return {**found, "conflicts": _mean(claims[tested.target] > 1)}


def _taken_for_true(links: Links, pairs: Candidates) -> Counterparts:
    """Beliefs that hold the links for certain, in their order."""
    one, none = links.weight.new_ones(len(links), dtype=torch.float64), links.weight.new_zeros
    candidates = replace(pairs, source=links.source, target=links.target, cosine=links.weight)
    return Counterparts(candidates, one, one, none(pairs.sources), none(pairs.targets))


def realistic_ranks(result: Result, reference: Reference, pool: str, decoding: str) -> Tensor:
    """Rank of each known pair, for comparing two runs pair by pair, [known]."""
    subject = answer(result)
    known, pools = _pools(subject, reference)
    best, worst = ranks(subject, known, pools[pool], decoding)
    return (best + worst) / 2


def _pools(subject: Answer, reference: Reference) -> tuple[Links, dict[str, Tensor]]:
    """The pairs that count, and by the name of each pool the targets in it, [targets] bool."""
    known = reference.open().to(subject.source.device)
    known = known[~torch.isin(known.source, subject.given.source)]
    every = torch.ones(subject.targets, dtype=torch.bool, device=known.source.device)
    every[subject.targets - subject.values :] = False
    every[subject.given.target] = False
    every[known.target] = True
    tested = torch.zeros_like(every)
    tested[known.target] = True
    return known, {"test targets": tested, "all targets": every}


def _rows(subject: Answer, known: Links) -> Tensor:
    """Row of each known pair among the candidates, -1 for those that are none, [known]."""
    return lookup(subject.source * subject.targets + subject.target, known.source * subject.targets + known.target)


def _outside(subject: Answer, known: Links, pools: Tensor) -> Tensor | None:
    """How many targets of each pool, no candidates, are ahead of each known pair that is no candidate, and how many are
    level with it, [pools, such pairs, 2]; None where nobody knows. `pools` is [pools, targets] bool."""
    outside = known[_rows(subject, known) < 0]
    return subject.tail(outside, pools) if subject.tail is not None and len(outside) else None


def ranks(
    subject: Answer, known: Links, pool: Tensor, decoding: str, outside: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Optimistic and pessimistic rank of each known pair in the pool, [known] each; `outside`, the same for all
    decodings, is counted where it is not given.

    Every candidate ranks above every target that is none; a source without candidates has the worst rank.
    """
    score, tied = subject.scores[decoding]
    row = _rows(subject, known)
    is_candidate = row >= 0
    right = torch.full((len(known),), -torch.inf, dtype=score.dtype, device=score.device)
    right[is_candidate] = score[row[is_candidate]]
    start = torch.searchsorted(subject.source, known.source)
    count = torch.searchsorted(subject.source, known.source, right=True) - start
    pair, candidate = expand(start, count)  # each known pair beside every candidate of its source
    inside, rival = pool[subject.target[candidate]], score[candidate]
    better = segment_sum((inside & (rival > right[pair] + tied)).double(), pair, len(known))
    as_good = segment_sum((inside & (rival >= right[pair] - tied)).double(), pair, len(known))
    best, worst = 1 + better, torch.where(is_candidate, as_good, float(pool.sum()))
    if outside is None:
        counted = _outside(subject, known, pool[None])
        outside = None if counted is None else counted[0]
    if outside is not None:
        ahead, equal = outside.unbind(1)
        best[~is_candidate] += ahead
        worst[~is_candidate] = best[~is_candidate] + equal
    return torch.where(count > 0, best, worst), worst


def _tail(last: Round, pairs: Candidates) -> Callable[[Links, Tensor], Tensor]:
    embeddings = last.embeddings
    order = torch.argsort(pairs.source, stable=True)
    count = torch.bincount(pairs.source, minlength=pairs.sources)
    first = torch.cumsum(count, 0) - count

    def tail(links: Links, pools: Tensor) -> Tensor:
        """Of each pool's targets that are no candidates, how many beat each link by CSLS and how many tie."""
        counts, inside = [], pools.T.float()
        for source, target in zip(torch.split(links.source, 512), torch.split(links.target, 512), strict=True):
            csls = 2 * embeddings.source[source] @ embeddings.target.T - pairs.target_density
            right = csls.gather(1, target[:, None])
            row = torch.repeat_interleave(torch.arange(len(source), device=source.device), count[source])
            step = torch.arange(len(row), device=row.device) - (torch.cumsum(count[source], 0) - count[source])[row]
            csls[row, pairs.target[order[first[source][row] + step]]] = -torch.inf
            csls.scatter_(1, target[:, None], -torch.inf)
            level = ((csls >= right - TIED) & (csls <= right + TIED)).float()
            found = ((csls > right + TIED).float() @ inside, level @ inside)  # [links, pools] each
            counts.append(torch.stack([each.T for each in found], 2))
        return torch.cat(counts, 1).double()

    return tail


def ranking_measures(best: Tensor, worst: Tensor) -> dict[str, float]:
    """Hit@k, MRR and MR of realistic ranks (the mean of the best and the worst possible); a tie is no hit.

    `hit@1 shared` gives a tie of k at the top 1/k of a hit.
    """
    rank = (best + worst) / 2
    return {
        "hit@1": _mean(rank <= 1),
        "hit@10": _mean(rank <= 10),
        "mrr": _mean(1 / rank),
        "mr": _mean(rank),
        "hit@1 shared": _mean((best == 1) / (worst - best + 1)),
    }


def alignment_measures(subject: Answer, known: Links, *, strict: bool) -> dict[str, Any]:
    """Precision, recall, F1 and calibration of the links, pairs given to the run left out.

    Strict: a link from a source that the reference does not know is wrong; otherwise such links do not count.
    """
    links = subject.links
    counted = ~torch.isin(links.source, subject.given.source)
    if not strict:
        counted &= torch.isin(links.source, known.source)
    keys = links.source * subject.targets + links.target
    right = torch.isin(keys, known.source * subject.targets + known.target)[counted]
    confidence = links.confidence[counted].double()
    precision = _mean(right)
    recall = int(right.sum()) / max(len(known), 1)
    return {
        "links": len(right),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        "calibration error": calibration_error(confidence, right),
        "reliability": reliability(confidence, right),
        "curve": curve(confidence, right, len(known)),
    }


def reliability(confidence: Tensor, right: Tensor) -> list[dict[str, float]]:
    """The links in 15 bins of equal mass, the least sure first: how many, their mean confidence, and the share of them
    that is right.

    >>> reliability(torch.tensor([0.5, 0.5]), torch.tensor([True, False]))[0]
    {'links': 1, 'confidence': 0.5, 'right': 0.5}
    """
    if len(right) == 0:
        return []
    values, group = torch.unique(confidence, return_inverse=True)  # links of equal confidence are not told apart
    share = segment_sum(right.double(), group, len(values)) / torch.bincount(group)
    parts = torch.argsort(confidence, stable=True).tensor_split(min(BINS, len(right)))
    return [
        {"links": len(rows), "confidence": _mean(confidence[rows]), "right": _mean(share[group[rows]])}
        for rows in parts
    ]


def calibration_error(confidence: Tensor, right: Tensor) -> float:
    """Mean distance of confidence and share of right links, over 15 bins of equal mass."""
    bins = reliability(confidence, right)
    return sum(one["links"] * abs(one["confidence"] - one["right"]) for one in bins) / max(len(right), 1)


def curve(confidence: Tensor, right: Tensor, known: int) -> list[dict[str, float]]:
    """What is had by accepting links down to some confidence, from the surest on: links, precision and recall; at most
    100 points, and those of the LEVELS."""
    order = torch.argsort(confidence, descending=True, stable=True)
    sure, found = confidence[order], torch.cumsum(right[order].double(), 0)
    ends = torch.cat([sure[1:] != sure[:-1], torch.ones(min(1, len(sure)), dtype=torch.bool, device=sure.device)])
    ends = ends.nonzero()[:, 0]  # links of equal confidence are accepted together
    if len(ends) > POINTS:
        steps = torch.linspace(0, len(sure) - 1, POINTS, device=sure.device, dtype=torch.float64)
        spread = ends[torch.searchsorted(ends.double(), steps).clamp(max=len(ends) - 1)]
        levels = torch.tensor([int((sure >= level).sum()) - 1 for level in LEVELS], device=sure.device)
        ends = torch.unique(torch.cat([spread, levels[levels >= 0]]))
    return [
        {
            "confidence": float(sure[end]),
            "links": end + 1,
            "precision": float(found[end]) / (end + 1),
            "recall": float(found[end]) / max(known, 1),
        }
        for end in ends.tolist()
    ]


def paired_t_test(first: Tensor, second: Tensor) -> tuple[float, float]:
    """Mean difference of two runs' reciprocal ranks of the same pairs, and the two-tailed p-value."""
    difference = (1 / first - 1 / second).double().cpu()
    if not bool(difference.any()):
        return 0.0, 1.0
    count, mean = len(difference), float(difference.mean())
    error = float(difference.std()) / count**0.5
    return mean, float(2 * stdtr(count - 1, -abs(mean) / error)) if error else 0.0


def _mean(values: Tensor) -> float:
    return float(values.double().mean()) if len(values) else 0.0
